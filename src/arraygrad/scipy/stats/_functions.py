"""Statistics of samples: means, moments, tests, transformations.

May import: arraygrad, scipy._declare, scipy._shares, scipy.special, scipy.stats._samples and _univariate, SciPy. Each
composition is the statistic's definition; "SciPy" as a source is the formula in the function's own documentation.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.scipy import special
from arraygrad.scipy._declare import constant, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._shares import relative_entropy
from arraygrad.scipy.stats._samples import CHAPTER, NAMES, of_samples
from arraygrad.scipy.stats._univariate import OBJECTS

__all__ = ["central_moment", "kurtosis_of", "p_of_t", "skew_of"]

declare_statistic = CHAPTER.by_composition


# -- means and moments: of samples along the last axis -----------------------------------------------------------------


def _mean(a, weights):
    if weights is None:
        return ag.mean(a, axis=-1)
    return ag.sum(a * weights, axis=-1) / ag.sum(ag.broadcast_to(weights, a.shape), axis=-1)


@of_samples("gmean", "a weights", samples="a weights", paired=True, inert="dtype")
def _gmean(a, weights=None):
    return ag.exp(_mean(ag.log(a), weights))


@of_samples("hmean", "a weights", samples="a weights", paired=True, inert="dtype")
def _hmean(a, weights=None):
    return 1.0 / _mean(1.0 / a, weights)


@of_samples("pmean", "a p weights", samples="a weights", paired=True, refuse={"p": "0 is a limit"}, inert="dtype")
def _pmean(a, p, weights=None):
    if np.all(np.asarray(raw(p)) == 0):
        return ag.exp(_mean(ag.log(a), weights))
    return _mean(a**p, weights) ** (1.0 / p)


@of_samples("sem", "a")
def _sem(a, ddof=1):
    return ag.std(a, axis=-1, correction=ddof) / math.sqrt(a.shape[-1])


def central_moment(a, order, center=None):
    center = ag.mean(a, axis=-1, keepdims=True) if center is None else center
    return ag.mean((a - center) ** order, axis=-1)


def _moment_of(a, order, center):
    if order == 1 and center is None:
        return 0.0 * ag.mean(a, axis=-1)
    return central_moment(a, int(order), center)


@of_samples("moment", "a center")
def _moment(a, order=1, center=None):
    order = np.asarray(raw(order))
    return [_moment_of(a, k, center) for k in order] if order.ndim else _moment_of(a, order, center)


@of_samples("skew", "a")
def skew_of(a, bias=True):
    n = a.shape[-1]
    found = central_moment(a, 3) / central_moment(a, 2) ** 1.5
    return found if bias or n <= 2 else found * (math.sqrt(n * (n - 1.0)) / (n - 2.0))


@of_samples("kurtosis", "a")
def kurtosis_of(a, fisher=True, bias=True):
    n = a.shape[-1]
    found = central_moment(a, 4) / central_moment(a, 2) ** 2
    if not bias and n > 3:
        found = 3.0 + ((n * n - 1.0) * found - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0))
    return found - 3.0 if fisher else found


@of_samples("variation", "a")
def _variation(a, ddof=0):
    return ag.std(a, axis=-1, correction=ddof) / ag.mean(a, axis=-1)


@of_samples("gstd", "a")
def _gstd(a, ddof=1):
    return ag.exp(ag.std(ag.log(a), axis=-1, correction=ddof))


def _selected(a, limits, inclusive):
    low, high = (None, None) if limits is None else limits
    values = np.asarray(raw(a))
    mask = np.ones(values.shape, dtype=bool)
    if low is not None:
        mask &= values >= low if inclusive[0] else values > low
    if high is not None:
        mask &= values <= high if inclusive[1] else values < high
    return mask


@of_samples("tmean", "a")
def _tmean(a, limits=None, inclusive=(True, True)):
    mask = _selected(a, limits, inclusive)
    return ag.sum(ag.where(mask, a, 0.0), axis=-1) / np.sum(mask, axis=-1)


@of_samples("tvar", "a")
def _tvar(a, limits=None, inclusive=(True, True), ddof=1):
    mask = _selected(a, limits, inclusive)
    n = np.sum(mask, axis=-1)
    mean = ag.sum(ag.where(mask, a, 0.0), axis=-1) / n
    return ag.sum(ag.where(mask, (a - mean[..., None]) ** 2, 0.0), axis=-1) / (n - ddof)


@of_samples("tstd", "a")
def _tstd(a, limits=None, inclusive=(True, True), ddof=1):
    return ag.sqrt(_tvar(a, limits, inclusive, ddof))


@of_samples("tsem", "a")
def _tsem(a, limits=None, inclusive=(True, True), ddof=1):
    return ag.sqrt(_tvar(a, limits, inclusive, ddof) / np.sum(_selected(a, limits, inclusive), axis=-1))


def _trimmed(a, proportiontocut):
    cut = int(proportiontocut * a.shape[-1])
    return ag.sort(a, axis=-1)[..., cut : a.shape[-1] - cut]


@of_samples("trim_mean", "a")
def _trim_mean(a, proportiontocut):
    return ag.mean(_trimmed(a, proportiontocut), axis=-1)


@declare_statistic("zscore", "a")
def _zscore(a, axis=0, ddof=0):
    return _zmap(a, a, axis, ddof)


@declare_statistic("zmap", "scores compare")
def _zmap(scores, compare, axis=0, ddof=0):
    compare = ag.asarray(compare)  # the axis is counted in it alone, and what is left broadcasts
    shift = ag.mean(compare, axis=axis, keepdims=True)
    return (scores - shift) / ag.std(compare, axis=axis, correction=ddof, keepdims=True)


@declare_statistic("gzscore", "a")
def _gzscore(a, axis=0, ddof=0):
    return _zmap(ag.log(a), ag.log(a), axis, ddof)


@of_samples("median_abs_deviation", "x", "SciPy; by selection", samples="x")
def _median_abs_deviation(x, center=None, scale=1.0):
    center = np.median if center is None else center
    if center is not np.median and center is not np.mean:
        raise NotDifferentiable("arraygrad.scipy.stats.median_abs_deviation: center must be np.median or np.mean")
    scale = 0.6744897501960817 if scale == "normal" else scale
    return np.median(ag.abs(x - center(x, axis=-1)[..., None]), axis=-1) / scale


@of_samples("iqr", "x", "SciPy; by selection", samples="x")
def _iqr(x, rng=(25, 75), scale=1.0, interpolation="linear"):
    scale = 1.3489795003921634 if scale == "normal" else scale
    low, high = (np.percentile(x, q, axis=-1, method=interpolation) for q in sorted(rng))
    return (high - low) / scale


# -- circular statistics ----------------------------------------------------------------------------------------------


def _resultant(samples, high, low):
    angle = (samples - low) * (2.0 * math.pi / (high - low))
    return ag.mean(ag.sin(angle), axis=-1), ag.mean(ag.cos(angle), axis=-1)


@of_samples("circmean", "samples high low", samples="samples")
def _circmean(samples, high=2.0 * math.pi, low=0):
    sine, cosine = _resultant(samples, high, low)
    angle = ag.atan2(sine, cosine)
    angle = angle + 2.0 * math.pi * (np.asarray(raw(angle)) < 0)
    return angle * (high - low) / (2.0 * math.pi) + low


@of_samples("circvar", "samples high low", samples="samples")
def _circvar(samples, high=2.0 * math.pi, low=0):
    return 1.0 - ag.hypot(*_resultant(samples, high, low))


@of_samples("circstd", "samples high low", samples="samples")
def _circstd(samples, high=2.0 * math.pi, low=0, normalize=False):
    if samples.shape[-1] == 1:  # zero, of whatever sample
        return ag.zeros_like(samples[..., 0])
    found = ag.sqrt(-2.0 * ag.log(ag.hypot(*_resultant(samples, high, low))))
    return found if normalize else found * (high - low) / (2.0 * math.pi)


# -- entropies and distances ------------------------------------------------------------------------------------------


@of_samples("entropy", "pk qk", samples="pk qk", paired=True)
def _entropy(pk, qk=None, base=None):
    if qk is None:
        found = ag.sum(ag.special.entr(pk / ag.sum(pk, axis=-1, keepdims=True)), axis=-1)
    else:
        dtype = ag.result_type(pk, qk)
        found = ag.sum(relative_entropy(*ag.broadcast_arrays(pk, qk), -1), axis=-1)
        if np.issubdtype(dtype, np.floating):
            found = found.astype(dtype)
    return found if base is None else found / math.log(base)


def _cdf_distance(p, u, v, u_weights, v_weights):
    """The integral of |U - V|^p over the line, to the power 1 / p, for the distribution functions of two samples.

    With the values in their order it is a sum of |D_k|^p times the gaps between them, where D_k is what has been passed
    of U less that of V. A value that others are equal to moves to the front of them, or to their end: its derivative is
    that of either side where both agree, and their mean at a kink.
    """
    u, v = ag.asarray(u), ag.asarray(v)
    together = ag.concat([u, v])
    plain = np.asarray(raw(together))
    order = np.argsort(plain, kind="stable")
    n, m = u.shape[0], v.shape[0]
    # After each value; zero after the last.
    difference = _passed(u_weights, np.arange(n), order) - _passed(v_weights, n + np.arange(m), order)
    sizes = lambda d: ag.abs(d) if p == 1 else d * d
    found = ag.sum(sizes(difference[:-1]) * ag.diff(ag.take(together, order)))
    ranked = plain[order]
    first, last = np.searchsorted(ranked, ranked), np.searchsorted(ranked, ranked, "right") - 1
    if np.any(first != last):
        before = ag.concat([ag.zeros_like(difference[:1]), difference[:-1]])
        own = difference - before
        ahead, behind = ag.take(before, first), ag.take(difference, last)
        mean = 0.5 * (sizes(ahead) - sizes(ahead + own) + sizes(behind - own) - sizes(behind))
        moved = ag.take(together, order)
        found = found + ag.sum((mean - sizes(before) + sizes(difference)) * (moved - ag.stop_gradient(moved)))
    return found if p == 1 else ag.sqrt(found)


def _passed(weights, places, order):
    """The share of a sample, which stands at `places`, that has been passed after each value in their order."""
    if weights is None:
        return ag.asarray(np.cumsum(np.isin(order, places)) / places.size)
    weights = ag.asarray(weights)
    whole = ag.concat([weights, ag.zeros(order.size - places.size, dtype=weights.dtype)])
    whole = ag.roll(whole, int(places[0])) if places.size else whole
    sums = ag.cumulative_sum(ag.take(whole, order))
    return sums / sums[-1]


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


@of_samples("ttest_1samp", "a popmean", samples="a popmean")
def _ttest_1samp(a, popmean, alternative="two-sided"):
    n = a.shape[-1]
    t = (ag.mean(a, axis=-1) - ag.squeeze(popmean, axis=-1)) / (ag.std(a, axis=-1, correction=1) / math.sqrt(n))
    return t, p_of_t(t, float(n - 1), alternative)


@of_samples("ttest_rel", "a b", samples="a b", paired=True)
def _ttest_rel(a, b, alternative="two-sided"):
    return _ttest_1samp(a - b, ag.asarray(np.zeros(1)), alternative)


@of_samples("ttest_ind", "a b", samples="a b")
def _ttest_ind(a, b, equal_var=True, alternative="two-sided"):
    n, m = a.shape[-1], b.shape[-1]
    if equal_var:
        df = float(n + m - 2)
        squares = n * ag.var(a, axis=-1) + m * ag.var(b, axis=-1)  # of a single element: zero
        square = squares / df * (1.0 / n + 1.0 / m)
    else:
        u, v = ag.var(a, axis=-1, correction=1) / n, ag.var(b, axis=-1, correction=1) / m
        square = u + v
        df = square**2 / (u**2 / (n - 1.0) + v**2 / (m - 1.0))
    t = (ag.mean(a, axis=-1) - ag.mean(b, axis=-1)) / ag.sqrt(square)
    return t, p_of_t(t, df, alternative)


def _pearson(x, y, alternative="two-sided"):
    n = x.shape[-1]
    x = x - ag.mean(x, axis=-1, keepdims=True)
    y = y - ag.mean(y, axis=-1, keepdims=True)
    r = ag.sum(x * y, axis=-1) / ag.sqrt(ag.sum(x * x, axis=-1) * ag.sum(y * y, axis=-1))
    # r is beta distributed on (-1, 1), which is t distributed when transformed (JKB 32).
    t = r * ag.sqrt((n - 2.0) / (1.0 - r * r))
    return r, p_of_t(t, float(n - 2), alternative)


of_samples("pearsonr", "x y", samples="x y")(_pearson)
of_samples("pointbiserialr", "y", "Tate (1954)", samples="x y", paired=True, refuse={"x": "truth values"})(
    lambda x, y: _pearson(x, y)
)


@of_samples("linregress", "x y", samples="x y", paired=True)
def _linregress(x, y, alternative="two-sided"):
    n = x.shape[-1]
    mx, my = ag.mean(x, axis=-1, keepdims=True), ag.mean(y, axis=-1, keepdims=True)
    dx, dy = x - mx, y - my
    sxx, syy, sxy = ag.sum(dx * dx, axis=-1), ag.sum(dy * dy, axis=-1), ag.sum(dx * dy, axis=-1)
    slope, r = sxy / sxx, sxy / ag.sqrt(sxx * syy)
    t = r * ag.sqrt((n - 2.0) / (1.0 - r * r))
    error = ag.sqrt((1.0 - r * r) * syy / sxx / (n - 2.0))
    return slope, my[..., 0] - slope * mx[..., 0], r, p_of_t(t, float(n - 2), alternative), error


def _anova(samples):
    sizes = [s.shape[-1] for s in samples]
    n, k = sum(sizes), len(samples)
    means = [ag.mean(s, axis=-1) for s in samples]
    grand = sum(m * size for m, size in zip(means, sizes, strict=True)) / n
    between = sum(size * (m - grand) ** 2 for m, size in zip(means, sizes, strict=True))
    within = sum(ag.sum((s - m[..., None]) ** 2, axis=-1) for s, m in zip(samples, means, strict=True))
    statistic = (between / (k - 1.0)) / (within / float(n - k))
    return statistic, OBJECTS["f"].sf(statistic, float(k - 1), float(n - k))


def _welch_anova(samples):
    """Of samples with variances of their own (Welch 1951)."""
    k = len(samples)
    means = [ag.mean(s, axis=-1) for s in samples]
    weights = [s.shape[-1] / ag.var(s, axis=-1, correction=1) for s in samples]
    total = sum(weights)
    grand = sum(w * m for w, m in zip(weights, means, strict=True)) / total
    between = sum(w * (m - grand) ** 2 for w, m in zip(weights, means, strict=True)) / (k - 1.0)
    left = sum((1.0 - w / total) ** 2 / (s.shape[-1] - 1.0) for w, s in zip(weights, samples, strict=True))
    statistic = between / (1.0 + 2.0 * (k - 2.0) / (k * k - 1.0) * left)
    return statistic, OBJECTS["f"].sf(statistic, float(k - 1), (k * k - 1.0) / (3.0 * left))


@of_samples("f_oneway", "samples", samples="samples")
def _f_oneway(samples, equal_var=True):
    return _anova(samples) if equal_var else _welch_anova(samples)


@of_samples("levene", "samples", "SciPy; by selection", samples="samples")
def _levene(samples, center="median", proportiontocut=0.05):
    def middle(s):
        if center == "median":
            return np.median(s, axis=-1)
        return ag.mean(_trimmed(s, proportiontocut) if center == "trimmed" else s, axis=-1)

    return _anova([ag.abs(s - middle(s)[..., None]) for s in samples])


@of_samples("bartlett", "samples", samples="samples")
def _bartlett(samples):
    sizes = [s.shape[-1] for s in samples]
    n, k = sum(sizes), len(samples)
    spreads = [ag.var(s, axis=-1, correction=1) for s in samples]
    pooled = sum((m - 1.0) * v for m, v in zip(sizes, spreads, strict=True)) / (n - k)
    above = (n - k) * ag.log(pooled) - sum((m - 1.0) * ag.log(v) for m, v in zip(sizes, spreads, strict=True))
    below = 1.0 + (sum(1.0 / (m - 1.0) for m in sizes) - 1.0 / (n - k)) / (3.0 * (k - 1))
    statistic = above / below
    return statistic, OBJECTS["chi2"].sf(statistic, float(k - 1))


_POWERS = {"pearson": 1.0, "log-likelihood": 0.0, "freeman-tukey": -0.5, "mod-log-likelihood": -1.0, "neyman": -2.0,
           "cressie-read": 2.0 / 3.0}  # fmt: skip


@of_samples("power_divergence", "f_obs f_exp", samples="f_obs f_exp", paired=True)
def _power_divergence(f_obs, f_exp=None, ddof=0, lambda_=None):
    power = 1.0 if lambda_ is None else _POWERS.get(lambda_, lambda_)
    f_exp = ag.mean(f_obs, axis=-1, keepdims=True) if f_exp is None else f_exp
    if power == 1:
        terms = (f_obs - f_exp) ** 2 / f_exp
    elif power == 0:
        terms = 2.0 * ag.special.xlogy(f_obs, f_obs / f_exp)
    elif power == -1:
        terms = 2.0 * ag.special.xlogy(f_exp, f_exp / f_obs)
    elif power > 0:  # no factor of it is infinite where nothing was observed
        terms = (f_obs ** (power + 1.0) * f_exp**-power - f_obs) * (2.0 / (power * (power + 1.0)))
    else:
        terms = f_obs * ((f_obs / f_exp) ** power - 1.0) * (2.0 / (power * (power + 1.0)))
    statistic = ag.sum(terms, axis=-1)
    degrees = float(terms.shape[-1] - 1) - np.asarray(raw(ddof), dtype=float)
    return statistic, special.chdtrc(degrees, statistic)  # of no degree of freedom chi2.sf is nan, and this is zero


@of_samples("chisquare", "f_obs f_exp", samples="f_obs f_exp", paired=True, inert="sum_check")
def _chisquare(f_obs, f_exp=None, ddof=0):
    return _power_divergence(f_obs, f_exp, ddof)


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


def _transformed(formula, name, x, lmbda):
    """The transformation; without a power, that of greatest likelihood and the power."""
    if lmbda is not None:
        return formula(x, lmbda)
    lmbda = NAMES[f"{name}_normmax"](x, **({"method": "mle"} if name == "boxcox" else {}))
    return formula(x, lmbda), lmbda


@declare_statistic("boxcox", "x lmbda", "Box and Cox (1964)")
def _boxcox(x, lmbda=None):
    return _transformed(_box, "boxcox", x, lmbda)


@declare_statistic("yeojohnson", "x lmbda", "Yeo and Johnson (2000)")
def _yeojohnson(x, lmbda=None):
    return _transformed(_yeo, "yeojohnson", x, lmbda)


@of_samples("boxcox_llf", "lmb data", "Box and Cox (1964)", samples="data")
def _boxcox_llf(lmb, data):
    # var(box(x)) = s**(2 lmb) var(box(x / s)) for any constant s: with the element of the greatest power no power of
    # x / s is more than 1, and the offset 1 / lmb of `box` hides none of them.
    power, values = np.asarray(raw(lmb)), np.asarray(raw(data))
    ends = np.max(values, axis=-1, keepdims=True), np.min(values, axis=-1, keepdims=True)
    scale = np.where(power >= 0, *ends)
    spread = ag.log(ag.var(_box(data / scale, lmb), axis=-1)) + 2.0 * lmb * np.log(scale)[..., 0]
    return (lmb - 1.0) * ag.sum(ag.log(data), axis=-1) - 0.5 * data.shape[-1] * spread


@of_samples("yeojohnson_llf", "lmb data", "Yeo and Johnson (2000)", samples="data")
def _yeojohnson_llf(lmb, data):
    spread = ag.var(_yeo(data, lmb), axis=-1)
    side = np.where(np.asarray(raw(data)) < 0, -1.0, 1.0)  # the logarithm is smooth at zero, where sign is zero
    logs = ag.sum(side * ag.log1p(side * data), axis=-1)
    return (lmb - 1.0) * logs - 0.5 * data.shape[-1] * ag.log(spread)


# -- made of ranks and counts, whose derivative is zero ----------------------------------------------------------------

_NO_RANKS = {"median_test": {"lambda_": "it has no rule"}}

for _name in (
    "rankdata", "spearmanr", "kendalltau", "mannwhitneyu", "wilcoxon", "kruskal", "friedmanchisquare", "ansari", "mood",
    "fligner", "brunnermunzel", "cramervonmises_2samp", "ks_2samp", "ranksums", "anderson_ksamp", "bws_test",
    "chatterjeexi", "median_test", "page_trend_test", "somersd", "spearmanrho", "tiecorrect", "percentileofscore",
    "logrank", "weightedtau", "fisher_exact", "barnard_exact", "boschloo_exact",
):  # fmt: skip
    if hasattr(stats, _name):
        NAMES[_name] = constant(f"stats.{_name}", getattr(stats, _name), _NO_RANKS.get(_name))
