"""Functions that come with their own derivative, solutions of a differential equation; integrals of Bessel functions.

May import: arraygrad, scipy._conjugates, scipy._declare, scipy._guards, scipy.special._bessel, scipy.special._chapter,
numpy, SciPy. "DLMF" is the NIST Digital Library of Mathematical Functions, by equation.

SciPy returns the function and its derivative. The derivative of the one is the other; that of the other follows from
the differential equation, so that gradients have derivatives of every order.
"""

import math

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import formulas, once, raw, refused
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.special._bessel import over_argument, struve_over
from arraygrad.scipy.special._chapter import NAMES, declare

__all__ = []

PI, DEGREE = math.pi, math.pi / 180.0
_ORDER = dict.fromkeys(("m", "n", "v", "a", "v1"), "arraygrad has no derivative in the order")
_AND_PARAMETER = {**_ORDER, **dict.fromkeys(("q", "c", "cv"), "arraygrad has no derivative in the parameter")}


def own(name):
    return NAMES[name]


def summed(g, *slopes):
    """The gradient of one argument of a function with several results."""
    parts = [gi * conj(slope()) for gi, slope in zip(g, slopes, strict=True) if gi is not None]
    return sum(parts[1:], parts[0])


def _pair(name, signature, source, argument, second, refuse=_AND_PARAMETER, unit=1.0):
    """A function that SciPy returns with its derivative; `second(y, slope, ...)` is the second one."""
    places = [key.strip() for key in signature.split(",")]

    def rule(g, ans, **given):
        y, slope = ans
        named = [given[key] for key in places]
        return summed(g, lambda: slope * unit, lambda: second(y, slope, *named) * unit)

    rule.__signature__ = _signature(["g", "ans", *places])
    declare(name, signature, source, refuse=refuse, **{argument: rule})


def _signature(names):
    import inspect

    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])


# -- parabolic cylinder functions: y'' = (x^2 / 4 + a) y, and y'' = (a - x^2 / 4) y for W -----------------------------


def _whittaker(y, slope, v, x):
    return (0.25 * x * x - v - 0.5) * y


_pair("pbdv", "v, x", "DLMF 12.2.1, 12.1", "x", _whittaker)
_pair("pbvv", "v, x", "DLMF 12.2.2, 12.1", "x", _whittaker)
_pair("pbwa", "a, x", "DLMF 12.14.2", "x", lambda y, slope, a, x: (a - 0.25 * x * x) * y)

# -- Mathieu functions; the angles are in degrees ---------------------------------------------------------------------


def _mathieu(value):
    def second(y, slope, m, q, x):
        return -(own(value)(m, q) - 2.0 * q * ag.cos(2.0 * DEGREE * x)) * y

    return second


def _modified(value):
    def second(y, slope, m, q, x):
        return (own(value)(m, q) - 2.0 * q * ag.cosh(2.0 * x)) * y

    return second


for _name, _value in (("mathieu_cem", "mathieu_a"), ("mathieu_sem", "mathieu_b")):
    _pair(_name, "m, q, x", "DLMF 28.2.1, in degrees", "x", _mathieu(_value), unit=DEGREE)
for _name, _value in (("modcem1", "mathieu_a"), ("modcem2", "mathieu_a"), ("modsem1", "mathieu_b"),
                      ("modsem2", "mathieu_b")):  # fmt: skip
    _pair(f"mathieu_{_name}", "m, q, x", "DLMF 28.20.1", "x", _modified(_value))

_CIRCLE = np.arange(0.0, 360.0, 2.0)


def _mathieu_value(name, function):
    """da/dq is the mean of 2 cos(2 x) y^2 by that of y^2: of periodic functions, so the trapezoidal rule is exact."""

    def rule(g, m, q):
        order, parameter = (np.asarray(raw(v), dtype=float)[..., None] for v in (m, q))
        y = getattr(special, function)(order, parameter, _CIRCLE)[0]
        slope = np.sum(2.0 * np.cos(2.0 * DEGREE * _CIRCLE) * y * y, axis=-1) / np.sum(y * y, axis=-1)
        return g * once(f"special.{name}", slope, q)

    declare(name, "m, q", "Hellmann-Feynman theorem of DLMF 28.2.1", refuse=_ORDER, order="first", q=rule)


_mathieu_value("mathieu_a", "mathieu_cem")
_mathieu_value("mathieu_b", "mathieu_sem")

# -- spheroidal wave functions ----------------------------------------------------------------------------------------


def _eigenvalue(name, m, n, c, given):
    """The eigenvalue, or the `given` one if it is that: the equation holds for no other."""
    value = getattr(special, name)(*(np.asarray(raw(v), dtype=float) for v in (m, n, c)))
    if given is not None and not np.allclose(raw(given), value, rtol=1e-6, atol=1e-9, equal_nan=True):
        raise NotDifferentiable(
            f"arraygrad.scipy.special: the second derivative of a spheroidal function needs cv = {name}(m, n, c)"
        )
    return value


def _prolate(y, slope, m, n, c, x, value=None):
    value = _eigenvalue("pro_cv", m, n, c, value)
    rest = 1.0 - x * x
    return (2.0 * x * slope - (value - c * c * x * x - m * m / rest) * y) / rest


def _oblate(y, slope, m, n, c, x, value=None):
    value = _eigenvalue("obl_cv", m, n, c, value)
    rest = 1.0 - x * x
    return (2.0 * x * slope - (value + c * c * x * x - m * m / rest) * y) / rest


def _oblate_radial(y, slope, m, n, c, x, value=None):
    value = _eigenvalue("obl_cv", m, n, c, value)
    more = 1.0 + x * x
    return (-2.0 * x * slope + (value - c * c * x * x - m * m / more) * y) / more


def _spheroidal(name, second, source):
    _pair(name, "m, n, c, x", source, "x", second)
    _pair(f"{name}_cv", "m, n, c, cv, x", source, "x",
          lambda y, slope, m, n, c, cv, x: second(y, slope, m, n, c, x, cv))  # fmt: skip


for _name in ("pro_ang1", "pro_rad1", "pro_rad2"):
    _spheroidal(_name, _prolate, "DLMF 30.2.1")
_spheroidal("obl_ang1", _oblate, "DLMF 30.2.1 with i c")
_spheroidal("obl_rad1", _oblate_radial, "DLMF 30.2.1 with i c and i x")
_spheroidal("obl_rad2", _oblate_radial, "DLMF 30.2.1 with i c and i x")

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(120)


def _spheroidal_value(name, function, sign):
    """The eigenvalue's slope in c^2 is the mean of x^2 weighted with the square of the eigenfunction."""

    def rule(g, m, n, c):
        raws = [np.asarray(raw(v), dtype=float)[..., None] for v in (m, n, c)]
        weight = _WEIGHTS * getattr(special, function)(*raws, _POINTS)[0] ** 2
        slope = np.sum(weight * _POINTS**2, axis=-1) / np.sum(weight, axis=-1)
        slope = np.where(np.asarray(raw(c)) < 0, 0.0, slope)  # where SciPy's values are those of c = 0
        return g * once(f"special.{name}", sign * 2.0 * np.asarray(raw(c)) * slope, c)

    declare(name, "m, n, c", "Hellmann-Feynman theorem of DLMF 30.2.1", refuse=_ORDER, order="first", c=rule)


_spheroidal_value("pro_cv", "pro_ang1", 1.0)
_spheroidal_value("obl_cv", "obl_ang1", -1.0)

# -- Kelvin and scaled Airy functions ---------------------------------------------------------------------------------

declare("kelvin", "x", "DLMF 10.61.3", x=lambda g, ans, x: summed(
    g, lambda: ans[2], lambda: ans[3], lambda: 1j * ans[0] - over_argument(ans[2], x),
    lambda: 1j * ans[1] - ans[3] / x))  # fmt: skip


def _airye(g, ans, z):
    """Ai and Ai' are multiplied by exp(2/3 z^(3/2)), Bi and Bi' by its inverse; the latter for z > 0 alone."""
    if np.asarray(raw(z)).dtype.kind == "c":
        raise NotDifferentiable(
            "arraygrad.scipy.special.airye: of a complex argument it is no holomorphic function: multiply the results "
            "of airy by the factors"
        )
    positive = np.asarray(raw(z)) > 0
    grows = ag.where(positive, z, 1.0) ** 0.5
    shrinks = ag.where(positive, grows, 0.0)
    grows = ag.where(positive, grows, np.nan)  # SciPy has no value there
    return summed(
        g, lambda: ans[1] + grows * ans[0], lambda: z * ans[0] + grows * ans[1],
        lambda: ans[3] - shrinks * ans[2], lambda: z * ans[2] - shrinks * ans[3])  # fmt: skip


declare("airye", "z", "DLMF 9.2.1", z=_airye)

# -- integrals: the derivative is the integrand -----------------------------------------------------------------------


def _from_one(function, series, x):
    """(f(x) - 1) / x for f = 1 + series[0] x^2 + series[1] x^4 ..., by the series near zero."""
    near = np.asarray(np.abs(raw(x)) < 0.5)
    inner, outer = ag.where(near, x, 0.0), ag.where(near, 1.0, x)
    total = 0.0
    for c in reversed(series):
        total = total * inner * inner + c
    return ag.where(near, inner * total, (function(outer) - 1.0) / outer)


def _series(sign):
    """Coefficients of J0 (sign -1) and I0 (+1), DLMF 10.2.2 and 10.25.2, from x^2 on."""
    return [sign**k / (4.0**k * math.factorial(k) ** 2) for k in range(1, 12)]


_J, _Y, _I, _K = (getattr(ag.special, name) for name in ("j0", "y0", "i0", "k0"))
declare("itj0y0", "x", "DLMF 10.22(i)", x=lambda g, x: summed(g, lambda: _J(x), lambda: _Y(x)))
declare("iti0k0", "x", "DLMF 10.43(i)", x=lambda g, x: summed(g, lambda: _I(x), lambda: _K(x)))
declare("it2j0y0", "x", "DLMF 10.22.39", x=lambda g, x: summed(
    g, lambda: -_from_one(_J, _series(-1.0), x), lambda: -_Y(x) / x))  # fmt: skip
declare("it2i0k0", "x", "DLMF 10.43(iii)", x=lambda g, x: summed(
    g, lambda: _from_one(_I, _series(1.0), x), lambda: -_K(x) / x))  # fmt: skip
declare("itairy", "x", "DLMF 9.10(i)", x=lambda g, x: summed(
    g, lambda: own("airy")(x)[0], lambda: own("airy")(x)[2], lambda: own("airy")(-x)[0],
    lambda: own("airy")(-x)[2]))  # fmt: skip
declare("itstruve0", "x", "DLMF 11.7(i)", x=lambda g, x: g * own("struve")(0.0, x))
declare("it2struve0", "x", "DLMF 11.7(i)", x=lambda g, x: -g * struve_over(x))
declare("itmodstruve0", "x", "DLMF 11.7(ii)", x=lambda g, x: g * own("modstruve")(0.0, x))


def _modified_fresnel(turn):
    """F(x), the integral of exp(turn t^2) from x on, and K(x) = exp(-turn (x^2 + pi / 4)) F(x) / sqrt(pi)."""

    def rule(g, ans, x):
        if np.any(np.asarray(raw(x)) < 0):
            raise NotDifferentiable(
                "arraygrad.scipy.special.modfresnelp, modfresnelm: for x < 0 SciPy's values are not those of the "
                "integrals; take them for -x from the whole one, sqrt(pi) exp(+-i pi / 4)"
            )
        return summed(g, lambda: -ag.exp(turn * x * x), lambda: -2.0 * turn * x * ans[1] - _CORNER[turn])

    return rule


_CORNER = {turn: np.exp(-turn * PI / 4.0) / math.sqrt(PI) for turn in (1j, -1j)}
declare("modfresnelp", "x", "A&S 7.3.2", x=_modified_fresnel(1j))
declare("modfresnelm", "x", "A&S 7.3.2", x=_modified_fresnel(-1j))


def _besselpoly(g, ans, a, lmb, nu):
    """By the derivative of J under the integral, DLMF 10.6.1 (order 0: 10.6.3); by parts for an order below 1."""
    nu, lmb = np.asarray(raw(nu), dtype=float), np.asarray(raw(lmb), dtype=float)
    above = own("besselpoly")(a, lmb + 1.0, nu + 1.0)
    below = own("besselpoly")(a, lmb + 1.0, np.where(nu >= 1.0, nu - 1.0, 1.0))
    slope = ag.where(np.asarray(nu == 0), -2.0 * above, below - above)
    low = np.asarray((nu != 0) & (nu < 1.0))
    if low.any():
        divisor = ag.where(low, ag.where(np.asarray(raw(a) == 0), np.nan, a), 1.0)
        slope = ag.where(low, (ag.special.jv(nu, 2.0 * a) - (lmb + 1.0) * ans) / divisor, slope)
    return g * slope


declare("besselpoly", "a, lmb, nu", "DLMF 10.6.1, under the integral", a=_besselpoly,
        refuse=dict.fromkeys(("lmb", "nu"), "it has no rule"))  # fmt: skip

_SHAPES = dict.fromkeys("ab", "arraygrad has no derivative in a parameter of Wright's function")
declare("wright_bessel", "a, b, x", "DLMF 10.46.1", refuse=_SHAPES,
        x=lambda g, a, b, x: g * own("wright_bessel")(a, a + b, x))  # fmt: skip
declare("log_wright_bessel", "a, b, x", "DLMF 10.46.1", refuse=_SHAPES,
        x=lambda g, ans, a, b, x: g * ag.exp(own("log_wright_bessel")(a, a + b, x) - ans))  # fmt: skip

# -- sequences of orders with their derivatives, of one number --------------------------------------------------------


def _sequence(name, signature, source, argument, second, check=None, first=None):
    """`second(y, slope, orders, ...)` for all orders at once; `check` refuses arguments.

    `first(...)` is the slope where SciPy's own is not right everywhere.
    """
    if not hasattr(special, name):
        return
    places = [key.strip() for key in signature.split(",")]

    def rule(g, ans, **given):
        y, slope = ans
        named = [given[key] for key in places]
        if check is not None:
            check(*named)
        total = summed(g, lambda: slope if first is None else first(*named), lambda: second(y, slope, *named))
        return ag.sum(total)

    rule.__signature__ = _signature(["g", "ans", *places])
    refuse = dict.fromkeys((key for key in places if key != argument), "arraygrad has no derivative in the order")
    NAMES[name] = formulas(
        f"special.{name}", getattr(special, name), source, signature, refuse=refuse, **{argument: rule}
    )


def _orders(y):
    return np.arange(np.shape(raw(y))[-1], dtype=float)


def _legendre_second(y, slope, n, z, m=0.0):
    rest = 1.0 - z * z
    return (2.0 * z * slope - (n * (n + 1.0) - m * m / rest) * y) / rest


_sequence("lqn", "n, z", "DLMF 14.2.1", "z", lambda y, slope, n, z: _legendre_second(y, slope, _orders(y), z))
_sequence("lqmn", "m, n, z", "DLMF 14.2.2", "z", lambda y, slope, m, n, z: _legendre_second(
    y, slope, _orders(y), z, np.arange(np.shape(raw(y))[0], dtype=float)[:, None]))  # fmt: skip


def _riccati_second(y, slope, n, x):
    """(n (n + 1) / x^2 - 1) y for y = x j_n(x), of which j_n(x) / x = (j_(n-1) + j_(n+1)) / (2 n + 1), DLMF 10.51.1."""
    order = np.arange(np.shape(raw(y))[-1])
    beside = own("spherical_jn")(np.maximum(order - 1, 0), x) + own("spherical_jn")(order + 1, x)
    return order * (order + 1.0) / (2.0 * order + 1.0) * beside - y


_sequence("riccati_jn", "n, x", "DLMF 10.47.1, 10.51.1", "x", _riccati_second)
_sequence("riccati_yn", "n, x", "DLMF 10.47.1", "x",
          lambda y, slope, n, x: (_orders(y) * (_orders(y) + 1.0) / (x * x) - 1.0) * y)  # fmt: skip
if hasattr(special, "pbdn_seq"):
    NAMES["pbdn_seq"] = refused(
        "special.pbdn_seq",
        special.pbdn_seq,
        "SciPy's values of it are no holomorphic function; use pbdv_seq for real z",
    )


def _upwards(v, x):
    if float(np.asarray(raw(v))) < 0:
        raise NotDifferentiable(
            "arraygrad.scipy.special.pbdv_seq, pbvv_seq: for an order below zero SciPy leaves out a derivative"
        )


for _name in ("pbdv_seq", "pbvv_seq"):
    _sequence(
        _name, "v, x", "DLMF 12.2.1, 12.1", "x",
        lambda y, slope, v, x: (0.25 * x * x - _lambda_orders(y, v) - 0.5) * y, _upwards,
    )  # fmt: skip


def _lambda_orders(y, v):
    v = float(np.asarray(raw(v)))
    return v - math.floor(v) + _orders(y)


def _lambda(v, x, above):
    """The functions of orders from the first after the integer part of v, raised by `above`; SciPy's are 0 at zero."""
    number = float(np.asarray(raw(v)))
    order = number - math.floor(number) + above + np.arange(math.floor(number) + 1.0)
    if abs(float(np.asarray(raw(x)))) < 1.0:
        return own("hyp0f1")(order + 1.0, -0.25 * x * x), order  # DLMF 10.16.9
    return own("lmbda")(number + above, x)[0][above:], order


def _lambda_slope(v, x, above=0):
    """-x / (2 (v + 1)) of the order above, DLMF 10.6.6; SciPy's own is wrong at zero for order 1."""
    found, order = _lambda(v, x, above + 1)
    return -0.5 * x / order * found


def _lambda_second(y, slope, v, x):
    number = float(np.asarray(raw(v)))
    if number != math.floor(number) and np.any(np.asarray(raw(x)) < 0):
        raise NotDifferentiable(
            "arraygrad.scipy.special.lmbda: for x < 0 and orders that are no integers SciPy's derivatives have the "
            "wrong sign; the functions are even: call it with -x"
        )
    found, order = _lambda(v, x, 1)
    return -0.5 / order * (found + x * _lambda_slope(v, x, 1))


_sequence("lmbda", "v, x", "DLMF 10.6.6", "x", _lambda_second, first=_lambda_slope)
