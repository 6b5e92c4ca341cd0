"""Differentiable Array-API namespace over JAX."""

from arraygrad import _namespace
from arraygrad.jax import fft, linalg

__all__: list[str] = []

_namespace.build(globals(), "jax")
