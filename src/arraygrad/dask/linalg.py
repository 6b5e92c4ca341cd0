"""Differentiable linear algebra over Dask arrays (the standard's linalg extension)."""

from arraygrad import _namespace

__all__: list[str] = []

_namespace.build_extension(globals(), "dask", "linalg")
