"""Differentiable Fourier transforms over CuPy (the standard's fft extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "cupy", "fft")
