"""Rules of special functions that take more than a line, and the densities that several of them share.

May import: ops._helpers, ops._series, ops._special_fallbacks. Everything uses only the namespace. A rule that has two
formulas replaces the arguments that one of them does not serve before computing it: rules are differentiated again, and
a nan that is masked afterwards would come back.
"""

import math

from arraygrad.ops._helpers import at_kinks
from arraygrad.ops._series import (
    DIGAMMA_FAR,
    FAR,
    dawsn_slope,
    digamma_difference,
    erfcx_slope,
    hankel_far,
    scaled_bessel_slope,
    sinc_slope,
)  # fmt: skip
from arraygrad.ops._special_fallbacks import log_ratio

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


def parameter(xp, a, x):
    """A parameter without derivative (a Python number, an array of any real dtype) as an array to compute with x."""
    if not hasattr(a, "dtype"):
        return xp.asarray(a, dtype=x.dtype, device=getattr(x, "device", None))
    return a if xp.isdtype(a.dtype, "real floating") else xp.astype(a, x.dtype)


def _nowhere(xp, mask):
    """Whether a mask holds for no element; False of other arrays than NumPy's raw ones, which are not looked at.

    What is written for all elements with `where` is so computed for those that are there: the same bits, at less cost.
    """
    holds_nowhere = getattr(xp, "_library_holds_nowhere", None)
    return holds_nowhere is not None and holds_nowhere(mask)


def _all_moderate(xp, *arrays):
    """Whether raw arrays of NumPy hold neither zeros nor infinities nor extreme numbers; False of others."""
    is_moderate = getattr(xp, "_library_is_moderate", None)
    return is_moderate is not None and all(is_moderate(x) for x in arrays)


_CHOSEN = 4000  # elements, from which on to choose some takes less time than a function of all


def expit(xp, g, x, ans):
    """expit(x) expit(-x). The second is 1 - ans, too, which loses digits only where ans is near one."""
    only_where = getattr(xp, "_library_computed_only_where", None)
    if only_where is None or ans.size < _CHOSEN:
        return g * (ans * xp.special.expit(-x))
    return g * (ans * only_where(ans > 0.75, lambda x: xp.special.expit(-x), 1.0 - ans, x))


# -- gamma family ------------------------------------------------------------------------------------------------------


def rgamma(xp, g, x, ans):
    """-digamma(x) / gamma(x); below 1/2 its reflection (DLMF 5.5.3 differentiated), finite at the poles of gamma."""
    low = x < 0.5
    if _nowhere(xp, low):
        return g * (-ans * xp.special.digamma(x))
    y = xp.where(low, x, 0.25)
    # sin and cos of pi y from the distance to the nearest integer: exact zeros at the poles
    whole = xp.round(y)
    turn = math.pi * (y - whole)
    sign = 1.0 - 2.0 * xp.abs(whole % 2)
    bracket = xp.cos(turn) - xp.sin(turn) * xp.special.digamma(1.0 - y) / math.pi
    reflected = sign * xp.special.gamma(1.0 - y) * bracket
    return g * xp.where(low, reflected, -ans * xp.special.digamma(xp.where(low, 1.0, x)))


def _is_pole(xp, x):
    """Where gamma has a pole: zero and the negative integers."""
    return (x <= 0) & (x == xp.floor(x))


def digamma(xp, x, rest=0.0):
    """digamma(x + rest), which libraries give without its last digits beside negative poles: reflected (DLMF 5.5.4).

    `rest` is what rounding took of the sum that x is.
    """
    no_negative = getattr(xp, "_library_no_negative", None)
    if no_negative is not None and no_negative(x):
        return xp.special.digamma(x + rest)
    if not xp.isdtype(x.dtype, "real floating"):
        return xp.special.digamma(x)
    left = (x < 0) & (x != xp.floor(x))
    if _nowhere(xp, left):
        return xp.special.digamma(x + rest)
    y = xp.where(left, x, -0.5)
    turn = math.pi * ((y - xp.round(y)) + rest)
    reflected = xp.special.digamma(1.0 - y) - math.pi * (xp.cos(turn) / xp.sin(turn))
    return xp.where(left, reflected, xp.special.digamma(xp.where(left, 1.0, x + rest)))


def digamma_rise(xp, a, b, total=None, rest=0.0):
    """digamma(a + b) - digamma(a), with the digits that the difference would lose; at two poles its limit in a.

    `total` is a + b where that is known better than the sum, and `rest` the part of it that rounding took, a constant.
    """
    if total is None and _nowhere(xp, (a <= 0) | (a >= DIGAMMA_FAR) | (b < 0.5)):  # no pole, and not near each other
        return xp.special.digamma(a + b) - xp.special.digamma(a)
    total = a + b if total is None else total
    poles = _is_pole(xp, a) & _is_pole(xp, total)  # b is an integer: a quotient of gammas is a polynomial in a
    left = ((a < 0) & (total < 0) & ~_is_pole(xp, a) & ~_is_pole(xp, total)) | poles
    if _nowhere(xp, left):
        return _rise(xp, a, b, total, rest)
    p, q, d = xp.where(left, a, -0.5), xp.where(left, total, -0.5), xp.where(left, b, 0.0)
    # DLMF 5.5.4, and the difference of two cotangents as one quotient; the signs of its sines cancel.
    t, s = p - xp.round(p), (q - xp.round(q)) + rest
    step = d - xp.round(d)
    steps = xp.where(xp.abs(d) < 0.25, step * (1.0 - 2.0 * xp.abs((xp.round(p) - xp.round(q)) % 2)), s - t)
    sines = xp.sin(math.pi * xp.where(poles, 0.5, s)) * xp.sin(math.pi * xp.where(poles, 0.5, t))
    turned = xp.where(poles, 0.0, math.pi * xp.sin(math.pi * steps) / sines)
    reflected = turned + _rise(xp, 1.0 - p, -d, 1.0 - q, 0.0)
    other = _rise(xp, xp.where(left, 1.0, a), xp.where(left, 0.0, b), xp.where(left, 1.0, total), rest)
    return xp.where(left, reflected, other)


def _rise(xp, a, b, total, rest):
    """The same where a or the total is positive: near ones by the recurrence and the asymptotic series."""
    falls = b < 0
    low, step = xp.where(falls, total + rest, a), xp.where(falls, -b, b)
    near = (low > 0) & ((low >= DIGAMMA_FAR) | (step < 0.5))
    if _nowhere(xp, near):
        return digamma(xp, total, rest) - digamma(xp, a)
    start, by = xp.where(near, low, 1.0), xp.where(near, step, 0.0)
    far = start >= DIGAMMA_FAR
    at = xp.where(far, 1.0, start)
    rise = 0.0 * start
    for k in range(int(DIGAMMA_FAR)):  # DLMF 5.5.2
        rise = rise + by / ((at + k) * (at + by + k))
    rise = xp.where(far, 0.0, rise)
    rise = rise - digamma_difference(xp, xp.where(far, start, start + DIGAMMA_FAR), by)
    rise = xp.where(falls, -rise, rise)
    if _nowhere(xp, ~near):
        return rise
    return xp.where(near, rise, digamma(xp, xp.where(near, 1.0, total), rest) - digamma(xp, xp.where(near, 1.0, a)))


def beta(xp, g, a, b, ans):
    """beta(a, b) times the slope of betaln; where it is zero, at a pole of gamma(a + b), that of 1 / gamma."""
    if _nowhere(xp, a + b <= 0):
        return g * (ans * beta_slope(xp, a, b))
    zero = _is_pole(xp, a + b) & ~_is_pole(xp, a) & ~_is_pole(xp, b)
    p, q = xp.where(zero, a, 0.5), xp.where(zero, b, 0.5)
    inverse = xp.special.rgamma(p + q)  # zero, with a slope
    slope = rgamma(xp, 1.0, p + q, inverse) + digamma(xp, p) * inverse
    at_zero = xp.special.gamma(p) * xp.special.gamma(q) * slope
    return g * xp.where(zero, at_zero, ans * beta_slope(xp, xp.where(zero, 0.5, a), xp.where(zero, 0.5, b)))


def beta_slope(xp, a, b):
    """d/da betaln(a, b) = digamma(a) - digamma(a + b); where both have a pole, that of 1 / beta, a polynomial in a."""
    return -digamma_rise(xp, a, b)


def gamma_density(xp, a, x):
    """d/dx gammainc(a, x) = x^(a-1) exp(-x) / gamma(a) (DLMF 8.8.13)."""
    a = parameter(xp, a, x)
    if _all_moderate(xp, a, x):
        return _gamma_density(xp, a, x)
    endless = (x == math.inf) | ((a == math.inf) & (x >= 0))
    if _nowhere(xp, endless):
        return _gamma_density(xp, a, x)
    return xp.where(endless, 0.0, _gamma_density(xp, xp.where(endless, 1.0, a), xp.where(endless, 1.0, x)))


def _gamma_density(xp, a, x):
    end = x == 0
    if _nowhere(xp, end):
        return xp.exp(xp.special.xlogy(a - 1.0, x) - x - xp.gammaln(a))
    # At the end of the domain a power, whose derivatives are those of the density, where logarithms are infinite.
    near, inner = xp.where(end, x, 1.0), xp.where(end, 1.0, x)
    at_end = xp.pow(near, a - 1.0) * xp.exp(-near - xp.gammaln(a))
    return xp.where(end, at_end, xp.exp(xp.special.xlogy(a - 1.0, inner) - inner - xp.gammaln(a)))


def beta_density(xp, a, b, x):
    """d/dx betainc(a, b, x) = x^(a-1) (1-x)^(b-1) / beta(a, b) (DLMF 8.17.1)."""
    a, b = parameter(xp, a, x), parameter(xp, b, x)
    if _all_moderate(xp, a, b):
        return _beta_density(xp, a, b, x)
    endless = (x > 0) & (x < 1) & ((a == math.inf) | (b == math.inf))  # all of it lies at an end
    if _nowhere(xp, endless):
        return _beta_density(xp, a, b, x)
    return xp.where(endless, 0.0, _beta_density(xp, xp.where(endless, 1.0, a), xp.where(endless, 1.0, b), x))


def _beta_density(xp, a, b, x):
    end = (x == 0) | (x == 1)
    if _nowhere(xp, end):
        return xp.exp(xp.special.xlogy(a - 1.0, x) + xp.special.xlog1py(b - 1.0, -x) - xp.special.betaln(a, b))
    near, inner = xp.where(end, x, 0.5), xp.where(end, 0.5, x)  # as in _gamma_density
    at_end = xp.pow(near, a - 1.0) * xp.pow(1.0 - near, b - 1.0) * xp.exp(-xp.special.betaln(a, b))
    inside = xp.special.xlogy(a - 1.0, inner) + xp.special.xlog1py(b - 1.0, -inner) - xp.special.betaln(a, b)
    return xp.where(end, at_end, xp.exp(inside))


# -- error functions ---------------------------------------------------------------------------------------------------


def erfcx(xp, g, x, ans):
    """2 x erfcx(x) - 2 / sqrt(pi) (DLMF 7.10.1), by its asymptotic series where the two cancel."""
    far = x >= FAR
    near = 2.0 * xp.where(far, 0.0, x) * ans - TWO_OVER_SQRT_PI
    return g * xp.where(far, TWO_OVER_SQRT_PI * erfcx_slope(xp.where(far, x, FAR)), near)


def dawsn(xp, g, x, ans):
    """1 - 2 x dawsn(x) (DLMF 7.2.5 differentiated), by its asymptotic series where the two cancel."""
    far = xp.abs(x) >= FAR
    near = 1.0 - 2.0 * xp.where(far, 0.0, x) * ans
    return g * xp.where(far, dawsn_slope(xp.where(far, x, FAR)), near)


def log_ndtr(xp, g, x):
    """Density over distribution function: for negative x sqrt(2 / pi) / erfcx(-x / sqrt(2))."""
    low = x < 0
    below = math.sqrt(2.0 / math.pi) / xp.special.erfcx(xp.where(low, x, 0.0) / -math.sqrt(2.0))
    above = xp.where(low, 0.0, x)
    return g * xp.where(low, below, normal_density(xp, above) / xp.special.ndtr(above))


def normal_density(xp, x):
    """exp(-x^2 / 2) / sqrt(2 pi)."""
    return xp.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


# -- Bessel functions --------------------------------------------------------------------------------------------------


def _neighbours(xp, v):
    """The orders v - 1 and v + 1, which unsigned or narrow integers may not have."""
    if hasattr(v, "dtype") and xp.isdtype(v.dtype, ("integral", "bool")):
        v = xp.astype(v, xp.int64)
    return v - 1, v + 1


def _quotient(xp, v, x, ans):
    """v ans / x where it keeps all digits, for raw arrays of NumPy: then one neighbour is computed instead of two.

    None: something is zero, infinite, not a number, or of such a size that a value or the quotient has lost digits, or
    this is differentiated again, where the difference of quotients would cancel.
    """
    if not _all_moderate(xp, x, ans):
        return None
    return parameter(xp, v, x) * (ans / x)


def bessel_j(xp, v, x, ans):
    """J'(v, x) = v J(v, x) / x - J(v + 1, x) = (J(v - 1, x) - J(v + 1, x)) / 2 (DLMF 10.6.2, 10.6.1)."""
    below, above = _neighbours(xp, v)
    quotient = _quotient(xp, v, x, ans)
    if quotient is not None:
        return quotient - xp.special.jv(above, x)
    return 0.5 * (xp.special.jv(below, x) - xp.special.jv(above, x))


def bessel_y(xp, bessel, v, x, ans):
    """Y'(v, x) = Y(v - 1, x) - v Y(v, x) / x = (Y(v - 1, x) - Y(v + 1, x)) / 2 (DLMF 10.6.2, 10.6.1)."""
    below, above = _neighbours(xp, v)
    quotient = _quotient(xp, v, x, ans)
    if quotient is not None:
        return bessel(below, x) - quotient
    return 0.5 * (bessel(below, x) - bessel(above, x))


def bessel_i(xp, bessel, v, x, ans):
    """I'(v, x) = I(v + 1, x) + v I(v, x) / x = (I(v - 1, x) + I(v + 1, x)) / 2 (DLMF 10.29.2, 10.29.1), and scaled."""
    below, above = _neighbours(xp, v)
    quotient = _quotient(xp, v, x, ans)
    if quotient is not None:
        return bessel(above, x) + quotient
    return 0.5 * (bessel(below, x) + bessel(above, x))


def bessel_k(xp, bessel, v, x, ans):
    """-K'(v, x) = K(|v| - 1, x) + |v| K(v, x) / x = (K(v - 1, x) + K(v + 1, x)) / 2, and scaled.

    DLMF 10.29.2 and 10.29.1; K is even in v.
    """
    quotient = _quotient(xp, abs(v), x, ans)
    below, above = _neighbours(xp, v if quotient is None else abs(v))
    if quotient is not None:
        return bessel(below, x) + quotient
    return 0.5 * (bessel(below, x) + bessel(above, x))


def bessel_j1(xp, x, ans):
    """J'(1, x) = J(0, x) - J(1, x) / x = (J(0, x) - J(2, x)) / 2 (DLMF 10.6.2, 10.6.1)."""
    quotient = _quotient(xp, 1.0, x, ans)
    return 0.5 * (xp.special.j0(x) - xp.special.jv(2, x)) if quotient is None else xp.special.j0(x) - quotient


def bessel_i1(xp, x, ans):
    """I'(1, x) = I(0, x) - I(1, x) / x = (I(0, x) + I(2, x)) / 2 (DLMF 10.29.2, 10.29.1)."""
    quotient = _quotient(xp, 1.0, x, ans)
    return 0.5 * (xp.special.i0(x) + xp.special.iv(2, x)) if quotient is None else xp.special.i0(x) - quotient


def bessel_i1e(xp, x, ans):
    """The same, times exp(-abs(x))."""
    quotient = _quotient(xp, 1.0, x, ans)
    return 0.5 * (xp.special.i0e(x) + xp.special.ive(2, x)) if quotient is None else xp.special.i0e(x) - quotient


def ive(xp, g, v, x, near):
    """exp(-|x|) (I'(v, x) - sign(x) I(v, x)); near() is that difference, which cancels for large |x|."""
    v = parameter(xp, v, x)
    size = xp.abs(x)
    limit = hankel_far(v)
    far = size >= limit
    if _nowhere(xp, far):
        found = g * near()
    else:
        slope = scaled_bessel_slope(v, xp.where(far, size, limit), -1.0)
        # ive(n, -x) = (-1)^n ive(n, x) for integer n; other orders are nan there
        slope = xp.where((x < 0) & (v % 2 == 0), -slope, slope)
        found = g * xp.where(far, slope, near())
    # Of order 0 the slope jumps from 1 to -1 at zero: there is no second derivative (Note [Kinks]).
    return at_kinks(xp, found, g, x, xp.where(v == 0, x, 1.0))


def kve(xp, g, v, x, near):
    """exp(x) (K'(v, x) + K(v, x)); near() is that sum, which cancels for large x."""
    v = parameter(xp, v, x)
    limit = hankel_far(v)
    far = x >= limit
    if _nowhere(xp, far):
        return g * near()
    return g * xp.where(far, scaled_bessel_slope(v, xp.where(far, x, limit), 1.0), near())


# -- products with logarithms, entropies -------------------------------------------------------------------------------


def xlogy_x(xp, g, x, y):
    """log(y); where x is zero and y is no positive number, zero."""
    skip = (x == 0) & (y <= 0)
    return xp.where(skip, 0.0, g * xp.log(xp.where(skip, 1.0, y)))


def xlogy_y(xp, g, x, y):
    """x / y; where x is zero and y is no positive number, zero."""
    skip = (x == 0) & (y <= 0)
    return xp.where(skip, 0.0, g * (x / xp.where(skip, 1.0, y)))


def xlog1py_x(xp, g, x, y):
    """log1p(y); where x is zero and y <= -1, zero."""
    skip = (x == 0) & (y <= -1)
    return xp.where(skip, 0.0, g * xp.log1p(xp.where(skip, 0.0, y)))


def xlog1py_y(xp, g, x, y):
    """x / (1 + y); where x is zero and y <= -1, zero."""
    skip = (x == 0) & (y <= -1)
    return xp.where(skip, 0.0, g * (x / xp.where(skip, 1.0, 1.0 + y)))


def rel_entr_x(xp, g, x, y):
    """log(x / y) + 1; zero where both are zero, nan where one is negative."""
    return _entropy(xp, g, x, y, 1.0)


def kl_div_x(xp, g, x, y):
    """log(x / y); zero where both are zero, nan where one is negative."""
    return _entropy(xp, g, x, y, 0.0)


def _entropy(xp, g, x, y, shift):
    skip = (x == 0) & (y == 0)
    outside = (x < 0) | (y < 0)
    x = xp.where(skip | outside, 1.0, x)
    y = xp.where(skip | outside, 1.0, y)
    slope = xp.where(outside, math.nan, log_ratio(xp, x, y) + shift)
    return xp.where(skip, 0.0, g * slope)


def rel_entr_y(xp, g, x, y):
    """-x / y; zero where both are zero, nan where one is negative."""
    return g * -_ratio(xp, x, y)


def kl_div_y(xp, g, x, y):
    """1 - x / y, with all digits where they are near each other; nan where one is negative."""
    near = (x < 2.0 * y) & (y < 2.0 * x)
    difference = xp.where(near, y - x, 0.0) / xp.where(near, y, xp.ones_like(y))
    return g * xp.where(near, difference, 1.0 - _ratio(xp, x, y))


def _ratio(xp, x, y):
    outside = (x < 0) | (y < 0)
    skip = ((x == 0) & (y == 0)) | outside
    ratio = xp.where(skip, 0.0, x / xp.where(skip, 1.0, y))
    return xp.where(outside, math.nan, ratio)


def sinc(xp, g, x):
    """(cos(pi x) - sinc(x)) / x, by its power series around zero."""
    y = math.pi * x
    small = xp.abs(y) < 1.5
    series = sinc_slope(xp.where(small, y, 0.0))
    away = xp.where(small, 2.0, y)
    return g * math.pi * xp.where(small, series, (xp.cos(away) - xp.sin(away) / away) / away)
