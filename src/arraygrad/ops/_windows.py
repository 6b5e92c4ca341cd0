"""Windows that slide along axes of an array, and the adjoint: each element's gradients summed over its windows.

May import: ops._axes, ops._helpers. Also views by strides, of which windows are a case.
"""

import functools
import math

from arraygrad.ops._axes import from_start
from arraygrad.ops._helpers import device_of


def windows(xp, x, lengths, axes):
    """Windows of `lengths` along `axes`, as the last axes: NumPy's view of its own arrays, otherwise gathered."""
    if type(x).__module__ == "numpy":
        return xp.lib.stride_tricks.sliding_window_view(x, lengths, axes)
    positions = _positions(xp, x.shape, lengths, axes, x)
    found = xp.take(xp.reshape(x, (-1,)), xp.reshape(positions, (-1,)), axis=0)
    return xp.reshape(found, positions.shape)


def summed(xp, g, shape, lengths, axes):
    """The gradient of the array of `shape`, of which `g` is that of the windows."""
    positions = _positions(xp, shape, lengths, axes, g)
    flat = xp._take_adjoint(xp.reshape(g, (-1,)), xp.reshape(positions, (-1,)), (math.prod(shape),), 0)
    return xp.reshape(flat, shape)


def _positions(xp, shape, lengths, axes, like):
    """Where the elements of the windows stand in the array, flattened."""
    axes = [from_start(axis, len(shape)) for axis in axes]
    steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    counts = list(shape)
    for axis, length in zip(axes, lengths, strict=True):
        counts[axis] -= length - 1
    counts, steps = (*counts, *lengths), (*steps, *[steps[axis] for axis in axes])
    positions = xp.zeros((1,) * len(counts), dtype=xp.int64, device=device_of(like))
    for i, (count, step) in enumerate(zip(counts, steps, strict=True)):
        along = xp.arange(count, dtype=xp.int64, device=device_of(like)) * step
        positions = positions + xp.reshape(along, tuple([-1 if i == j else 1 for j in range(len(counts))]))
    return positions


def strided(xp, x, shape, strides, own):
    """numpy.lib.stride_tricks.as_strided, read-only. `own`: the strides of the array that `strides` is meant for."""
    if type(x).__module__ == "numpy" and x.strides == own:
        return xp.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
    flat = _flat_places(xp, x, tuple(x.shape), own, shape, strides)
    return xp.reshape(xp.take(xp.reshape(x, (-1,)), flat, axis=0), shape)


def strided_adjoint(xp, g, x_shape, shape, strides, own):
    """The gradient of the array: each element's gradients summed over the places that show it."""
    positions = _flat_places(xp, g, x_shape, own, shape, strides)
    return xp.reshape(xp._take_adjoint(xp.reshape(g, (-1,)), positions, (math.prod(x_shape),), 0), x_shape)


def _flat_places(xp, like, x_shape, own, shape, strides):
    found = places(x_shape, own, shape, strides).reshape(-1)
    of_numpy = type(getattr(like, "array", like)).__module__ == "numpy"
    return xp.asarray(found.copy() if of_numpy else found.tolist(), dtype=xp.int64, device=device_of(like))


@functools.lru_cache(maxsize=32)
def places(x_shape, own, shape, strides):
    """Which elements of an array of `x_shape`, laid out by `own`, a view by `shape` and `strides` shows, flattened.

    Raises
    ------
    ValueError
        If it shows memory that is none of the array's elements.
    """
    import numpy

    offsets = _offsets(numpy, x_shape, own).reshape(-1)
    order = numpy.argsort(offsets, kind="stable")
    wanted = _offsets(numpy, shape, strides)
    at = numpy.searchsorted(offsets, wanted, sorter=order)
    found = numpy.asarray(order[numpy.minimum(at, max(offsets.size - 1, 0))] if offsets.size else wanted)
    if wanted.size and (not offsets.size or not numpy.array_equal(offsets[found], wanted)):
        raise ValueError(
            f"as_strided: shape {shape} with strides {strides} shows memory that is none of the elements of the array "
            f"of shape {x_shape} with strides {own}: no gradient could go there. Take the array that has all of them"
        )
    found.flags.writeable = False
    return found


def _offsets(numpy, shape, strides):
    offsets = numpy.zeros((1,) * len(shape), dtype=numpy.int64)
    for axis, (count, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = numpy.arange(count, dtype=numpy.int64) * stride
        offsets = offsets + steps.reshape([-1 if axis == i else 1 for i in range(len(shape))])
    return offsets
