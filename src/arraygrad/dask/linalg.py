"""Differentiable linear algebra over Dask arrays (the standard's linalg extension)."""

from arraygrad.namespaces import namespace

__all__: list[str] = []

namespace.build_extension(globals(), "dask", "linalg")
