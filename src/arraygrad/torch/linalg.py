"""Differentiable linear algebra over PyTorch (the standard's linalg extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "torch", "linalg")
