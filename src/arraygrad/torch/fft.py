"""Differentiable Fourier transforms over PyTorch (the standard's fft extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "torch", "fft")
