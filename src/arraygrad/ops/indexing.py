"""Indexing functions. `x[key]` and `x[key] = value` are in ops.internal.

May import: ops.kinds. Rules use only the standard and the table's internal operations.
"""

import math

from arraygrad.ops.kinds import gather


def _take(xp, x, indices, axis):
    return xp.take(x, indices) if axis is None else xp.take(x, indices, axis=axis)


def _take_x(xp, g, indices, x_shape, axis):
    if axis is None and len(x_shape) != 1:  # flattened, an option of NumPy's
        return xp.reshape(xp._take_adjoint(g, indices, (math.prod(x_shape),), None), x_shape)
    return xp._take_adjoint(g, indices, x_shape, axis)


gather(
    "take",
    "x, indices, /, *, axis=None",
    core="(n),(k*)->(*k)",
    counted="first",
    forward=_take,
    x=_take_x,
    method=True,
    numpy=("take",),
    doc="The elements of x at the integer array `indices` (one-dimensional, in the standard) along `axis`, which may "
    "be None for one-dimensional x. The gradients of repeated indices are summed.",
)
gather(
    "take_along_axis",
    "x, indices, /, *, axis=-1",
    core="(n),(k)->(k)",
    counted="equal",
    x=lambda xp, g, indices, x_shape, axis: xp._take_along_axis_adjoint(g, indices, x_shape, axis),
    numpy=("take_along_axis",),
    doc="The elements of x at the integer array `indices`, of the same rank, along `axis`; the other axes broadcast. "
    "The gradients of repeated indices are summed.",
)
