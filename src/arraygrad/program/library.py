"""Batched as an array library: what Tensors over Batched compute, and what the engine does for them, is a program.

May import: program.namespace, program.values, backends, contextlib, threading, numpy.
"""

import contextlib
import threading

import numpy

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.program.namespace import namespace
from arraygrad.program.values import Batched

__all__ = ["NAME", "plain_arrays"]

NAME = "columns"


class _Taken(threading.local):
    now = False


_plain = _Taken()


@contextlib.contextmanager
def plain_arrays():
    """Within it, arrays of NumPy may stand beside Batched. What they hold is not noted on a tape."""
    before, _plain.now = _plain.now, True
    try:
        yield
    finally:
        _plain.now = before


class _Backend(GenericBackend):
    """Batched: a write makes a new array, as what is the same in all rows may differ afterwards."""

    def write(self, raw, key, value):
        """A new array with `value` at `key`."""
        return namespace._setitem(raw, key, value)

    def clone(self, array, like):
        """The array itself: nothing ever changes one."""
        return array

    def of_another(self, array):
        """Within `plain_arrays` a plain array of NumPy: it is the same in all rows."""
        plain = _plain.now and type(array) is numpy.ndarray and array.dtype.kind in "fiuc"
        return Batched(array, None) if plain else None


attach(_Backend(NAME, namespace, Batched, False), NAME, Batched)
