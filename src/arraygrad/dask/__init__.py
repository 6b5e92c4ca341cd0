"""Differentiable Array-API namespace over Dask arrays."""

from arraygrad.dask import fft, linalg
from arraygrad.namespaces import namespace as _namespace

__all__: list[str] = []

_namespace.build(globals(), "dask")
