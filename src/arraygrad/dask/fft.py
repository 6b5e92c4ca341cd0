"""Differentiable Fourier transforms over Dask arrays (the standard's fft extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "dask", "fft")
