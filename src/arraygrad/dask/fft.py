"""Differentiable Fourier transforms over Dask arrays (the standard's fft extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "dask", "fft")
