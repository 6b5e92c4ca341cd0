"""Utility functions.

May import: ops.kinds, ops._axes. Rules use only the standard.
"""

from arraygrad.ops._axes import at_axis, from_start
from arraygrad.ops.kinds import core, reduction

reduction(
    "all",
    "x, /, *, axis=None, keepdims=False",
    method=True,
    numpy=("all",),
    folds="logical_and",
    doc="Whether all elements over `axis` (None: all, an int or a tuple) are true: a boolean array.",
)
reduction(
    "any",
    "x, /, *, axis=None, keepdims=False",
    method=True,
    numpy=("any",),
    folds="logical_or",
    doc="Whether any element over `axis` (None: all, an int or a tuple) is true: a boolean array.",
)


def _undo_differences(xp, g, shape, axis, n, skip):
    """The part of the adjoint of n differences that belongs to `shape`, after `skip` elements of the joined array."""
    axis = from_start(axis, g.ndim)
    if g.shape[axis] == 0:  # more differences than elements: nothing depends on anything
        return xp.broadcast_to(xp.sum(g), shape)
    first, last = at_axis(axis, slice(0, 1)), at_axis(axis, slice(-1, None))
    but_last, but_first = at_axis(axis, slice(None, -1)), at_axis(axis, slice(1, None))
    for _ in range(n):
        g = xp.concat([-g[first], g[but_last] - g[but_first], g[last]], axis=axis)
    return g if shape[axis] == g.shape[axis] else g[at_axis(axis, slice(skip, skip + shape[axis]))]


# A scalar (or 0-d array) before or after x stands for one element along the axis, as in NumPy. Metadata does not tell a
# Python scalar from None, so the rules keep `prepend` itself.
def _length(end, axis):
    """How many elements along `axis` a joined array has."""
    if end is None:
        return 0
    return end.shape[axis] if getattr(end, "ndim", 0) else 1


def _joined_shape(shape, x_shape, axis):
    return shape or tuple(1 if i == axis else n for i, n in enumerate(x_shape))


def _diff_x(xp, g, x_shape, prepend, axis, n):
    return g if n == 0 else _undo_differences(xp, g, x_shape, axis, n, _length(prepend, axis))


def _diff_prepend(xp, g, x_shape, prepend_shape, axis, n):
    if n == 0:
        return None
    own = from_start(axis, g.ndim)
    return _undo_differences(xp, g, _joined_shape(prepend_shape, x_shape, own), axis, n, 0)


def _diff_append(xp, g, x_shape, prepend, append_shape, axis, n):
    if n == 0:
        return None
    own = from_start(axis, g.ndim)
    skip = x_shape[own] + _length(prepend, axis)
    return _undo_differences(xp, g, _joined_shape(append_shape, x_shape, own), axis, n, skip)


def _diff(xp, x, axis, n, prepend, append):
    # only what is given: libraries take a missing prepend for None, or for "no value"
    ends = {name: end for name, end in (("prepend", prepend), ("append", append)) if end is not None}
    return xp.diff(x, axis=axis, n=n, **ends)


core(
    "diff",
    "x, /, *, axis=-1, n=1, prepend=None, append=None",
    core="x(m),prepend(p),append(q)->(max(m+p+q-n,0) if n else m)",
    derivative="linear",
    counted="equal",
    forward=_diff,
    x=_diff_x,
    prepend=_diff_prepend,
    append=_diff_append,
    may_view=True,  # without differences (n == 0) it is x itself
    numpy=("diff",),
    doc="n-th differences along `axis`, after joining `prepend`, x and `append` (arrays of the same rank, scalars for "
    "one element, or None); "
    "numeric dtypes. The adjoint takes the differences of the gradient padded with zeros, n times, negated.",
)
