"""Further continuous distributions: noncentral, truncated, of two or more shapes; and tails by quadrature.

May import: arraygrad, scipy._declare, scipy._incomplete, scipy._noncentral, scipy._powers, scipy._quadrature,
scipy.special, scipy.stats._continuous and _univariate, numpy, SciPy.

Sources: "JKB" is Johnson, Kotz and Balakrishnan (1994/1995), Continuous Univariate Distributions 1 and 2, by chapter;
"SciPy" the definition in the distribution's own documentation. Densities that `_continuous.py` declares alone are
declared here anew with their tails.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy import special
from arraygrad.scipy._declare import raw
from arraygrad.scipy._incomplete import beta_tail, gamma_tail, log_other, signed
from arraygrad.scipy._noncentral import ncf_log_density, nct_log_density, nct_tail, ncx2_log_density
from arraygrad.scipy._powers import Power, xlogy
from arraygrad.scipy._quadrature import tail_of_density
from arraygrad.scipy.special._inverses import kolmogorov_density, smirnov_density, tukey_density
from arraygrad.scipy.stats._continuous import (
    LOG_2,
    LOG_PI,
    LOG_ROOT_2PI,
    PI,
    argus_log_density,
    boxlog,
    crystalball_log_density,
    end_of,
    from_hazard,
    invgauss_log_tail,
    log1p_power,
    log_difference,
    log_i0e,
    log_normal_density,
    of_log_cdf,
    turned,
)
from arraygrad.scipy.stats._univariate import continuous, measured

__all__ = []

exp, log, log1p, expm1, where, gammaln = ag.exp, ag.log, ag.log1p, ag.expm1, ag.where, ag.gammaln
log_ndtr, betaln = ag.special.log_ndtr, ag.special.betaln


def _tensor(value):
    return ag.asarray(value)


# -- noncentral -------------------------------------------------------------------------------------------------------

continuous("ncx2", "df, nc", ncx2_log_density, integrated=True, source="JKB 29, a mixture of central ones",
           mean=lambda df, nc: df + nc, var=lambda df, nc: 2.0 * (df + 2.0 * nc))  # fmt: skip
continuous("ncf", "dfn, dfd, nc", ncf_log_density, integrated=True, source="JKB 30, a mixture of central ones")
continuous("nct", "df, nc", nct_log_density, tail=nct_tail, source="JKB 31, by quadrature")
continuous("rice", "b", lambda y, b: -0.5 * (y - b) ** 2 + log_i0e(y * b), powers=lambda y, b: [Power(y, 1.0)],
           integrated=True,
           source="Rice (1945)")  # fmt: skip

# -- of a gamma, beta or Bessel function ------------------------------------------------------------------------------

continuous("erlang", "a", lambda y, a: -y - gammaln(a),
           powers=lambda y, a: [Power(y, a - 1.0)], tail=lambda y, a: gamma_tail(a, y),
           source="JKB 17; DLMF 8.2", refuse={"a": "an integer; use gamma"})  # fmt: skip
continuous("rdist", "c", lambda y, c: 0.0 * y - betaln(0.5, 0.5 * c),
           powers=lambda y, c: [Power(1.0 - y * y, 0.5 * c - 1.0, -y * y)],
           tail=lambda y, c: beta_tail(0.5 * c, 0.5 * c, 0.5 * (1.0 + y), 0.5 * (1.0 - y)),
           source="JKB 25; DLMF 8.17")  # fmt: skip


def _jones_faddy(y, a, b):
    root = (a + b + y * y) ** 0.5
    return 0.5 * (root + y) / root, 0.5 * (root - y) / root


def _jf_log_density(y, a, b):
    above, below = _jones_faddy(y, a, b)
    power = (a + 0.5) * log(above) + (b + 0.5) * log(below)
    return power + 2.0 * LOG_2 - betaln(a, b) - 0.5 * log(a + b)


continuous("jf_skew_t", "a, b", _jf_log_density, source="Jones and Faddy (2003); DLMF 8.17",
           tail=lambda y, a, b: beta_tail(a, b, *_jones_faddy(y, a, b)))  # fmt: skip


def _pearson3(y, skew):
    """With t = skew y / 2 and n = 4 / skew^2, by Stirling's series of the gamma function of n: regular at skew = 0."""
    t = 0.5 * skew * y
    near = np.asarray(np.abs(np.asarray(raw(t))) < 0.05)
    inner, outer = where(near, t, 0.0), where(near, 1.0, t)
    series = 0.0
    for k in range(14, 1, -1):  # (log(1 + t) - t) / t^2 = -1/2 + t/3 - t^2/4 + ...
        series = series * inner + (-1.0) ** (k + 1) / k
    shape = where(near, series, (log1p(outer) - outer) / (outer * outer))
    small = np.asarray(np.abs(np.asarray(raw(skew))) < 0.5)
    u = where(small, 0.25 * skew * skew, 0.0)
    rest = (
        u
        / 12.0
        * (1.0 - u * u / 30.0 * (1.0 - u * u * 2.0 / 7.0 * (1.0 - u * u * 0.75 * (1.0 - u * u * 140.0 / 99.0))))
    )
    n = 4.0 / where(small, 1.0, skew) ** 2
    rest = where(small, rest, gammaln(n) - (n - 0.5) * log(n) + n - LOG_ROOT_2PI)
    return y * y * shape - log1p(t) - LOG_ROOT_2PI - rest


def _pearson3_ends(skew):
    skew = _tensor(skew)
    end = -2.0 / where(np.asarray(np.asarray(raw(skew)) == 0), 1.0, skew)
    return where(np.asarray(np.asarray(raw(skew)) > 0), end, -np.inf), where(
        np.asarray(np.asarray(raw(skew)) < 0), end, np.inf
    )


# Below |skew| = 1.6e-5 SciPy's tails are those of the normal distribution.
continuous("pearson3", "skew", _pearson3, integrated=1e-4, ends=_pearson3_ends, wide=True,
           source="JKB 12; DLMF 5.11.1", mean=lambda skew: 0.0 * skew, var=lambda skew: 1.0 + 0.0 * skew)  # fmt: skip

_STEPS = np.arange(161.0)


def log_bessel_k(order, z):
    """log K_order(z) by the integral of exp(-z cosh t) cosh(order t) over t > 0 (DLMF 10.32.9), in both arguments."""
    order, z = _tensor(order), _tensor(z)
    rz, size = np.asarray(raw(z), dtype=float), np.abs(np.asarray(raw(order), dtype=float))
    with np.errstate(all="ignore"):
        end = np.arccosh(1.0 + (60.0 + 2.0 * size) / rz)
        # The integrand's peak is where z sinh t = order; beyond, an exponential of an exponential.
        end = np.arccosh(1.0 + (60.0 + size * end) / rz)
        end = np.where(np.isfinite(end), np.maximum(end, np.arcsinh(size / rz)), 1.0)
    t = (end / _STEPS[-1])[..., None] * _STEPS
    turn = order[..., None] * t
    logs = -z[..., None] * (2.0 * np.sinh(0.5 * t) ** 2) + ag.logaddexp(turn, -turn) - LOG_2
    top = np.max(np.asarray(raw(logs)), axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    weights = np.where(_STEPS == 0.0, 0.5, 1.0) * (end / _STEPS[-1])[..., None]
    return log(ag.sum(weights * exp(logs - top), axis=-1)) + top[..., 0] - z


continuous("geninvgauss", "p, b",
           lambda y, p, b: (p - 1.0) * log(y) - 0.5 * b * (y + 1.0 / y) - LOG_2 - log_bessel_k(p, b),
           integrated=True, source="Jorgensen (1982); DLMF 10.32.9")  # fmt: skip


def _genhyperbolic(y, p, a, b):
    root, spread = (a * a - b * b) ** 0.5, (1.0 + y * y) ** 0.5
    norm = p * log(root) - (p - 0.5) * log(a) - LOG_ROOT_2PI - log_bessel_k(p, root)
    return norm + b * y + (p - 0.5) * log(spread) + log_bessel_k(p - 0.5, a * spread)


continuous("genhyperbolic", "p, a, b", _genhyperbolic, integrated=True,
           source="Barndorff-Nielsen (1977); DLMF 10.32.9")  # fmt: skip
continuous("norminvgauss", "a, b",
           lambda y, a, b: log(a) - LOG_PI + log(ag.special.k1e(a * (1.0 + y * y) ** 0.5)) - a * (1.0 + y * y) ** 0.5
           + (a * a - b * b) ** 0.5 + b * y - 0.5 * log1p(y * y), integrated=True,
           source="Barndorff-Nielsen (1997)")  # fmt: skip


# Tanh-sinh nodes s over (0, 1) by their logarithms, so far towards both ends that s^1e-8 is small there: log(s),
# log(1 - s), and the logarithm of the weights, but for s (1 - s).
_FAR_STEPS = np.arange(-24.0, 24.0, 1.0 / 16.0)
_LOG_BELOW, _LOG_ABOVE = (-np.logaddexp(0.0, sign * np.pi * np.sinh(_FAR_STEPS)) for sign in (-1.0, 1.0))
_LOG_STEPS = np.log(np.pi * np.cosh(_FAR_STEPS) / 16.0)


def _gausshyper(y, a, b, c, z):
    a_, b_, c_, z_ = (_tensor(v)[..., None] for v in (a, b, c, z))
    logs = a_ * _LOG_BELOW + b_ * _LOG_ABOVE - c_ * log1p(z_ * np.exp(_LOG_BELOW)) + _LOG_STEPS
    top = np.max(np.asarray(raw(logs)), axis=-1, keepdims=True)
    norm = log(ag.sum(exp(logs - top), axis=-1)) + top[..., 0]
    return xlogy(a - 1.0, y) + (b - 1.0) * log1p(-y) - c * log1p(z * y) - norm


continuous("gausshyper", "a, b, c, z", _gausshyper, integrated=True, source="Armero and Bayarri (1994)")

# -- of a normal or Cauchy variable -----------------------------------------------------------------------------------


def _alpha_tail(sign):
    def found(y, a):
        if sign > 0:
            return log_ndtr(a - 1.0 / y) - log_ndtr(a)
        return log_difference(log_ndtr(a), log_ndtr(a - 1.0 / y)) - log_ndtr(a)

    return found


continuous("alpha", "a", lambda y, a: -2.0 * log(y) - log_ndtr(_tensor(a)) + log_normal_density(a - 1.0 / y),
           tail=of_log_cdf(_alpha_tail(1.0), _alpha_tail(-1.0)), source="JKB 12, SciPy")  # fmt: skip


def _half_angle(y):
    """The upper tail of a Cauchy variable."""
    return ag.atan2(ag.ones_like(y), y) / PI


continuous("foldcauchy", "c", lambda y, c: -LOG_PI + log(1.0 / (1.0 + (y - c) ** 2) + 1.0 / (1.0 + (y + c) ** 2)),
           cdf=lambda y, c: (ag.atan(y - c) + ag.atan(y + c)) / PI,
           sf=lambda y, c: _half_angle(y - c) + _half_angle(y + c),
           logcdf=lambda y, c: log((ag.atan(y - c) + ag.atan(y + c)) / PI),
           logsf=lambda y, c: log(_half_angle(y - c) + _half_angle(y + c)), source="SciPy")  # fmt: skip


def _skewcauchy_side(y, a):
    return where(np.asarray(np.asarray(raw(y)) <= 0), 1.0 - a, 1.0 + a)


def _skewcauchy_tail(y, a):
    """The tail on the side of y, of the pieces below and above zero."""
    side = _skewcauchy_side(y, a)
    return np.asarray(np.asarray(raw(y)) <= 0), log(side) + log(_half_angle(ag.abs(y) / side))


continuous("skewcauchy", "a", lambda y, a: -LOG_PI - log1p((y / _skewcauchy_side(y, a)) ** 2),
           tail=_skewcauchy_tail, kinks=lambda a: [0.0 * a], source="SciPy")  # fmt: skip


def _tilted(z, r):
    """log of exp(r^2 / 2 - r z) ndtr(z - r), by erfcx where its factors cancel."""
    above = np.asarray(np.asarray(raw(r)) > np.asarray(raw(z)))
    scaled = log(ag.special.erfcx(where(above, r - z, 0.0) * math.sqrt(0.5))) - LOG_2
    far = scaled - 0.5 * where(above, z, 0.0) ** 2
    return where(above, far, where(above, 0.0, r * (0.5 * r - z)) + log_ndtr(where(above, 0.0, z - r)))


def _dpareto_lognorm(y, u, s, a, b):
    z = (log(y) - u) / s
    return log(a) + log(b) - log(a + b) - log(y) + ag.logaddexp(_tilted(z, a * s), _tilted(-z, b * s))


continuous("dpareto_lognorm", "u, s, a, b", _dpareto_lognorm, integrated=True,
           source="Hajargasht and Griffiths (2013)")  # fmt: skip
continuous("exponnorm", "K",
           lambda y, K: _exponnorm_part(y, K) - log(K),
           tail=of_log_cdf(lambda y, K: log_difference(log_ndtr(y), _exponnorm_part(y, K)),
                           lambda y, K: ag.logaddexp(log_ndtr(-y), _exponnorm_part(y, K))),
           source="Grushka (1972)")  # fmt: skip


def _exponnorm_part(y, K):
    return _tilted(y, 1.0 / K)


continuous("recipinvgauss", "mu",
           lambda y, mu: -0.5 * (1.0 - mu * y) ** 2 / (mu * mu * y) - 0.5 * log(y) - LOG_ROOT_2PI,
           tail=turned(of_log_cdf(lambda y, mu: invgauss_log_tail(1.0 / y, mu, 1.0),
                                  lambda y, mu: invgauss_log_tail(1.0 / y, mu, -1.0))), source="JKB 15")  # fmt: skip


def _crystalball_cdf(y, beta, m):
    far = np.asarray(np.asarray(raw(y)) < -np.asarray(raw(beta)))
    top = m / beta * exp(-0.5 * beta * beta) / (m - 1.0)
    mass = top + math.sqrt(2.0 * PI) * ag.special.ndtr(beta)
    power = exp((1.0 - m) * log1p(-beta / m * (where(far, y, -beta) + beta)))
    near = math.sqrt(2.0 * PI) * (ag.special.ndtr(where(far, -beta, y)) - ag.special.ndtr(-beta))
    return (where(far, top * power, top + near)) / mass


def _crystalball_tail(y, beta, m):
    """The lower tail by both pieces; the upper one is normal."""
    below = _crystalball_cdf(y, beta, m)
    lower = np.asarray(np.asarray(raw(below)) < 0.5)
    top = m / beta * exp(-0.5 * beta * beta) / (m - 1.0)
    mass = top + math.sqrt(2.0 * PI) * ag.special.ndtr(beta)
    normal = np.asarray(np.asarray(raw(y)) >= -np.asarray(raw(beta)))
    above = where(
        normal, log_ndtr(-where(normal, y, 0.0)) + LOG_ROOT_2PI - log(mass), log1p(-where(normal, 0.5, below))
    )
    return lower, where(lower, log(below), above)


continuous("crystalball", "beta, m", crystalball_log_density, tail=_crystalball_tail,
           kinks=lambda beta, m: [-beta], source="Skwarnicki (1986)")  # fmt: skip


continuous("argus", "chi", argus_log_density, integrated=True, source="Albrecht (1990); DLMF 8.2")

# -- powers and exponentials ------------------------------------------------------------------------------------------

continuous("genexpon", "a, b, c",
           lambda y, a, b, c: log(a - b * expm1(-c * y)) - (a + b) * y - b / c * expm1(-c * y),
           tail=from_hazard(lambda y, a, b, c: (a + b) * y + b / c * expm1(-c * y)), source="Ryu (1993)")  # fmt: skip


def _power_end(y, c):
    """log of (1 - c y)^(1 / c), -y at c = 0."""
    return -boxlog(y, -c)


continuous("genhalflogistic", "c",
           lambda y, c: LOG_2 + _power_end(y, c) - log1p(-c * y) - 2.0 * log1p(exp(_power_end(y, c))),
           tail=of_log_cdf(lambda y, c: log(-expm1(_power_end(y, c))) - log1p(exp(_power_end(y, c))),
                           lambda y, c: LOG_2 + _power_end(y, c) - log1p(exp(_power_end(y, c)))),
           ends=lambda c: (0.0, 1.0 / c),
           source="SciPy")  # fmt: skip


def _kappa4_log_cdf(y, h, k):
    return _power_end(exp(_power_end(y, k)), h)


def _kappa4_log_density(y, h, k):
    u = _power_end(y, k)
    return u - log1p(-k * y) + _power_end(exp(u), h) - log1p(-h * exp(u))


def _mielke_log_cdf(y, k, s):
    return -k / s * log1p_power(1.0 / y, s)


continuous("kappa4", "h, k", _kappa4_log_density,
           tail=of_log_cdf(_kappa4_log_cdf, lambda y, h, k: log(-expm1(_kappa4_log_cdf(y, h, k)))),
           source="Hosking (1994)")  # fmt: skip
continuous("kappa3", "a", lambda y, a: log(a) - (1.0 / a + 1.0) * log(a + y**a), source="Mielke (1973)",
           tail=of_log_cdf(lambda y, a: -log1p(a * y**-a) / a, lambda y, a: log(-expm1(-log1p(a * y**-a) / a))),
           )  # fmt: skip
continuous("mielke", "k, s", lambda y, k, s: log(k) + (k - 1.0) * log(y) - (1.0 + k / s) * log1p_power(y, s),
           tail=of_log_cdf(_mielke_log_cdf, lambda y, k, s: log(-expm1(_mielke_log_cdf(y, k, s)))),
           source="Mielke (1973)")  # fmt: skip
continuous("reciprocal", "a, b", lambda y, a, b: -log(y) - log(log(b) - log(a)), ends=lambda a, b: (a, b),
           source="Hamming (1970)",
           tail=of_log_cdf(lambda y, a, b: log(log(y) - log(a)) - log(log(b) - log(a)),
                           lambda y, a, b: log(log(b) - log(y)) - log(log(b) - log(a))))  # fmt: skip


def _mass(b, x):
    """log of the integral of b t^(-b-1) from 1 to x, by b: of -expm1(-b log x) / b."""
    return log(boxcoxed(log(x), -b))


def boxcoxed(u, b):
    """expm1(b u) / b."""
    return u * special.exprel(b * u)


continuous("truncpareto", "b, c", lambda y, b, c: -(b + 1.0) * log(y) - _mass(b, c),
           tail=of_log_cdf(lambda y, b, c: _mass(b, y) - _mass(b, c),
                           lambda y, b, c: log(boxcoxed(log(c) - log(y), -b)) - b * log(y) - _mass(b, c)),
           ends=lambda b, c: (1.0, c),
           source="JKB 20")  # fmt: skip


def _weibull_mass(c, a, b):
    return log_difference(-(a**c), -(b**c))


continuous("truncweibull_min", "c, a, b",
           lambda y, c, a, b: log(c) + xlogy(c - 1.0, y) - y**c - _weibull_mass(c, a, b),
           tail=of_log_cdf(lambda y, c, a, b: _weibull_mass(c, a, y) - _weibull_mass(c, a, b),
                           lambda y, c, a, b: _weibull_mass(c, y, b) - _weibull_mass(c, a, b)),
           ends=lambda c, a, b: (a, b),
           source="Rinne (2009)")  # fmt: skip

# -- piecewise and circular -------------------------------------------------------------------------------------------


def _trapezoid_pieces(y, c, d):
    ry, rc, rd = (np.asarray(raw(v), dtype=float) for v in (y, c, d))
    return np.asarray(ry < rc), np.asarray(ry > rd)


def _trapezoid(y, c, d):
    rising, falling = _trapezoid_pieces(y, c, d)
    up, down = log(where(rising, y / where(rising, c, 1.0), 1.0)), where(falling, 1.0 - y, 1.0)
    down = log(down / where(falling, 1.0 - d, 1.0))
    return LOG_2 - log(d - c + 1.0) + up + down


def _trapezoid_cdf(y, c, d):
    rising, falling = _trapezoid_pieces(y, c, d)
    first = where(rising, y * y / where(rising, c, 1.0), 2.0 * y - c)
    rest = (1.0 - y) ** 2 / where(falling, 1.0 - d, 1.0)
    return where(falling, 1.0 - rest / (d - c + 1.0), first / (d - c + 1.0))


def _trapezoid_sf(y, c, d):
    return _trapezoid_cdf(1.0 - y, 1.0 - d, 1.0 - c)


continuous("trapezoid", "c, d", _trapezoid, kinks=lambda c, d: [c, d], cdf=_trapezoid_cdf, sf=_trapezoid_sf,
           logcdf=lambda y, c, d: log(_trapezoid_cdf(y, c, d)), logsf=lambda y, c, d: log(_trapezoid_sf(y, c, d)),
           source="JKB 26")  # fmt: skip
continuous("wrapcauchy", "c",
           lambda y, c: log1p(-c * c) - LOG_2 - LOG_PI - log(1.0 + c * c - 2.0 * c * ag.cos(y)), integrated=True,
           source="Mardia and Jupp (2000)")  # fmt: skip


def _vonmises_log_density(y, kappa):
    return kappa * (ag.cos(y) - 1.0) - LOG_2 - LOG_PI - log_i0e(kappa)


def _vonmises_tail(y, kappa):
    """Within a turn; from kappa = 50 on SciPy's value is that of a normal approximation."""
    dist = stats.vonmises_line
    return tail_of_density(_vonmises_log_density, y, (kappa,), dist.cdf, dist.sf, -PI, PI, relative=1e-2)


def _vonmises_integral(y, kappa):
    """The integral of the density from the middle of y's turn to y, by Gauss' and Legendre's rule in 32 panels."""
    kappa = _tensor(kappa)
    turn = (y - 2.0 * PI * np.round(np.asarray(raw(y)) / (2.0 * PI))) + 0.0 * kappa
    points, weights = _PANELS
    # A narrow peak lies within 12 / sqrt(kappa) of the middle.
    most = 12.0 / np.sqrt(np.maximum(np.asarray(raw(kappa), dtype=float), 1e-300))
    size = np.abs(np.asarray(raw(turn)))
    reach = where(np.asarray(size < most), turn, np.sign(np.asarray(raw(turn))) * np.minimum(size, most))
    t = reach[..., None] * points
    logs = kappa[..., None] * (ag.cos(t) - 1.0) - LOG_2 - LOG_PI - log_i0e(kappa)[..., None]
    return ag.sum(exp(logs) * (reach[..., None] * weights), axis=-1)


def _panels(count):
    points, weights = np.polynomial.legendre.leggauss(16)
    starts = np.arange(count)[:, None]
    return ((starts + 0.5 * (points + 1.0)) / count).ravel(), np.tile(0.5 * weights / count, count)


_PANELS = _panels(32)


def _vonmises(name):
    """A tail of the von Mises distribution; beyond the middle turn SciPy adds or takes away whole ones."""

    def tail(y, kappa):
        within = np.asarray(np.abs(np.asarray(raw(y))) <= PI) & np.ones(np.shape(np.asarray(raw(kappa))), dtype=bool)
        lower, found = _vonmises_tail(where(within, y, 0.0), kappa)
        found = where(within, found, -1.0)
        part = _vonmises_integral(where(within, 0.0, y), kappa)
        upper = name.endswith("sf")
        if not name.startswith("log"):
            return where(within, -signed(lower, found) if upper else signed(lower, found), -part if upper else part)
        direct = np.asarray(lower != upper)
        turns = np.round(np.asarray(raw(y)) / (2.0 * PI))
        beyond = 0.5 - turns - part if upper else 0.5 + turns + part
        return where(within, where(direct, found, log_other(where(direct, -1.0, found))), log(beyond))

    return tail


_TAILS = {name: _vonmises(name) for name in ("cdf", "sf", "logcdf", "logsf")}
for _name in ("vonmises", "vonmises_line"):
    continuous(
        _name, "kappa", _vonmises_log_density, ends=lambda kappa: (-PI, PI), source="Mardia and Jupp (2000)", **_TAILS
    )


def _breit_wigner(y, rho):
    square = rho * rho
    root = (square + 1.0) ** 0.5
    norm = LOG_2 + 0.5 * LOG_2 + 1.5 * log(rho) + log(root) - 0.5 * log(rho + root) - LOG_PI
    return norm - log((y * y - square) ** 2 + square)


continuous("rel_breitwigner", "rho", _breit_wigner, integrated=True, source="SciPy")

# -- by their distribution functions ----------------------------------------------------------------------------------


def _tukey_log_density(y, lam):
    return log(tukey_density(special.tklmbda(y, lam), lam))


continuous("tukeylambda", "lam", _tukey_log_density, ends=lambda lam: (-end_of(lam), end_of(lam)),
           source="Joiner and Rosenblatt (1971)",
           tail=of_log_cdf(lambda y, lam: log(special.tklmbda(y, lam)),
                           lambda y, lam: log(special.tklmbda(-y, lam))))  # fmt: skip
_COUNT = {"n": "a count"}
continuous("ksone", "n", lambda y, n: log(smirnov_density(n, y)), source="Birnbaum and Tingey (1951)", refuse=_COUNT,
           cdf=lambda y, n: -special.smirnov(n, y), sf=lambda y, n: special.smirnov(n, y),
           logcdf=lambda y, n: log1p(-special.smirnov(n, y)), logsf=lambda y, n: log(special.smirnov(n, y)),
           )  # fmt: skip
continuous("kstwobign", "", lambda y: log(kolmogorov_density(y)), source="Feller (1948)")
for _name, _shapes in (("landau", ""), ("kstwo", "n"), ("levy_stable", "alpha, beta"), ("studentized_range", "k, df"),
                       ("irwinhall", "n")):  # fmt: skip
    measured(_name, _shapes, "the density that SciPy computes")
