"""Special functions in terms of others, for libraries that lack them. Written over the namespace alone.

May import: ops._series. `xp.special.NAME`, `xp.erf` and `xp.gammaln` are the functions that the libraries have.

Sources: DLMF, the NIST Digital Library of Mathematical Functions, by equation number.
"""

import math

from arraygrad.ops._series import bessel_series, erfcx_tail

# name -> function(xp, *arrays)
FALLBACKS: dict = {}


def _fallback(function):
    FALLBACKS[function.__name__.lstrip("_")] = function
    return function


# -- logistic function, logarithms and entropies: these need no library at all -----------------------------------------


@_fallback
def _expit(xp, x):
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, e) / (1.0 + e)


@_fallback
def _log_expit(xp, x):
    return xp.where(x < 0, x, 0.0 * x) - xp.log1p(xp.exp(-xp.abs(x)))


@_fallback
def _logit(xp, x):
    # Around 1/2, where the two logarithms would cancel, log(x / (1 - x)) = 2 atanh(2 x - 1).
    middle = xp.abs(x - 0.5) < 0.25
    inside = xp.where(middle, x, 0.5)
    outside = xp.where(middle, 0.25, x)
    return xp.where(middle, 2.0 * xp.atanh(2.0 * inside - 1.0), xp.log(outside) - xp.log1p(-outside))


@_fallback
def _xlogy(xp, x, y):
    return _product(xp, x, y, xp.log)


@_fallback
def _xlog1py(xp, x, y):
    return _product(xp, x, y, xp.log1p)


def _product(xp, x, y, log):
    """x log(y), zero where x is and y is a number."""
    skip = (x == 0) & (y == y)
    return xp.where(skip, 0.0, x * log(xp.where(skip, 1.0, y)))


@_fallback
def _entr(xp, x):
    inside = x > 0
    value = -x * xp.log(xp.where(inside, x, xp.ones_like(x)))
    return xp.where(inside | (x != x), value, xp.where(x == 0, 0.0, -math.inf))


@_fallback
def _rel_entr(xp, x, y):
    inside = (x > 0) & (y > 0)
    value = x * log_ratio(xp, xp.where(inside, x, xp.ones_like(x)), xp.where(inside, y, xp.ones_like(y)))
    defined = inside | ((x != x) | (y != y))
    return xp.where(defined, value + 0.0 * y, xp.where((x == 0) & (y >= 0), 0.0, math.inf))


@_fallback
def _kl_div(xp, x, y):
    return _rel_entr(xp, x, y) - x + y


def log_ratio(xp, x, y):
    """log(x / y) of positive x and y, accurate where they are near each other and without overflow of the ratio."""
    near = (x < 2.0 * y) & (y < 2.0 * x)
    one = xp.ones_like(x)
    difference = xp.where(near, (x - y) / xp.where(near, y, one), 0.0)
    return xp.where(near, xp.log1p(difference), xp.log(x) - xp.log(y))


@_fallback
def _sinc(xp, x):
    y = math.pi * x
    at_zero = y == 0
    away = xp.where(at_zero, 1.0, y)
    return xp.where(at_zero, 1.0, xp.sin(away) / away)  # as NumPy computes it


# -- gamma family ------------------------------------------------------------------------------------------------------


@_fallback
def _gamma(xp, x):
    negative = (x < 0) & (xp.floor(x) % 2 != 0)
    value = xp.exp(xp.gammaln(x))
    value = xp.where(negative, -value, value)
    return xp.where((x < 0) & (x == xp.floor(x)), math.nan, value)  # DLMF 5.2.1: the poles have no sign


@_fallback
def _loggamma(xp, x):
    return xp.where(x >= 0, xp.gammaln(x), math.nan)


@_fallback
def _rgamma(xp, x):
    pole = (x <= 0) & (x == xp.floor(x))
    return xp.where(pole, 0.0, 1.0 / xp.special.gamma(xp.where(pole, 1.0, x)))


@_fallback
def _polygamma(xp, n, x):  # DLMF 25.11.12
    if n == 0:
        return xp.special.digamma(x)
    return (-1.0) ** (n + 1) * math.factorial(n) * xp.special.zeta(n + 1.0, x)


@_fallback
def _beta(xp, a, b):
    return xp.exp(xp.special.betaln(a, b))


@_fallback
def _betaln(xp, a, b):  # DLMF 5.12.1
    return xp.gammaln(a) + xp.gammaln(b) - xp.gammaln(a + b)


# -- error functions ---------------------------------------------------------------------------------------------------


@_fallback
def _erfcx(xp, x):
    # exp(x^2) loses x^2 units in the last place, so it serves up to 3.
    far = x > 3.0
    near = xp.where(far, 0.0, x)
    return xp.where(far, erfcx_tail(xp.where(far, x, 3.0)), xp.exp(near * near) * xp.special.erfc(near))


@_fallback
def _erfcinv(xp, x):
    return -xp.special.ndtri(0.5 * x) / math.sqrt(2.0)


@_fallback
def _ndtr(xp, x):
    return 0.5 * xp.special.erfc(-x / math.sqrt(2.0))


@_fallback
def _log_ndtr(xp, x):
    low = xp.where(x < -1.0, x, -1.0)
    high = xp.where(x < -1.0, 0.0, x)
    tail = xp.log(0.5 * xp.special.erfcx(-low / math.sqrt(2.0))) - 0.5 * low * low
    return xp.where(x < -1.0, tail, xp.log1p(-0.5 * xp.special.erfc(high / math.sqrt(2.0))))


# -- Bessel functions of an integer order, from those of order zero and one --------------------------------------------


@_fallback
def _jv(xp, v, x):
    return _regular(xp, "jv", v, x, xp.special.j0, xp.special.j1, -1.0)


@_fallback
def _iv(xp, v, x):
    return _regular(xp, "iv", v, x, xp.special.i0, xp.special.i1, 1.0)


@_fallback
def _ive(xp, v, x):
    return _regular(xp, "ive", v, x, xp.special.i0e, xp.special.i1e, 1.0)


def _regular(xp, name, v, x, zeroth, first, sign):
    """J or I: the power series up to the order (DLMF 10.2.2, 10.25.2), the recurrence beyond (10.6.1, 10.29.1)."""
    n = _order(name, v)
    if sign < 0 and n < 0:  # J(-n) = (-1)^n J(n), I(-n) = I(n)
        return (-1.0) ** n * _regular(xp, name, -n, x, zeroth, first, sign)
    n = abs(n)
    if n < 2:
        return first(x) if n else zeroth(x)
    limit = max(5.0, float(n)) if sign < 0 else max(15.0, 5.0 * n)  # upward, I loses digits until far beyond the order
    size = xp.abs(x)
    small = size <= limit
    far = xp.where(small, limit, size)
    below, value = zeroth(far), first(far)
    for k in range(1, n):
        below, value = value, sign * (below - (2.0 * k) / far * value)
    series = bessel_series(n, xp.where(small, size, 0.0), sign, 25 + int(1.5 * limit))
    if name == "ive":
        series = series * xp.exp(-size)
    value = xp.where(small, series, value)
    return xp.where(x < 0, -value, value) if n % 2 else value


@_fallback
def _yn(xp, n, x):
    return _singular(xp, "yn", n, x, xp.special.y0, xp.special.y1, -1.0)


@_fallback
def _yv(xp, v, x):
    return _singular(xp, "yv", v, x, xp.special.y0, xp.special.y1, -1.0)


@_fallback
def _kn(xp, n, x):
    return _singular(xp, "kn", n, x, xp.special.k0, xp.special.k1, 1.0)


@_fallback
def _kv(xp, v, x):
    return _singular(xp, "kv", v, x, xp.special.k0, xp.special.k1, 1.0)


@_fallback
def _kve(xp, v, x):
    return _singular(xp, "kve", v, x, xp.special.k0e, xp.special.k1e, 1.0)


def _singular(xp, name, v, x, zeroth, first, sign):
    """Y or K: upward recurrence, stable for what grows with the order (DLMF 10.6.1, 10.29.1)."""
    n = _order(name, v)
    if n < 0:  # Y(-n) = (-1)^n Y(n), K(-n) = K(n)
        return (1.0 if sign > 0 else (-1.0) ** n) * _singular(xp, name, -n, x, zeroth, first, sign)
    if n == 0:
        return zeroth(x)
    below, value = zeroth(x), first(x)
    for k in range(1, n):
        below, value = value, sign * below + (2.0 * k) / x * value
    return value


def _order(name, v):
    """An order as an int; TypeError where it is none."""
    n = int(v) if getattr(v, "ndim", 0) == 0 and bool(v == int(v)) else None
    if n is None:
        raise TypeError(
            f"arraygrad.special.{name}: this array library has Bessel functions of the orders 0 and 1 only, from which "
            f"one integer order follows, but the order is {v!r}: convert to NumPy for others"
        )
    return n
