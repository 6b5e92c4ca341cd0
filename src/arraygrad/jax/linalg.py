"""Differentiable linear algebra over JAX (the standard's linalg extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "jax", "linalg")
