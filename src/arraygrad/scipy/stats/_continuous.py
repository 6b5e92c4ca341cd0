"""Continuous distributions: log-density and tails of the standard form, each by the formula that SciPy documents.

May import: arraygrad, scipy._declare, scipy._incomplete, scipy._powers, scipy.stats._univariate, numpy.

Sources: "JKB" is Johnson, Kotz and Balakrishnan (1994/1995), Continuous Univariate Distributions 1 and 2, by chapter;
the parameters are SciPy's.
"""

import math

import numpy as np

import arraygrad as ag
from arraygrad.scipy._declare import raw
from arraygrad.scipy._incomplete import beta_tail, gamma_tail, t_tail
from arraygrad.scipy._powers import Power, abs_power, xlogy
from arraygrad.scipy.stats._univariate import continuous

__all__ = []

PI, LOG_PI, LOG_2 = math.pi, math.log(math.pi), math.log(2.0)
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
EULER = 0.5772156649015329

exp, log, log1p, expm1, where, gammaln = ag.exp, ag.log, ag.log1p, ag.expm1, ag.where, ag.gammaln
ndtr, log_ndtr = ag.special.ndtr, ag.special.log_ndtr
gamma, digamma, betaln = ag.special.gamma, ag.special.digamma, ag.special.betaln


def softplus(y):
    """log(1 + exp(y))."""
    return -ag.special.log_expit(-y)


def log1p_power(y, c):
    """log(1 + y**c) for y >= 0, of powers that overflow too."""
    large = np.asarray(raw(y) > 1.0)
    near, far = where(large, 1.0, y), where(large, y, 1.0)
    return where(large, c * log(far) + log1p(far**-c), log1p(near**c))


def log1mexp(y):
    """log(1 - exp(-y)) for y > 0."""
    near = y < LOG_2
    return where(near, log(-expm1(-where(near, y, 1.0))), log1p(-exp(-where(near, 1.0, y))))


def from_hazard(cumulated):
    """Tails from the cumulated hazard H(y): sf = exp(-H)."""

    def tail(y, *shapes):
        total = cumulated(y, *shapes)
        total = where(total > 0, total, 1e-300)
        lower = np.asarray((total < LOG_2).numpy())
        return lower, where(lower, log1mexp(where(lower, total, 0.5)), -total)

    return tail


def of_log_cdf(log_cdf, log_sf):
    """Tails from closed forms of both logarithms, the smaller one is taken."""

    def tail(y, *shapes):
        below, above = log_cdf(y, *shapes), log_sf(y, *shapes)
        lower = np.asarray((below < above).numpy())
        return lower, where(lower, below, above)

    return tail


def turned(tail):
    """Tails of a decreasing transformation."""

    def other(y, *shapes):
        lower, found = tail(y, *shapes)
        return np.asarray(np.logical_not(lower)), found

    return other


def log_normal_density(y):
    return -0.5 * y * y - LOG_ROOT_2PI


# Without shape parameters the density says all.

continuous("norm", "", log_normal_density, source="JKB 13", mean=lambda: 0.0, var=lambda: 1.0,
           entropy=lambda: LOG_ROOT_2PI + 0.5)  # fmt: skip
continuous("uniform", "", lambda y: 0.0 * y, source="JKB 26", mean=lambda: 0.5, var=lambda: 1.0 / 12.0,
           entropy=lambda: 0.0)  # fmt: skip
continuous("expon", "", lambda y: -y, source="JKB 19", mean=lambda: 1.0, var=lambda: 1.0, entropy=lambda: 1.0)
continuous("laplace", "", lambda y: -abs_power(y) - LOG_2, source="JKB 24", mean=lambda: 0.0, var=lambda: 2.0,
           entropy=lambda: 1.0 + LOG_2)  # fmt: skip
continuous("logistic", "", lambda y: ag.special.log_expit(y) + ag.special.log_expit(-y),
           source="JKB 23", mean=lambda: 0.0,
           var=lambda: PI * PI / 3.0, entropy=lambda: 2.0)  # fmt: skip
continuous("cauchy", "", lambda y: -LOG_PI - log1p(y * y), source="JKB 16", entropy=lambda: math.log(4.0 * PI))
continuous("gumbel_r", "", lambda y: -y - exp(-y), source="JKB 22", mean=lambda: EULER, var=lambda: PI * PI / 6.0,
           entropy=lambda: 1.0 + EULER)  # fmt: skip
continuous("gumbel_l", "", lambda y: y - exp(y), source="JKB 22", mean=lambda: -EULER, var=lambda: PI * PI / 6.0,
           entropy=lambda: 1.0 + EULER)  # fmt: skip
continuous("rayleigh", "", lambda y: -0.5 * y * y,
           powers=lambda y: [Power(y, 1.0)], source="JKB 18", mean=lambda: math.sqrt(PI / 2.0),
           var=lambda: 2.0 - PI / 2.0)  # fmt: skip
continuous("maxwell", "", lambda y: 0.5 * math.log(2.0 / PI) - 0.5 * y * y,
           powers=lambda y: [Power(y, 2.0)], source="JKB 18",
           mean=lambda: 2.0 * math.sqrt(2.0 / PI), var=lambda: 3.0 - 8.0 / PI)  # fmt: skip
continuous("halfnorm", "", lambda y: LOG_2 + log_normal_density(y), source="JKB 13", mean=lambda: math.sqrt(2.0 / PI),
           var=lambda: 1.0 - 2.0 / PI)  # fmt: skip
continuous("halfcauchy", "", lambda y: LOG_2 - LOG_PI - log1p(y * y), source="JKB 16")
continuous("halflogistic", "", lambda y: LOG_2 - y - 2.0 * log1p(exp(-y)), source="JKB 23", mean=lambda: 2.0 * LOG_2)
continuous("hypsecant", "", lambda y: LOG_2 - LOG_PI - ag.logaddexp(y, -y), source="JKB 23",
           mean=lambda: 0.0, var=lambda: PI * PI / 4.0)  # fmt: skip
continuous("moyal", "", lambda y: -0.5 * (y + exp(-y)) - LOG_ROOT_2PI, source="Moyal (1955)")
continuous("levy", "", lambda y: -0.5 / y - 1.5 * log(y) - LOG_ROOT_2PI, source="JKB 12")
continuous("levy_l", "", lambda y: 0.5 / y - 1.5 * log(-y) - LOG_ROOT_2PI, source="JKB 12")
continuous("arcsine", "", lambda y: -LOG_PI - 0.5 * log(y) - 0.5 * log1p(-y), source="JKB 25", mean=lambda: 0.5,
           var=lambda: 0.125)  # fmt: skip
continuous("semicircular", "", lambda y: LOG_2 - LOG_PI + 0.5 * log1p(-y * y), source="Wigner (1955)",
           mean=lambda: 0.0, var=lambda: 0.25)  # fmt: skip
continuous("cosine", "", lambda y: log1p(ag.cos(y)) - math.log(2.0 * PI), source="JKB 26", mean=lambda: 0.0)
continuous("anglit", "", lambda y: log(ag.cos(2.0 * y)), source="JKB 26", mean=lambda: 0.0)
continuous("gibrat", "", lambda y: log_normal_density(log(y)) - log(y), source="JKB 14")
continuous("wald", "", lambda y: -0.5 * (y - 1.0) ** 2 / y - 1.5 * log(y) - LOG_ROOT_2PI, source="JKB 15",
           mean=lambda: 1.0, var=lambda: 1.0)  # fmt: skip

# Gamma and its kin.

continuous("gamma", "a", lambda y, a: -y - gammaln(a),
           powers=lambda y, a: [Power(y, a - 1.0)], tail=lambda y, a: gamma_tail(a, y),
           source="JKB 17; DLMF 8.2", mean=lambda a: a, var=lambda a: a,
           entropy=lambda a: a + gammaln(a) + (1.0 - a) * digamma(a))  # fmt: skip
continuous("chi2", "df", lambda y, df: -0.5 * y - gammaln(0.5 * df) - 0.5 * LOG_2 * df,
           powers=lambda y, df: [Power(y, 0.5 * df - 1.0)],
           tail=lambda y, df: gamma_tail(0.5 * df, 0.5 * y), source="JKB 18; DLMF 8.2", mean=lambda df: df,
           var=lambda df: 2.0 * df)  # fmt: skip
continuous("chi", "df",
           lambda y, df: -0.5 * y * y - gammaln(0.5 * df) + (1.0 - 0.5 * df) * LOG_2,
           powers=lambda y, df: [Power(y, df - 1.0)],
           tail=lambda y, df: gamma_tail(0.5 * df, 0.5 * y * y), source="JKB 18; DLMF 8.2")  # fmt: skip
continuous("invgamma", "a", lambda y, a: -(a + 1.0) * log(y) - 1.0 / y - gammaln(a),
           tail=turned(lambda y, a: gamma_tail(a, 1.0 / y)), source="JKB 17; DLMF 8.2")  # fmt: skip
continuous("gengamma", "a, c", lambda y, a, c: log(ag.abs(c)) - y**c - gammaln(a),
           powers=lambda y, a, c: [Power(y, c * a - 1.0)],
           tail=lambda y, a, c: _gengamma_tail(y, a, c), source="Stacy (1962); DLMF 8.2")  # fmt: skip


def _loggamma_tail(y, c):
    """By the first term of the power series where exp(y) is below all numbers."""
    far = np.asarray(np.asarray(raw(y)) < -650.0)
    lower, log_tail = gamma_tail(c, exp(where(far, 0.0, y)))
    return lower | far, where(far, c * where(far, y, 0.0) - gammaln(c + 1.0), log_tail)


continuous("loggamma", "c", lambda y, c: c * y - exp(y) - gammaln(c), tail=_loggamma_tail,
           source="JKB 22; DLMF 8.2")  # fmt: skip
continuous("nakagami", "nu",
           lambda y, nu: LOG_2 + xlogy(nu, nu) - gammaln(nu) - nu * y * y,
           powers=lambda y, nu: [Power(y, 2.0 * nu - 1.0)],
           tail=lambda y, nu: gamma_tail(nu, nu * y * y), source="Nakagami (1960); DLMF 8.2")  # fmt: skip


def _gengamma_tail(y, a, c):
    lower, found = gamma_tail(a, y**c)
    raw_c = c.numpy() if isinstance(c, ag.Tensor) else np.asarray(c)
    return np.asarray(np.asarray(lower) == (raw_c > 0)), found


# Beta and its kin.

continuous("beta", "a, b", lambda y, a, b: 0.0 * y - betaln(a, b),
           powers=lambda y, a, b: [Power(y, a - 1.0), Power(1.0 - y, b - 1.0, -y)],
           tail=lambda y, a, b: beta_tail(a, b, y), source="JKB 25; DLMF 8.17", mean=lambda a, b: a / (a + b),
           var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)))  # fmt: skip
continuous("betaprime", "a, b", lambda y, a, b: -(a + b) * log1p(y) - betaln(a, b),
           powers=lambda y, a, b: [Power(y, a - 1.0)],
           tail=lambda y, a, b: beta_tail(a, b, y / (1.0 + y), 1.0 / (1.0 + y)),
           source="JKB 27; DLMF 8.17")  # fmt: skip
continuous("f", "dfn, dfd",
           lambda y, n, m: 0.5 * m * log(m) + 0.5 * n * log(n) - 0.5 * (n + m) * log(m + n * y)
           - betaln(0.5 * n, 0.5 * m), powers=lambda y, n, m: [Power(y, 0.5 * n - 1.0)],
           tail=lambda y, n, m: beta_tail(0.5 * n, 0.5 * m, n * y / (m + n * y), m / (m + n * y)),
           source="JKB 27; DLMF 8.17")  # fmt: skip


continuous("t", "df",
           lambda y, df: -0.5 * (df + 1.0) * log1p(y * y / df) - betaln(0.5 * df, 0.5) - 0.5 * log(df),
           tail=lambda y, df: t_tail(df, y), source="JKB 28; DLMF 8.17", mean=lambda df: 0.0 * df)  # fmt: skip

# Of a normal variable.

continuous("lognorm", "s", lambda y, s: log_normal_density(log(y) / s) - log(s) - log(y), source="JKB 14",
           tail=of_log_cdf(lambda y, s: log_ndtr(log(y) / s), lambda y, s: log_ndtr(-log(y) / s)),
           mean=lambda s: exp(0.5 * s * s), var=lambda s: expm1(s * s) * exp(s * s),
           entropy=lambda s: 0.5 + LOG_ROOT_2PI + log(s))  # fmt: skip
continuous("fatiguelife", "c",
           lambda y, c: log_normal_density((y - 1.0) / (c * y**0.5)) + log(y + 1.0) - log(2.0 * c) - 1.5 * log(y),
           tail=of_log_cdf(lambda y, c: log_ndtr((y - 1.0) / (c * y**0.5)),
                           lambda y, c: log_ndtr((1.0 - y) / (c * y**0.5))), source="JKB 33")  # fmt: skip
continuous("johnsonsu", "a, b",
           lambda y, a, b: log_normal_density(a + b * ag.asinh(y)) + log(b) - 0.5 * log1p(y * y),
           tail=of_log_cdf(lambda y, a, b: log_ndtr(a + b * ag.asinh(y)),
                           lambda y, a, b: log_ndtr(-a - b * ag.asinh(y))),
           source="JKB 12")  # fmt: skip
continuous("johnsonsb", "a, b",
           lambda y, a, b: log_normal_density(a + b * ag.special.logit(y)) + log(b) - log(y) - log1p(-y),
           tail=of_log_cdf(lambda y, a, b: log_ndtr(a + b * ag.special.logit(y)),
                           lambda y, a, b: log_ndtr(-a - b * ag.special.logit(y))), source="JKB 12")  # fmt: skip
continuous("powernorm", "c", lambda y, c: log(c) + log_normal_density(y) + (c - 1.0) * log_ndtr(-y),
           tail=from_hazard(lambda y, c: -c * log_ndtr(-y)), source="SciPy's definition")  # fmt: skip
continuous("powerlognorm", "c, s",
           lambda y, c, s: log(c) - log(y) - log(s) + log_normal_density(log(y) / s)
           + (c - 1.0) * log_ndtr(-log(y) / s),
           tail=from_hazard(lambda y, c, s: -c * log_ndtr(-log(y) / s)), source="SciPy's definition")  # fmt: skip
continuous("foldnorm", "c",
           lambda y, c: log_normal_density(y - c) + log1p(exp(-2.0 * y * c)), source="JKB 13",
           cdf=lambda y, c: ndtr(y - c) - ndtr(-y - c), sf=lambda y, c: ndtr(c - y) + ndtr(-y - c),
           logcdf=lambda y, c: log(ndtr(y - c) - ndtr(-y - c)),
           logsf=lambda y, c: ag.logaddexp(log_ndtr(c - y), log_ndtr(-y - c)))  # fmt: skip
continuous("skewnorm", "a", lambda y, a: LOG_2 + log_normal_density(y) + log_ndtr(a * y), source="Azzalini (1985)",
           cdf=lambda y, a: ndtr(y) - 2.0 * _owens_t(y, a), sf=lambda y, a: 2.0 * _owens_t(y, a) - ndtr(y),
           logcdf=lambda y, a: log(ndtr(y) - 2.0 * _owens_t(y, a)),
           logsf=lambda y, a: log(ndtr(-y) + 2.0 * _owens_t(y, a)))  # fmt: skip
continuous("invgauss", "mu",
           lambda y, mu: -0.5 * ((y - mu) / mu) ** 2 / y - 1.5 * log(y) - LOG_ROOT_2PI, source="JKB 15",
           tail=of_log_cdf(
               lambda y, mu: invgauss_log_tail(y, mu, 1.0), lambda y, mu: invgauss_log_tail(y, mu, -1.0)),
           mean=lambda mu: mu, var=lambda mu: mu**3)  # fmt: skip


def _owens_t(y, a):
    from arraygrad.scipy.special import owens_t

    return owens_t(y, a)


def invgauss_log_tail(y, mu, sign):
    root = 1.0 / y**0.5
    first = log_ndtr(sign * root * (y / mu - 1.0))
    second = 2.0 / mu + log_ndtr(-root * (y / mu + 1.0))
    return first + log1p(sign * exp(second - first))


def log_difference(high, low):
    """log(exp(high) - exp(low)) for high > low."""
    return high + log1p(-exp(low - high))


def _truncnorm_mass(a, b):
    """log of the normal probability between a and b, in the tail where they lie."""
    turn = np.asarray((ag.asarray(a) > 0).numpy())
    low, high = where(turn, -b, a), where(turn, -a, b)
    open_ = np.asarray(np.isneginf(np.asarray(raw(low))))  # an end at infinity has no part, and the slope zero
    closed = log_difference(log_ndtr(where(open_, 1.0, high)), log_ndtr(where(open_, 0.0, low)))
    return where(open_, log_ndtr(high), closed)


continuous("truncnorm", "a, b", lambda y, a, b: log_normal_density(y) - _truncnorm_mass(a, b), ends=lambda a, b: (a, b),
           source="JKB 13",
           tail=of_log_cdf(lambda y, a, b: _truncnorm_mass(a, y) - _truncnorm_mass(a, b),
                           lambda y, a, b: _truncnorm_mass(y, b) - _truncnorm_mass(a, b)))  # fmt: skip

# Powers and exponentials, whose tails are closed forms.

continuous("weibull_min", "c", lambda y, c: log(c) - y**c,
           powers=lambda y, c: [Power(y, c - 1.0)], tail=from_hazard(lambda y, c: y**c),
           source="JKB 21", mean=lambda c: gamma(1.0 + 1.0 / c),
           var=lambda c: gamma(1.0 + 2.0 / c) - gamma(1.0 + 1.0 / c) ** 2,
           entropy=lambda c: -EULER / c - log(c) + EULER + 1.0)  # fmt: skip
continuous("weibull_max", "c", lambda y, c: log(c) - (-y) ** c, powers=lambda y, c: [Power(-y, c - 1.0)],
           tail=turned(from_hazard(lambda y, c: (-y) ** c)), source="JKB 21")  # fmt: skip
continuous("invweibull", "c", lambda y, c: log(c) - (c + 1.0) * log(y) - y**-c,
           tail=turned(from_hazard(lambda y, c: y**-c)), source="JKB 22")  # fmt: skip
continuous("exponweib", "a, c",
           lambda y, a, c: log(a) + log(c) + xlogy(c - 1.0, y) - y**c + (a - 1.0) * log1mexp(y**c),
           tail=of_log_cdf(lambda y, a, c: a * log1mexp(y**c),
                           lambda y, a, c: log(-expm1(a * log1mexp(y**c)))),
           source="Mudholkar et al. (1995)")  # fmt: skip
continuous("exponpow", "b", lambda y, b: 1.0 + log(b) + y**b - exp(y**b), powers=lambda y, b: [Power(y, b - 1.0)],
           tail=from_hazard(lambda y, b: expm1(y**b)), source="Smith and Bain (1975)")  # fmt: skip
continuous("pareto", "b", lambda y, b: log(b) - (b + 1.0) * log(y), tail=from_hazard(lambda y, b: b * log(y)),
           source="JKB 20", entropy=lambda b: 1.0 + 1.0 / b - log(b))  # fmt: skip
continuous("lomax", "c", lambda y, c: log(c) - (c + 1.0) * log1p(y), tail=from_hazard(lambda y, c: c * log1p(y)),
           source="JKB 20", entropy=lambda c: 1.0 + 1.0 / c - log(c))  # fmt: skip
continuous("genpareto", "c", lambda y, c: -(c + 1.0) * boxlog(y, c), tail=from_hazard(lambda y, c: boxlog(y, c)),
           ends=lambda c: (0.0, end_of(-c)), entropy=lambda c: 1.0 + c,
           source="JKB 20")  # fmt: skip
continuous("genextreme", "c", lambda y, c: -exp(-boxlog(y, -c)) - (1.0 - c) * boxlog(y, -c),
           tail=turned(from_hazard(lambda y, c: exp(-boxlog(y, -c)))), ends=lambda c: (-end_of(-c), end_of(c)),
           source="JKB 22", entropy=lambda c: 1.0 + EULER * (1.0 - c))  # fmt: skip
continuous("burr12", "c, d", lambda y, c, d: log(c) + log(d) - (d + 1.0) * log1p_power(y, c),
           powers=lambda y, c, d: [Power(y, c - 1.0)],
           tail=from_hazard(lambda y, c, d: d * log1p_power(y, c)), source="JKB 12")  # fmt: skip
continuous("burr", "c, d", lambda y, c, d: log(c) + log(d) - (c + 1.0) * log(y) - (d + 1.0) * log1p_power(1.0 / y, c),
           tail=turned(from_hazard(lambda y, c, d: d * log1p_power(1.0 / y, c))), source="JKB 12")  # fmt: skip
continuous("fisk", "c", lambda y, c: log(c) - 2.0 * log1p_power(y, c), powers=lambda y, c: [Power(y, c - 1.0)],
           tail=from_hazard(lambda y, c: log1p_power(y, c)), source="JKB 23")  # fmt: skip
continuous("gompertz", "c", lambda y, c: log(c) + y - c * expm1(y), tail=from_hazard(lambda y, c: c * expm1(y)),
           source="JKB 22")  # fmt: skip
continuous("genlogistic", "c", lambda y, c: log(c) - y - (c + 1.0) * softplus(-y),
           tail=turned(from_hazard(lambda y, c: c * softplus(-y))), source="JKB 23")  # fmt: skip
continuous("powerlaw", "a", lambda y, a: log(a) + 0.0 * y, powers=lambda y, a: [Power(y, a - 1.0)], source="JKB 20",
           tail=turned(from_hazard(lambda y, a: -a * log(y))), mean=lambda a: a / (a + 1.0))  # fmt: skip
continuous("bradford", "c", lambda y, c: log(c) - log(log1p(c)) - log1p(c * y),
           tail=of_log_cdf(lambda y, c: log(log1p(c * y)) - log(log1p(c)),
                           lambda y, c: log(log1p(c) - log1p(c * y)) - log(log1p(c))), source="JKB 33")  # fmt: skip
continuous("loguniform", "a, b", lambda y, a, b: -log(y) - log(log(b) - log(a)), ends=lambda a, b: (a, b),
           source="Hamming (1970)",
           tail=of_log_cdf(lambda y, a, b: log(log(y) - log(a)) - log(log(b) - log(a)),
                           lambda y, a, b: log(log(b) - log(y)) - log(log(b) - log(a))))  # fmt: skip
continuous("truncexpon", "b", lambda y, b: -y - log1mexp(b), ends=lambda b: (0.0, b),
           source="JKB 19",
           tail=of_log_cdf(lambda y, b: log1mexp(y) - log1mexp(b),
                           lambda y, b: log_difference(-y, -b) - log1mexp(b)))  # fmt: skip
continuous("triang", "c",
           lambda y, c: LOG_2 + where(y < c, log(y / where(y < c, c, 1.0)),
                                      log((1.0 - y) / where(y < c, 1.0, 1.0 - c))), source="JKB 26",
           tail=of_log_cdf(lambda y, c: _triang_part(y, c), lambda y, c: _triang_part(1.0 - y, 1.0 - c)),
           mean=lambda c: (1.0 + c) / 3.0, var=lambda c: (1.0 - c + c * c) / 18.0,
           entropy=lambda c: 0.5 - LOG_2 + 0.0 * c)  # fmt: skip
continuous("gennorm", "beta", lambda y, beta: log(0.5 * beta) - gammaln(1.0 / beta) - abs_power(y, beta),
           tail=lambda y, beta: _two_sided(y, lambda u: gamma_tail(1.0 / beta, u**beta)), source="JKB 24")  # fmt: skip
continuous("halfgennorm", "beta", lambda y, beta: log(beta) - gammaln(1.0 / beta) - y**beta,
           tail=lambda y, beta: gamma_tail(1.0 / beta, y**beta), source="JKB 24")  # fmt: skip
continuous("dgamma", "a", lambda y, a: -abs_power(y) - LOG_2 - gammaln(a),
           powers=lambda y, a: [Power(y, a - 1.0, both=True)],
           tail=lambda y, a: _two_sided(y, lambda u: gamma_tail(a, u)), source="JKB 17")  # fmt: skip
continuous("dweibull", "c", lambda y, c: log(0.5 * c) - abs_power(y, c),
           powers=lambda y, c: [Power(y, c - 1.0, both=True)],
           tail=lambda y, c: _two_sided(y, lambda u: from_hazard(lambda v: v**c)(u)), source="JKB 21")  # fmt: skip
continuous("loglaplace", "c", lambda y, c: log(0.5 * c) - log(y) - c * abs_power(log(y)),
           tail=lambda y, c: (np.asarray((y < 1.0).numpy()), where(y < 1.0, 1.0, -1.0) * c * log(y) - LOG_2),
           source="JKB 24")  # fmt: skip
continuous("laplace_asymmetric", "kappa",
           lambda y, k: -k * abs_power(where(y >= 0, y, 0.0)) - abs_power(where(y <= 0, y, 0.0)) / k - log(k + 1.0 / k),
           tail=lambda y, k: (
               np.asarray((y < 0).numpy()), where(y < 0, y / k + log(k), -y * k - log(k)) - log(k + 1.0 / k)),
           mean=lambda k: 1.0 / k - k, var=lambda k: 1.0 / (k * k) + k * k, entropy=lambda k: 1.0 + log(k + 1.0 / k),
           source="Kotz et al. (2001)")  # fmt: skip


def _triang_part(y, c):
    """log of the lower tail."""
    rising = y < c
    up = 2.0 * log(where(rising, y, 1.0)) - log(where(rising, c, 1.0))
    return where(rising, up, log1p(-((1.0 - where(rising, 1.0, y)) ** 2) / where(rising, 1.0, 1.0 - c)))


def end_of(c):
    """1 / c, where the support ends for c > 0; infinity elsewhere."""
    c = ag.asarray(c)
    inside = np.asarray(np.asarray(raw(c)) > 0)
    return where(inside, 1.0 / where(inside, c, 1.0), np.inf)


def boxlog(y, c):
    """log(1 + c y) / c, and its limit y at c = 0."""
    small = ag.abs(c * y) < 1e-5
    t = where(small, c * y, 0.0)
    series = y * (1.0 - t * (1.0 / 2.0 - t * (1.0 / 3.0 - t * (1.0 / 4.0 - t / 5.0))))
    c = where(small, 1.0, c)
    return where(small, series, log1p(c * where(small, 0.0, y)) / c)


def _two_sided(y, upper_half):
    """Tails of a symmetric variable from those of its size."""
    lower, found = upper_half(ag.abs(y))
    # The tail beyond |y| is half the upper one of the size.
    beyond = where(lower, log1p(-exp(where(lower, found, -1.0))), found)
    return np.asarray((y < 0).numpy()), beyond - LOG_2


def log_i0e(z):
    """log(I0(z)) - z for z >= 0: the scaled function has a kink at zero, this one has the slope -1 there."""
    small = np.asarray(raw(z)) < 1.0
    near = where(small, z, 0.0)
    return where(small, log(ag.special.i0(near)) - near, log(ag.special.i0e(where(small, 1.0, z))))


def crystalball_log_density(y, beta, m):
    mass = m / (beta * (m - 1.0)) * exp(-0.5 * beta * beta) + math.sqrt(2.0 * PI) * ndtr(beta)
    far = y < -beta
    away = where(far, y, -beta - 1.0)
    power = m * (log(m) - log(beta)) - 0.5 * beta * beta - m * log(m / beta - beta - away)
    return where(far, power, -0.5 * y * y) - log(mass)


def _argus_points():
    points, weights = np.polynomial.legendre.leggauss(24)
    s = 0.5 * (points + 1.0)
    return s * s, weights * s * s


_ARGUS = _argus_points()


def argus_log_norm(h):
    """log of the integral of 2 s^2 exp(-h s^2) from 0 to 1: of gamma(3/2) gammainc(3/2, h) / h^(3/2), regular at 0."""
    h = ag.asarray(h)
    small = np.asarray(np.asarray(raw(h)) < 4.0)
    squares, weights = _ARGUS
    near = log(ag.sum(exp(-where(small, h, 0.0)[..., None] * squares) * weights, axis=-1))
    if np.all(small):
        return near
    h = where(small, 4.0, h)
    return where(small, near, log(ag.special.gammainc(1.5, h)) - 1.5 * log(h) + 0.5 * LOG_PI - LOG_2)


def argus_log_density(y, chi):
    h = 0.5 * chi * chi
    return LOG_2 + log(y) + 0.5 * log1p(-y * y) - h * (1.0 - y * y) - argus_log_norm(h)
