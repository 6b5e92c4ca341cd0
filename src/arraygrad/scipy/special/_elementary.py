"""Elementary functions, elliptic integrals, hypergeometric functions and their kin: one formula per argument.

May import: arraygrad, ops, scipy._axes, scipy._conjugates, scipy._declare, scipy._everyday, scipy._plainly,
scipy._powers, scipy._zeta, scipy.special._chapter, scipy.special._hypergeometric, numpy, SciPy. "DLMF" is the NIST
Digital Library of Mathematical Functions, by equation.
"""

import functools
import inspect
import math

import numpy as np
from scipy import special

import arraygrad as ag
from arraygrad.ops import OPS
from arraygrad.scipy._axes import places
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import REGISTRY, formulas, kind_of, once, raw
from arraygrad.scipy._everyday import Agreeing, everyday
from arraygrad.scipy._plainly import plainly
from arraygrad.scipy._powers import abs_power
from arraygrad.scipy._zeta import hurwitz, zeta_slope
from arraygrad.scipy.special._chapter import NAMES, composition_of, declare
from arraygrad.scipy.special._hypergeometric import check_2f1_slope, of_0f1, of_1f1, of_2f1, of_u

__all__ = []

LN2, LN10, DEGREE, PI = math.log(2.0), math.log(10.0), math.pi / 180.0, math.pi
exp, log, where = ag.exp, ag.log, ag.where


def own(name):
    """Our function of that name, declared here or later."""
    return NAMES[name]


def _safe(mask, x, value):
    """x where the formula is used, a harmless value elsewhere."""
    return where(np.asarray(mask), x, value)


def near_or(small, series, formula, x, away):
    """`series(x)` where `small`, `formula(x)` elsewhere; each sees only arguments that it serves."""
    small = np.asarray(small)
    return where(small, series(_safe(small, x, 0.0)), formula(_safe(~small, x, away)))


# -- elementary -------------------------------------------------------------------------------------------------------

declare("exp2", "x", "DLMF 4.7.10", x=lambda g, ans: g * ans * LN2)
declare("exp10", "x", "DLMF 4.7.10", x=lambda g, ans: g * ans * LN10)
declare("cbrt", "x", "DLMF 4.7.11", x=lambda g, ans: g / (3.0 * ans * ans))
declare("cosm1", "x", "DLMF 4.20.2", x=lambda g, x: -g * ag.sin(x))
declare("radian", "d, m, s", "definition", d=lambda g, d: g * DEGREE + 0.0 * d,
        m=lambda g, m: g * (DEGREE / 60.0) + 0.0 * m, s=lambda g, s: g * (DEGREE / 3600.0) + 0.0 * s)  # fmt: skip
declare("sindg", "x", "DLMF 4.20.1", x=lambda g, x: g * DEGREE * own("cosdg")(x))
declare("cosdg", "x", "DLMF 4.20.2", x=lambda g, x: -g * DEGREE * own("sindg")(x))
declare("tandg", "x", "DLMF 4.20.3", x=lambda g, ans: g * DEGREE * (1.0 + ans * ans))
declare("cotdg", "x", "DLMF 4.20.6", x=lambda g, ans: -g * DEGREE * (1.0 + ans * ans))
declare("exprel", "x", "definition: (exp(x) - 1) / x", x=lambda g, x: g * _exprel_slope(x))
declare("log1pmx", "x", "definition: log(1 + x) - x", x=lambda g, x: -g * x / (1.0 + x))
declare("softplus", "x", "definition: log(1 + exp(x))", x=lambda g, x: g * ag.special.expit(x))
declare("huber", "delta, r", "Huber (1964)",
        delta=lambda g, delta, r: g * _huber(delta, r, lambda d, r: 0.0 * r, lambda d, r: ag.abs(r) - d),
        r=lambda g, delta, r: g * _huber(delta, r, lambda d, r: r, lambda d, r: d * ag.sign(r)))  # fmt: skip
declare("pseudo_huber", "delta, r", "Charbonnier et al. (1997)",
        delta=lambda g, delta, r: g * _pseudo_huber_delta(delta, r),
        r=lambda g, delta, r: g * _pseudo_huber_r(delta, r))  # fmt: skip
declare("powm1", "x, y", "definition: x^y - 1", x=lambda g, x, y: g * _power_slope(x, y),
        y=lambda g, ans, x, y: g * _power_log(ans, x, y))  # fmt: skip


def _power_slope(x, y):
    """y x^(y - 1), 0 where both are 0."""
    zero = np.asarray(np.asarray(raw(x)) == 0)
    if not zero.any():
        return y * x ** (y - 1.0)
    both = np.asarray(zero & (np.asarray(raw(y)) == 0))
    at_zero = _safe(zero, y, 1.0) * abs_power(_safe(zero, x, 0.0), where(both, 1.0, _safe(zero, y, 1.0)) - 1.0)
    return where(zero, at_zero, y * _safe(~zero, x, 1.0) ** (y - 1.0))


def _power_log(ans, x, y):
    """x^y log(x), at x = 0 with the derivatives that it has there."""
    zero = np.asarray(np.asarray(raw(x)) == 0)
    if not zero.any():
        return (ans + 1.0) * log(x)
    at_zero = abs_power(_safe(zero, x, 0.0), _safe(zero, y, 1.0), logs=1)
    return where(zero, at_zero, (ans + 1.0) * log(_safe(~zero, x, 1.0)))


def _exprel_slope(x):
    """(e^x (x - 1) + 1) / x^2, by its power series near zero."""
    small = np.abs(raw(x)) < 0.5

    def series(x):
        total = 0.0
        for k in range(17, 0, -1):
            total = total * x + k / math.factorial(k + 1)
        return total

    return near_or(small, series, lambda x: (exp(x) * (x - 1.0) + 1.0) / (x * x), x, 1.0)


def _huber(delta, r, inside, outside):
    near = np.asarray(np.abs(raw(r)) <= raw(delta))
    found = where(near, inside(delta, r), outside(delta, r))
    return where(np.asarray(raw(delta) < 0), np.nan, found)


def _pseudo_huber_sides(delta, r):
    """(delta, hypot(delta, r)) where delta >= 0, nan elsewhere, where the function is no number or inf."""
    delta = where(np.asarray(np.asarray(raw(delta)) < 0), np.nan, delta)
    none = np.asarray((np.asarray(raw(delta)) == 0) & (np.asarray(raw(r)) == 0))
    return delta, ag.hypot(where(none, 1.0, delta), where(none, 0.0, r))


def _pseudo_huber_r(delta, r):
    delta, side = _pseudo_huber_sides(delta, r)
    return delta * (r / side)


def _pseudo_huber_delta(delta, r):
    """r^2 / h (r / (h + delta))^2 with h = hypot(delta, r): no two terms that cancel."""
    delta, side = _pseudo_huber_sides(delta, r)
    ratio = r / (side + delta)
    return r * (r / side) * (ratio * ratio)


def _agm_slope(ans, a, b):
    """d/da of pi (a + b) / (4 K), whose parameter is 1 - p, p = 4 a b / (a + b)^2; inf at a = 0, 0 at b = 0."""
    none, other = np.asarray(np.asarray(raw(a)) == 0), np.asarray(np.asarray(raw(b)) == 0)
    a, b = where(none | other, 1.0, a), where(none | other, 1.0, b)
    mean = where(none | other, 1.0, ans)
    total = a + b
    first, second = a / total, b / total
    p = 4.0 * first * second
    slope = _ellipkm1_slope(p, 0.25 * PI * total / mean)
    found = mean / total - (16.0 / PI) * (mean / total) ** 2 * slope * second * (second - first)
    ends = np.where(none & other, np.nan, np.where(none, np.inf, 0.0))
    return where(none | other, ends, found)


declare("agm", "a, b", "DLMF 19.8.5, 19.4.1", a=lambda g, ans, a, b: g * _agm_slope(ans, a, b),
        b=lambda g, ans, a, b: g * _agm_slope(ans, b, a))  # fmt: skip


def _boxcox_lambda(x_log, lmbda):
    """d/dlmbda of (exp(lmbda L) - 1) / lmbda for L = x_log: L^2 times the slope of exprel at lmbda L."""
    flat = np.asarray(np.isneginf(np.asarray(raw(lmbda)) * np.asarray(raw(x_log))))  # the transform is -1 / lmbda
    if flat.any():
        inside = _boxcox_lambda(where(flat, 1.0, x_log), where(flat, 1.0, lmbda))
        return where(flat, where(flat, lmbda, 1.0) ** -2.0, inside)
    return x_log * x_log * _exprel_slope(lmbda * x_log)


declare("boxcox", "x, lmbda", "Box and Cox (1964)", x=lambda g, x, lmbda: g * x ** (lmbda - 1.0),
        lmbda=lambda g, x, lmbda: g * _boxcox_lambda(log(x), lmbda))  # fmt: skip
declare("boxcox1p", "x, lmbda", "Box and Cox (1964)", x=lambda g, x, lmbda: g * exp((lmbda - 1.0) * ag.log1p(x)),
        lmbda=lambda g, x, lmbda: g * _boxcox_lambda(ag.log1p(x), lmbda))  # fmt: skip


def _inverse_boxcox(y, lmbda):
    """log of the inverse, log1p(lmbda y) / lmbda, y at lmbda = 0."""
    flat = np.asarray(np.abs(raw(lmbda) * raw(y)) < 1e-3)
    t = _safe(flat, lmbda * y, 0.0)
    series = 1.0 - t * (1 / 2 - t * (1 / 3 - t * (1 / 4 - t * (1 / 5 - t / 6))))
    divisor = _safe(~flat, lmbda, 1.0)
    return where(flat, y * series, ag.log1p(divisor * _safe(~flat, y, 0.0)) / divisor)


@composition_of("inv_boxcox", "y lmbda", "Box and Cox (1964)")
def _inv_boxcox(y, lmbda):
    return exp(_inverse_boxcox(y, lmbda))


@composition_of("inv_boxcox1p", "y lmbda", "Box and Cox (1964)")
def _inv_boxcox1p(y, lmbda):
    return ag.expm1(_inverse_boxcox(y, lmbda))


# -- sums of exponentials ---------------------------------------------------------------------------------------------


@composition_of("logsumexp", "a b", "DLMF 4.2; the gradient of b is exp(a) / sum(b exp(a))")
def _logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    a = ag.asarray(a)
    if b is None and not return_sign and kind_of(a) != "c" and a.ndim:
        return ag.logsumexp(a, axis=axis, keepdims=keepdims)
    a, b = (ag.reshape(v, (1,)) if not v.ndim else v for v in ag.broadcast_arrays(a, 1.0 if b is None else b))
    axes = places(axis, a.ndim)
    values, absent = np.asarray(raw(a)), np.asarray(raw(b)) == 0
    top = np.max(np.where(absent, -np.inf, values.real), axis=axes, keepdims=True, initial=-np.inf)
    infinite = top == np.inf
    nothing = np.all(values.real == -np.inf, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    # What has no weight adds nothing, also where its exponential is infinite. Its slope in the weight is then the
    # largest number.
    largest = np.finfo(values.dtype).max
    beyond = absent & ~(values.real - top <= np.log(largest))
    terms = where(beyond | infinite, np.where(beyond, largest, 1.0), exp(where(beyond | infinite, 0.0, a - top)))
    total = where(nothing, 1.0, ag.sum(where(infinite & (values.real != np.inf), 0.0, b * terms), axis=axes,
                                       keepdims=True))  # fmt: skip
    found = log(ag.abs(total) if return_sign else total) + top
    if np.any(infinite):  # the infinite elements are the sum, and share by their weights
        hit = infinite & (values.real == np.inf) & ~absent
        weights = np.where(hit, np.asarray(raw(b)), 0.0)
        shares = weights / np.where(infinite, np.sum(weights, axis=axes, keepdims=True), 1.0)
        found = where(infinite, ag.sum(where(hit, shares * where(hit, a, 1.0), 0.0), axis=axes, keepdims=True), found)
    found = where(nothing, -np.inf, found)
    found = found if keepdims else ag.squeeze(found, axis=axes)
    if not return_sign:
        return found
    sign = where(nothing, 0.0, total / where(nothing, 1.0, ag.abs(total)))
    return found, sign if keepdims else ag.squeeze(sign, axis=axes)


@plainly("special.logsumexp", "a")
def _logsumexp_shares(g, a, ans, axis=None, b=None, keepdims=False, return_sign=False):
    if b is not None or return_sign or a.dtype.kind != "f" or not a.ndim or not np.all(np.isfinite(ans)):
        return None
    axes = tuple(range(a.ndim)) if axis is None else axis
    g = np.asarray(g)
    found = np.array(raw(ag.special.softmax(ag.asarray(a), axis=axes)))
    found *= g if keepdims else np.expand_dims(g, axes)
    return found


def _logsumexp_rule(xp, g, a, ans, axis, keepdims):
    with np.errstate(all="ignore"):  # SciPy's value comes without a warning where elements are infinite
        return OPS["logsumexp"].entry.rules["x"](xp, g, a, ans, axis, keepdims)


def _logsumexp_of_finite(a, axis=None, *, keepdims=False):
    """SciPy's steps for one row-major array of finite largest elements, which they take apart; None for others."""
    if type(a) is not np.ndarray or not a.flags.c_contiguous or not a.size or not a.ndim or type(axis) is bool:
        return None
    if axis is None:
        axis = tuple(range(a.ndim))
    elif type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return None
    top = a.max(axis=axis, keepdims=True)
    if not np.isfinite(top).all():
        return None
    most = a == top
    others = a.copy()
    others[most] = -np.inf
    count = most.sum(axis=axis, keepdims=True, dtype=a.dtype)
    np.subtract(others, top, out=others)
    total = np.exp(others, out=others).sum(axis=axis, keepdims=True)
    found = np.log1p(total / count) + np.log(count) + top
    return found if keepdims else found.squeeze(axis=axis)[()]


everyday("special.logsumexp", "a, axis=None, *, keepdims=False", rules={"a": _logsumexp_rule}, like="logsumexp",
         values=Agreeing(special.logsumexp, _logsumexp_of_finite))  # fmt: skip


def _of_some(name):
    """A function of rows that SciPy refuses where they have no elements."""
    ours, theirs = NAMES[name], getattr(special, name)

    @functools.wraps(ours)
    def call(x, axis=None):
        if isinstance(x, ag.Tensor) and not x.size:
            theirs(np.zeros(x.shape), axis)
        return ours(x, axis=axis)

    NAMES[name] = REGISTRY[f"special.{name}"].function = call


_of_some("softmax")
_of_some("log_softmax")

# -- logarithms and inverse functions ---------------------------------------------------------------------------------


def _spence_slope(z):
    """log(z) / (1 - z), which is -1 at z = 1."""
    away = 1.0 - z

    def series(t):  # log(1 - t) / t
        total = 0.0
        for k in range(18, 0, -1):
            total = total * t - 1.0 / k
        return total

    return near_or(np.abs(raw(away)) < 0.1, series, lambda t: log(1.0 - t) / t, away, 0.5)


declare("spence", "z", "DLMF 25.12.2", z=lambda g, z: g * conj(_spence_slope(z)))


def _lambertw_slope(ans, z):
    """W / (z (1 + W)) = 1 / (z + e^W)."""
    return 1.0 / (z + exp(ans))


declare("lambertw", "z, k=0, tol=1e-8", "DLMF 4.13.4", refuse={"k": "the number of a branch"},
        z=lambda g, ans, z: g * conj(_lambertw_slope(ans, z)))  # fmt: skip
declare("wrightomega", "z", "DLMF 4.13.4 with z = log", z=lambda g, ans: g * conj(ans / (1.0 + ans)))
declare("wofz", "z", "DLMF 7.10.2", z=lambda g, ans, z: g * conj(-2.0 * z * ans + 2j / math.sqrt(PI)))
declare("voigt_profile", "x, sigma, gamma", "DLMF 7.19 by wofz, 7.12.1; the heat equation",
        x=lambda g, x, sigma, gamma: g * _voigt(x, sigma, gamma)[0],
        sigma=lambda g, x, sigma, gamma: g * _voigt(x, sigma, gamma)[1],
        gamma=lambda g, x, sigma, gamma: g * _voigt(x, sigma, gamma)[2])  # fmt: skip


def _voigt(x, sigma, gamma):
    """Derivatives of the profile in x, sigma and gamma; far out, and for sigma = 0, those of its asymptotic series."""
    wide, high = np.asarray(raw(sigma)), np.asarray(raw(gamma))
    far = (np.hypot(np.asarray(raw(x)), high) >= 40.0 * wide) & (((wide > 0) & (high >= 0)) | (wide == 0))
    far = np.asarray(far)
    if not far.any():
        return _voigt_near(x, sigma, gamma)
    near = _voigt_near(_safe(~far, x, 0.0), _safe(~far, sigma, 1.0), _safe(~far, gamma, 1.0))
    beyond = _voigt_far(_safe(far, x, 1.0), _safe(far, sigma, 0.0), _safe(far, gamma, 1.0))
    return tuple([where(far, b, n) for b, n in zip(beyond, near, strict=True)])


def _voigt_far(x, sigma, gamma):
    """DLMF 7.12.1: the profile is Re i / (pi u) sum (2k - 1)!! (sigma / u)^2k with u = x + i gamma.

    From |u| = 40 sigma on 8 terms have all digits, and exp(-x^2 / (2 sigma^2)), which is not in the series, is 0.
    """
    endless = np.asarray(np.isinf(raw(x)) | np.isinf(raw(gamma)))
    v = where(endless, 0.0, 1.0 / (_safe(~endless, x, 1.0) + 1j * _safe(~endless, gamma, 1.0)))
    q = (sigma * v) ** 2
    slope, bend = 0.0, 0.0
    for k in range(8, -1, -1):
        slope = slope * q + _ODD[k + 1]
        bend = bend * q + (k + 1) * _ODD[k + 1]
    along = slope * v * v / PI
    return ag.imag(along), -2.0 / PI * sigma * ag.imag(bend * v * v * v), ag.real(along)


_ODD = [math.prod(range(1, 2 * k, 2)) for k in range(10)]  # (2k - 1)!!


def _voigt_near(x, sigma, gamma):
    """Derivatives of Re w(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt 2)."""
    root = math.sqrt(2.0)
    z = (x + 1j * gamma) / (sigma * root)
    w = own("wofz")(z)
    slope = -2.0 * z * w + 2j / math.sqrt(PI)
    norm = 1.0 / (sigma * math.sqrt(2.0 * PI))
    by_x = ag.real(slope) * norm / (sigma * root)
    by_gamma = -ag.imag(slope) * norm / (sigma * root)
    by_sigma = -(ag.real(w) * norm + ag.real(slope * z) * norm) / sigma
    return by_x, by_sigma, by_gamma


# Integrals of trigonometric functions: two results each.

declare("sici", "x", "DLMF 6.2.9, 6.2.11", x=lambda g, x: _both(g, ag.special.sinc(x / PI), ag.cos(x) / x))
declare("shichi", "x", "DLMF 6.2.15, 6.2.16", x=lambda g, x: _both(g, _sinhc(x), ag.cosh(x) / x))
declare("fresnel", "z", "DLMF 7.2.7, 7.2.8",
        z=lambda g, z: _both(g, ag.sin(0.5 * PI * z * z), ag.cos(0.5 * PI * z * z)))  # fmt: skip


def _both(g, first, second):
    parts = [gi * conj(slope) for gi, slope in zip(g, (first, second), strict=True) if gi is not None]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _sinhc(x):
    """sinh(x) / x, by its power series near zero."""

    def series(x):
        u, total = x * x, 0.0
        for k in range(11, -1, -1):
            total = total * u + 1.0 / math.factorial(2 * k + 1)
        return total

    return near_or(np.abs(raw(x)) < 1.0, series, lambda x: ag.sinh(x) / x, x, 1.0)


# -- elliptic integrals -----------------------------------------------------------------------------------------------


def _ellipk_slope(m, k):
    """(E - (1 - m) K) / (2 m (1 - m)), by its power series near m = 0."""
    small = np.abs(raw(m)) < 0.02

    def series(m):  # K = pi / 2 sum ((2n - 1)!! / (2n)!!)^2 m^n
        total, c = 0.0, []
        value = 1.0
        for n in range(1, 13):
            value *= ((2 * n - 1) / (2 * n)) ** 2
            c.append(n * value)
        for value in reversed(c):
            total = total * m + value
        return 0.5 * PI * total

    def formula(m):
        return (own("ellipe")(m) - (1.0 - m) * own("ellipk")(m)) / (2.0 * m * (1.0 - m))

    return near_or(small, series, formula, m, 0.5)


def _ellipe_slope(m):
    """(E - K) / (2 m), by its power series near m = 0."""
    small = np.abs(raw(m)) < 0.02

    def series(m):  # E = pi / 2 (1 - sum ((2n - 1)!! / (2n)!!)^2 m^n / (2n - 1))
        total, c = 0.0, []
        value = 1.0
        for n in range(1, 13):
            value *= ((2 * n - 1) / (2 * n)) ** 2
            c.append(n * value / (2 * n - 1))
        for value in reversed(c):
            total = total * m + value
        return -0.5 * PI * total

    return near_or(small, series, lambda m: (own("ellipe")(m) - own("ellipk")(m)) / (2.0 * m), m, 0.5)


declare("ellipk", "m", "DLMF 19.4.1", m=lambda g, ans, m: g * _ellipk_slope(m, ans))
declare("ellipe", "m", "DLMF 19.4.2", m=lambda g, m: g * _ellipe_slope(m))
declare("ellipkm1", "p", "DLMF 19.4.1", p=lambda g, ans, p: g * _ellipkm1_slope(p, ans))
declare("ellipkinc", "phi, m", "DLMF 19.4.5", phi=lambda g, phi, m: g / ag.sqrt(1.0 - m * ag.sin(phi) ** 2),
        m=lambda g, ans, phi, m: g * _ellipkinc_m(phi, m, ans))  # fmt: skip
declare("ellipeinc", "phi, m", "DLMF 19.4.6", phi=lambda g, phi, m: g * ag.sqrt(1.0 - m * ag.sin(phi) ** 2),
        m=lambda g, ans, phi, m: g * _ellipeinc_m(phi, m, ans))  # fmt: skip


def _ellipkm1_slope(p, k):
    """-(E(1 - p) - p K) / (2 p (1 - p)): the negative slope of K at m = 1 - p, without its difference 1 - m."""
    m = 1.0 - p
    small = np.asarray(np.abs(raw(m)) < 0.02)
    away = _safe(~small, p, 0.5)
    formula = (own("ellipe")(1.0 - away) - away * _safe(~small, k, 1.0)) / (2.0 * away * (1.0 - away))
    return -where(small, _ellipk_slope(_safe(small, m, 0.0), k), formula)


def _ellipkinc_m(phi, m, f):
    small = np.asarray(np.abs(raw(m)) < 0.02)
    m_ = ag.where(small, 0.5, m)
    sine = ag.sin(phi)
    root = ag.sqrt(1.0 - m_ * sine * sine)
    e = own("ellipeinc")(phi, m_)
    formula = e / (2.0 * m_ * (1.0 - m_)) - f / (2.0 * m_) - sine * ag.cos(phi) / (2.0 * (1.0 - m_) * root)
    return ag.where(small, _near_zero(phi, ag.where(small, m, 0.0), False), formula)


def _ellipeinc_m(phi, m, e):
    small = np.asarray(np.abs(raw(m)) < 0.02)
    m_ = ag.where(small, 0.5, m)
    formula = (e - own("ellipkinc")(phi, m_)) / (2.0 * m_)
    return ag.where(small, _near_zero(phi, ag.where(small, m, 0.0), True), formula)


def _near_zero(phi, m, second):
    """d/dm of F(phi, m), or of E(phi, m), by powers of m: their integrands are (1 - m sin^2)^(-1/2) and ^(1/2)."""
    sine, cosine = ag.sin(phi), ag.cos(phi)
    integral, odd, power, factor, total = phi, sine, 1.0, 1.0, 0.0
    for k in range(1, 13):
        integral = ((2.0 * k - 1.0) * integral - odd * cosine) / (2.0 * k)  # of sin^(2k) from 0 to phi
        odd = odd * sine * sine
        factor = factor * (2.0 * k - 1.0) / (2.0 * k)
        total = total + (-k / (2.0 * k - 1.0) if second else k) * factor * power * integral
        power = power * m
    return total


def _ellipj_u(g, ans, m):
    sn, cn, dn, _ = ans
    slopes = (cn * dn, -sn * dn, -m * sn * cn, dn)
    parts = [gi * slope for gi, slope in zip(g, slopes, strict=True) if gi is not None]
    return sum(parts[1:], parts[0])


def _ellipj_m(g, ans, u, m):
    """The amplitude solves F(phi, m) = u, so dphi/dm = -dn dF/dm; the others follow from it."""
    sn, cn, dn, phi = ans
    turn = -dn * _ellipkinc_m(phi, m, u)
    slopes = (cn * turn, -sn * turn, -sn * (0.5 * sn + m * cn * turn) / dn, turn)
    parts = [gi * slope for gi, slope in zip(g, slopes, strict=True) if gi is not None]
    return sum(parts[1:], parts[0])


declare("ellipj", "u, m", "DLMF 22.13, 19.4.5", u=lambda g, ans, m: _ellipj_u(g, ans, m), m=_ellipj_m)


# Carlson's symmetric integrals.

declare("elliprf", "x, y, z", "DLMF 19.18.1",
        x=lambda g, x, y, z: -g * conj(own("elliprd")(y, z, x)) / 6.0,
        y=lambda g, x, y, z: -g * conj(own("elliprd")(x, z, y)) / 6.0,
        z=lambda g, x, y, z: -g * conj(own("elliprd")(x, y, z)) / 6.0)  # fmt: skip
declare("elliprc", "x, y", "DLMF 19.18.1, homogeneity 19.16.14",
        x=lambda g, ans, x, y: g * conj(_elliprc_x(ans, x, y)),
        y=lambda g, ans, x, y: -g * conj((0.5 * ans + _times(x, _elliprc_x, ans, y)) / y))  # fmt: skip
declare("elliprd", "x, y, z", "DLMF 19.16.5, homogeneity 19.16.14",
        x=lambda g, ans, x, y, z: g * conj(_elliprd_x(ans, x, y, z)),
        y=lambda g, ans, x, y, z: g * conj(_elliprd_x(ans, y, x, z)),
        z=lambda g, ans, x, y, z: g * conj(_elliprd_z(ans, x, y, z)))  # fmt: skip
declare("elliprg", "x, y, z", "DLMF 19.18.5, 19.16.9",
        x=lambda g, x, y, z: g * conj(_elliprg_x(x, y, z)), y=lambda g, x, y, z: g * conj(_elliprg_x(y, x, z)),
        z=lambda g, x, y, z: g * conj(_elliprg_x(z, x, y)))  # fmt: skip
declare("elliprj", "x, y, z, p", "DLMF 19.16.2, homogeneity 19.16.14",
        x=lambda g, ans, x, y, z, p: g * conj(_elliprj_x(ans, x, y, z, p)),
        y=lambda g, ans, x, y, z, p: g * conj(_elliprj_x(ans, y, x, z, p)),
        z=lambda g, ans, x, y, z, p: g * conj(_elliprj_x(ans, z, x, y, p)),
        p=lambda g, ans, x, y, z, p: -g * conj((1.5 * ans + sum(
            _times(a, _elliprj_x, ans, b, c, p) for a, b, c in ((x, y, z), (y, x, z), (z, x, y)))) / p))  # fmt: skip


def _close(a, b):
    """Where the difference of two positive arguments has lost digits: there the integral itself is computed."""
    a, b = np.asarray(raw(a)), np.asarray(raw(b))
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return np.asarray(False)
    return np.asarray((np.abs(a - b) < 1e-2 * np.maximum(a, b)) & (np.minimum(a, b) > 0))


_U = np.arange(-4.0, 4.0, 1.0 / 16.0)
_NODES = np.exp(0.5 * PI * np.sinh(_U))
_NODE_WEIGHTS = 0.5 * PI / 16.0 * np.cosh(_U) * _NODES


def _integral(factors, powers):
    """The integral over t > 0 of the product of (t + factor)^-power, by the exp-sinh rule (Takahasi and Mori 1974)."""
    arrays = np.broadcast_arrays(*[np.asarray(raw(f), dtype=float) for f in factors])
    arrays = [np.where(a == 0, 1.0, a) for a in arrays]
    size = np.exp(np.mean(np.log(np.abs(arrays)), axis=0))[..., None]
    logs = sum(-power * log(size * _NODES + ag.asarray(f)[..., None]) for f, power in zip(factors, powers, strict=True))
    return ag.sum(exp(logs + np.log(size * _NODE_WEIGHTS)), axis=-1)


def _apart_or(close, formula, factors, powers, scale):
    """`formula` where the arguments are apart, `scale` times the integral where they are `close`."""
    close = np.asarray(close | np.zeros(np.shape(raw(formula)), dtype=bool))
    if not np.any(close):
        return formula
    used = [where(close, f, 1.0) for f in factors]
    return where(close, scale * _integral(used, powers), formula)


def _times(x, slope, ans, *others):
    """x slope(ans, x, *others); 0 at x = 0, where the slope has a weaker pole."""
    zero = np.asarray(np.asarray(raw(x)) == 0)
    if not zero.any():
        return x * slope(ans, x, *others)
    apart = where(zero, 1.0, x)
    return where(zero, 0.0, apart * slope(ans, apart, *others))


def _elliprc_x(ans, x, y):
    """(R_C - 1 / sqrt(x)) / (2 (y - x)); from DLMF 19.2.17 under the integral where x = y."""
    close = _close(x, y)
    formula = (ans - 1.0 / ag.sqrt(x)) / (2.0 * where(close, 1.0, y - x))
    return _apart_or(close, formula, (x, y), (1.5, 1.0), -0.25)


def _elliprd_x(ans, x, y, z):
    """From 1 / ((t + x) (t + z)) in partial fractions, under the integral 19.16.5; this integral where x = z."""
    close = _close(x, z)
    formula = (own("elliprd")(y, z, x) - ans) / (2.0 * where(close, 1.0, x - z))
    return _apart_or(close, formula, (x, y, z), (1.5, 0.5, 1.5), -0.75)


def _elliprd_z(ans, x, y, z):
    return -(1.5 * ans + _times(x, _elliprd_x, ans, y, z) + _times(y, _elliprd_x, ans, x, z)) / z


def _elliprg_x(x, y, z):
    """R_(-1/2)(3/2, 1/2, 1/2) / 6, which is an integral of R_F's and R_D's integrands; R_D is infinite for x = 0."""
    zero = np.asarray(raw(x) == 0)
    rest = where(zero, 0.0, x * own("elliprd")(y, z, where(zero, 1.0, x)))
    return where(zero, np.nan, 0.25 * own("elliprf")(x, y, z) - rest / 12.0)


def _elliprj_x(ans, x, y, z, p):
    """From 1 / ((t + x) (t + p)) in partial fractions, under the integral 19.16.2; this integral where x = p."""
    close = _close(x, p)
    formula = (own("elliprd")(y, z, x) - ans) / (2.0 * where(close, 1.0, x - p))
    return _apart_or(close, formula, (x, y, z, p), (1.5, 0.5, 0.5, 1.0), -0.75)


# -- hypergeometric functions -----------------------------------------------------------------------------------------


def _by_parameters(name, function, *names):
    """A formula for each parameter but the last argument: numbers, by `function(place, ans, *arguments)`."""
    shown = inspect.Signature(
        [inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD) for key in ("g", "ans", *names)]
    )

    def by(place):
        def slope(g, ans, **given):
            arguments = [given[key] for key in names]
            found = function(place, np.asarray(raw(ans)), *[np.asarray(raw(a)) for a in arguments])
            return g * conj(once(f"special.{name}", found, *arguments))

        slope.__signature__ = shown
        return slope

    return {key: by(place) for place, key in enumerate(names[:-1])}


declare("hyp0f1", "v, z", "DLMF 16.3.1, 16.2.1", z=lambda g, v, z: g * conj(own("hyp0f1")(v + 1.0, z) / v),
        **_by_parameters("hyp0f1", of_0f1, "v", "z"))  # fmt: skip
declare("hyp1f1", "a, b, x", "DLMF 13.3.15, 16.2.1",
        x=lambda g, a, b, x: g * conj(a / b * own("hyp1f1")(a + 1.0, b + 1.0, x)),
        **_by_parameters("hyp1f1", of_1f1, "a", "b", "x"))  # fmt: skip
declare("hyperu", "a, b, x", "DLMF 13.3.22, 13.4.4",
        x=lambda g, a, b, x: -g * a * own("hyperu")(a + 1.0, b + 1.0, x),
        **_by_parameters("hyperu", of_u, "a", "b", "x"))  # fmt: skip


def _2f1_slope(g, ans, a, b, c, z):
    check_2f1_slope(*[np.asarray(raw(t)) for t in (ans, a, b, c, z)])
    return g * conj(a * b / c * own("hyp2f1")(a + 1.0, b + 1.0, c + 1.0, z))


declare("hyp2f1", "a, b, c, z", "DLMF 15.5.1, 16.2.1", z=_2f1_slope,
        **_by_parameters("hyp2f1", of_2f1, "a", "b", "c", "z"))  # fmt: skip

# -- zeta functions ---------------------------------------------------------------------------------------------------


def _riemann_slope(x):
    """Of Riemann's zeta function; left of -1 by the functional equation, DLMF 25.4.1."""
    left = np.asarray(np.asarray(raw(x)) < -1.0)
    inner, other = where(left, 2.0, x), where(left, x, -2.5)
    turned = 1.0 - other
    factor = 2.0 * exp(ag.gammaln(turned) - turned * math.log(2.0 * PI))
    angle = 0.5 * PI * turned
    inside = ag.cos(angle) * (
        zeta_slope(turned, 1.0) + (ag.special.digamma(turned) - math.log(2.0 * PI)) * hurwitz(turned, 1.0)
    ) - 0.5 * PI * ag.sin(angle) * hurwitz(turned, 1.0)
    return where(left, -factor * inside, zeta_slope(inner, 1.0))


_EULER = "Euler and Maclaurin: DLMF 25.11.5; 25.4.1"
declare("zetac", "x", _EULER, x=lambda g, x: g * _riemann_slope(x))
_ruled_zeta = formulas(
    "special.zeta", special.zeta, f"{_EULER}; 25.11.17", "x, q=None, out=None",
    x=lambda g, x, q=None: g * (_riemann_slope(x) if q is None else zeta_slope(x, q)),
    q=lambda g, x, q: -g * x * own("zeta")(x + 1.0, q),
)  # fmt: skip
_zeta_of_any_library = NAMES["zeta"]


@functools.wraps(_ruled_zeta)
def _zeta(x, q=None, out=None):
    if q is None or out is not None or (isinstance(x, ag.Tensor) and x.requires_grad):
        return _ruled_zeta(x, q, out)
    return _zeta_of_any_library(x, q)


NAMES["zeta"] = REGISTRY["special.zeta"].function = _zeta
