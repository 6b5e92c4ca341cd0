"""Repairs of forward values where libraries differ from the standard's special cases.

May import: the standard library only. Written with `xp` alone, so that they serve every backend; each leaves the
library's own value wherever it is right. Extra kernels are spent on complex and floating-point division only.
"""

import math

INF = math.inf
NAN = math.nan


def floor_divide(xp, x1, x2):
    """The library's floor_divide, but x1 / x2 where exactly one operand is infinite (libraries give nan or -1)."""
    out = xp.floor_divide(x1, x2)
    if not xp.isdtype(out.dtype, "real floating"):
        return out
    one_infinite = _isinf(xp, x1) != _isinf(xp, x2)
    if isinstance(one_infinite, bool) and not one_infinite:
        return out
    return xp.where(one_infinite, xp.divide(x1, x2), out)


def _isinf(xp, x):
    if isinstance(x, (bool, int, float)):
        return math.isinf(x)
    return xp.isinf(x)


def expm1(xp, x):
    """The library's expm1; complex zeros, infinities and nans follow the standard's table."""
    out = xp.expm1(x)
    if not xp.isdtype(out.dtype, "complex floating"):
        return out
    re, im = xp.real(x), xp.imag(x)
    origin = (re == 0) & (im == 0)
    if not bool(xp.any(origin | ~xp.isfinite(re))):
        return out
    up = re == INF
    turning = ~xp.isfinite(im)
    out = _put(xp, out, (re == -INF) & turning, -1.0, 0.0)
    out = _put(xp, out, up & turning, INF, NAN)
    for zero, negative in ((0.0, False), (-0.0, True)):
        here = (im == 0) & (xp.signbit(im) == negative)
        out = _put(xp, out, here & origin, 0.0, zero)
        out = _put(xp, out, here & up, INF, zero)
        out = _put(xp, out, here & xp.isnan(re), NAN, zero)
    return out


def tanh(xp, x):
    """The library's tanh; complex arguments with an infinite real part follow the standard's table."""
    out = xp.tanh(x)
    if not xp.isdtype(out.dtype, "complex floating"):
        return out
    re, im = xp.real(x), xp.imag(x)
    if not bool(xp.any(xp.isinf(re))):
        return out
    for limit in (INF, -INF):
        for zero, negative in ((0.0, False), (-0.0, True)):
            here = (re == limit) & ~xp.isnan(im) & (xp.signbit(im) == negative)
            out = _put(xp, out, here, math.copysign(1.0, limit), zero)
    return out


def sign(xp, x):
    """The library's sign; that of every complex zero is 0 + 0j, whatever the signs of its parts."""
    out = xp.sign(x)
    return xp.where(x == 0, 0.0, out) if xp.isdtype(out.dtype, "complex floating") else out


def _put(xp, out, where, re, im):
    """`out` with re + im i, as the parts are (infinities, nan, signed zeros), where `where` holds."""
    return xp.where(where, xp.asarray(complex(re, im), dtype=out.dtype, device=getattr(out, "device", None)), out)
