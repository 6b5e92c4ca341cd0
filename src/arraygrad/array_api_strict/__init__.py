"""Differentiable Array-API namespace over array_api_strict."""

from arraygrad import _namespace
from arraygrad.array_api_strict import fft, linalg

__all__: list[str] = []

_namespace.build(globals(), "array_api_strict")
