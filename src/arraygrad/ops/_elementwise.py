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
    """The library's expm1; complex arguments with an infinite or nan part follow the standard's table."""
    return xp.expm1(x)


def tanh(xp, x):
    """The library's tanh; complex arguments with an infinite real part follow the standard's table."""
    return xp.tanh(x)
