"""Scans that rules need: products of all other elements, and first-order recurrences.

May import: the standard library only. Everything runs along the last axis, with the standard's functions alone.
"""


def exclusive_products(xp, a):
    """For each element along the last axis the product of all the others, without dividing.

    Where some of the others are zero it is zero, whatever overflows on the way. A recorded product is nan then: its
    derivatives are the products that overflow.
    """
    left = xp.cumulative_prod(a, axis=-1, include_initial=True)[..., :-1]
    right = xp.flip(xp.cumulative_prod(xp.flip(a, axis=-1), axis=-1, include_initial=True)[..., :-1], axis=-1)
    if getattr(xp, "_at_kinks", None) is not None:
        return left * right
    zeros = xp.astype(a == 0, xp.int64)
    of_others = xp.sum(zeros, axis=-1, keepdims=True) - zeros > 0
    overflown = ~xp.isfinite(left) | ~xp.isfinite(right)
    clear = of_others & overflown & xp.all(xp.isfinite(a), axis=-1, keepdims=True)
    return xp.where(clear, 0.0, left) * xp.where(clear, 1.0, right)


def reversed_recurrence(xp, x, g):
    """s with s[i] = g[i] + x[i + 1] * s[i + 1] along the last axis.

    Doubling (Hillis and Steele 1986): after step k, s[i] covers the 2 ** k terms from i on, and `reach` the product of
    x over them. log2(n) steps of whole-array operations, each differentiable.
    """
    n = x.shape[-1]
    if n == 0:
        return g
    total = g
    reach = xp.concat([x[..., 1:], xp.zeros_like(x[..., :1])], axis=-1)
    step = 1
    while step < n:
        ahead = xp.zeros_like(g[..., :step])
        total = total + reach * xp.concat([total[..., step:], ahead], axis=-1)
        reach = reach * xp.concat([reach[..., step:], xp.zeros_like(x[..., :step])], axis=-1)
        step *= 2
    return total
