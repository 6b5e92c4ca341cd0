"""Differentiable linear algebra (the standard's linalg extension), on the backend of the arguments.

May import: dispatch.
"""

from arraygrad.namespaces import dispatch

__all__: list[str] = []

dispatch.fill(globals(), "linalg")
