"""Tests of hypotheses whose statistics are smooth functions of the samples; maxima of likelihoods; what is refused.

May import: arraygrad, core.tensor, scipy._declare, scipy._guards, scipy.stats._functions, _samples and _univariate,
numpy, SciPy. Each composition is the statistic's definition; "SciPy" as a source is the formula in the function's
documentation.
"""

import functools
import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, composition, once, raw, refused, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.stats._functions import declare_statistic, kurtosis_of, p_of_t, skew_of
from arraygrad.scipy.stats._samples import NAMES, along_samples, of_samples, samples_along
from arraygrad.scipy.stats._univariate import OBJECTS

__all__ = []


def _normal_p(z, alternative):
    if alternative == "less":
        return OBJECTS["norm"].cdf(z)
    if alternative == "greater":
        return OBJECTS["norm"].sf(z)
    return 2.0 * OBJECTS["norm"].sf(ag.abs(z))


def _chi2_p(statistic, df):
    return OBJECTS["chi2"].sf(statistic, float(df))


# -- of moments -------------------------------------------------------------------------------------------------------


def _skew_score(a):
    n = float(a.shape[-1])
    y = skew_of(a) * math.sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
    beta = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
    beta /= (n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0)
    w = -1.0 + math.sqrt(2.0 * (beta - 1.0))
    return ag.asinh(y / math.sqrt(2.0 / (w - 1.0))) / math.sqrt(0.5 * math.log(w))


def _kurtosis_score(a):
    n = float(a.shape[-1])
    mean = 3.0 * (n - 1.0) / (n + 1.0)
    spread = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    x = (kurtosis_of(a, fisher=False) - mean) / math.sqrt(spread)
    skew = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
    skew *= math.sqrt(6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0)))
    df = 6.0 + 8.0 / skew * (2.0 / skew + math.sqrt(1.0 + 4.0 / skew**2))
    below = 1.0 + x * math.sqrt(2.0 / (df - 4.0))
    term = ag.sign(below) * ((1.0 - 2.0 / df) / ag.abs(below)) ** (1.0 / 3.0)
    return (1.0 - 2.0 / (9.0 * df) - term) / math.sqrt(2.0 / (9.0 * df))


@of_samples("skewtest", "a", "D'Agostino (1970)")
def _skewtest(a, alternative="two-sided"):
    z = _skew_score(a)
    return z, _normal_p(z, alternative)


@of_samples("kurtosistest", "a", "Anscombe and Glynn (1983)")
def _kurtosistest(a, alternative="two-sided"):
    z = _kurtosis_score(a)
    return z, _normal_p(z, alternative)


@of_samples("normaltest", "a", "D'Agostino and Pearson (1973)")
def _normaltest(a):
    statistic = _skew_score(a) ** 2 + _kurtosis_score(a) ** 2
    return statistic, _chi2_p(statistic, 2)


@of_samples("jarque_bera", "x", "Jarque and Bera (1980)", samples="x")
def _jarque_bera(x):
    statistic = x.shape[-1] / 6.0 * (skew_of(x) ** 2 + kurtosis_of(x) ** 2 / 4.0)
    return statistic, _chi2_p(statistic, 2)


# -- of means ---------------------------------------------------------------------------------------------------------


@declare_statistic("ttest_ind_from_stats", "mean1 std1 mean2 std2", "SciPy", refuse=dict.fromkeys(
    ("nobs1", "nobs2"), "a count"))  # fmt: skip
def _ttest_ind_from_stats(mean1, std1, nobs1, mean2, std2, nobs2, equal_var=True, alternative="two-sided"):
    n, m = np.asarray(raw(nobs1), dtype=float), np.asarray(raw(nobs2), dtype=float)
    u, v = ag.asarray(std1) ** 2, ag.asarray(std2) ** 2
    if equal_var:
        df = n + m - 2.0
        square = ((n - 1.0) * u + (m - 1.0) * v) / df * (1.0 / n + 1.0 / m)
    else:
        u, v = u / n, v / m
        square = u + v
        df = square**2 / (u**2 / (n - 1.0) + v**2 / (m - 1.0))
    t = (ag.asarray(mean1) - mean2) / ag.sqrt(square)
    return t, p_of_t(t, df, alternative)


def _alexandergovern(samples):
    sizes = [float(s.shape[-1]) for s in samples]
    means = [ag.mean(s, axis=-1) for s in samples]
    squares = [ag.var(s, axis=-1, correction=1) / n for s, n in zip(samples, sizes, strict=True)]
    whole = sum(1.0 / q for q in squares)
    grand = sum(m / q for m, q in zip(means, squares, strict=True)) / whole
    total = 0.0
    for n, mean, square in zip(sizes, means, squares, strict=True):
        t2 = (mean - grand) ** 2 / square
        a = n - 1.5
        b = 48.0 * a * a
        # z is odd in c, so that z^2 has no root: c^2 is smooth where the means are equal.
        c2 = a * ag.log1p(t2 / (n - 1.0))
        more = (4.0 * c2**3 + 33.0 * c2**2 + 240.0 * c2 + 855.0) / (10.0 * b * b + 8.0 * b * c2 * c2 + 1000.0 * b)
        total = total + c2 * (1.0 + (c2 + 3.0) / b - more) ** 2
    return total, _chi2_p(total, len(samples) - 1)


_alexandergovern_along = along_samples(_alexandergovern, stats.alexandergovern, ["samples"])


def _alexandergovern_result(*samples, **options):
    plain = stats.alexandergovern(*[raw(s) for s in samples], **options)  # SciPy's own checks too
    found = _alexandergovern_along(samples, **options)
    theirs = [np.asarray(value) for value in (plain.statistic, plain.pvalue)]
    # Equal observations: SciPy says nan, but their variance by our sums may be a rounding.
    found = [one * np.where(np.isnan(value), np.nan, 1.0) for one, value in zip(found, theirs, strict=True)]
    return type(plain)(*[ag.astype(one, value.dtype) for one, value in zip(found, theirs, strict=True)])


NAMES["alexandergovern"] = composition(
    "stats.alexandergovern", stats.alexandergovern, "samples", "Alexander and Govern (1994)"
)(_alexandergovern_result)


# -- of probabilities and tables --------------------------------------------------------------------------------------


@of_samples("combine_pvalues", "pvalues weights", "Fisher (1932) and others, as SciPy names",
            samples="pvalues weights", paired=True)  # fmt: skip
def _combine_pvalues(pvalues, method="fisher", weights=None):
    p = pvalues
    n = float(p.shape[-1])
    if method == "fisher":
        statistic = -2.0 * ag.sum(ag.log(p), axis=-1)
        return statistic, _chi2_p(statistic, 2.0 * n)
    if method == "pearson":
        statistic = 2.0 * ag.sum(ag.log1p(-p), axis=-1)
        return statistic, OBJECTS["chi2"].cdf(-statistic, 2.0 * n)
    if method == "mudholkar_george":
        statistic = ag.sum(ag.log1p(-p) - ag.log(p), axis=-1)
        nu = 5.0 * n + 4.0
        factor = math.sqrt(3.0 / n) / math.pi * math.sqrt(nu / (nu - 2.0))
        return statistic, OBJECTS["t"].sf(statistic * factor, nu)
    if method == "tippett":
        statistic = ag.min(p, axis=-1)
        return statistic, OBJECTS["beta"].cdf(statistic, 1.0, n)
    z = OBJECTS["norm"].isf(p)
    weights = ag.ones_like(p) if weights is None else ag.broadcast_to(weights, p.shape)
    statistic = ag.sum(weights * z, axis=-1) / ag.sqrt(ag.sum(weights * weights, axis=-1))
    return statistic, OBJECTS["norm"].sf(statistic)


def _expected(table):
    total = ag.sum(table)
    found = 1.0
    for axis in range(table.ndim):
        others = tuple([i for i in range(table.ndim) if i != axis])
        found = found * ag.sum(table, axis=others, keepdims=True)
    return found / total ** (table.ndim - 1)


def _chi2_contingency(observed, correction=True, lambda_=None, *, method=None):
    if method is not None:
        raise NotDifferentiable("arraygrad.scipy.stats.chi2_contingency: method= draws random tables")
    plain = stats.chi2_contingency(raw(observed), correction, lambda_)
    observed = ag.astype(ag.asarray(observed), ag.float64, copy=False)  # as SciPy computes
    expected = _expected(observed)
    if plain.dof == 0:
        return type(plain)(0.0 * ag.sum(observed), 1.0 + 0.0 * ag.sum(observed), 0, expected)
    if plain.dof == 1 and correction:
        away = expected - observed
        near = np.asarray(np.abs(np.asarray(raw(away))) < 0.5)
        if near.all():  # all of the difference is taken away, around here too
            return type(plain)(0.0 * ag.sum(observed), 1.0 + 0.0 * ag.sum(observed), plain.dof, expected)
        observed = observed + ag.where(near, away, 0.5 * np.sign(np.asarray(raw(away))))
    statistic, _ = NAMES["power_divergence"](
        ag.reshape(observed, (-1,)), ag.reshape(expected, (-1,)), lambda_=1.0 if lambda_ is None else lambda_
    )
    return type(plain)(statistic, _chi2_p(statistic, plain.dof), plain.dof, expected)


if hasattr(stats, "chi2_contingency"):
    NAMES["chi2_contingency"] = composition(
        "stats.chi2_contingency", stats.chi2_contingency, "observed", "Pearson (1900)"
    )(_chi2_contingency)


@of_samples("epps_singleton_2samp", "x y", "Epps and Singleton (1986); by selection", samples="x y")
def _epps_singleton(x, y, t=(0.4, 0.8)):
    n, m = float(x.shape[-1]), float(y.shape[-1])
    low, high = (np.percentile(ag.concat([x, y], axis=-1), q, axis=-1, keepdims=True) for q in (25, 75))
    places = 2.0 * np.asarray(t, dtype=float)[:, None] / (high - low)[..., None, :]

    def moved(a):
        angle = places * a[..., None, :]
        return ag.concat([ag.cos(angle), ag.sin(angle)], axis=-2)

    def covariance(a):
        away = a - ag.mean(a, axis=-1, keepdims=True)
        return ag.matmul(away, ag.matrix_transpose(away)) / a.shape[-1]

    first, second = moved(x), moved(y)
    whole = (n + m) / n * covariance(first) + (n + m) / m * covariance(second)
    rank = 2 * len(np.asarray(t))
    if np.any(np.linalg.matrix_rank(np.asarray(raw(whole))) < rank):
        raise NotDifferentiable("arraygrad.scipy.stats.epps_singleton_2samp: the covariance is singular")
    away = (ag.mean(first, axis=-1) - ag.mean(second, axis=-1))[..., None]
    w = (n + m) * ag.sum(away * ag.linalg.solve(whole, away), axis=(-2, -1))
    if max(n, m) < 25:
        w = w / (1.0 + (n + m) ** -0.45 + 10.1 * (n**-1.7 + m**-1.7))
    return w, _chi2_p(w, rank)


def _median_ranks(n):
    """Filliben's estimates of the medians of uniform order statistics."""
    found = (np.arange(1.0, n + 1.0) - 0.3175) / (n + 0.365)
    found[-1] = 0.5 ** (1.0 / n)
    found[0] = 1.0 - found[-1]
    return found


def _probplot(x, sparams=(), dist="norm", fit=True, plot=None, rvalue=False):
    if plot is not None:
        raise NotDifferentiable("arraygrad.scipy.stats.probplot: pass detach() to plot")
    named = OBJECTS.get(dist) if isinstance(dist, str) else dist
    if named is None:
        raise NotDifferentiable(f"arraygrad.scipy.stats.probplot: the distribution {dist!r} has no rule here")
    x = ag.reshape(ag.asarray(x), (-1,))
    shapes = () if sparams is None else sparams if isinstance(sparams, (tuple, list)) else (sparams,)
    theoretical, ordered = named.ppf(_median_ranks(x.shape[0]), *shapes), ag.sort(x)
    if not fit:
        return theoretical, ordered
    line = NAMES["linregress"](ag.asarray(theoretical), ordered)
    return (theoretical, ordered), (line[0], line[1], line[2])


if hasattr(stats, "probplot"):
    NAMES["probplot"] = composition("stats.probplot", stats.probplot, "x sparams", "Filliben (1975); by selection")(
        _probplot
    )


# -- distances between a sample and a distribution --------------------------------------------------------------------


def _cdf_of(name, cdf):
    if isinstance(cdf, str):
        if cdf not in OBJECTS:
            raise NotDifferentiable(f"arraygrad.scipy.stats.{name}: the distribution {cdf!r} has no rule here")
        return OBJECTS[cdf].cdf
    return cdf


def _one_sample(name, x, axis, nan_policy, keepdims):
    """The sample as a vector; several samples, and what SciPy does to one, are refused."""
    if nan_policy not in ("propagate", "raise", "omit"):
        raise ValueError(f"nan_policy must be one of 'propagate', 'raise', 'omit', got {nan_policy!r}")
    x = ag.asarray(x)
    gaps = nan_policy != "propagate" and np.any(np.isnan(np.asarray(raw(x))))
    if (x.ndim > 1 and axis is not None) or keepdims or gaps:
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{name}: the derivative is known for one sample without nan, and keepdims=False, "
            f"but an array of shape {tuple(x.shape)} was found. Call it for each sample, or pass axis=None"
        )
    return ag.reshape(x, (-1,))


# By their first letters, as SciPy reads them.
_ALTERNATIVES = {"t": "two-sided", "g": "greater", "l": "less"}


def _ks_1samp(x, cdf, args=(), alternative="two-sided", method="auto", *, axis=0, nan_policy="propagate",
              keepdims=False):  # fmt: skip
    alternative = _ALTERNATIVES.get(alternative.lower()[:1], alternative)
    if alternative not in _ALTERNATIVES.values():
        raise ValueError(f"Unexpected value {alternative=}")
    if method not in ("auto", "exact", "approx", "asymp"):
        stats.ks_1samp(np.array([0.1, 0.2]), stats.norm.cdf, method=method)  # SciPy's error, from 1.18 on
    function = _cdf_of("ks_1samp", cdf)
    x = ag.sort(_one_sample("ks_1samp", x, axis, nan_policy, keepdims))
    n = x.shape[0]
    if not n:
        return stats.ks_1samp(raw(x), lambda x: x, (), alternative, method)  # nan
    values = ag.asarray(function(x, *args))
    above, below = np.arange(1.0, n + 1.0) / n - values, values - np.arange(0.0, n) / n
    plus, minus = ag.max(above), ag.max(below)
    where = np.argmax(np.asarray(raw(above))), np.argmax(np.asarray(raw(below)))
    upper = alternative == "greater" or (alternative == "two-sided" and float(raw(plus)) > float(raw(minus)))
    statistic = plus if upper else minus
    if alternative != "two-sided":
        p = OBJECTS["ksone"].sf(statistic, n)
    elif method in ("auto", "exact"):
        p = OBJECTS["kstwo"].sf(statistic, n)
    elif method == "asymp":
        p = OBJECTS["kstwobign"].sf(statistic * n**0.5)
    else:
        p = 2.0 * OBJECTS["ksone"].sf(statistic, n)
    kind = type(stats.ks_1samp(np.array([0.1, 0.2]), stats.norm.cdf))
    return kind(
        statistic, _as_sampled(ag.clip(p, 0.0, 1.0), x), statistic_location=x[int(where[0 if upper else 1])],
        statistic_sign=np.int8(1 if upper else -1),
    )  # fmt: skip


def _as_sampled(p, x):
    """A probability in single precision where the sample has it, as SciPy's."""
    return ag.astype(p, x.dtype) if raw(x).dtype == np.float32 else p


NAMES["ks_1samp"] = composition("stats.ks_1samp", stats.ks_1samp, "x args", "Kolmogorov (1933); by selection",
                                order="first")(_ks_1samp)  # fmt: skip


_ks_2samp_of_ranks = NAMES["ks_2samp"]


@functools.wraps(stats.ks_2samp)
def _ks_2samp(data1, data2, *args, **kwargs):
    """Statistic and p-value are of ranks, and constant; where the samples differ most is one of their elements."""
    result = _ks_2samp_of_ranks(data1, data2, *args, **kwargs)
    if not any(isinstance(data, Tensor) for data in (data1, data2)):
        return result
    # SciPy's location is one of the elements of each pair of samples; nan where there is none.
    location = np.asarray(result.statistic_location)
    (first, second), _ = samples_along(kwargs.get("axis", 0), [data1, data2])
    outer = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    both = ag.concat([ag.broadcast_to(a, (*outer, a.shape[-1])) for a in (first, second)], axis=-1)
    wanted = location.reshape((*outer, 1))
    place = np.argmax(np.asarray(raw(both)) == wanted, axis=-1, keepdims=True)
    found = ag.where(np.isnan(wanted), np.nan, ag.take_along_axis(both, place, axis=-1))
    return type(result)(
        *result, statistic_location=ag.reshape(found, location.shape), statistic_sign=result.statistic_sign
    )  # fmt: skip


NAMES["ks_2samp"] = REGISTRY["stats.ks_2samp"].function = _ks_2samp


_median_test_of_counts = NAMES["median_test"]


@functools.wraps(stats.median_test)
def _median_test(*samples, **kwargs):
    """Statistic and p-value are of counts, and constant; the median is that of all samples."""
    result = _median_test_of_counts(*samples, **kwargs)
    if not any(isinstance(sample, Tensor) for sample in samples) or np.isnan(result.median):
        return result
    both = ag.concat([ag.asarray(sample) for sample in samples])
    return type(result)(result.statistic, result.pvalue, ag.numpy.nanmedian(both), result.table)


NAMES["median_test"] = REGISTRY["stats.median_test"].function = _median_test


def _kstest(rvs, cdf, args=(), N=20, alternative="two-sided", method="auto", **options):
    if isinstance(cdf, str) or callable(cdf):
        if alternative not in (*_ALTERNATIVES.values(), "two_sided"):
            raise ValueError(f"Unexpected alternative: {alternative}")
        return NAMES["ks_1samp"](rvs, _cdf_of("kstest", cdf), args, alternative, method, **options)
    return NAMES["ks_2samp"](rvs, cdf, alternative, method, **options)


NAMES["kstest"] = composition("stats.kstest", stats.kstest, "rvs args", "Kolmogorov (1933); by selection",
                              order="first")(_kstest)  # fmt: skip

# -- greatest likelihood ----------------------------------------------------------------------------------------------


def _of_maximum(name, likelihood, usual):
    """The gradient of argmax over lmbda of likelihood(lmbda, x): -L_lx / L_ll, by the implicit function theorem."""

    def rule(g, ans, x, method=usual):
        if method != "mle":
            raise NotDifferentiable(f"arraygrad.scipy.stats.{name}: the derivative is known for method='mle'")
        x_ = ag.asarray(np.asarray(raw(x), dtype=float)).requires_grad_()
        lmbda = ag.asarray(np.asarray(raw(ans), dtype=float)).requires_grad_()
        with ag.enable_grad():
            (first,) = ag.autograd.grad(likelihood(lmbda, x_), [lmbda], create_graph=True)
            mixed, twice = ag.autograd.grad(first, [x_, lmbda])
        return g * once(f"stats.{name}", np.asarray(raw(-mixed / twice)), x)

    return rule


for _name, _likelihood, _usual in (("boxcox", "boxcox_llf", "pearsonr"), ("yeojohnson", "yeojohnson_llf", "mle")):
    _name = f"{_name}_normmax"
    if hasattr(stats, _name):
        NAMES[_name] = ruled(
            f"stats.{_name}", getattr(stats, _name), "x", "implicit: the likelihood's slope is zero", order="first",
            inert="brack",
        )(_of_maximum(_name, lambda lmb, x, f=_likelihood: NAMES[f](lmb, x), _usual))  # fmt: skip

# -- refused ----------------------------------------------------------------------------------------------------------

_RANDOM = "it draws random samples, or permutes them"
_REFUSED = {
    _RANDOM: "bootstrap permutation_test monte_carlo_test power goodness_of_fit dunnett sobol_indices "
             "multiscale_graphcorr",
    "its p-value has no rule; compose the statistic": "cramervonmises anderson shapiro poisson_means_test "
                                                      "binomtest quantile_test",
    "its result is an object of fixed numbers": "ecdf fit",
    "where it is one of several equal values it jumps": "mode",
    "a linear programme is solved for it": "wasserstein_distance_nd",
    "it counts, and the edges of its bins have no rule": "cumfreq relfreq",
    "the greatest correlation has no rule": "ppcc_max ppcc_plot boxcox_normplot yeojohnson_normplot",
    "it takes distributions as objects": "order_statistic truncate",
}  # fmt: skip
for _reason, _names in _REFUSED.items():
    for _name in _names.split():
        if hasattr(stats, _name):
            NAMES[_name] = refused(f"stats.{_name}", getattr(stats, _name), _reason)
