"""The chapter that functions of scipy.ndimage are declared in, and what its rules share.

May import: arraygrad, ops._axes, scipy._declare, numpy, SciPy.
"""

import numpy as np
from scipy import ndimage

from arraygrad.ops._axes import normalize_axes
from arraygrad.scipy._declare import Chapter, raw

__all__ = ["CHAPTER", "NAMES", "PADDING", "axes_of", "each", "extended", "shape_of"]

CHAPTER = Chapter("ndimage", ndimage)
NAMES = CHAPTER.names

# SciPy's name of an extension -> NumPy's.
PADDING = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def shape_of(a):
    return tuple(raw(a).shape)


def extended(a, width, mode, cval=0.0):
    """`a` with elements beyond its edges; width is a pair for every axis."""
    if all(w == (0, 0) for w in width):
        return a
    further = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    return np.pad(a, width, mode=PADDING[mode], **further)


def axes_of(axes, ndim):
    """Axes as a tuple of non-negative ints."""
    return normalize_axes(axes, ndim)


def each(value, count):
    """One value for each axis: a sequence, or one for all. Integers are Python's: unsigned ones have no negative."""
    one = isinstance(value, str) or np.ndim(raw(value)) == 0
    values = [value] * count if one else list(value)
    return [int(one) if isinstance(one, np.integer) else one for one in values]
