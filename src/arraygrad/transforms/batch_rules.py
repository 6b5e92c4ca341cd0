"""Rules for several backward runs at once, of operations that are not elementwise: Note [Batched runs] in batched.pyx.

A rule gets what the table's rule of that parameter gets, by the same names, on NumPy's arrays, which are real. The
gradient `g` of a result of shape s has the shape (n, *s). What the rule returns has the shape (n, *shape), or one that
this broadcasts to: the caller sums.
May import: ops._axes, numpy.
"""

from __future__ import annotations

import math

import numpy as np

from arraygrad.ops._axes import at_axis, normalize_axes

__all__ = ["RULES", "basic_key"]


def basic_key(key) -> bool:
    """Whether a key takes a region: ints, slices, None and Ellipsis, no arrays and no bools."""
    return all(
        part is None or part is Ellipsis or type(part) is slice or type(part) is int
        for part in (key if type(key) is tuple else (key,))
    )


def _behind(key):
    """A basic key for what stands behind the axis in front."""
    return (slice(None), *key) if type(key) is tuple else (slice(None), key)


def _spread(g, x_shape, axis, keepdims):
    """The gradient of a reduction, with axes of length 1 in the place of those that were reduced."""
    if (keepdims and axis is None) or not x_shape:
        return g.reshape((len(g),) + (1,) * len(x_shape))
    if keepdims:
        return g
    axes = normalize_axes(axis, len(x_shape))
    return g.reshape((len(g), *[1 if i in axes else length for i, length in enumerate(x_shape)]))


def _sum(g, x_shape, axis, keepdims):
    return np.broadcast_to(_spread(g, x_shape, axis, keepdims), (len(g), *x_shape))


def _mean(g, x_shape, axis, keepdims):
    axes = normalize_axes(axis, len(x_shape))
    count = math.prod(x_shape[i] for i in axes)
    return np.broadcast_to(_spread(g, x_shape, axis, keepdims) / max(count, 1), (len(g), *x_shape))


def _matmul_x1(g, x2, x1_shape):
    if x2.ndim == 1:
        return g[..., None] * x2
    if len(x1_shape) > 1:
        if x2.ndim == 2:
            return (g.reshape(-1, g.shape[-1]) @ x2.T).reshape(*g.shape[:-1], len(x2))
        return g @ np.swapaxes(x2, -1, -2)
    if x2.ndim == 2:
        return g @ x2.T
    return (x2 @ g[..., None])[..., 0]


def _matmul_x2(g, x1, x2_shape):
    if x1.ndim == 1:
        if len(x2_shape) == 1:
            return g[..., None] * x1
        return x1[:, None] * g[..., None, :]
    if len(x2_shape) > 1:
        return np.swapaxes(x1, -1, -2) @ g
    if x1.ndim == 2:
        return g @ x1
    return (np.swapaxes(x1, -1, -2) @ g[..., None])[..., 0]


def _reshaped(g, x_shape):
    return g.reshape((len(g), *x_shape))


def _permute_dims(g, axes):
    n = g.ndim - 1
    axes = tuple(reversed(range(n))) if axes is None else normalize_axes(tuple(axes), n)
    return np.transpose(g, (0, *[1 + axes.index(i) for i in range(n)]))


def _flip(g, axis):
    return np.flip(g, axis=tuple(1 + i for i in normalize_axes(axis, g.ndim - 1)))


def _getitem_adjoint(g, key):
    return g[_behind(key)]


def _setitem_x(g, key):
    g = g.copy()
    g[_behind(key)] = 0.0
    return g


def _concat(g, arrays_shape, axis):
    if axis is None:
        stops = np.cumsum([math.prod(shape) for shape in arrays_shape])[:-1]
        pieces = np.split(g, stops, axis=1)
        return [piece.reshape((len(g), *shape)) for piece, shape in zip(pieces, arrays_shape, strict=True)]
    axis = normalize_axes(axis, g.ndim - 1)[0]
    return np.split(g, np.cumsum([shape[axis] for shape in arrays_shape])[:-1], axis=1 + axis)


def _stack(g, axis):
    axis = normalize_axes(axis, g.ndim - 1)[0]
    return [g[at_axis(1 + axis, i)] for i in range(g.shape[1 + axis])]


def _same(g):
    return g


RULES = {
    ("sum", "x"): _sum,
    ("mean", "x"): _mean,
    ("matmul", "x1"): _matmul_x1,
    ("matmul", "x2"): _matmul_x2,
    ("matrix_transpose", "x"): lambda g: np.swapaxes(g, -1, -2),
    ("permute_dims", "x"): _permute_dims,
    ("reshape", "x"): _reshaped,
    ("expand_dims", "x"): _reshaped,
    ("squeeze", "x"): _reshaped,
    ("flip", "x"): _flip,
    ("broadcast_to", "x"): _same,
    ("astype", "x"): _same,
    ("_identity", "x"): _same,
    ("_copy", "x"): _same,
    # The region of the waiting gradient that g is added to.
    ("_getitem", "x"): lambda g, x_shape, key: _behind(key),
    ("_getitem_adjoint", "x"): _getitem_adjoint,
    ("_setitem", "x"): _setitem_x,
    ("_setitem", "value"): _getitem_adjoint,
    ("where", "x1"): lambda g, condition: np.where(condition, g, 0.0),
    ("where", "x2"): lambda g, condition: np.where(condition, 0.0, g),
    ("concat", "arrays"): _concat,
    ("stack", "arrays"): _stack,
}
