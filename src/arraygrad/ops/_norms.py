"""Rules of vector and matrix norms.

May import: ops._axes, ops._factorizations, ops._helpers. Everything uses only the standard. Where a norm is zero or an
element is, divisors are replaced before dividing: rules are differentiated again, and a nan masked afterwards would
come back.
"""

import math

from arraygrad.ops._axes import count, expand_reduced
from arraygrad.ops._factorizations import decomposed
from arraygrad.ops._helpers import at_kinks, over_nonzero


def vector_norm(xp, g, x, ans, axis, keepdims, ord):
    """g sign(x) (abs(x) / ans)^(ord - 1), so g x / ans for order 2; zero for elements that are zero.

    For order inf and -inf g sign(x), shared among the elements of extreme size.
    """
    if ord == 0:
        return xp.zeros_like(x)

    def spread(a):
        return expand_reduced(xp, a, x.shape, axis, keepdims)

    ordinary = _vector_norm(xp, spread(g), x, spread(ans), axis, ord)
    if ord is None or ord == 2:
        return at_kinks(xp, ordinary, g, x, ans, spread)
    alone = count(x.shape, axis) == 1  # then every norm is the size
    straight = ord == 1 or math.isinf(ord) or alone
    return at_kinks(xp, ordinary, g, x, ans, spread, square=alone, straight=straight)


def _vector_norm(xp, g, x, ans, axis, ord):
    if ord == 1:
        return g * xp.sign(x)
    if ord is None or ord == 2:
        return over_nonzero(xp, g, ans) * x
    size = xp.abs(x)
    if math.isinf(ord):
        return _shared(xp, g, size == ans, axis) * xp.sign(x)
    at_zero = size == 0
    # Of negative order the norm is zero beside any zero, whatever the other elements are: they get zero too.
    flat = at_zero | (ans == 0)
    ratio = xp.where(flat, 1.0, size) / xp.where(ans == 0, 1.0, ans)
    return g * xp.where(flat, 0.0, ratio ** (ord - 1)) * xp.sign(x)


def matrix_norm(xp, g, x, ans, keepdims, ord):
    """g x / ans for 'fro', g U V^H for 'nuc', g u v^H of the extreme singular values for 2 and -2.

    For 1, -1, inf and -inf g sign(x) in the columns or rows with the extreme sum.
    """
    if ord is None or ord == "fro":
        return vector_norm(xp, g, x, ans, (x.ndim - 2, x.ndim - 1), keepdims, 2)

    def spread(a):
        return a if keepdims else a[..., None, None]

    alone = x.shape[-2:] == (1, 1)  # then every norm is the size
    ordinary = _matrix_norm(xp, spread(g), x, ord)
    if ord in ("nuc", 2, -2) and not alone:
        return ordinary
    return at_kinks(xp, ordinary, g, x, ans, spread, square=alone, straight=True)


def _matrix_norm(xp, g, x, ord):
    if 0 in x.shape[-2:]:
        return g * x
    if ord in ("nuc", 2, -2):
        u, s, vh = decomposed(xp, x)
        if ord == "nuc":
            return g * xp.matmul(u, vh)
        extreme = xp.max(s, axis=-1, keepdims=True) if ord == 2 else xp.min(s, axis=-1, keepdims=True)
        weights = _shared(xp, g[..., 0], s == extreme, -1)
        return xp.matmul(u * weights[..., None, :], vh)
    summed, other = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = xp.sum(xp.abs(x), axis=summed, keepdims=True)
    pick = xp.max if ord > 0 else xp.min
    return _shared(xp, g, sums == pick(sums, axis=other, keepdims=True), other) * xp.sign(x)


def _shared(xp, g, hit, axis):
    """g divided evenly among the elements where `hit` holds along `axis`."""
    hit = xp.astype(hit, g.dtype)
    return hit * (g / xp.sum(hit, axis=axis, keepdims=True))
