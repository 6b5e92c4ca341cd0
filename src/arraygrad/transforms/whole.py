"""Leaves of containers that have no derivative: what belongs to the structure, and which integers may stand there.

May import: core.containers, core.tensor, the standard library, numpy.

Note [Leaves without a derivative]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) None, bools, text, bytes, classes and functions stay as they are, in the gradient too.
(2) Integers, and arrays of integers and truth values, are counts, sizes, indices and masks: `n_layers`, `faces`. The
    function gets them as they are. In the gradient None stands in their place: it can't be taken for a derivative.
(3) But 3 may also be meant as 3.0, and its gradient would be missing. So an integer is refused where it is an argument
    itself, in a list or tuple beside numbers with a derivative, in a field that is annotated as a float, and in an
    argument that has no other leaf.
Guarded by tests/transforms/test_fields_without_derivative.py.
"""

from __future__ import annotations

import inspect
import re

import numpy

from arraygrad.core.containers import LEAF
from arraygrad.core.tensor import Tensor, backend_of, metadata_of

__all__ = ["STATIC_TYPES", "is_count", "is_static", "is_whole", "may_stay"]

STATIC_TYPES = (type(None), bool, str, bytes, type)


def is_static(leaf):
    """Whether a leaf is no number: (1)."""
    return isinstance(leaf, (*STATIC_TYPES, numpy.ufunc)) or inspect.isroutine(leaf)


def is_whole(leaf):
    """Whether a leaf that is not static is an integer, or an array or Tensor of integers or truth values: (2)."""
    if isinstance(leaf, (int, numpy.integer, numpy.bool_)):
        return True
    if isinstance(leaf, (float, complex, numpy.generic)):
        return False
    if isinstance(leaf, Tensor):
        return not metadata_of(leaf).is_floating
    try:
        return not backend_of(leaf).meta(leaf).is_floating
    except TypeError:
        return False


def may_stay(structure, leaves, i):
    """Whether leaf `i` of a container, an integer or an array of them, is taken for a constant: (3)."""
    if structure is LEAF:
        return False
    first, last = 0, len(leaves)
    while structure.kind != "leaf":
        parent, start = structure, first
        for key, child in zip(parent.keys, parent.children, strict=True):
            if start + child.n_leaves > i:
                structure, name = child, key
                break
            start += child.n_leaves
        if structure.kind != "leaf":
            first, last = start, start + structure.n_leaves
    beside = leaves[first:last]
    if parent.kind in ("list", "tuple"):
        return hasattr(leaves[i], "shape") or not any(
            isinstance(leaf, (float, complex)) or (isinstance(leaf, Tensor) and not is_whole(leaf)) for leaf in beside
        )
    return not isinstance(leaves[i], int) or not _is_float(parent.type, name)


def is_count(structure, i):
    """Whether leaf `i` of a container is a field that its class annotates as an integer."""
    parent = name = None
    while structure.kind != "leaf":
        parent = structure
        for key, child in zip(parent.keys, parent.children, strict=True):
            if i < child.n_leaves:
                structure, name = child, key
                break
            i -= child.n_leaves
    return parent is not None and "int" in _words(parent.type, name)


def _is_float(cls, name):
    """Whether a field of a class is annotated as a float or complex number, and not as an integer."""
    words = _words(cls, name)
    return bool(words & {"float", "complex"}) and "int" not in words


def _words(cls, name):
    """The words of the annotation of a field; an empty set where there is none."""
    for base in cls.__mro__ if cls is not None else ():
        try:
            annotation = inspect.get_annotations(base).get(name)
        except NameError:  # a name of the annotation is not defined yet
            continue
        if annotation is not None:
            text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None)
            return set(re.findall(r"\w+", text if text and "|" not in repr(annotation) else repr(annotation)))
    return set()
