"""Samples of scipy.stats but its univariate distributions, which test_distributions.py takes from the table.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import COV, A, B, M, X, positive_definite, sample, spread

for _axis in (1, None):
    sample("stats.gmean stats.hmean stats.sem stats.skew stats.kurtosis stats.variation stats.gstd stats.tmean "
           "stats.tvar stats.tstd stats.tsem stats.zscore stats.gzscore stats.entropy stats.circmean stats.circvar "
           "stats.circstd stats.moment", M, call=lambda f, a, axis=_axis: f(a, axis=axis))  # fmt: skip
    sample("stats.iqr", M, call=lambda f, a, axis=_axis: f(a, axis=axis), step=1e-3)
sample("stats.median_abs_deviation", M, call=lambda f, a: f(a, axis=1), step=2e-4)
sample("stats.gmean stats.hmean", X, B, call=lambda f, a, w: f(a, weights=w))
sample("stats.pmean", X, 1.7, B, call=lambda f, a, p, w: f(a, p, weights=w))
sample("stats.pmean", X, call=lambda f, a: f(a, 0.0))
sample("stats.skew stats.kurtosis", X, call=lambda f, a: f(a, bias=False))
sample("stats.kurtosis", X, call=lambda f, a: f(a, fisher=False))
sample("stats.moment", M, call=lambda f, a: f(a, [1, 2, 3]))
sample("stats.moment", M, 0.4, call=lambda f, a, c: f(a, 3, center=c))
sample("stats.tmean stats.tvar stats.tstd stats.tsem", X, call=lambda f, a: f(a, limits=(0.5, 1.9)))
sample("stats.trim_mean", M, call=lambda f, a: f(a, 0.3, axis=1))
sample("stats.zmap", X, B)
sample("stats.iqr", M, call=lambda f, a: f(a, axis=1, scale="normal", rng=(10, 80)), step=1e-3)
sample("stats.median_abs_deviation", M, call=lambda f, a: f(a, center=np.mean, scale="normal"), step=2e-4)
sample("stats.circmean stats.circvar stats.circstd", X, 2.1, 0.1)
sample("stats.entropy", X, B)
sample("stats.entropy", M, call=lambda f, a: f(a, base=2.0, axis=1))
sample("stats.wasserstein_distance stats.energy_distance", X, spread(5, seed=4), step=1e-3)
sample("stats.wasserstein_distance stats.energy_distance", X, spread(5, seed=4), B, spread(5, seed=5),
       step=1e-3)  # fmt: skip
for _alternative in ("two-sided", "less", "greater"):
    sample("stats.ttest_1samp", X, 0.9, call=lambda f, a, m, alternative=_alternative: f(a, m, alternative=alternative))
    sample("stats.ttest_ind stats.ttest_rel stats.pearsonr stats.linregress", X, spread(4, low=0.4, seed=6),
           call=lambda f, a, b, alternative=_alternative: f(a, b, alternative=alternative))  # fmt: skip
sample("stats.ttest_ind", X, spread(5, seed=6), call=lambda f, a, b: f(a, b, equal_var=False))
for _samples in ((X, spread(5, seed=7)), (X, spread(5, seed=7), spread(3, seed=8)), (M, spread(3, 5, seed=7))):
    sample("stats.f_oneway", *_samples, call=lambda f, *a: f(*a, equal_var=False, axis=-1), step=1e-3)
for _dtype in (float, np.float64, np.longdouble):
    sample("stats.gmean stats.hmean", M, call=lambda f, a, dtype=_dtype: f(a, axis=1, dtype=dtype))
    sample("stats.pmean", M, call=lambda f, a, dtype=_dtype: f(a, 1.7, dtype=dtype))
sample("stats.f_oneway stats.levene stats.bartlett", X, spread(5, seed=7), spread(3, seed=8), step=1e-3)
sample("stats.levene", X, spread(5, seed=7), call=lambda f, a, b: f(a, b, center="mean"), step=1e-3)
sample("stats.chisquare stats.power_divergence", X)
for _power in ("log-likelihood", "mod-log-likelihood", "cressie-read", "neyman"):
    sample("stats.power_divergence", M, spread(3, 4, seed=9),
           call=lambda f, a, b, power=_power: f(a, b * (a.sum(axis=0) / b.sum(axis=0)), lambda_=power))  # fmt: skip
sample("stats.boxcox stats.yeojohnson", X, 0.7)
sample("stats.boxcox_llf stats.yeojohnson_llf", 0.7, X)

MEAN = spread(3, low=-0.5, high=0.8, seed=1)
sample("stats.multivariate_normal.logpdf stats.multivariate_normal.pdf", spread(4, 3), MEAN, COV)
sample("stats.multivariate_normal.logpdf stats.multivariate_normal.pdf", X, 0.3, 1.2)
sample("stats.multivariate_normal.logpdf", spread(3), call=lambda f, x: f(x))
sample("stats.multivariate_normal.logpdf", spread(2, 3), MEAN, spread(3, seed=5))
sample("stats.multivariate_normal.entropy", MEAN, COV)
sample("stats.multivariate_t.logpdf stats.multivariate_t.pdf", spread(4, 3), MEAN, COV, 4.3)
sample("stats.dirichlet.logpdf stats.dirichlet.pdf", np.array([0.2, 0.5]), spread(3, low=1.2, high=3.0))
sample("stats.dirichlet.mean stats.dirichlet.var stats.dirichlet.entropy", spread(3, low=1.2, high=3.0))
sample("stats.multinomial.logpmf stats.multinomial.pmf", np.array([0.2, 0.5]),
       call=lambda f, p: f([3, 1, 2], 6, np.concatenate([p, 1.0 - np.sum(p, keepdims=True)])))  # fmt: skip
sample(
    "stats.dirichlet_multinomial.logpmf stats.dirichlet_multinomial.pmf", A[:3], call=lambda f, a: f([3, 1, 2], a, 6)
)
sample("stats.wishart.logpdf stats.wishart.pdf stats.invwishart.logpdf stats.invwishart.pdf", 5.3,
       positive_definite(3, 4), call=lambda f, df, scale: f(COV, df, scale))  # fmt: skip
sample("stats.wishart.logpdf stats.invwishart.logpdf", COV, call=lambda f, x: f(0.5 * (x + x.T), 5.3, np.eye(3)))
sample("stats.matrix_normal.logpdf stats.matrix_normal.pdf", spread(3, 2), spread(3, 2, seed=2), COV,
       positive_definite(2, 5))  # fmt: skip
sample("stats.vonmises_fisher.logpdf stats.vonmises_fisher.pdf", 2.2,
       call=lambda f, kappa: f(np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8]), kappa))  # fmt: skip
sample("stats.vonmises_fisher.entropy", 2.2, call=lambda f, kappa: f(np.array([0.0, 0.6, 0.8]), kappa))
sample("stats.matrix_t.logpdf stats.matrix_t.pdf", spread(3, 2), spread(3, 2, seed=2), COV, positive_definite(2, 5),
       4.3)  # fmt: skip
sample("stats.normal_inverse_gamma.logpdf stats.normal_inverse_gamma.pdf", X, A, 0.4, 1.3, 2.2, B)
sample("stats.poisson_binom.pmf stats.poisson_binom.logpmf stats.poisson_binom.cdf stats.poisson_binom.sf",
       np.array([0.2, 0.5, 0.7, 0.4]), call=lambda f, p: f([0, 1, 2, 3], p))  # fmt: skip
