"""Discrete distributions: logarithm of the probability and tails, each by the formula that SciPy documents.

May import: arraygrad, scipy._incomplete, scipy.stats._univariate, numpy.

Source: Johnson, Kemp and Kotz (2005), Univariate Discrete Distributions ("JKK"), by chapter.
"""

import numpy as np

import arraygrad as ag
from arraygrad.scipy._incomplete import beta_tail, gamma_tail
from arraygrad.scipy.stats._continuous import from_hazard, log1mexp, turned
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
discrete(
    "betabinom", "n, a, b",
    lambda k, n, a, b: log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b), tail=None, source="JKK 6",
    fixed=("n",), mean=lambda n, a, b: n * a / (a + b),
)  # fmt: skip
discrete(
    "logser", "p", lambda k, p: k * log(p) - log(k) - log(-log1p(-p)), tail=None, source="JKK 7",
)  # fmt: skip
discrete(
    "dlaplace", "a", lambda k, a: log(ag.tanh(0.5 * a)) - a * ag.abs(k), tail=None, source="JKK 11",
)  # fmt: skip
discrete(
    "skellam", "mu1, mu2",
    lambda k, mu1, mu2: log(ag.special.ive(k, 2.0 * (mu1 * mu2) ** 0.5)) + 0.5 * k * (log(mu1) - log(mu2))
    - (mu1**0.5 - mu2**0.5) ** 2, tail=None, source="JKK 4",
)  # fmt: skip
