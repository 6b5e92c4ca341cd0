"""Series and continued fractions: where a closed formula would cancel, these keep every digit.

May import: the standard library only. Each works on raw arrays and on Tensors, is differentiable to any order, and says
for which arguments it holds; callers replace the others before and mask them after.
"""

import math


def polynomial(coefficients, t):
    """Sum of coefficients[k] t^k, by Horner's rule. The coefficients are Python floats."""
    value = coefficients[-1] + 0.0 * t
    for c in reversed(coefficients[:-1]):
        value = value * t + c
    return value


def _odd_factorials(count):
    """(2 k + 1)!! for k = 0, 1, ..., as floats: 1, 3, 15, 105."""
    values = [1.0]
    for k in range(1, count):
        values.append(values[-1] * (2 * k + 1))
    return values


# -- error functions ---------------------------------------------------------------------------------------------------

# From |x| = 10 on the 14th term of the asymptotic series is below 1e-16.
FAR = 10.0
_ERFCX_SLOPE = [(-0.5) ** k * c for k, c in enumerate(_odd_factorials(14))]
_DAWSN_SLOPE = [0.5**k * c for k, c in enumerate(_odd_factorials(14))]


def erfcx_slope(x):
    """(sqrt(pi) / 2) d/dx erfcx(x) = sqrt(pi) x erfcx(x) - 1, for x >= FAR (DLMF 7.12.1, differentiated)."""
    return -0.5 * polynomial(_ERFCX_SLOPE, 1.0 / x / x) / x / x


def dawsn_slope(x):
    """d/dx dawsn(x) = 1 - 2 x dawsn(x), for |x| >= FAR (DLMF 7.12.1 at an imaginary argument, differentiated)."""
    return -0.5 * polynomial(_DAWSN_SLOPE, 1.0 / x / x) / x / x


def erfcx_tail(x):
    """exp(x^2) erfc(x) for x >= 3: Laplace's continued fraction (DLMF 7.9.2); 25 levels leave an error below 1e-16."""
    value = x
    for k in range(25, 0, -1):
        value = x + (0.5 * k) / value
    return 1.0 / (math.sqrt(math.pi) * value)


# -- sin(y) / y --------------------------------------------------------------------------------------------------------

_SINC_SLOPE = [(-1.0) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 12)]


def sinc_slope(y):
    """d/dy sin(y) / y for |y| < 2."""
    return y * polynomial(_SINC_SLOPE, y * y)


# -- digamma -----------------------------------------------------------------------------------------------------------

# Bernoulli numbers B(2 k) / (2 k): digamma(x) = log x - 1/(2 x) - sum B(2 k) / (2 k x^(2 k)) (DLMF 5.11.2). From x = 16
# on the terms left out are below 1e-17.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
DIGAMMA_FAR = 16.0


def digamma_difference(xp, a, b):
    """digamma(a) - digamma(a + b) for a >= DIGAMMA_FAR and b > 0, without the cancellation at b much smaller than a.

    The asymptotic series of the two are subtracted term by term; with u = 1/a, v = 1/(a + b) and u - v = b u v.
    """
    u = 1.0 / a
    v = 1.0 / (a + b)
    step = b * u * v
    total = step * (-0.5)
    # u^(2k) - v^(2k) = (u^2 - v^2) (u^(2k-2) + u^(2k-4) v^2 + ... + v^(2k-2))
    squares = step * (u + v)
    sums = 1.0 + 0.0 * u
    power = 1.0 + 0.0 * u
    for c in _DIGAMMA:
        total = total - c * squares * sums
        power = power * (u * u)
        sums = sums * (v * v) + power
    return total - xp.log1p(b * u)


# -- Bessel functions --------------------------------------------------------------------------------------------------


def bessel_series(n, x, sign, terms):
    """J(n, x) for sign = -1, I(n, x) for sign = 1, integer n >= 0, x >= 0: the power series (DLMF 10.2.2, 10.25.2)."""
    t = (0.25 * sign) * x * x
    value = 1.0 + 0.0 * x
    for k in range(terms, 0, -1):
        value = 1.0 + value * t / (k * (k + n))
    return value * (0.5 * x) ** n / math.gamma(n + 1.0)


# Terms of Hankel's expansion kept, and the argument from which they give all digits for orders up to 2.
_HANKEL_TERMS = 14
HANKEL_FAR = 50.0


def hankel_far(v):
    """The argument from which Hankel's expansion of order v gives all digits; v may be an array."""
    return HANKEL_FAR + 2.0 * v * v


def scaled_bessel_slope(v, x, sign):
    """d/dx of exp(-x) I(v, x) (sign = -1) or exp(x) K(v, x) (sign = 1), for x >= hankel_far(v).

    Hankel's expansion (DLMF 10.40.1, 10.40.2) differentiated: the terms are a(k) sign^k x^(-k - 1/2), with
    a(k) = a(k - 1) (4 v^2 - (2 k - 1)^2) / (8 k).
    """
    t = 1.0 / x
    mu = 4.0 * v * v
    scale = 1.0 / math.sqrt(2.0 * math.pi) if sign < 0 else math.sqrt(0.5 * math.pi)
    value = 0.0 * x
    coefficient = sign * 1.0
    coefficients = [1.0 + 0.0 * mu]
    for k in range(1, _HANKEL_TERMS):
        coefficients.append(coefficients[-1] * (coefficient * (mu - (2 * k - 1) ** 2)) / (8 * k))
    for k in range(_HANKEL_TERMS - 1, -1, -1):
        value = value * t - (k + 0.5) * coefficients[k]
    return scale * value * t * t**0.5
