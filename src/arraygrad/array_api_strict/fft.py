"""Differentiable Fourier transforms over array_api_strict (the standard's fft extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "array_api_strict", "fft")
