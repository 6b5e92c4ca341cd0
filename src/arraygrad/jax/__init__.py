"""Differentiable Array-API namespace over JAX."""

from arraygrad.jax import fft, linalg
from arraygrad.namespaces import namespace as _namespace

__all__: list[str] = []

_namespace.build(globals(), "jax")
