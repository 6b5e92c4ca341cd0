"""The chapter that functions of scipy.signal are declared in, and what its rules share.

May import: arraygrad, ops._axes, scipy._declare, SciPy.
"""

from scipy import signal

from arraygrad.ops._axes import at_axis, from_start
from arraygrad.scipy._declare import Chapter, kind_of, raw

__all__ = ["CHAPTER", "NAMES", "cut", "is_complex", "shape_of"]

CHAPTER = Chapter("signal", signal)
NAMES = CHAPTER.names


def shape_of(a):
    return tuple(raw(a).shape)


def is_complex(a):
    return kind_of(a) == "c"


def cut(a, start, stop, axis=-1, step=None):
    """a[start:stop:step] along an axis."""
    return a[at_axis(from_start(axis, a.ndim), slice(start, stop, step))]
