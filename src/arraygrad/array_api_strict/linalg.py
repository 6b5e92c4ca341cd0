"""Differentiable linear algebra over array_api_strict (the standard's linalg extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "array_api_strict", "linalg")
