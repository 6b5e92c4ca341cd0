"""Manipulation functions.

May import: ops.kinds, ops._axes, ops._helpers. Rules use only the standard and the table's internal operations.
"""

import math

from arraygrad.ops._axes import at_axis, from_start, normalize_axes
from arraygrad.ops._helpers import device_of, normalize_shape
from arraygrad.ops.kinds import gather, join, query, view

# -- shape only -------------------------------------------------------------------------------------------------------


def _reshape(xp, x, shape, copy):
    return xp.reshape(x, shape) if copy is None else xp.reshape(x, shape, copy=copy)


view(
    "reshape",
    "x, /, shape, *, copy=None",
    core="(n*)->(*reshaped(n, shape))",
    forward=_reshape,
    x=lambda xp, g, x_shape: xp.reshape(g, x_shape),
    may_view=True,
    numpy=("reshape",),
    doc="x in row-major order with another shape; one entry may be -1. A view where the library can make one, unless "
    "copy=True.",
)
view(
    "expand_dims",
    "x, /, axis",
    core="(n*)->(*expanded(n, axis))",
    counted="result",
    x=lambda xp, g, x_shape: xp.reshape(g, x_shape),
    may_view=True,
    numpy=("expand_dims",),
    doc="x with an axis of length one inserted at `axis` (an int or a tuple) of the result.",
)
view(
    "squeeze",
    "x, /, axis",
    core="(n*)->(*squeezed(n, axis))",
    x=lambda xp, g, x_shape: xp.reshape(g, x_shape),
    may_view=True,
    numpy=("squeeze",),
    doc="x without the axes of length one named by `axis` (an int or a tuple).",
)


def _permute_dims(xp, g, axes):
    if axes is None:  # NumPy's default: all axes reversed
        return xp.permute_dims(g, tuple(reversed(range(g.ndim))))
    axes = normalize_axes(tuple(axes), len(axes))
    return xp.permute_dims(g, tuple(sorted(range(len(axes)), key=axes.__getitem__)))


view(
    "permute_dims",
    "x, /, axes",
    core="(n*)->(*permuted(n, axes))",
    x=_permute_dims,
    may_view=True,
    numpy=("permute_dims",),
    doc="x with its axes in the order `axes`.",
)
view(
    "moveaxis",
    "x, source, destination, /",
    core="(n*)->(*moved(n, source, destination))",
    x=lambda xp, g, source, destination: xp.moveaxis(g, destination, source),
    may_view=True,
    numpy=("moveaxis",),
    doc="x with the axes `source` (an int or a tuple) moved to the positions `destination`.",
)
view(
    "flip",
    "x, /, *, axis=None",
    core="(n*)->(*n)",
    x=lambda xp, g, axis: xp.flip(g, axis=axis),
    may_view=True,
    numpy=("flip",),
    doc="x with the order of its elements reversed along `axis` (None: all, an int or a tuple).",
)


def _roll(xp, g, shift, axis):
    # Python's integers: libraries have no negative of a boolean, and that of an unsigned integer wraps.
    return xp.roll(g, _back(shift), axis=axis)


def _back(shift):
    if isinstance(shift, (tuple, list)):
        return tuple([_back(one) for one in shift])
    if getattr(shift, "ndim", 0):
        return tuple([_back(one) for one in shift.tolist()])
    return -int(shift)


gather(
    "roll",
    "x, /, shift, *, axis=None",
    core="(n*)->(*n)",
    x=_roll,
    makes_arrays=True,
    numpy=("roll",),
    doc="x shifted cyclically by `shift` along `axis` (ints or tuples; None: the flattened array).",
)

# -- repetition -------------------------------------------------------------------------------------------------------

view(
    "broadcast_to",
    "x, /, shape",
    core="(n*)->(*sized(shape))",
    x=lambda g: g,
    may_view=True,
    numpy=("broadcast_to",),
    doc="x broadcast to `shape`. The gradient is summed over the broadcast axes.",
)
view(
    "broadcast_arrays",
    "*arrays",
    core="[()]->[()]",
    arrays=lambda g: list(g),
    may_view=True,
    results=("*",),
    sequence="arrays",
    makes_arrays=True,
    numpy=("broadcast_arrays",),
    doc="The arrays broadcast to their common shape: a tuple. Gradients are summed over the broadcast axes.",
)
query("broadcast_shapes", "*shapes", numpy=("broadcast_shapes",), doc="The shape to which shapes broadcast: a tuple.")


def _repeat(xp, g, x_shape, repeats, axis):
    if axis is None or not x_shape:  # NumPy repeats an array of no dimension as one of one
        axis, shape = 0, (math.prod(x_shape),)
    else:
        axis, shape = from_start(axis, len(x_shape)), x_shape
    n = shape[axis]
    if hasattr(repeats, "__index__") and not hasattr(repeats, "ndim"):
        repeats = int(repeats)
        parts = xp.reshape(g, shape[:axis] + (n, repeats) + shape[axis + 1 :])
        return xp.reshape(xp.sum(parts, axis=axis + 1), x_shape)
    sources = xp.repeat(xp.arange(n, device=device_of(repeats)), repeats)
    return xp.reshape(xp._take_adjoint(g, sources, shape, axis), x_shape)


gather(
    "repeat",
    "x, repeats, /, *, axis=None",
    core="(n)->(repeated(n, repeats))",
    x=_repeat,
    numpy=("repeat",),
    doc="Each element of x `repeats` times (an int, or an integer array with a number for each) along `axis` (None: "
    "the flattened array). The gradient is summed over the copies.",
)


def _tile(xp, g, x_shape, repetitions):
    repetitions = normalize_shape(repetitions)
    ndim = max(len(x_shape), len(repetitions))
    lengths = (1,) * (ndim - len(x_shape)) + tuple(x_shape)
    repetitions = (1,) * (ndim - len(repetitions)) + tuple(repetitions)
    pairs = tuple(n for pair in zip(repetitions, lengths, strict=True) for n in pair)
    parts = xp.sum(xp.reshape(g, pairs), axis=tuple(range(0, 2 * ndim, 2)))
    return xp.reshape(parts, x_shape)


gather(
    "tile",
    "x, repetitions, /",
    core="(n*)->(*tiled(n, repetitions))",
    x=_tile,
    numpy=("tile",),
    doc="x repeated as a whole `repetitions` times along each axis (a tuple of ints; missing axes are put in front). "
    "The gradient is summed over the copies.",
)

# -- joining and splitting --------------------------------------------------------------------------------------------


def _concat(xp, g, arrays_shape, axis):
    pieces = []
    start = 0
    if axis is None:
        for shape in arrays_shape:
            stop = start + math.prod(shape)
            pieces.append(xp.reshape(g[start:stop], shape))
            start = stop
        return pieces
    axis = from_start(axis, g.ndim)
    for shape in arrays_shape:
        stop = start + shape[axis]
        pieces.append(g[at_axis(axis, slice(start, stop))])
        start = stop
    return pieces


join(
    "concat",
    "arrays, /, *, axis=0",
    core="[(n)]->(sum(n))",
    counted="equal",
    arrays=_concat,
    sequence="arrays",
    numpy=("concatenate", "concat"),
    doc="A sequence of arrays joined along an existing `axis` (None: flattened first).",
)
join(
    "stack",
    "arrays, /, *, axis=0",
    core="[()]->(len(arrays))",
    counted="result",
    arrays=lambda xp, g, axis: list(xp.unstack(g, axis=axis)),
    sequence="arrays",
    numpy=("stack",),
    doc="A sequence of arrays of one shape joined along a new `axis` of the result.",
)


def _unstack(xp, g, axis):
    known = next(piece for piece in g if piece is not None)
    return xp.stack([xp.zeros_like(known) if piece is None else piece for piece in g], axis=axis)


view(
    "unstack",
    "x, /, *, axis=0",
    core="(n)->[()]",
    x=_unstack,
    may_view=True,
    results=("*",),
    numpy=("unstack",),
    doc="The sub-arrays of x along `axis`, as a tuple: the inverse of `stack`.",
)
