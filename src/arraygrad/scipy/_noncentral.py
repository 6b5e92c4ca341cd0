"""Densities and tails of noncentral distributions, differentiable in every parameter.

May import: arraygrad, scipy._declare, scipy._guards, numpy.

The noncentral chi-square and F distributions are mixtures of central ones with Poisson weights (Johnson, Kotz and
Balakrishnan 1995, 29 and 30): a window of the sum around its greatest term has all digits. The noncentral t variable is
(Z + nc) / R with a normal Z and the root R of a chi-square variable by its degrees of freedom (JKB 31): its density and
tails are integrals over log R, whose integrand has one peak.
"""

import math

import numpy as np

import arraygrad as ag
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable

__all__ = ["ncf_log_density", "nct_log_density", "nct_tail", "ncx2_log_density"]

LOG_2, LOG_ROOT_2PI = math.log(2.0), 0.5 * math.log(2.0 * math.pi)
gammaln, log_ndtr = ag.gammaln, ag.special.log_ndtr

MOST = 20_000  # terms of a sum

_STEP = 1.0 / 12.0
# To both sides further than the density at t goes: a tail has what is left of the root's density beyond the peak.
_TAU = np.arange(-11.0, 6.5, _STEP)
_SPREAD, _WEIGHTS = np.sinh(_TAU), _STEP * np.cosh(_TAU)


def _float(value):
    return np.asarray(raw(value), dtype=np.float64)


def _window(centre):
    """Numbers of the terms, (..., J), around the greatest one."""
    centre = np.where(np.isfinite(centre), np.maximum(centre, 0.0), 0.0)
    half = np.ceil(10.0 * np.sqrt(centre) + 40.0)
    start = np.maximum(np.floor(centre) - half, 0.0)
    count = int(np.max(2.0 * half, initial=1.0)) + 1
    if count > MOST:
        raise NotDifferentiable(
            "arraygrad.scipy: the noncentrality is so great that the derivative would need a sum of "
            f"{count} terms; a normal distribution is close by then"
        )
    return start[..., None] + np.arange(count)


def _mixed(nc, j, logs):
    """log of the sum over j of Poisson weights with the mean nc / 2 times exp(logs)."""
    none = np.asarray(_float(nc) == 0.0)
    if none.any():
        return _mixed_from_zero(nc, j, logs, none)
    half = 0.5 * ag.asarray(nc)[..., None]
    terms = ag.special.xlogy(j, half) - half - gammaln(j + 1.0) + logs
    top = np.max(_float(terms), axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return ag.log(ag.sum(ag.exp(terms - top), axis=-1)) + top[..., 0]


def _mixed_from_zero(nc, j, logs, none):
    """`_mixed` where some of nc are zero: there by powers of nc, of which as many derivatives as terms are exact."""
    few = min(7, logs.shape[-1])
    logs = ag.broadcast_to(logs, np.broadcast_shapes(logs.shape, (*none.shape, 1)))
    half = 0.5 * ag.where(none, nc, 0.0)
    rest = 1.0
    ratios = ag.exp(ag.where(none[..., None], logs[..., :few] - logs[..., :1], 0.0))
    for k in range(few - 1, 0, -1):  # sum of half^k / k! exp(logs_k - logs_0)
        rest = ratios[..., k] + half / (k + 1.0) * rest if k < few - 1 else ratios[..., k]
    start = logs[..., 0] - half + ag.log1p(half * rest)
    if none.all():
        return start
    return ag.where(none, start, _mixed(ag.where(none, 1.0, nc), j, logs))


def ncx2_log_density(x, df, nc):
    """log of the density of the noncentral chi-square distribution at x > 0."""
    half = 0.5 * _float(df)
    with np.errstate(all="ignore"):
        # Beyond, the density is below exp(-1000): the window of the sum would grow without end.
        far = np.asarray(_float(x) > (np.sqrt(_float(nc)) + np.sqrt(_float(df)) + 45.0) ** 2)
        centre = np.where(far, 0.0, 0.5 * (np.sqrt(half * half + _float(nc) * _float(x)) - half))
    j = _window(centre)
    x = ag.where(far, 1.0, x)
    x, order = ag.asarray(x)[..., None], 0.5 * ag.asarray(df)[..., None] + j
    found = _mixed(nc, j, ag.special.xlogy(order - 1.0, x) - 0.5 * x - order * LOG_2 - gammaln(order))
    return ag.where(far, np.nan, found)


def ncf_log_density(x, dfn, dfd, nc):
    """log of the density of the noncentral F distribution at x > 0."""
    rx, a, b = _float(x), 0.5 * _float(dfn), 0.5 * _float(dfd)
    with np.errstate(all="ignore"):
        share = a * rx / (b + a * rx)
        slope = a - 0.5 * _float(nc) * share
        centre = 0.5 * (np.sqrt(slope * slope + 2.0 * _float(nc) * share * (a + b)) - slope)
    j = _window(centre)
    ratio = ag.asarray(dfn / dfd)
    u = (ratio * x)[..., None]
    order, other = 0.5 * ag.asarray(dfn)[..., None] + j, 0.5 * ag.asarray(dfd)[..., None]
    logs = ag.special.xlogy(order - 1.0, u) - (order + other) * ag.log1p(u) - ag.special.betaln(order, other)
    return _mixed(nc, j, logs) + ag.log(ratio)


def _roots(t, df, nc):
    """(log R at the nodes, the logarithms of weight times density of log R): (..., K)."""
    rt, rdf, rnc = _float(t), _float(df), _float(nc)
    square, product = rt * rt + rdf, rnc * rt
    peak = (product + np.sqrt(product * product + 4.0 * square * (rdf + 1.0))) / (2.0 * square)
    width = 1.0 / np.sqrt(2.0 * square * peak * peak - product * peak)
    log_r = np.minimum(np.log(peak)[..., None] + width[..., None] * _SPREAD, 150.0)  # beyond, the weight is zero
    df = ag.asarray(df)[..., None]
    log_v = log_r + 0.5 * ag.log(df)  # half the logarithm of the chi-square variable
    logs = LOG_2 + df * (log_v - 0.5 * LOG_2) - 0.5 * ag.exp(2.0 * log_v) - gammaln(0.5 * df)
    return log_r, logs + np.log(width)[..., None] + np.log(_WEIGHTS)


def _summed(logs):
    top = np.max(_float(logs), axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    return ag.log(ag.sum(ag.exp(logs - top), axis=-1)) + top[..., 0]


def nct_log_density(t, df, nc):
    """log of the density of the noncentral t distribution."""
    log_r, logs = _roots(t, df, nc)
    away = ag.asarray(t)[..., None] * np.exp(log_r) - ag.asarray(nc)[..., None]
    return _summed(logs + log_r - 0.5 * away * away - LOG_ROOT_2PI)


def nct_tail(t, df, nc):
    """(lower, log of the tail) of the noncentral t distribution, on the side of its centre where t is."""
    t, df, nc = (ag.asarray(v) for v in (t, df, nc))
    lower = np.asarray(_float(t) < _float(nc)) & np.ones(np.shape(_float(t) + _float(df)), dtype=bool)
    log_r, logs = _roots(t, df, nc)
    away = t[..., None] * np.exp(log_r) - nc[..., None]
    return lower, _summed(logs + log_ndtr(np.where(lower, 1.0, -1.0)[..., None] * away))
