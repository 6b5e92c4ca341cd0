"""Rules of vector and matrix norms.

May import: ops._helpers. Everything uses only the standard. Where a norm is zero or an element is, divisors are
replaced before dividing: rules are differentiated again, and a nan masked afterwards would come back.
"""

import math

from arraygrad.ops._helpers import expand_reduced


def vector_norm(xp, g, x, ans, axis, keepdims, ord):
    """g sign(x) (abs(x) / ans)^(ord - 1), so g x / ans for order 2; zero for elements that are zero.

    For order inf and -inf g sign(x), shared among the elements of extreme size.
    """
    g = expand_reduced(xp, g, x.shape, axis, keepdims)
    ans = expand_reduced(xp, ans, x.shape, axis, keepdims)
    if ord == 0:
        return xp.zeros_like(x)
    if ord == 1:
        return g * xp.sign(x)
    if ord is None or ord == 2:
        return _over(xp, g, ans) * x
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
    if not keepdims:
        g = g[..., None, None]
        ans = ans[..., None, None]
    if ord is None or ord == "fro":
        return _over(xp, g, ans) * x
    if 0 in x.shape[-2:]:
        return g * x
    if ord in ("nuc", 2, -2):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        if ord == "nuc":
            return g * xp.matmul(u, vh)
        extreme = xp.max(s, axis=-1, keepdims=True) if ord == 2 else xp.min(s, axis=-1, keepdims=True)
        weights = _shared(xp, g[..., 0], s == extreme, -1)
        return xp.matmul(u * weights[..., None, :], vh)
    summed, other = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = xp.sum(xp.abs(x), axis=summed, keepdims=True)
    pick = xp.max if ord > 0 else xp.min
    return _shared(xp, g, sums == pick(sums, axis=other, keepdims=True), other) * xp.sign(x)


def _over(xp, g, ans):
    """g / ans, zero where ans is."""
    at_zero = ans == 0
    return xp.where(at_zero, 0.0, g / xp.where(at_zero, 1.0, ans))


def _shared(xp, g, hit, axis):
    """g divided evenly among the elements where `hit` holds along `axis`."""
    hit = xp.astype(hit, g.dtype)
    return hit * (g / xp.sum(hit, axis=axis, keepdims=True))
