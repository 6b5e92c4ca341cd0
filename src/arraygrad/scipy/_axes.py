"""How axes are counted where a function takes several arrays: each way stands here once, under its own name.

May import: arraygrad, ops._axes, scipy._guards, numpy.

A rule of a function along an axis begins with one of these. It gets its arrays with the axis at the end, so that
nothing in it counts axes again:

- `own`: each array counts by its own number of axes; what is left broadcasts.
- `joint`: the arrays are broadcast first, and the axis is counted in the result.
- `ones`: SciPy's samples. Axes of length one are put in front up to the largest number, then the axis is counted. It
  does not broadcast unless the samples are paired.
- `places`: the axis is counted in one array (the first one, or arrays of equally many axes, or the result).
"""

import math

import numpy as np

import arraygrad as ag
from arraygrad.ops._axes import along, check_axes, normalize_axes
from arraygrad.scipy._guards import raw

__all__ = ["back", "joint", "kept", "ndim_of", "ones", "own", "places", "shape_of", "vector_along"]


def shape_of(a):
    return tuple(np.shape(raw(a)))


def ndim_of(a):
    return len(shape_of(a))


def places(axis, ndim):
    """The axes as a tuple of numbers from zero on; all of them for None. IndexError for one that is out of bounds."""
    check_axes("axis", axis, ndim)
    return normalize_axes(axis, ndim)


def own(axis, *arrays):
    """Tensors with the axis, counted by the number of axes of each, at the end."""
    return [ag.moveaxis(ag.asarray(a), axis, -1) for a in arrays]


def joint(axis, *arrays):
    """The arrays broadcast to one shape, with the axis at the end."""
    return own(axis, *ag.broadcast_arrays(*[ag.asarray(a) for a in arrays]))


def ones(axis, samples, paired=False):
    """Samples along one last axis; the others are broadcast.

    Parameters
    ----------
    axis : int, tuple of int or None
        Several axes become one. For None all of them do, those of each sample for itself.
    samples : sequence of array
    paired : bool
        Whether the axis itself is broadcast as well.

    Returns
    -------
    list of Tensor
    """
    samples = [ag.asarray(a) for a in samples]
    if axis is None:
        return [ag.reshape(a, (-1,)) for a in samples]
    ndim = max(1, *[a.ndim for a in samples])
    shapes = [(1,) * (ndim - a.ndim) + shape_of(a) for a in samples]
    core = places(axis, ndim)
    rest = [i for i in range(ndim) if i not in core]
    outer = np.broadcast_shapes(*[tuple([shape[i] for i in rest]) for shape in shapes])
    inner = [tuple([shape[i] for i in core]) for shape in shapes]
    if paired:
        inner = [np.broadcast_shapes(*inner)] * len(inner)
    found = []
    for a, shape, lengths in zip(samples, shapes, inner, strict=True):
        if a.shape != shape:
            a = ag.reshape(a, shape)
        if core != (ndim - 1,):
            a = ag.permute_dims(a, (*rest, *core))
        if a.shape != (*outer, *lengths):
            a = ag.broadcast_to(a, (*outer, *lengths))
        found.append(a if len(core) == 1 else ag.reshape(a, (*outer, math.prod(lengths))))
    return found


def back(found, axis):
    """The last axis of a result at the place that it was taken from."""
    return ag.moveaxis(found, -1, axis)


def kept(found, axis, ndim):
    """A result without the axes, with axes of length one in their places: `keepdims`."""
    return ag.expand_dims(ag.asarray(found), axis=places(axis, ndim))


def vector_along(a, axis, ndim):
    """A vector with axes of length one around the axis that it belongs to."""
    return ag.reshape(ag.asarray(a), along(-1, axis, ndim))
