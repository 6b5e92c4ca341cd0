"""Windows that slide along axes of an array, and the adjoint: each element's gradients summed over its windows.

May import: ops._helpers.
"""

import math

from arraygrad.ops._helpers import device_of, normalize_axes


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
    axes = [normalize_axes(axis, len(shape))[0] for axis in axes]
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
