"""Differentiable Fourier transforms over PyTorch (the standard's fft extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "torch", "fft")
