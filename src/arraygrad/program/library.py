"""Batched as an array library: what Tensors over Batched compute, and what the engine does for them, is a program.

May import: program.namespace, program.values, backends.
"""

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.program.namespace import namespace
from arraygrad.program.values import Batched

__all__ = ["NAME"]

NAME = "columns"


class _Backend(GenericBackend):
    """Batched: a write makes a new array, as what is the same in all rows may differ afterwards."""

    def write(self, raw, key, value):
        """A new array with `value` at `key`."""
        return namespace._setitem(raw, key, value)

    def clone(self, array, like):
        """The array itself: nothing ever changes one."""
        return array


attach(_Backend(NAME, namespace, Batched, False), NAME, Batched)
