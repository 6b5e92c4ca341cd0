"""The full convolution of two vectors and its derivative, which is one again.

May import: nothing. A library's own `convolve` is used where there is one; for others the windows of the longer vector
are gathered, and their products with the shorter one summed, in the standard's functions alone.
"""


def forward(xp, x1, x2):
    """sum over j of x1[j] x2[i - j] for i up to n + m - 2."""
    own = getattr(xp, "convolve", None)
    if own is not None:
        return own(x1, x2)
    n, m = x1.shape[0], x2.shape[0]
    if m > n:
        x1, x2, n, m = x2, x1, m, n
    edge = xp.zeros(m - 1, dtype=x1.dtype, device=getattr(x1, "device", None))
    padded = xp.concat([edge, x1, edge])
    count = n + m - 1
    at = xp.arange(count, device=getattr(x1, "device", None))
    windows = xp.stack([xp.take(padded, at + k, axis=0) for k in range(m)], axis=1)
    return xp.matmul(windows, xp.flip(x2))


def rule(xp, g, other, size):
    """The gradient of the operand of `size` elements: g correlated with the other operand."""
    m = other.shape[0]
    if type(g).__module__ in ("numpy", "cupy"):
        # The part that is wanted alone: of a long vector and a short one all of it would cost the longer one's square.
        return xp.convolve(g, xp.flip(other), mode="valid")
    return xp._convolve(g, xp.flip(other))[m - 1 : m - 1 + size]
