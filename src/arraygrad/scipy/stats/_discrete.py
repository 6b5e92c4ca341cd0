"""Discrete distributions: logarithm of the probability and tails, each by the formula that SciPy documents.

May import: arraygrad, scipy._declare, scipy._guards, scipy._incomplete, scipy._quadrature, scipy._zeta, scipy.special,
scipy.stats._continuous and _univariate, numpy, SciPy.

Source: Johnson, Kemp and Kotz (2005), Univariate Discrete Distributions ("JKK"), by chapter.
"""

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy import special
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._incomplete import beta_tail, gamma_tail
from arraygrad.scipy._quadrature import LOG_NEAR, NEAR_WEIGHTS
from arraygrad.scipy._zeta import hurwitz
from arraygrad.scipy.stats._continuous import from_hazard, log1mexp, log_difference, turned
from arraygrad.scipy.stats._univariate import discrete

__all__ = []

log, log1p, gammaln = ag.log, ag.log1p, ag.gammaln
xlogy, xlog1py, betaln = ag.special.xlogy, ag.special.xlog1py, ag.special.betaln


def log_choose(n, k):
    """log of the binomial coefficient."""
    return -betaln(1.0 + n - k, 1.0 + k) - log(n + 1.0)


def _bernoulli_tail(k, p):
    """P(K <= 0) = 1 - p, the one place inside."""
    return np.ones(np.shape(k), dtype=bool), log1p(-p) + 0.0 * k


discrete(
    "poisson", "mu", lambda k, mu: xlogy(k, mu) - gammaln(k + 1.0) - mu,
    tail=turned(lambda k, mu: gamma_tail(k + 1.0, mu)), source="JKK 4; DLMF 8.4.10", mean=lambda mu: mu,
    var=lambda mu: mu,
)  # fmt: skip
discrete(
    "binom", "n, p", lambda k, n, p: log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p),
    tail=turned(lambda k, n, p: beta_tail(k + 1.0, n - k, p)), source="JKK 3; DLMF 8.17.5", fixed=("n",),
    mean=lambda n, p: n * p, var=lambda n, p: n * p * (1.0 - p),
)  # fmt: skip
discrete(
    "bernoulli", "p", lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p), tail=_bernoulli_tail, source="JKK 3",
    mean=lambda p: p, var=lambda p: p * (1.0 - p),
)  # fmt: skip
discrete(
    "geom", "p", lambda k, p: xlog1py(k - 1.0, -p) + log(p), tail=from_hazard(lambda k, p: -k * log1p(-p)),
    source="JKK 5", mean=lambda p: 1.0 / p, var=lambda p: (1.0 - p) / (p * p),
)  # fmt: skip
discrete(
    "nbinom", "n, p",
    lambda k, n, p: gammaln(n + k) - gammaln(k + 1.0) - gammaln(n) + n * log(p) + xlog1py(k, -p),
    tail=lambda k, n, p: beta_tail(n, k + 1.0, p), source="JKK 5; DLMF 8.17.24",
    mean=lambda n, p: n * (1.0 - p) / p, var=lambda n, p: n * (1.0 - p) / (p * p),
)  # fmt: skip
discrete(
    "planck", "lambda_", lambda k, rate: log1mexp(ag.asarray(rate)) - rate * k,
    tail=from_hazard(lambda k, rate: rate * (k + 1.0)), source="JKK 5",
)  # fmt: skip


# -- tails as sums ----------------------------------------------------------------------------------------------------


def of_sum(logpmf, cdf, low=None, high=None, terms=None):
    """Tails as sums of probabilities: the lower one from `low(...)` on, the upper one to `high(...)`.

    Without `high`, `terms(*shapes)` is how many of the upper tail matter; without both the upper tail is what is left,
    and nan where little is.
    """

    def tail(k, *shapes):
        rshapes = [np.asarray(raw(s), dtype=float) for s in shapes]
        k = np.asarray(k, dtype=float)
        below = np.asarray(cdf(k, *rshapes))
        k, below = np.broadcast_arrays(k, below)
        open_ended = high is None and terms is None
        lower = np.asarray(below <= 0.5) | open_ended
        least = np.broadcast_to(0.0 if low is None else low(*rshapes), k.shape)
        count = int(np.max(np.where(lower, k - least + 1.0, 1.0), initial=1.0))
        if high is not None:
            most = np.broadcast_to(high(*rshapes), k.shape)
            count = max(count, int(np.max(np.where(lower, 1.0, most - k), initial=1.0)))
        else:
            most = np.full(k.shape, np.inf)
            if terms is not None and not np.all(lower):
                count = max(count, int(np.max(terms(*rshapes), initial=1.0)))
        if count > 1_000_000:
            raise NotDifferentiable(
                f"arraygrad.scipy.stats: the derivative of this tail would need a sum of {count} probabilities"
            )
        steps = np.arange(float(count))
        places = np.where(lower[..., None], k[..., None] - steps, k[..., None] + 1.0 + steps)
        inside = np.asarray((places >= least[..., None]) & (places <= most[..., None]))
        places = np.where(inside, places, np.maximum(k, least)[..., None])
        logs = logpmf(places, *[ag.asarray(s)[..., None] for s in shapes])
        rlogs = np.where(inside, np.asarray(raw(logs)), -np.inf)
        top = np.max(rlogs, axis=-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        found = log(ag.sum(ag.exp(ag.where(inside, logs - top, -np.inf)), axis=-1)) + top[..., 0]
        if open_ended:
            found = ag.where(np.asarray(below > 1.0 - 1e-6), np.nan, found)
        return lower, found

    return tail


def _betabinom(k, n, a, b):
    return log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b)


discrete(
    "betabinom", "n, a, b", _betabinom, tail=of_sum(_betabinom, stats.betabinom.cdf, high=lambda n, a, b: n),
    source="JKK 6", fixed=("n",), mean=lambda n, a, b: n * a / (a + b),
)  # fmt: skip


def _betanbinom(k, n, a, b):
    return betaln(a + n, b + k) - betaln(a, b) - log(n + k) - betaln(n, k + 1.0)


if hasattr(stats, "betanbinom"):
    discrete(
        "betanbinom", "n, a, b", _betanbinom, tail=of_sum(_betanbinom, stats.betanbinom.cdf), source="JKK 6",
        fixed=("n",), mean=lambda n, a, b: n * b / (a - 1.0),
        var=lambda n, a, b: n * b * (n + a - 1.0) * (a + b - 1.0) / ((a - 1.0) ** 2 * (a - 2.0)),
    )  # fmt: skip


def _logser(k, p):
    return k * log(p) - log(k) - log(-log1p(-p))


discrete(
    "logser", "p", _logser, source="JKK 7",
    tail=of_sum(_logser, stats.logser.cdf, low=lambda p: 1.0, terms=lambda p: np.ceil(45.0 / -np.log(p)) + 5.0),
)  # fmt: skip


def _dlaplace_tail(k, a):
    lower = np.asarray(k < 0)
    return lower, ag.where(lower, a * (k + 1.0), -a * k) - ag.logaddexp(0.0 * a, a)


discrete(
    "dlaplace", "a", lambda k, a: log(ag.tanh(0.5 * a)) - a * ag.abs(k), source="JKK 11",
    tail=lambda k, a: _dlaplace_tail(k, ag.asarray(a)),
)  # fmt: skip


def _skellam_tail(k, mu1, mu2):
    """By the noncentral chi-square distribution (Johnson 1959)."""
    mu1, mu2 = ag.asarray(mu1), ag.asarray(mu2)
    lower = np.asarray(k < 0)
    first, second = ag.where(lower, mu2, mu1), ag.where(lower, mu1, mu2)
    return lower, log(special.chndtr(2.0 * first, np.where(lower, -2.0 * k, 2.0 * (k + 1.0)), 2.0 * second))


discrete(
    "skellam", "mu1, mu2",
    lambda k, mu1, mu2: log(ag.special.ive(k, 2.0 * (mu1 * mu2) ** 0.5)) + 0.5 * k * (log(mu1) - log(mu2))
    - (mu1**0.5 - mu2**0.5) ** 2, tail=_skellam_tail, source="JKK 4; Johnson (1959)",
)  # fmt: skip

# -- truncated, of Zipf's kind, of several urns -----------------------------------------------------------------------


def _boltzmann_tail(k, rate, n):
    rate = ag.asarray(rate)
    whole = log1mexp(rate * n)
    below, above = log1mexp(rate * (k + 1.0)) - whole, log_difference(-rate * (k + 1.0), -rate * n) - whole
    lower = np.asarray(np.asarray(raw(below)) < np.asarray(raw(above)))
    return lower, ag.where(lower, below, above)


discrete(
    "boltzmann", "lambda_, N",
    lambda k, rate, n: log1mexp(ag.asarray(rate)) - rate * k - log1mexp(ag.asarray(rate * n)),
    tail=_boltzmann_tail, source="JKK 5", fixed=("N",),
)  # fmt: skip


def _upper(found):
    return np.zeros(np.shape(raw(found)), dtype=bool), found


discrete(
    "yulesimon", "alpha", lambda k, alpha: log(alpha) + betaln(k, alpha + 1.0), source="JKK 6; Simon (1955)",
    tail=lambda k, alpha: _upper(log(k) + betaln(k, alpha + 1.0)),
)  # fmt: skip
discrete(
    "zipf", "a", lambda k, a: -a * log(k) - log(hurwitz(a, 1.0)), source="JKK 11; DLMF 25.11.5",
    tail=lambda k, a: _upper(log(hurwitz(a, k + 1.0)) - log(hurwitz(a, 1.0))),
)  # fmt: skip


def _zipfian(k, a, n):
    n = np.asarray(raw(n), dtype=float)
    places = np.arange(1.0, np.max(n, initial=1.0) + 1.0)
    logs = -ag.asarray(a)[..., None] * np.log(places)
    norm = log(ag.sum(ag.where(np.asarray(places <= n[..., None]), ag.exp(logs), 0.0), axis=-1))
    return -a * np.log(k) - norm


def _zipfian_tail(k, a, n):
    n, k = np.asarray(raw(n), dtype=float), np.asarray(k, dtype=float)[..., None]
    places = np.arange(1.0, np.max(n, initial=1.0) + 1.0)
    terms = ag.where(np.asarray(places <= n[..., None]), ag.exp(-ag.asarray(a)[..., None] * np.log(places)), 0.0)
    below = ag.sum(ag.where(np.asarray(places <= k), terms, 0.0), axis=-1)
    above = ag.sum(ag.where(np.asarray(places > k), terms, 0.0), axis=-1)
    lower = np.asarray(np.asarray(raw(below)) < np.asarray(raw(above)))
    return lower, log(ag.where(lower, below, above)) - log(below + above)


discrete("zipfian", "a, n", _zipfian, tail=_zipfian_tail, source="JKK 11", fixed=("n",))


def _urn(total, good, drawn):
    return np.maximum(0.0, drawn - (total - good)), np.minimum(good, drawn)


def _integers(*values):
    return [np.asarray(raw(v), dtype=float) for v in values]


def _fisher(k, total, good, drawn, odds):
    """Conditioned on the number drawn: weights odds^k, divided by their sum over the support."""
    total, good, drawn = _integers(total, good, drawn)
    odds = ag.asarray(odds)
    low, high = _urn(total, good, drawn)
    places = np.arange(float(np.min(low)), float(np.max(high)) + 1.0)

    def weight(k, total, good, drawn, log_odds):
        return raw(log_choose(good, k)) + raw(log_choose(total - good, drawn - k)) + k * log_odds

    inside = np.asarray((places >= low[..., None]) & (places <= high[..., None]))
    logs = weight(np.where(inside, places, low[..., None]), *(v[..., None] for v in (total, good, drawn)),
                  log(odds)[..., None])  # fmt: skip
    top = np.max(np.asarray(raw(logs)), axis=-1, keepdims=True)
    norm = log(ag.sum(ag.where(inside, ag.exp(logs - top), 0.0), axis=-1)) + top[..., 0]
    return weight(k, total, good, drawn, log(odds)) - norm


def _wallenius(k, total, good, drawn, odds):
    """Drawn one by one: Wallenius' integral over (0, 1)."""
    total, good, drawn = _integers(total, good, drawn)
    odds = ag.asarray(odds)
    rest = odds * (good - k) + (total - good - (drawn - k))
    last = np.asarray(np.asarray(raw(rest)) <= 0)  # all are drawn
    rest = ag.where(last, 1.0, rest)[..., None]
    logs = (np.asarray(k)[..., None] * log(-ag.expm1(odds[..., None] / rest * LOG_NEAR))
            + (drawn - k)[..., None] * log(-ag.expm1(LOG_NEAR / rest)) + np.log(NEAR_WEIGHTS))  # fmt: skip
    top = np.max(np.asarray(raw(logs)), axis=-1, keepdims=True)
    integral = log(ag.sum(ag.exp(logs - top), axis=-1)) + top[..., 0]
    chosen = raw(log_choose(good, k)) + raw(log_choose(total - good, drawn - k))
    return ag.where(last, 0.0, chosen + integral)


for _name, _formula, _source in (("nchypergeom_fisher", _fisher, "Fog (2008); JKK 6"),
                                 ("nchypergeom_wallenius", _wallenius, "Fog (2008); Wallenius (1963)")):  # fmt: skip
    if hasattr(stats, _name):
        discrete(
            _name, "M, n, N, odds", _formula, source=_source, fixed=("M", "n", "N"),
            tail=of_sum(_formula, getattr(stats, _name).cdf, low=lambda M, n, N, odds: _urn(M, n, N)[0],
                        high=lambda M, n, N, odds: _urn(M, n, N)[1]),
        )  # fmt: skip
