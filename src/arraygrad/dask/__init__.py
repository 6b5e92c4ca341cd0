"""Differentiable Array-API namespace over Dask arrays."""

from arraygrad import _namespace
from arraygrad.dask import fft, linalg

__all__: list[str] = []

_namespace.build(globals(), "dask")
