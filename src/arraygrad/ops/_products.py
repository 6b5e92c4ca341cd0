"""Rules of the products of linear algebra. They are bilinear, and written without conjugation.

May import: ops._helpers, ops._axes. Everything uses only the standard. Sums over broadcast batch axes are left to the
engine.
"""

import operator

from arraygrad.ops._axes import check_axes, from_end, normalize_axes


def matmul_x1(xp, g, x2, x1_shape):
    """g x2^T, for x1 of shape (..., m, k) or (..., k)."""
    if x2.ndim == 1:
        return xp.expand_dims(g, axis=-1) * x2
    if len(x1_shape) == 1:
        return xp.matmul(x2, xp.expand_dims(g, axis=-1))[..., 0]
    return xp.matmul(g, xp.matrix_transpose(x2))


def matmul_x2(xp, g, x1, x2_shape):
    """x1^T g, for x2 of shape (..., k, n) or (..., k)."""
    if len(x2_shape) == 1:
        if x1.ndim == 1:
            return g * x1
        return xp.matmul(xp.matrix_transpose(x1), xp.expand_dims(g, axis=-1))[..., 0]
    if x1.ndim == 1:
        return xp.expand_dims(x1, axis=-1) * xp.expand_dims(g, axis=-2)
    return xp.matmul(xp.matrix_transpose(x1), g)


def tensordot(xp, x1, x2, axes):
    """The library's tensordot. IndexError for axes that do not exist, ValueError for lengths that differ, with both."""
    if isinstance(axes, (tuple, list)):
        pairs = [tuple(part) if isinstance(part, (tuple, list)) else (part,) for part in axes]
        for part, x in zip(pairs, (x1, x2), strict=True):
            check_axes("tensordot", part, x.ndim)
    else:
        axes = max(operator.index(axes), 0)  # a product of all with all below 1, as in NumPy
        if axes > min(x1.ndim, x2.ndim):
            raise IndexError(f"tensordot: axes={axes}, but x1 has {x1.ndim} dimensions and x2 {x2.ndim}")
        pairs = [range(x1.ndim - axes, x1.ndim), range(axes)]
    lengths = [tuple([x.shape[a] for a in part]) for part, x in zip(pairs, (x1, x2), strict=True)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"tensordot: axes={axes} pairs lengths {lengths[0]} of x1 with {lengths[1]} of x2")
    return xp.tensordot(x1, x2, axes=axes)


def cross(xp, x1, x2, axis):
    """The library's cross product. IndexError for an axis that one of the arrays does not have."""
    check_axes("cross", axis, min(x1.ndim, x2.ndim))
    return xp.linalg.cross(x1, x2, axis=axis)


def cross_rule(xp, g, other, ndim, axis, other_first):
    """The gradient of an operand of a cross product, of `ndim` dimensions: a cross product of `g` and the other."""
    own, at, of_g = from_end(axis, ndim), from_end(axis, other.ndim), from_end(axis, g.ndim)
    if own == at == of_g:
        return xp.linalg.cross(other, g, axis=own) if other_first else xp.linalg.cross(g, other, axis=own)
    g, other = _last(xp, g, of_g), _last(xp, other, at)
    return _to(xp, xp.linalg.cross(other, g) if other_first else xp.linalg.cross(g, other), own)


def vecdot_rule(xp, g, other, ndim, axis):
    """The gradient of an operand of a vecdot, of `ndim` dimensions: the other one for each element of `g`."""
    own, at = from_end(axis, ndim), from_end(axis, other.ndim)
    return _to(xp, xp.expand_dims(g, axis=-1) * _last(xp, other, at), own)


def _last(xp, x, axis):
    """`x` with its core axis at the end, where broadcasting with arrays of other numbers of dimensions leaves it."""
    return x if axis == -1 else xp.moveaxis(x, axis, -1)


def _to(xp, x, axis):
    """`x` with its last axis at `axis`, counted from the end."""
    return x if axis == -1 else xp.moveaxis(x, -1, axis)


def split_axes(axes, ndim1, ndim2):
    """Contracted and free axes of both arrays: (contracted1, free1, contracted2, free2)."""
    if not isinstance(axes, (tuple, list)):
        axes = max(operator.index(axes), 0)
        contracted1 = tuple(range(ndim1 - axes, ndim1))
        contracted2 = tuple(range(axes))
    else:
        contracted1 = normalize_axes(axes[0], ndim1)
        contracted2 = normalize_axes(axes[1], ndim2)
    free1 = tuple(i for i in range(ndim1) if i not in contracted1)
    free2 = tuple(i for i in range(ndim2) if i not in contracted2)
    return contracted1, free1, contracted2, free2


def _back_in_place(xp, a, axes):
    """`a`, whose axes are those of an array in the order `axes`, with them in the array's own order."""
    return xp.permute_dims(a, tuple(axes.index(i) for i in range(len(axes))))


def tensordot_x1(xp, g, x2, x1_shape, axes):
    """g with the free axes of x2 contracted, its axes back in the order of x1."""
    contracted1, free1, contracted2, free2 = split_axes(axes, len(x1_shape), x2.ndim)
    out = xp.tensordot(g, x2, axes=(tuple(range(len(free1), g.ndim)), free2))
    # the axes of x2 that remain are in the order of x2: those of x1 they were paired with
    remaining = sorted(range(len(contracted2)), key=contracted2.__getitem__)
    return _back_in_place(xp, out, free1 + tuple(contracted1[i] for i in remaining))


def tensordot_x2(xp, g, x1, x2_shape, axes):
    """g with the free axes of x1 contracted, its axes back in the order of x2."""
    contracted1, free1, contracted2, free2 = split_axes(axes, x1.ndim, len(x2_shape))
    out = xp.tensordot(x1, g, axes=(free1, tuple(range(len(free1)))))
    remaining = sorted(range(len(contracted1)), key=contracted1.__getitem__)
    return _back_in_place(xp, out, tuple(contracted2[i] for i in remaining) + free2)


def inner(xp, x1, x2):
    """The library's inner, where there is one."""
    own = getattr(xp, "inner", None)
    return own(x1, x2) if own is not None else xp.tensordot(x1, x2, axes=((x1.ndim - 1,), (x2.ndim - 1,)))


def inner_rule(xp, g, other, free, first):
    """g with those of its axes contracted that the `free` ones of the other array became, from its axis `first` on."""
    if not free:
        return xp.expand_dims(g, axis=-1) * other
    first = first % g.ndim
    return xp.tensordot(g, other, axes=(tuple(range(first, first + len(free))), free))


def matvec(xp, x1, x2):
    """The library's matvec, where there is one."""
    own = getattr(xp, "matvec", None)
    return own(x1, x2) if own is not None else xp.matmul(x1, x2[..., None])[..., 0]


def vecmat(xp, x1, x2):
    """The library's vecmat, where there is one."""
    own = getattr(xp, "vecmat", None)
    return own(x1, x2) if own is not None else xp.matmul(xp.conj(x1)[..., None, :], x2)[..., 0, :]
