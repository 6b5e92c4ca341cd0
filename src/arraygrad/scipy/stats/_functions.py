"""Statistics of samples: means, moments, tests, transformations.

May import: arraygrad, scipy._declare, scipy.stats._univariate, SciPy. Each composition is the statistic's definition;
"SciPy" as a source is the formula in the function's own documentation.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy._declare import Chapter, constant, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.stats._univariate import OBJECTS

__all__ = ["NAMES", "central_moment", "declare_statistic", "flat_along", "p_of_t"]

CHAPTER = Chapter("stats", stats)
NAMES = CHAPTER.names
declare_statistic = CHAPTER.by_composition


def flat_along(a, axis):
    a = ag.asarray(a)
    return (ag.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def _along(p, axis, ndim):
    """A vector of weights beside the axis it belongs to."""
    return ag.reshape(p, tuple([-1 if i == axis % ndim else 1 for i in range(ndim)]))


# -- means and moments ------------------------------------------------------------------------------------------------


def _mean(a, axis, weights, keepdims=False):
    if weights is None:
        return ag.mean(a, axis=axis, keepdims=keepdims)
    weights = ag.asarray(weights)
    if weights.ndim == 1 and a.ndim > 1:
        weights = _along(weights, axis, a.ndim)
    weights = ag.broadcast_to(weights, a.shape)
    return ag.sum(a * weights, axis=axis, keepdims=keepdims) / ag.sum(weights, axis=axis, keepdims=keepdims)


@declare_statistic("gmean", "a weights")
def _gmean(a, axis=0, weights=None, keepdims=False):
    a, axis = flat_along(a, axis)
    return ag.exp(_mean(ag.log(a), axis, weights, keepdims))


@declare_statistic("hmean", "a weights")
def _hmean(a, axis=0, weights=None, keepdims=False):
    a, axis = flat_along(a, axis)
    return 1.0 / _mean(1.0 / a, axis, weights, keepdims)


@declare_statistic("pmean", "a p weights", refuse={"p": "0 is a limit"})
def _pmean(a, p, axis=0, weights=None, keepdims=False):
    a, axis = flat_along(a, axis)
    if np.all(np.asarray(raw(p)) == 0):
        return ag.exp(_mean(ag.log(a), axis, weights, keepdims))
    return _mean(a**p, axis, weights, keepdims) ** (1.0 / p)


@declare_statistic("sem", "a")
def _sem(a, axis=0, ddof=1, keepdims=False):
    a, axis = flat_along(a, axis)
    return ag.std(a, axis=axis, correction=ddof, keepdims=keepdims) / math.sqrt(a.shape[axis])


def central_moment(a, order, axis, keepdims=False, center=None):
    center = ag.mean(a, axis=axis, keepdims=True) if center is None else center
    return ag.mean((a - center) ** order, axis=axis, keepdims=keepdims)


@declare_statistic("moment", "a center")
def _moment(a, order=1, axis=0, center=None, keepdims=False):
    a, axis = flat_along(a, axis)
    if np.ndim(order):
        return ag.stack([_moment(a, k, axis, center, keepdims) for k in order])
    if order == 1 and center is None:
        return 0.0 * ag.mean(a, axis=axis, keepdims=keepdims)
    if center is not None and ag.asarray(center).ndim:
        center = ag.expand_dims(center, axis=axis)
    return central_moment(a, int(order), axis, keepdims, center)


@declare_statistic("skew", "a")
def _skew(a, axis=0, bias=True, keepdims=False):
    a, axis = flat_along(a, axis)
    n = a.shape[axis]
    found = central_moment(a, 3, axis, keepdims) / central_moment(a, 2, axis, keepdims) ** 1.5
    return found if bias or n <= 2 else found * (math.sqrt(n * (n - 1.0)) / (n - 2.0))


@declare_statistic("kurtosis", "a")
def _kurtosis(a, axis=0, fisher=True, bias=True, keepdims=False):
    a, axis = flat_along(a, axis)
    n = a.shape[axis]
    found = central_moment(a, 4, axis, keepdims) / central_moment(a, 2, axis, keepdims) ** 2
    if not bias and n > 3:
        found = 3.0 + ((n * n - 1.0) * found - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0))
    return found - 3.0 if fisher else found


@declare_statistic("variation", "a")
def _variation(a, axis=0, ddof=0, keepdims=False):
    a, axis = flat_along(a, axis)
    return ag.std(a, axis=axis, correction=ddof, keepdims=keepdims) / ag.mean(a, axis=axis, keepdims=keepdims)


@declare_statistic("gstd", "a")
def _gstd(a, axis=0, ddof=1, keepdims=False):
    a, axis = flat_along(a, axis)
    return ag.exp(ag.std(ag.log(a), axis=axis, correction=ddof, keepdims=keepdims))


def _selected(a, limits, inclusive):
    low, high = (None, None) if limits is None else limits
    values = np.asarray(raw(a))
    mask = np.ones(values.shape, dtype=bool)
    if low is not None:
        mask &= values >= low if inclusive[0] else values > low
    if high is not None:
        mask &= values <= high if inclusive[1] else values < high
    return mask


@declare_statistic("tmean", "a")
def _tmean(a, limits=None, inclusive=(True, True), axis=None, keepdims=False):
    a, axis = flat_along(a, axis)
    mask = _selected(a, limits, inclusive)
    return ag.sum(ag.where(mask, a, 0.0), axis=axis, keepdims=keepdims) / np.sum(mask, axis=axis, keepdims=keepdims)


def _tvar_of(a, limits, inclusive, axis, ddof, keepdims):
    a, axis = flat_along(a, axis)
    mask = _selected(a, limits, inclusive)
    n = np.sum(mask, axis=axis, keepdims=True)
    mean = ag.sum(ag.where(mask, a, 0.0), axis=axis, keepdims=True) / n
    total = ag.sum(ag.where(mask, (a - mean) ** 2, 0.0), axis=axis, keepdims=True) / (n - ddof)
    return total if keepdims else ag.squeeze(total, axis=axis)


@declare_statistic("tvar", "a")
def _tvar(a, limits=None, inclusive=(True, True), axis=0, ddof=1, keepdims=False):
    return _tvar_of(a, limits, inclusive, axis, ddof, keepdims)


@declare_statistic("tstd", "a")
def _tstd(a, limits=None, inclusive=(True, True), axis=0, ddof=1, keepdims=False):
    return ag.sqrt(_tvar_of(a, limits, inclusive, axis, ddof, keepdims))


@declare_statistic("tsem", "a")
def _tsem(a, limits=None, inclusive=(True, True), axis=0, ddof=1, keepdims=False):
    flat, along = flat_along(a, axis)
    n = np.sum(_selected(flat, limits, inclusive), axis=along, keepdims=keepdims)
    return ag.sqrt(_tvar_of(a, limits, inclusive, axis, ddof, keepdims) / n)


@declare_statistic("trim_mean", "a")
def _trim_mean(a, proportiontocut, axis=0, keepdims=False):
    a, axis = flat_along(a, axis)
    cut = int(proportiontocut * a.shape[axis])
    middle = ag.sort(a, axis=axis)[(slice(None),) * (axis % a.ndim) + (slice(cut, a.shape[axis] - cut),)]
    return ag.mean(middle, axis=axis, keepdims=keepdims)


@declare_statistic("zscore", "a")
def _zscore(a, axis=0, ddof=0):
    return _zmap(a, a, axis, ddof)


@declare_statistic("zmap", "scores compare")
def _zmap(scores, compare, axis=0, ddof=0):
    compare = ag.asarray(compare)
    if axis is None:
        shift, size = ag.mean(compare), ag.std(compare, correction=ddof)
    else:
        shift = ag.mean(compare, axis=axis, keepdims=True)
        size = ag.std(compare, axis=axis, correction=ddof, keepdims=True)
    return (scores - shift) / size


@declare_statistic("gzscore", "a")
def _gzscore(a, axis=0, ddof=0):
    return _zmap(ag.log(a), ag.log(a), axis, ddof)


@declare_statistic("median_abs_deviation", "x", "SciPy; by selection")
def _median_abs_deviation(x, axis=0, center=None, scale=1.0):
    a, axis = flat_along(x, axis)
    center = np.median if center is None else center
    if center is not np.median and center is not np.mean:
        raise NotDifferentiable("arraygrad.scipy.stats.median_abs_deviation: center must be np.median or np.mean")
    scale = 0.6744897501960817 if scale == "normal" else scale
    middle = center(a, axis=axis)
    return np.median(ag.abs(a - ag.expand_dims(middle, axis=axis)), axis=axis) / scale


@declare_statistic("iqr", "x", "SciPy; by selection")
def _iqr(x, axis=None, rng=(25, 75), scale=1.0, interpolation="linear", keepdims=False):
    scale = 1.3489795003921634 if scale == "normal" else scale
    low, high = (np.percentile(x, q, axis=axis, method=interpolation, keepdims=keepdims) for q in sorted(rng))
    return (high - low) / scale


# -- circular statistics ----------------------------------------------------------------------------------------------


def _resultant(samples, high, low, axis):
    samples, axis = flat_along(samples, axis)
    angle = (samples - low) * (2.0 * math.pi / (high - low))
    return ag.mean(ag.sin(angle), axis=axis), ag.mean(ag.cos(angle), axis=axis)


@declare_statistic("circmean", "samples high low")
def _circmean(samples, high=2.0 * math.pi, low=0, axis=None):
    sine, cosine = _resultant(samples, high, low, axis)
    angle = ag.atan2(sine, cosine)
    angle = angle + 2.0 * math.pi * (np.asarray(raw(angle)) < 0)
    return angle * (high - low) / (2.0 * math.pi) + low


@declare_statistic("circvar", "samples high low")
def _circvar(samples, high=2.0 * math.pi, low=0, axis=None):
    return 1.0 - ag.hypot(*_resultant(samples, high, low, axis))


@declare_statistic("circstd", "samples high low")
def _circstd(samples, high=2.0 * math.pi, low=0, axis=None, normalize=False):
    found = ag.sqrt(-2.0 * ag.log(ag.hypot(*_resultant(samples, high, low, axis))))
    return found if normalize else found * (high - low) / (2.0 * math.pi)


# -- entropies and distances ------------------------------------------------------------------------------------------


@declare_statistic("entropy", "pk qk")
def _entropy(pk, qk=None, base=None, axis=0, keepdims=False):
    pk, axis = flat_along(pk, axis)
    pk = pk / ag.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        found = ag.special.entr(pk)
    else:
        qk = ag.asarray(qk)
        found = ag.special.rel_entr(pk, qk / ag.sum(qk, axis=axis, keepdims=True))
    found = ag.sum(found, axis=axis, keepdims=keepdims)
    return found if base is None else found / math.log(base)


def _cdf_distance(p, u, v, u_weights, v_weights):
    u, v = ag.asarray(u), ag.asarray(v)
    together = ag.concat([u, v])
    order = np.argsort(np.asarray(raw(together)), kind="stable")
    gaps = ag.diff(ag.take(together, order))
    sorted_values = np.asarray(raw(together))[order][:-1]

    def share(x, weights):
        values = np.asarray(raw(x))
        places = np.argsort(values)
        below = np.searchsorted(values[places], sorted_values, "right")
        if weights is None:
            return below / values.size
        sums = ag.concat([ag.zeros(1), ag.cumulative_sum(ag.take(ag.asarray(weights), places))])
        return ag.take(sums, below) / sums[-1]

    difference = ag.abs(ag.asarray(share(u, u_weights)) - share(v, v_weights))
    if p == 1:
        return ag.sum(difference * gaps)
    return ag.sqrt(ag.sum(difference**2 * gaps))


@declare_statistic("wasserstein_distance", "u_values v_values u_weights v_weights", "SciPy; by selection")
def _wasserstein(u_values, v_values, u_weights=None, v_weights=None):
    return _cdf_distance(1, u_values, v_values, u_weights, v_weights)


@declare_statistic("energy_distance", "u_values v_values u_weights v_weights", "SciPy; by selection")
def _energy(u_values, v_values, u_weights=None, v_weights=None):
    return math.sqrt(2.0) * _cdf_distance(2, u_values, v_values, u_weights, v_weights)


# -- tests ------------------------------------------------------------------------------------------------------------


def p_of_t(t, df, alternative):
    if alternative == "less":
        return OBJECTS["t"].cdf(t, df)
    if alternative == "greater":
        return OBJECTS["t"].sf(t, df)
    return 2.0 * OBJECTS["t"].sf(ag.abs(t), df)


@declare_statistic("ttest_1samp", "a popmean")
def _ttest_1samp(a, popmean, axis=0, alternative="two-sided"):
    a, axis = flat_along(a, axis)
    n = a.shape[axis]
    popmean = ag.asarray(popmean)
    if popmean.ndim:
        popmean = ag.squeeze(popmean, axis=axis)
    t = (ag.mean(a, axis=axis) - popmean) / (ag.std(a, axis=axis, correction=1) / math.sqrt(n))
    return t, p_of_t(t, float(n - 1), alternative)


@declare_statistic("ttest_rel", "a b")
def _ttest_rel(a, b, axis=0, alternative="two-sided"):
    if axis is None:
        a, b = ag.reshape(a, (-1,)), ag.reshape(b, (-1,))
    return _ttest_1samp(ag.asarray(a) - b, 0.0, axis, alternative)


@declare_statistic("ttest_ind", "a b")
def _ttest_ind(a, b, axis=0, equal_var=True, alternative="two-sided"):
    (a, _), (b, axis) = flat_along(a, axis), flat_along(b, axis)
    n, m = a.shape[axis], b.shape[axis]
    u, v = ag.var(a, axis=axis, correction=1), ag.var(b, axis=axis, correction=1)
    if equal_var:
        df = float(n + m - 2)
        square = ((n - 1.0) * u + (m - 1.0) * v) / df * (1.0 / n + 1.0 / m)
    else:
        u, v = u / n, v / m
        square = u + v
        df = square**2 / (u**2 / (n - 1.0) + v**2 / (m - 1.0))
    t = (ag.mean(a, axis=axis) - ag.mean(b, axis=axis)) / ag.sqrt(square)
    return t, p_of_t(t, df, alternative)


@declare_statistic("pearsonr", "x y")
def _pearsonr(x, y, alternative="two-sided", axis=0):
    (x, _), (y, axis) = flat_along(x, axis), flat_along(y, axis)
    n = x.shape[axis]
    x = x - ag.mean(x, axis=axis, keepdims=True)
    y = y - ag.mean(y, axis=axis, keepdims=True)
    r = ag.sum(x * y, axis=axis) / ag.sqrt(ag.sum(x * x, axis=axis) * ag.sum(y * y, axis=axis))
    # r is beta distributed on (-1, 1), which is t distributed when transformed (JKB 32).
    t = r * ag.sqrt((n - 2.0) / (1.0 - r * r))
    return r, p_of_t(t, float(n - 2), alternative)


@declare_statistic("linregress", "x y")
def _linregress(x, y, alternative="two-sided"):
    x, y = ag.asarray(x), ag.asarray(y)
    n = x.shape[0]
    dx, dy = x - ag.mean(x), y - ag.mean(y)
    sxx, syy, sxy = ag.sum(dx * dx), ag.sum(dy * dy), ag.sum(dx * dy)
    slope, r = sxy / sxx, sxy / ag.sqrt(sxx * syy)
    t = r * ag.sqrt((n - 2.0) / (1.0 - r * r))
    error = ag.sqrt((1.0 - r * r) * syy / sxx / (n - 2.0))
    return slope, ag.mean(y) - slope * ag.mean(x), r, p_of_t(t, float(n - 2), alternative), error


def _anova(samples):
    sizes = [s.shape[0] for s in samples]
    n, k = sum(sizes), len(samples)
    means = [ag.mean(s, axis=0) for s in samples]
    grand = sum(m * size for m, size in zip(means, sizes, strict=True)) / n
    between = sum(size * (m - grand) ** 2 for m, size in zip(means, sizes, strict=True))
    within = sum(ag.sum((s - m) ** 2, axis=0) for s, m in zip(samples, means, strict=True))
    statistic = (between / (k - 1.0)) / (within / float(n - k))
    return statistic, OBJECTS["f"].sf(statistic, float(k - 1), float(n - k))


def _first_axis(samples, axis):
    return [ag.moveaxis(*(lambda a, at: (a, at, 0))(*flat_along(s, axis))) for s in samples]


@declare_statistic("f_oneway", "samples")
def _f_oneway(samples, axis=0):
    return _anova(_first_axis(samples, axis))


@declare_statistic("levene", "samples", "SciPy; by selection")
def _levene(samples, center="median", proportiontocut=0.05, axis=0):
    samples = _first_axis(samples, axis)
    if center == "trimmed":
        cut = [int(proportiontocut * s.shape[0]) for s in samples]
        samples = [ag.sort(s, axis=0)[c : s.shape[0] - c] for s, c in zip(samples, cut, strict=True)]
    middle = (lambda s: np.median(s, axis=0)) if center == "median" else (lambda s: ag.mean(s, axis=0))
    return _anova([ag.abs(s - middle(s)) for s in samples])


@declare_statistic("bartlett", "samples")
def _bartlett(samples, axis=0):
    samples = _first_axis(samples, axis)
    sizes = [s.shape[0] for s in samples]
    n, k = sum(sizes), len(samples)
    spreads = [ag.var(s, axis=0, correction=1) for s in samples]
    pooled = sum((m - 1.0) * v for m, v in zip(sizes, spreads, strict=True)) / (n - k)
    above = (n - k) * ag.log(pooled) - sum((m - 1.0) * ag.log(v) for m, v in zip(sizes, spreads, strict=True))
    below = 1.0 + (sum(1.0 / (m - 1.0) for m in sizes) - 1.0 / (n - k)) / (3.0 * (k - 1))
    statistic = above / below
    return statistic, OBJECTS["chi2"].sf(statistic, float(k - 1))


_POWERS = {"pearson": 1.0, "log-likelihood": 0.0, "freeman-tukey": -0.5, "mod-log-likelihood": -1.0, "neyman": -2.0,
           "cressie-read": 2.0 / 3.0}  # fmt: skip


@declare_statistic("power_divergence", "f_obs f_exp")
def _power_divergence(f_obs, f_exp=None, ddof=0, axis=0, lambda_=None):
    f_obs, axis = flat_along(f_obs, axis)
    power = 1.0 if lambda_ is None else _POWERS.get(lambda_, lambda_)
    f_exp = ag.mean(f_obs, axis=axis, keepdims=True) if f_exp is None else ag.asarray(f_exp)
    if power == 1:
        terms = (f_obs - f_exp) ** 2 / f_exp
    elif power == 0:
        terms = 2.0 * ag.special.xlogy(f_obs, f_obs / f_exp)
    elif power == -1:
        terms = 2.0 * ag.special.xlogy(f_exp, f_exp / f_obs)
    else:
        terms = f_obs * ((f_obs / f_exp) ** power - 1.0) * (2.0 / (power * (power + 1.0)))
    statistic = ag.sum(terms, axis=axis)
    return statistic, OBJECTS["chi2"].sf(statistic, float(f_obs.shape[axis] - 1 - ddof))


@declare_statistic("chisquare", "f_obs f_exp", inert="sum_check")
def _chisquare(f_obs, f_exp=None, ddof=0, axis=0):
    return _power_divergence(f_obs, f_exp, ddof, axis)


# -- transformations --------------------------------------------------------------------------------------------------


def _box(x, lmb):
    """(x^lmb - 1) / lmb, log(x) at lmb = 0."""
    from arraygrad.scipy.special import boxcox

    return boxcox(x, lmb)


def _yeo(x, lmb):
    from arraygrad.scipy.special import boxcox1p

    positive = np.asarray(raw(x)) >= 0
    above, below = ag.where(positive, x, 0.0), ag.where(positive, 0.0, x)
    return ag.where(positive, boxcox1p(above, lmb), -boxcox1p(-below, 2.0 - lmb))


def _needs_lmbda(name, lmbda):
    if lmbda is None:
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{name}: the derivative needs lmbda; find it first, with "
            "arraygrad.implicit.minimize where its own derivative is wanted"
        )


@declare_statistic("boxcox", "x lmbda", "Box and Cox (1964)")
def _boxcox(x, lmbda=None):
    _needs_lmbda("boxcox", lmbda)
    return _box(x, lmbda)


@declare_statistic("yeojohnson", "x lmbda", "Yeo and Johnson (2000)")
def _yeojohnson(x, lmbda=None):
    _needs_lmbda("yeojohnson", lmbda)
    return _yeo(x, lmbda)


@declare_statistic("boxcox_llf", "lmb data", "Box and Cox (1964)")
def _boxcox_llf(lmb, data, axis=0):
    data, axis = flat_along(data, axis)
    n = data.shape[axis]
    spread = ag.var(_box(data, lmb), axis=axis)
    return (lmb - 1.0) * ag.sum(ag.log(data), axis=axis) - 0.5 * n * ag.log(spread)


@declare_statistic("yeojohnson_llf", "lmb data", "Yeo and Johnson (2000)")
def _yeojohnson_llf(lmb, data, axis=0):
    data, axis = flat_along(data, axis)
    n = data.shape[axis]
    spread = ag.var(_yeo(data, lmb), axis=axis)
    logs = ag.sum(ag.sign(data) * ag.log1p(ag.abs(data)), axis=axis)
    return (lmb - 1.0) * logs - 0.5 * n * ag.log(spread)


# -- made of ranks and counts, whose derivative is zero ----------------------------------------------------------------

for _name in (
    "rankdata", "spearmanr", "kendalltau", "mannwhitneyu", "wilcoxon", "kruskal", "friedmanchisquare", "ansari", "mood",
    "fligner", "brunnermunzel", "cramervonmises_2samp", "ks_2samp", "ranksums", "anderson_ksamp", "bws_test",
    "chatterjeexi", "median_test", "page_trend_test", "somersd", "spearmanrho", "tiecorrect", "percentileofscore",
    "logrank", "weightedtau", "fisher_exact", "barnard_exact", "boschloo_exact",
):  # fmt: skip
    if hasattr(stats, _name):
        NAMES[_name] = constant(f"stats.{_name}", getattr(stats, _name))
