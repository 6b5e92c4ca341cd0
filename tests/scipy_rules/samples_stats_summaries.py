"""Samples of scipy.stats: summaries of samples, robust lines, tests of hypotheses.

May import: arraygrad, numpy, scipy_samples, SciPy.
"""

import numpy as np
import scipy.stats
from scipy_samples import UNIT, A, M, X, sample, spread

from arraygrad.scipy import stats

LONG = spread(3, 12, seed=21)
# The distribution function of a normal variable, for SciPy and for arraygrad.
CDF = {"scipy": scipy.stats.norm(0.4, 0.3).cdf, "array": stats.norm(0.4, 0.3).cdf}
LINE, PLACES = spread(9, seed=22), np.array([0.1, 0.9, 1.4, 2.2, 2.9, 4.1, 4.6, 5.9, 6.3])

for _order in (1, 2, 3, 4):
    sample("stats.kstat", LONG, call=lambda f, a, n=_order: f(a, n, axis=1))
sample("stats.kstatvar", LONG, call=lambda f, a: f(a, 1))
sample("stats.kstatvar", LONG, call=lambda f, a: f(a, 2))

sample("stats.lmoment", LONG, call=lambda f, a: f(a, axis=1), step=1e-3)
sample("stats.lmoment", LONG, call=lambda f, a: f(a, 3, axis=None, standardize=False), step=1e-3)
sample("stats.tmin", M, call=lambda f, a: f(a, 0.5, axis=1), step=1e-3)
sample("stats.tmax", M, call=lambda f, a: f(a, 1.5, axis=None), step=1e-3)
sample("stats.trimboth", LONG, call=lambda f, a: f(a, 0.2, axis=1), step=1e-3)
sample("stats.trimboth", LONG, call=lambda f, a: f(a, 0.2, axis=None), step=1e-3)
sample("stats.trim1", LONG, call=lambda f, a: f(a, 0.3, axis=0), step=1e-3)
sample("stats.trim1", LONG, call=lambda f, a: f(a, 0.3, "left", axis=1), step=1e-3)
for _method in ("linear", "hazen", "weibull", "inverted_cdf", "median_unbiased"):
    sample("stats.quantile", M, call=lambda f, a, m=_method: f(a, 0.3, axis=1, method=m), step=1e-3)
sample("stats.quantile", X, call=lambda f, a: f(a, np.array([0.2, 0.7])), step=1e-3)
sample("stats.scoreatpercentile", M, call=lambda f, a: f(a, 30), step=1e-3)
sample("stats.scoreatpercentile", M, call=lambda f, a: f(a, [30, 60], (0.5, 1.7), "lower"), step=1e-3)
sample("stats.expectile", X, 0.7, step=1e-3, rtol=1e-6)
sample("stats.expectile", X, 0.3, A, call=lambda f, a, alpha, w: f(a, alpha, weights=w), step=1e-3, rtol=1e-6)
for _method in ("bh", "by"):
    sample("stats.false_discovery_control", spread(3, 4, low=0.01, high=0.4),
           call=lambda f, p, m=_method: f(p, axis=1, method=m), step=2e-4)  # fmt: skip
for _method in ("vasicek", "van es", "ebrahimi", "correa", "auto"):
    sample("stats.differential_entropy", LONG, call=lambda f, a, m=_method: f(a, axis=1, method=m), step=1e-3)
sample("stats.differential_entropy", LONG, call=lambda f, a: f(a, axis=1, window_length=2, base=2.0), step=1e-4)
for _way in ("separate", "joint"):
    sample("stats.theilslopes", LINE, PLACES, call=lambda f, y, x, m=_way: f(y, x, method=m), step=1e-3)
for _way in ("separate", "hierarchical"):
    sample("stats.siegelslopes", LINE, PLACES, call=lambda f, y, x, m=_way: f(y, x, method=m), step=1e-4)
sample("stats.theilslopes stats.siegelslopes", LINE, step=1e-3)

for _alternative in ("two-sided", "less", "greater"):
    sample("stats.skewtest stats.kurtosistest", LONG,
           call=lambda f, a, alternative=_alternative: f(a, axis=1, alternative=alternative), step=3e-3)  # fmt: skip
sample("stats.normaltest", LONG, call=lambda f, a: f(a, axis=1), step=3e-3)
sample("stats.jarque_bera", LONG, call=lambda f, a: f(a, axis=1), step=3e-3)
for _equal in (True, False):
    sample("stats.ttest_ind_from_stats", 1.3, 0.7, 1.6, 0.9,
           call=lambda f, m, s, n, t, equal=_equal: f(m, s, 7, n, t, 9, equal))  # fmt: skip
sample("stats.pointbiserialr", LINE, call=lambda f, y: f([0, 1, 1, 0, 1, 0, 0, 1, 1], y))
for _method in ("fisher", "pearson", "mudholkar_george", "tippett", "stouffer"):
    sample("stats.combine_pvalues", UNIT, call=lambda f, p, m=_method: f(p, method=m), step=1e-3)
sample("stats.combine_pvalues", UNIT, A, call=lambda f, p, w: f(p, "stouffer", weights=w))
sample("stats.epps_singleton_2samp", spread(9), spread(8, low=0.5, high=2.4, seed=3), step=1e-3)
sample("stats.epps_singleton_2samp", spread(30), spread(8, low=0.5, high=2.4, seed=3), step=1e-3)
sample("stats.boxcox_normmax", spread(9, low=0.6, high=3.0), call=lambda f, x: f(x, method="mle"), second=False,
       step=5e-3, rtol=1e-5)  # fmt: skip
sample("stats.yeojohnson_normmax", spread(9, low=-0.6, high=3.0), second=False, step=5e-3, rtol=1e-5)


def parts(*names):
    """Calls for a result with named parts, one of which may be constant."""
    return lambda f, *arrays, **options: [getattr(f(*arrays, **options), name) for name in names]


def of(call, *names):
    """As `parts`, of a call with further arguments."""
    return lambda f, *arrays: [getattr(call(f, *arrays), name) for name in names]


sample("stats.alexandergovern", spread(5), spread(6, seed=3), spread(4, seed=5), call=parts("statistic", "pvalue"),
       step=3e-3, loose=1e-11)  # fmt: skip
sample("stats.describe", LONG, call=of(lambda f, a: f(a, 1), "mean", "variance", "skewness", "kurtosis"))
sample("stats.describe", LONG, call=lambda f, a: f(a, axis=None, ddof=0, bias=False).minmax, step=1e-3)
sample("stats.sigmaclip", np.array([0.9, 1.1, 1.3, 1.0, 9.0, 1.2, 0.8, 1.15, 0.7, 1.25]), 2.0, 2.2,
       call=parts("clipped", "lower", "upper"), step=1e-3)  # fmt: skip
sample("stats.directional_stats", M, call=parts("mean_direction", "mean_resultant_length"))
sample("stats.directional_stats", M, call=of(lambda f, a: f(a, axis=1, normalize=False), "mean_direction"))
sample("stats.obrientransform", LINE, PLACES)
for _statistic in ("mean", "sum", "std"):
    sample("stats.binned_statistic", LINE, call=lambda f, v, s=_statistic: f(PLACES, v, s, bins=3)[0])
    sample("stats.binned_statistic_2d", LINE, call=lambda f, v, s=_statistic: f(
        PLACES, PLACES[::-1] ** 2, v, s, bins=2, expand_binnumbers=True)[0][0, 1:])  # fmt: skip
    sample("stats.binned_statistic_dd", LINE, call=lambda f, v, s=_statistic: f(PLACES[:, None], v, s, bins=3)[0])
sample("stats.binned_statistic", LONG[:, :9], call=lambda f, v: f(PLACES, v, "mean", bins=3)[0])
for _table in (spread(2, 2, low=6.0, high=20.0), spread(2, 3, low=6.0, high=20.0)):
    for _power in (None, "log-likelihood"):
        sample("stats.chi2_contingency", _table, call=of(lambda f, t, p=_power: f(t, lambda_=p), "statistic", "pvalue",
               "expected_freq"), step=3e-3)  # fmt: skip
sample("stats.chi2_contingency", np.array([[9.0, 12.0], [8.0, 10.4]]), call=of(lambda f, t: f(t, True), "statistic"))
sample("stats.probplot", LINE, call=lambda f, x: (f(x)[0][1], *f(x)[1]), step=1e-3)
sample("stats.probplot", LINE, 2.3, call=lambda f, x, shape: (*f(x, (shape,), "gamma")[0],), step=1e-3, rtol=1e-6)
for _alternative in ("two-sided", "less", "greater"):
    sample("stats.ks_1samp", UNIT, call=of(lambda f, x, a=_alternative: f(x, CDF[f.__module__[:5]], alternative=a),
           "statistic", "pvalue"), step=1e-4, second=False, rtol=1e-5)  # fmt: skip
sample("stats.kstest", UNIT, 0.4, 0.3, call=of(lambda f, x, m, s: f(x, "logistic", (m, s)), "statistic", "pvalue"),
       step=1e-4, second=False, rtol=1e-5)  # fmt: skip
KDE = {"bandwidths": (None, "silverman", 0.6)}
for _bandwidth in KDE["bandwidths"]:
    sample("stats.gaussian_kde", X, LINE, call=lambda f, x, data, b=_bandwidth: f(data, b)(x))
    sample("stats.gaussian_kde", M[:2], LONG[:2], LONG[2], call=lambda f, x, data, w, b=_bandwidth: f(
        data, b, w).logpdf(x))  # fmt: skip
