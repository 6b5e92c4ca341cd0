"""Convolutions and correlations of two vectors.

May import: nothing. A library's own `convolve` is used where there is one; for others the windows of the longer vector
are gathered, and their products with the shorter one summed, in the standard's functions alone.
"""


def convolve(xp, x1, x2):
    """sum over j of x1[j] x2[i - j] for i up to n + m - 2."""
    own = getattr(xp, "convolve", None)
    if own is not None:
        return own(x1, x2)
    n, m = x1.shape[0], x2.shape[0]
    if m > n:
        x1, x2, n, m = x2, x1, m, n
    edge = xp.zeros(m - 1, dtype=x1.dtype, device=getattr(x1, "device", None))
    return _over_windows(xp, xp.concat([edge, x1, edge]), xp.flip(x2), n + m - 1)


def correlate(xp, x1, x2):
    """sum over j of x1[i + j] x2[j] for i up to n - m.

    Raises
    ------
    ValueError
        If x2 is longer than x1.
    """
    n, m = x1.shape[0], x2.shape[0]
    if m > n:
        raise ValueError(f"_correlate: x2 has {m} elements, more than x1 with {n}")
    own = getattr(xp, "convolve", None)
    if own is not None:
        return own(x1, xp.flip(x2), mode="valid")
    return _over_windows(xp, x1, x2, n - m + 1)


def _over_windows(xp, x, weights, count):
    """The products of `weights` and of the first `count` windows of x, summed."""
    at = xp.arange(count, device=getattr(x, "device", None))
    windows = xp.stack([xp.take(x, at + k, axis=0) for k in range(weights.shape[0])], axis=1)
    return xp.matmul(windows, weights)
