"""Differentiable linear algebra over CuPy (the standard's linalg extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "cupy", "linalg")
