"""Differentiable linear algebra over PyTorch (the standard's linalg extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "torch", "linalg")
