"""Differentiable Array-API namespace over array_api_strict."""

from arraygrad.array_api_strict import fft, linalg
from arraygrad.namespaces import namespace as _namespace

__all__: list[str] = []

_namespace.build(globals(), "array_api_strict")
