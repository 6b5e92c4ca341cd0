"""What a program writes into a constant sparse matrix: the object itself becomes a recorded one.

May import: scipy._guards, numpy.
"""

import sys

import numpy as np

from arraygrad.scipy._guards import NotDifferentiable

__all__ = ["become"]


def become(constant, matrix, written=True):
    """Turn an object of SciPy's class into a recorded matrix: everybody who holds it sees what is written.

    Another object that shares its memory, as its transpose does, would not where values are `written` into it: that is
    refused.
    """
    for name in ("data", "_dict"):
        if written and _held_elsewhere(vars(constant), name):
            raise NotDifferentiable(
                f"arraygrad.scipy.sparse: a Tensor that requires grad is written into a {constant.format} matrix whose "
                "values other arrays or matrices share: write into its copy()"
            )
    if isinstance(constant, dict):
        dict.clear(constant)
    vars(constant).clear()
    constant.__class__ = type(matrix)
    vars(constant).update(vars(matrix))


def _holders(owner, name):
    held = owner.get(name)
    return sys.getrefcount(held)


def _holders_of_base(array):
    base = array.base
    return sys.getrefcount(base)


# What these count for something that nobody else holds differs between versions of Python.
_ALONE = _holders({"data": [0]}, "data")
_BASE_ALONE = _holders_of_base(np.empty(2)[:1])


def _held_elsewhere(owner, name):
    """Whether the object of this name, or the array that it is a part of, has other holders than `owner`."""
    if name not in owner:
        return False
    if _holders(owner, name) > _ALONE:
        return True
    return isinstance(getattr(owner[name], "base", None), np.ndarray) and _holders_of_base(owner[name]) > _BASE_ALONE
