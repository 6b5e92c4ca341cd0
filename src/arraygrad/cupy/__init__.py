"""Differentiable Array-API namespace over CuPy."""

from arraygrad.cupy import fft, linalg
from arraygrad.namespaces import namespace as _namespace

__all__: list[str] = []

_namespace.build(globals(), "cupy")
