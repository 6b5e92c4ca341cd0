"""Differentiable Array-API namespace over CuPy."""

from arraygrad import _namespace
from arraygrad.cupy import fft, linalg

__all__: list[str] = []

_namespace.build(globals(), "cupy")
