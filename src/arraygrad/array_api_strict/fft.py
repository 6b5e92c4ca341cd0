"""Differentiable Fourier transforms over array_api_strict (the standard's fft extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "array_api_strict", "fft")
