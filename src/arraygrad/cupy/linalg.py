"""Differentiable linear algebra over CuPy (the standard's linalg extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "cupy", "linalg")
