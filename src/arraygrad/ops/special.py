"""Special functions: the smooth ones of SciPy, under SciPy's names and with SciPy's parameters, as `arraygrad.special`.

May import: ops.kinds; ops._special and ops._special_rules on first use. Values come from the array's own library
(`_special`); the rules are written in terms of other entries, so that derivatives of any order follow.

Sources: DLMF, the NIST Digital Library of Mathematical Functions, by equation number. Dtypes are real floating-point,
and complex where an entry says so and the library has the function; float32 stays float32. Parameters without a rule
(orders, shape parameters) are constants: a Tensor that requires grad there raises TypeError.
"""

import math
import operator

from arraygrad.ops.kinds import binary, elementwise, module_on_use, unary, zero

rules = module_on_use("arraygrad.ops._special_rules")

SPECIAL = "special"
OF_SHAPES = "arraygrad.scipy.special"  # where shape parameters and orders have a derivative
_SQRT_PI = math.sqrt(math.pi)


def forward(name):
    """forward(xp, *arrays) of the special function `name` of one or more arrays or Python scalars."""

    def compute(xp, *args):
        from arraygrad.ops import _special  # on first use, as the library that it calls

        return _special.compute(xp, name, *args)

    return compute


def _unary(name, rule, doc, **options):
    unary(name, rule, forward=forward(name), extension=SPECIAL, doc=doc, **options)


def _binary(name, doc, **options):
    binary(name, forward=forward(name), extension=SPECIAL, doc=doc, **options)


def _with_parameters(name, signature, doc, **options):
    options.setdefault("forward", forward(name))
    elementwise(name, signature, extension=SPECIAL, doc=doc, **options)


def _polygamma(xp, n, x):
    from arraygrad.ops import _special

    return _special.compute_of_order(xp, "polygamma", _order("polygamma", n), x)


# -- gamma family ------------------------------------------------------------------------------------------------------

_unary(
    "gamma",
    lambda xp, g, x, ans: g * (ans * rules.digamma(xp, x)),
    "The gamma function. Derivative gamma(x) digamma(x) (DLMF 5.2.2); nan at the poles 0, -1, -2, ... "
    "Complex dtypes have first derivatives.",
)
unary(
    "gammaln",
    lambda xp, g, x: g * rules.digamma(xp, x),
    forward=forward("gammaln"),
    doc="log(abs(gamma(x))), real floating-point dtypes, as scipy.special.gammaln; also `arraygrad.special.gammaln`. "
    "Derivative digamma(x) (DLMF 5.2.2). NumPy arrays need SciPy.",
)
_unary(
    "loggamma",
    lambda xp, g, x, ans: g * xp.where(ans == ans, rules.digamma(xp, x), ans),
    "log(gamma(x)): gammaln for x > 0, nan for negative x, where the principal branch is complex. Derivative "
    "digamma(x) (DLMF 5.2.2). Complex dtypes have first derivatives.",
)
_unary(
    "rgamma",
    lambda xp, g, x, ans: rules.rgamma(xp, g, x, ans),
    "1 / gamma(x), zero at the poles of gamma. Derivative -digamma(x) / gamma(x), below 1/2 by reflection "
    "(DLMF 5.5.3): (-1)^n n! at x = -n.",
)
_unary(
    "digamma",
    lambda xp, g, x: g * xp.special.polygamma(1, x),
    "The logarithmic derivative of gamma; scipy calls it psi as well. Derivative polygamma(1, x) (DLMF 5.15).",
)


def _order(name, n, least=0):
    """n as an int; TypeError if it is none, or less than `least`."""
    try:
        order = operator.index(n)
    except TypeError:
        order = least - 1
    if order < least:
        raise TypeError(f"arraygrad.special.{name}: the order must be an int, {least} or more, got {n!r}")
    return order


_with_parameters(
    "polygamma",
    "n, x, /",
    "The n-th derivative of digamma; n is an int, 0 or more. Derivative polygamma(n + 1, x) (DLMF 5.15).",
    forward=_polygamma,
    x=lambda xp, g, n, x: g * xp.special.polygamma(operator.index(n) + 1, x),
)


def _multigammaln(xp, a, d):
    order = _order("multigammaln", d, 1)
    total = 0.25 * order * (order - 1) * math.log(math.pi)
    for j in range(order):
        total = total + xp.gammaln(a - 0.5 * j)
    return xp.where(a > 0.5 * (order - 1), total, math.nan)


def _multigammaln_a(xp, g, a, d):
    return g * sum(xp.special.digamma(a - 0.5 * j) for j in range(operator.index(d)))


_with_parameters(
    "multigammaln",
    "a, d, /",
    "Logarithm of the multivariate gamma function of dimension d, an int; nan for a <= (d - 1) / 2, where it is not "
    "defined. Sum of gammaln(a - j / 2), j < d (DLMF 35.3.4), and so the derivative of digamma.",
    forward=_multigammaln,
    a=_multigammaln_a,
)
_binary(
    "beta",
    "gamma(x1) gamma(x2) / gamma(x1 + x2) (DLMF 5.12.1). Derivative beta(x1, x2) (digamma(x1) - digamma(x1 + x2)); "
    "digits are kept where one argument is much larger than the other; at its zeros that of 1 / gamma(x1 + x2).",
    x1=lambda xp, g, x1, x2, ans: rules.beta(xp, g, x1, x2, ans),
    x2=lambda xp, g, x1, x2, ans: rules.beta(xp, g, x2, x1, ans),
)
_binary(
    "betaln",
    "log(abs(beta(x1, x2))) (DLMF 5.12.1). Derivative digamma(x1) - digamma(x1 + x2), with all digits where one "
    "argument is much larger than the other.",
    x1=lambda xp, g, x1, x2: g * rules.beta_slope(xp, x1, x2),
    x2=lambda xp, g, x1, x2: g * rules.beta_slope(xp, x2, x1),
)
_with_parameters(
    "gammainc",
    "a, x, /",
    "Regularized lower incomplete gamma function, x >= 0. Derivative of x: x^(a-1) exp(-x) / gamma(a) (DLMF 8.8.13); "
    "none of a.",
    x=lambda xp, g, a, x: g * rules.gamma_density(xp, a, x),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "gammaincc",
    "a, x, /",
    "Regularized upper incomplete gamma function, 1 - gammainc(a, x) (DLMF 8.2.5). Differentiable in x; none of a.",
    x=lambda xp, g, a, x: -g * rules.gamma_density(xp, a, x),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "gammaincinv",
    "a, y, /",
    "The x with gammainc(a, x) = y: quantiles of the gamma distribution. Derivative of y: one over that of gammainc.",
    y=lambda xp, g, a, ans: g / rules.gamma_density(xp, a, ans),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "gammainccinv",
    "a, y, /",
    "The x with gammaincc(a, x) = y. Derivative of y: one over that of gammaincc.",
    y=lambda xp, g, a, ans: -g / rules.gamma_density(xp, a, ans),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "betainc",
    "a, b, x, /",
    "Regularized incomplete beta function, 0 <= x <= 1. Derivative of x: x^(a-1) (1-x)^(b-1) / beta(a, b) "
    "(DLMF 8.17.1, 8.17.2); none of a and b.",
    x=lambda xp, g, a, b, x: g * rules.beta_density(xp, a, b, x),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "betaincc",
    "a, b, x, /",
    "1 - betainc(a, b, x), without cancellation. Differentiable in x; none of a and b.",
    x=lambda xp, g, a, b, x: -g * rules.beta_density(xp, a, b, x),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "betaincinv",
    "a, b, y, /",
    "The x with betainc(a, b, x) = y: quantiles of the beta distribution. Derivative of y: one over that of betainc.",
    y=lambda xp, g, a, b, ans: g / rules.beta_density(xp, a, b, ans),
    elsewhere=OF_SHAPES,
)
zero(
    "gammasgn",
    "x, /",
    forward=forward("gammasgn"),
    extension=SPECIAL,
    doc="The sign of gamma(x), so that gamma = gammasgn exp(gammaln). The derivative is zero.",
)

# -- error functions ---------------------------------------------------------------------------------------------------

unary(
    "erf",
    lambda xp, g, x: g * (rules.TWO_OVER_SQRT_PI * xp.exp(-x * x)),
    forward=forward("erf"),
    doc="The error function, real and complex dtypes, as scipy.special.erf; also `arraygrad.special.erf`. Derivative "
    "2 exp(-x^2) / sqrt(pi) (DLMF 7.2.1). NumPy arrays need SciPy.",
)
_unary(
    "erfc",
    lambda xp, g, x: g * (-rules.TWO_OVER_SQRT_PI * xp.exp(-x * x)),
    "1 - erf(x), without cancellation for large x (DLMF 7.2.2). Also complex dtypes.",
)
_unary(
    "erfcx",
    lambda xp, g, x, ans: rules.erfcx(xp, g, x, ans),
    "exp(x^2) erfc(x), which neither overflows nor underflows for positive x (DLMF 7.2.7). Derivative "
    "2 x erfcx(x) - 2 / sqrt(pi) (DLMF 7.10.1), with all digits for large x.",
)
_unary(
    "erfinv",
    lambda xp, g, ans: g * (0.5 * _SQRT_PI * xp.exp(ans * ans)),
    "The inverse of erf, -1 <= x <= 1 (DLMF 7.17.1). The derivative is infinite at both ends.",
)
_unary(
    "erfcinv",
    lambda xp, g, ans: g * (-0.5 * _SQRT_PI * xp.exp(ans * ans)),
    "The inverse of erfc, 0 <= x <= 2 (DLMF 7.17.1). The derivative is infinite at both ends.",
)
_unary(
    "erfi",
    lambda xp, g, x: g * (rules.TWO_OVER_SQRT_PI * xp.exp(x * x)),
    "The imaginary error function -i erf(i x). Derivative 2 exp(x^2) / sqrt(pi). Also complex dtypes.",
)
_unary(
    "dawsn",
    lambda xp, g, x, ans: rules.dawsn(xp, g, x, ans),
    "Dawson's integral exp(-x^2) sqrt(pi) / 2 erfi(x) (DLMF 7.2.5). Derivative 1 - 2 x dawsn(x), with all digits for "
    "large x.",
)
_unary(
    "ndtr",
    lambda xp, g, x: g * rules.normal_density(xp, x),
    "The distribution function of the standard normal distribution, erfc(-x / sqrt(2)) / 2 (DLMF 7.20.1).",
)
_unary(
    "log_ndtr",
    lambda xp, g, x: rules.log_ndtr(xp, g, x),
    "log(ndtr(x)), finite where ndtr underflows. The derivative is density over distribution function, which grows as "
    "-x for negative x.",
)
_unary(
    "ndtri",
    lambda xp, g, ans: g / rules.normal_density(xp, ans),
    "The inverse of ndtr: quantiles of the standard normal distribution. The derivative is infinite at 0 and 1.",
)

# -- Bessel functions: derivatives by DLMF 10.6.1, 10.6.3, 10.29.1 and 10.29.3 -----------------------------------------

_unary("j0", lambda xp, g, x: -g * xp.special.j1(x), "Bessel function of the first kind, order 0; derivative -j1(x).")
_unary(
    "j1",
    lambda xp, g, x, ans: g * rules.bessel_j1(xp, x, ans),
    "Bessel function of the first kind, order 1; derivative (j0(x) - jv(2, x)) / 2 (DLMF 10.6.1).",
)
_with_parameters(
    "jv",
    "v, x, /",
    "Bessel function of the first kind and constant real order v (jn is another name); derivative of x "
    "(jv(v - 1, x) - jv(v + 1, x)) / 2 (DLMF 10.6.1). Also complex x. On CuPy and PyTorch v is one int.",
    x=lambda xp, g, v, x, ans: g * rules.bessel_j(xp, v, x, ans),
)
_unary(
    "y0",
    lambda xp, g, x: -g * xp.special.y1(x),
    "Bessel function of the second kind, order 0, x > 0; derivative -y1(x) (DLMF 10.6.3).",
)
_unary(
    "y1",
    lambda xp, g, x, ans: g * (xp.special.y0(x) - ans / x),
    "Bessel function of the second kind, order 1, x > 0; derivative y0(x) - y1(x) / x (DLMF 10.6.2).",
)
_with_parameters(
    "yn",
    "n, x, /",
    "Bessel function of the second kind and constant integer order n, x > 0; derivative of x "
    "(yn(n - 1, x) - yn(n + 1, x)) / 2 (DLMF 10.6.1).",
    x=lambda xp, g, n, x, ans: g * rules.bessel_y(xp, xp.special.yn, n, x, ans),
)
_with_parameters(
    "yv",
    "v, x, /",
    "Bessel function of the second kind and constant real order v, x > 0; derivative of x "
    "(yv(v - 1, x) - yv(v + 1, x)) / 2 (DLMF 10.6.1). Also complex x. On CuPy and PyTorch v is one int.",
    x=lambda xp, g, v, x, ans: g * rules.bessel_y(xp, xp.special.yv, v, x, ans),
)
_unary(
    "i0",
    lambda xp, g, x: g * xp.special.i1(x),
    "Modified Bessel function of the first kind, order 0; derivative i1(x) (DLMF 10.29.3).",
    numpy=("i0",),
)
_unary(
    "i1",
    lambda xp, g, x, ans: g * rules.bessel_i1(xp, x, ans),
    "Modified Bessel function of the first kind, order 1; derivative (i0(x) + iv(2, x)) / 2 (DLMF 10.29.1).",
)
_unary(
    "i0e",
    lambda xp, g, x, ans: rules.ive(xp, g, 0.0, x, lambda: xp.special.i1e(x) - xp.sign(x) * ans),
    "exp(-abs(x)) i0(x), without overflow. Derivative i1e(x) - sign(x) i0e(x), with all digits for large x by Hankel's "
    "expansion (DLMF 10.40.1); at the kink at 0 it is 0.",
)
_unary(
    "i1e",
    lambda xp, g, x, ans: rules.ive(xp, g, 1.0, x, lambda: rules.bessel_i1e(xp, x, ans) - xp.sign(x) * ans),
    "exp(-abs(x)) i1(x), without overflow. The derivative has all digits for large x by Hankel's expansion "
    "(DLMF 10.40.1).",
)
_with_parameters(
    "iv",
    "v, x, /",
    "Modified Bessel function of the first kind and constant real order v; derivative of x "
    "(iv(v - 1, x) + iv(v + 1, x)) / 2 (DLMF 10.29.1). Also complex x. On CuPy and PyTorch v is one int.",
    x=lambda xp, g, v, x, ans: g * rules.bessel_i(xp, xp.special.iv, v, x, ans),
)
_with_parameters(
    "ive",
    "v, x, /",
    "exp(-abs(x)) iv(v, x), without overflow; constant real order v. The derivative of x has all digits for large x by "
    "Hankel's expansion (DLMF 10.40.1). On CuPy and PyTorch v is one int.",
    x=lambda xp, g, v, x, ans: rules.ive(
        xp, g, v, x, lambda: rules.bessel_i(xp, xp.special.ive, v, x, ans) - xp.sign(x) * ans
    ),
)
_unary(
    "k0",
    lambda xp, g, x: -g * xp.special.k1(x),
    "Modified Bessel function of the second kind, order 0, x > 0; derivative -k1(x) (DLMF 10.29.3).",
)
_unary(
    "k1",
    lambda xp, g, x, ans: -g * (xp.special.k0(x) + ans / x),
    "Modified Bessel function of the second kind, order 1, x > 0; derivative -k0(x) - k1(x) / x (DLMF 10.29.2).",
)
_unary(
    "k0e",
    lambda xp, g, x, ans: rules.kve(xp, g, 0.0, x, lambda: ans - xp.special.k1e(x)),
    "exp(x) k0(x), without underflow, x > 0. Derivative k0e(x) - k1e(x), with all digits for large x by Hankel's "
    "expansion (DLMF 10.40.2).",
)
_unary(
    "k1e",
    lambda xp, g, x, ans: rules.kve(xp, g, 1.0, x, lambda: ans - xp.special.k0e(x) - ans / x),
    "exp(x) k1(x), without underflow, x > 0. The derivative has all digits for large x by Hankel's expansion "
    "(DLMF 10.40.2).",
)
_with_parameters(
    "kn",
    "n, x, /",
    "Modified Bessel function of the second kind and constant integer order n, x > 0; derivative of x "
    "-(kn(n - 1, x) + kn(n + 1, x)) / 2 (DLMF 10.29.1).",
    # kn of a negative order is nan in SciPy, kv of one is not: K(-n) = K(n)
    x=lambda xp, g, n, x, ans: -g * rules.bessel_k(xp, xp.special.kv, n, x, ans),
)
_with_parameters(
    "kv",
    "v, x, /",
    "Modified Bessel function of the second kind and constant real order v, x > 0; derivative of x "
    "-(kv(v - 1, x) + kv(v + 1, x)) / 2 (DLMF 10.29.1). Also complex x. On CuPy and PyTorch v is one int.",
    x=lambda xp, g, v, x, ans: -g * rules.bessel_k(xp, xp.special.kv, v, x, ans),
    elsewhere=OF_SHAPES,
)
_with_parameters(
    "kve",
    "v, x, /",
    "exp(x) kv(v, x), without underflow, x > 0; constant real order v. The derivative of x has all digits for large x "
    "by Hankel's expansion (DLMF 10.40.2). On CuPy and PyTorch v is one int.",
    x=lambda xp, g, v, x, ans: rules.kve(xp, g, v, x, lambda: ans - rules.bessel_k(xp, xp.special.kve, v, x, ans)),
    elsewhere=OF_SHAPES,
)

# -- logistic function, entropies, and others --------------------------------------------------------------------------

_unary(
    "expit",
    lambda xp, g, x, ans: rules.expit(xp, g, x, ans),
    "The logistic function 1 / (1 + exp(-x)). Derivative expit(x) expit(-x), which keeps its digits on both sides.",
)
_unary(
    "logit",
    lambda g, x: g / (x * (1.0 - x)),
    "log(x / (1 - x)), the inverse of expit. Derivative 1 / (x (1 - x)), infinite at 0 and 1.",
)
_unary(
    "log_expit",
    lambda xp, g, x: g * xp.special.expit(-x),
    "log(expit(x)), finite where expit underflows. Derivative expit(-x).",
)
_binary(
    "xlogy",
    "x1 log(x2), zero where x1 is zero and x2 is no nan. The gradient of x1 is log(x2), and zero where x1 is zero and "
    "x2 <= 0, as in PyTorch; that of x2 is x1 / x2, zero where both are zero.",
    x1=lambda xp, g, x1, x2: rules.xlogy_x(xp, g, x1, x2),
    x2=lambda xp, g, x1, x2: rules.xlogy_y(xp, g, x1, x2),
)
_binary(
    "xlog1py",
    "x1 log1p(x2), zero where x1 is zero and x2 is no nan. The gradient of x1 is log1p(x2), and zero where x1 is zero "
    "and x2 <= -1, as in PyTorch; that of x2 is x1 / (1 + x2), zero where both are zero.",
    x1=lambda xp, g, x1, x2: rules.xlog1py_x(xp, g, x1, x2),
    x2=lambda xp, g, x1, x2: rules.xlog1py_y(xp, g, x1, x2),
)
_unary(
    "entr",
    lambda xp, g, x: -g * (xp.log(x) + 1.0),
    "-x log(x), zero at 0 and -inf for negative x. Derivative -log(x) - 1, infinite at 0.",
)
_binary(
    "rel_entr",
    "x1 log(x1 / x2), zero where x1 is zero and x2 >= 0, infinite outside of x1 >= 0, x2 >= 0. Derivatives "
    "log(x1 / x2) + 1 and -x1 / x2, without overflow of the ratio; zero where both are zero, nan outside.",
    x1=lambda xp, g, x1, x2: rules.rel_entr_x(xp, g, x1, x2),
    x2=lambda xp, g, x1, x2: rules.rel_entr_y(xp, g, x1, x2),
)
_binary(
    "kl_div",
    "x1 log(x1 / x2) - x1 + x2, infinite outside of x1 >= 0, x2 >= 0. Derivatives log(x1 / x2), zero where both are "
    "zero, and 1 - x1 / x2; nan outside.",
    x1=lambda xp, g, x1, x2: rules.kl_div_x(xp, g, x1, x2),
    x2=lambda xp, g, x1, x2: rules.kl_div_y(xp, g, x1, x2),
)
_with_parameters(
    "zeta",
    "x, /, q=1.0",
    "Hurwitz's zeta function, sum of (k + q)^(-x) over k >= 0, x > 1; Riemann's for q = 1. Derivative of q: "
    "-x zeta(x + 1, q) (DLMF 25.11.17); none of x.",
    q=lambda xp, g, x, q: g * (-rules.parameter(xp, x, q) * xp.special.zeta(x + 1, q)),
)
_unary(
    "sinc",
    lambda xp, g, x: rules.sinc(xp, g, x),
    "sin(pi x) / (pi x), 1 at 0, as numpy.sinc. The derivative comes from a power series around 0.",
    numpy=("sinc",),
)
_unary(
    "exp1",
    lambda xp, g, x: -g * (xp.exp(-x) / x),
    "The exponential integral E1, x > 0. Derivative -exp(-x) / x (DLMF 6.2.1). Also complex dtypes.",
)
_unary(
    "expi",
    lambda xp, g, x: g * (xp.exp(x) / x),
    "The exponential integral Ei. Derivative exp(x) / x (DLMF 6.2.5). Also complex dtypes.",
)
_expn = forward("expn")


def _expn_x(xp, g, n, x):
    n = operator.index(n)
    if n > 1:
        return -g * xp.special.expn(n - 1, x)
    below = xp.exp(-x) / x  # expn(0, x)
    return -g * (below if n else below * (1.0 + 1.0 / x))


_with_parameters(
    "expn",
    "n, x, /",
    "The generalized exponential integral of constant order n, an int, 0 or more, x >= 0. Derivative of x "
    "-expn(n - 1, x) (DLMF 8.19.13), which is -exp(-x) / x for n = 1.",
    forward=lambda xp, n, x: _expn(xp, _order("expn", n), x),
    x=_expn_x,
)
