"""Summaries of samples: k-statistics, L-moments, quantiles, trimmed samples, entropies, robust lines, binned means.

May import: arraygrad, core.tensor, scipy._axes, scipy._declare, scipy._guards, scipy.stats._functions and _samples,
numpy, SciPy. Each composition is the statistic's definition; "SciPy" as a source is the formula in the function's own
documentation. "By selection": which elements a result was chosen from is locally constant.
"""

import math

import numpy as np
from scipy import stats

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._axes import back, ones, own, places
from arraygrad.scipy._declare import composition, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.stats._functions import declare_statistic
from arraygrad.scipy.stats._samples import NAMES, of_samples

__all__ = []


def _composition(name, of, source="SciPy"):
    def declare(function):
        original = getattr(stats, name, None)
        if original is not None:
            NAMES[name] = composition(f"stats.{name}", original, of, source)(function)
        return function

    return declare


# -- moments ----------------------------------------------------------------------------------------------------------


def _power_sums(a):
    return [ag.sum(a**k, axis=-1) for k in range(1, 5)]


def _k_statistic(a, n):
    m = float(a.shape[-1])
    # Shifted by a constant near the mean: all but the first are invariant, and lose no digits.
    shift = np.mean(np.asarray(raw(a)), axis=-1, keepdims=True)
    s1, s2, s3, s4 = _power_sums(a - shift)
    if n == 1:
        return s1 / m + shift[..., 0]
    if n == 2:
        return (m * s2 - s1**2) / (m * (m - 1.0))
    if n == 3:
        return (2.0 * s1**3 - 3.0 * m * s1 * s2 + m * m * s3) / (m * (m - 1.0) * (m - 2.0))
    top = -6.0 * s1**4 + 12.0 * m * s1**2 * s2 - 3.0 * m * (m - 1.0) * s2**2 - 4.0 * m * (m + 1.0) * s1 * s3
    return (top + m * m * (m + 1.0) * s4) / (m * (m - 1.0) * (m - 2.0) * (m - 3.0))


@of_samples("kstat", "data", "Kendall and Stuart (1958), 12", samples="data")
def _kstat(data, n=2):
    return _k_statistic(data, int(n))


@of_samples("kstatvar", "data", "Kendall and Stuart (1958), 12", samples="data")
def _kstatvar(data, n=2):
    m = float(data.shape[-1])
    k2 = _k_statistic(data, 2)
    return k2 / m if n == 1 else (2.0 * m * k2**2 + (m - 1.0) * _k_statistic(data, 4)) / (m * (m + 1.0))


@of_samples("lmoment", "sample", "Hosking (1990); by selection", samples="sample")
def _lmoment(sample, order=None, sorted=False, standardize=True):
    a = sample if sorted else ag.sort(sample, axis=-1)
    orders = np.atleast_1d(np.asarray([1, 2, 3, 4] if order is None else order)).astype(int)
    n = a.shape[-1]
    i = np.arange(float(n))
    moments = []
    for k in range(int(orders.max())):
        weights = np.ones(n)
        for j in range(k):
            weights = weights * (i - j) / (n - 1.0 - j)
        moments.append(ag.sum(a * weights, axis=-1) / n if k < n else 0.0 * a[..., 0])
    found = []
    for r in range(len(moments)):
        found.append(sum(
            (-1.0) ** (r - k) * math.comb(r, k) * math.comb(r + k, k) * moments[k] for k in range(r + 1)
        ))  # fmt: skip
    if standardize:
        found = [one / found[1] if r > 1 else one for r, one in enumerate(found)]
    chosen = [found[r - 1] for r in orders]
    return chosen[0] if np.ndim(order) == 0 and order is not None else chosen


@_composition("describe", "a")
def _describe(a, axis=0, ddof=1, bias=True, nan_policy="propagate"):
    if nan_policy != "propagate":
        raise NotDifferentiable("arraygrad.scipy.stats.describe: the derivative is known for nan_policy='propagate'")
    plain = stats.describe(raw(a), axis, ddof, bias)
    a = ag.asarray(a)
    a, axis = (ag.reshape(a, (-1,)), 0) if axis is None or not a.ndim else (a, axis)
    return type(plain)(
        plain.nobs, (ag.min(a, axis=axis), ag.max(a, axis=axis)), ag.mean(a, axis=axis),
        ag.var(a, axis=axis, correction=ddof), NAMES["skew"](a, axis, bias=bias),
        NAMES["kurtosis"](a, axis, bias=bias),
    )  # fmt: skip


# -- limits, quantiles, trimmed samples -------------------------------------------------------------------------------


def _limit(a, limit, inclusive, lower):
    values = np.asarray(raw(a))
    if limit is None:
        mask = np.ones(values.shape, dtype=bool)
    elif lower:
        mask = values >= limit if inclusive else values > limit
    else:
        mask = values <= limit if inclusive else values < limit
    found = (ag.min if lower else ag.max)(ag.where(mask, a, np.inf if lower else -np.inf), axis=-1)
    return ag.where(np.any(mask, axis=-1), found, np.nan)


@of_samples("tmin", "a", "SciPy; by selection")
def _tmin(a, lowerlimit=None, inclusive=True):
    return _limit(a, lowerlimit, inclusive, True)


@of_samples("tmax", "a", "SciPy; by selection")
def _tmax(a, upperlimit=None, inclusive=True):
    return _limit(a, upperlimit, inclusive, False)


def _selection(name, of="a", source="SciPy; by selection"):
    """A function whose results are elements of its argument along one axis: the gradient goes where they came from."""

    def declare(cuts):
        values = getattr(stats, name, None)
        if values is None:
            return cuts

        def rule(g, ans, a, proportiontocut, axis=0, tail="right"):
            values, taken = np.asarray(raw(a)), np.asarray(raw(ans))
            shape = values.shape
            if axis is None:
                values, axis = values.reshape(-1), 0
            low, high = cuts(values.shape[axis], proportiontocut, tail)
            sorted_places = np.take(np.argsort(values, axis=axis, kind="stable"), np.arange(low, high), axis=axis)
            ranks = np.argsort(np.argsort(taken, axis=axis, kind="stable"), axis=axis)
            places = np.take_along_axis(sorted_places, ranks, axis=axis)
            # Of the inverse: which result an element has become, and zero for those that were cut off.
            count = taken.shape[axis]
            back = np.full(values.shape, count)
            index = np.broadcast_to(np.expand_dims(
                np.arange(count), tuple([i for i in range(values.ndim) if i != axis % values.ndim])), taken.shape
            )  # fmt: skip
            np.put_along_axis(back, places, index, axis=axis)
            padded = ag.concat([g, ag.zeros_like(ag.take(g, np.array([0]), axis=axis))], axis=axis)
            return ag.reshape(ag.take_along_axis(padded, back, axis=axis), shape)

        NAMES[name] = ruled(f"stats.{name}", values, of, source)(rule)
        return cuts

    return declare


@_selection("trimboth")
def _both_cuts(n, share, tail):
    cut = int(share * n)
    return cut, n - cut


@_selection("trim1")
def _one_cut(n, share, tail):
    cut = int(share * n)
    return (0, n - cut) if tail.lower() == "right" else (cut, n)


@_composition("sigmaclip", "a low high", "SciPy; by selection")
def _sigmaclip(a, low=4.0, high=4.0):
    plain = stats.sigmaclip(raw(a), raw(low), raw(high))
    values = np.asarray(raw(a)).ravel()
    mask = (values >= plain.lower) & (values <= plain.upper)
    kept = ag.take(ag.reshape(ag.asarray(a), (-1,)), np.flatnonzero(mask))
    middle, spread = ag.mean(kept), ag.std(kept)
    return type(plain)(kept, middle - spread * low, middle + spread * high)


# Number of the element below a share p of n elements, from one on: p * n + m.
_BEFORE = {
    "inverted_cdf": lambda p: 0.0 * p, "averaged_inverted_cdf": lambda p: 0.0 * p,
    "closest_observation": lambda p: 0.0 * p - 0.5, "interpolated_inverted_cdf": lambda p: 0.0 * p,
    "hazen": lambda p: 0.0 * p + 0.5, "weibull": lambda p: p, "linear": lambda p: 1.0 - p,
    "median_unbiased": lambda p: p / 3.0 + 1.0 / 3.0, "normal_unbiased": lambda p: p / 4.0 + 3.0 / 8.0,
}  # fmt: skip


def _between(x, p, method):
    """The quantiles p, along the last axis, of the sorted x."""
    n = float(x.shape[-1])
    place = p * n + _BEFORE[method](p)
    values = np.asarray(raw(place))
    below = np.floor(values) - 1.0
    if method == "inverted_cdf":
        share = np.where(values < 0, 0.0, values % 1 > 0)
    elif method == "averaged_inverted_cdf":
        share = np.where(values < 0, 0.0, (1.0 + (values % 1 > 0)) / 2.0)
    elif method == "closest_observation":
        share = np.where(values < 0, 0.0, 1.0 - ((values % 1 == 0) & (below % 2 == 1)))
    else:
        share = place - np.floor(values)
    share = ag.where(below < 0, 0.0, share)
    lower, upper = (np.clip(i, 0.0, n - 1.0).astype(int) for i in (below, below + 1.0))
    return (1.0 - share) * ag.take_along_axis(x, lower, axis=-1) + share * ag.take_along_axis(x, upper, axis=-1)


@declare_statistic("quantile", "x p", "Hyndman and Fan (1996); by selection")
def _quantile(x, p, method="linear", axis=0, nan_policy="propagate", keepdims=None):
    if method not in _BEFORE:
        raise NotDifferentiable(f"arraygrad.scipy.stats.quantile: the derivative is not known for method={method!r}")
    if nan_policy == "omit" and np.any(np.isnan(np.asarray(raw(x)))):
        raise NotDifferentiable("arraygrad.scipy.stats.quantile: the derivative is not known where nan are left out")
    x, p = ag.asarray(x), ag.asarray(p)
    ndim = max(x.ndim, p.ndim)
    if not ndim:
        return 0.0 * p + x
    if axis is not None and x.ndim:
        x = ag.sort(x, axis=axis)  # SciPy counts this one in x alone
    rows, shares = ones(axis, [x, p])
    rows = rows if axis is not None else ag.sort(rows, axis=-1)
    values = np.asarray(raw(shares))
    defined = (values >= 0) & (values <= 1)
    found = _between(rows, ag.where(defined, shares, 0.5), method)
    found = ag.where(defined & ~np.any(np.isnan(np.asarray(raw(rows))), axis=-1, keepdims=True), found, np.nan)
    several = found.shape[-1] != 1
    if several if keepdims is None else keepdims:
        return ag.reshape(found, (*[1] * (ndim - 1), -1)) if axis is None else back(found, places(axis, ndim)[0])
    return found[..., 0]


@declare_statistic("scoreatpercentile", "a", "SciPy; by selection")
def _scoreatpercentile(a, per, limit=(), interpolation_method="fraction", axis=None):
    a = ag.asarray(a)
    if limit:
        values = np.asarray(raw(a))
        kept = np.flatnonzero((values >= limit[0]) & (values <= limit[1]))
        if not kept.size:  # SciPy's zero
            return stats.scoreatpercentile(values, raw(per), limit, interpolation_method, axis)
        a = ag.take(ag.reshape(a, (-1,)), kept)
    method = {"fraction": "linear"}.get(interpolation_method, interpolation_method)
    return np.percentile(a, raw(per), axis=axis, method=method)


@declare_statistic("expectile", "a alpha weights", "Newey and Powell (1987); by selection")
def _expectile(a, alpha=0.5, weights=None):
    a = ag.reshape(ag.asarray(a), (-1,))
    plain = stats.expectile(np.asarray(raw(a)), raw(alpha), weights=None if weights is None else raw(weights))
    above = np.asarray(raw(a)) > plain
    shares = ag.where(above, alpha, 1.0 - alpha)
    if weights is not None:
        shares = shares * ag.reshape(ag.broadcast_to(ag.asarray(weights), a.shape), (-1,))
    return ag.sum(shares * a) / ag.sum(shares)


@declare_statistic("false_discovery_control", "ps", "Benjamini and Hochberg (1995); by selection")
def _false_discovery_control(ps, axis=0, method="bh"):
    flat = ag.asarray(ps) if axis is not None else ag.reshape(ag.asarray(ps), (-1,))
    axis = 0 if axis is None else axis
    if flat.ndim == 0 or math.prod(flat.shape) <= 1 or flat.shape[axis] <= 1:
        return flat
    (p,) = own(axis, flat)
    m = p.shape[-1]
    values = np.asarray(raw(p))
    order = np.argsort(values, axis=-1, kind="stable")
    factors = m / np.arange(1.0, m + 1.0) * (np.sum(1.0 / np.arange(1.0, m + 1.0)) if method.lower() == "by" else 1.0)
    scaled = np.take_along_axis(values, order, axis=-1) * factors
    # The least of those from a place on, and the place where it stands.
    least = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    stands = np.where(scaled == least, np.arange(m), m)
    stands = np.minimum.accumulate(stands[..., ::-1], axis=-1)[..., ::-1]
    chosen = np.take_along_axis(order, stands, axis=-1)
    ranks = np.argsort(order, axis=-1)
    source = np.take_along_axis(chosen, ranks, axis=-1)
    weights = np.take_along_axis(np.broadcast_to(factors, scaled.shape), np.take_along_axis(stands, ranks, -1), -1)
    found = ag.take_along_axis(p, source, axis=-1) * weights
    found = ag.where(np.asarray(raw(found)) > 1.0, 1.0, found)
    return back(found, axis)


# -- entropies and directions -----------------------------------------------------------------------------------------


def _padded(x, m):
    shape = (*x.shape[:-1], m)
    return ag.concat([ag.broadcast_to(x[..., :1], shape), x, ag.broadcast_to(x[..., -1:], shape)], axis=-1)


def _vasicek(x, m):
    n, x = x.shape[-1], _padded(x, m)
    return ag.mean(ag.log(n / (2.0 * m) * (x[..., 2 * m :] - x[..., : -2 * m])), axis=-1)


def _van_es(x, m):
    n = x.shape[-1]
    first = ag.sum(ag.log((n + 1.0) / m * (x[..., m:] - x[..., :-m])), axis=-1) / (n - m)
    return first + (np.sum(1.0 / np.arange(m, n + 1.0)) + math.log(m) - math.log(n + 1.0))


def _ebrahimi(x, m):
    n, x = x.shape[-1], _padded(x, m)
    i = np.arange(1.0, n + 1.0)
    c = np.where(i <= m, 1.0 + (i - 1.0) / m, 2.0)
    c = np.where(i >= n - m + 1.0, 1.0 + (n - i) / m, c)
    return ag.mean(ag.log((x[..., 2 * m :] - x[..., : -2 * m]) * (n / (c * m))), axis=-1)


def _correa(x, m):
    n, x = x.shape[-1], _padded(x, m)
    steps = np.arange(-m, m + 1)[:, None]
    places = np.arange(1, n + 1) + steps + m - 1
    window = ag.reshape(ag.take(x, places.ravel(), axis=-1), (*x.shape[:-1], *places.shape))
    away = window - ag.mean(window, axis=-2, keepdims=True)
    return -ag.mean(ag.log(ag.sum(away * steps, axis=-2) / (n * ag.sum(away * away, axis=-2))), axis=-1)


@of_samples("differential_entropy", "values", "Vasicek (1976) and others, as SciPy names; by selection",
            samples="values")  # fmt: skip
def _differential_entropy(values, window_length=None, base=None, method="auto"):
    x = ag.sort(values, axis=-1)
    n = x.shape[-1]
    m = math.floor(math.sqrt(n) + 0.5) if window_length is None else int(window_length)
    method = method.lower()
    if method == "auto":
        method = "van es" if n <= 10 else "ebrahimi" if n <= 1000 else "vasicek"
    found = {"vasicek": _vasicek, "van es": _van_es, "ebrahimi": _ebrahimi, "correa": _correa}[method](x, m)
    return found if base is None else found / math.log(base)


@_composition("directional_stats", "samples", "Mardia and Jupp (2000)")
def _directional_stats(samples, *, axis=0, normalize=True):
    kind = type(stats.directional_stats(raw(samples), axis=axis, normalize=normalize))
    samples = ag.moveaxis(ag.asarray(samples), axis, 0)
    if normalize:
        samples = samples / ag.linalg.vector_norm(samples, axis=-1, keepdims=True)
    mean = ag.mean(samples, axis=0)
    length = ag.linalg.vector_norm(mean, axis=-1, keepdims=True)
    return kind(mean / length, ag.squeeze(length, axis=-1))


@_composition("obrientransform", "samples", "O'Brien (1981)")
def _obrientransform(*samples):
    found = []
    for sample in samples:
        a = ag.asarray(sample)
        n = a.shape[0]
        square = (a - ag.mean(a)) ** 2
        found.append(((n - 1.5) * n * square - 0.5 * ag.sum(square)) / ((n - 1.0) * (n - 2.0)))
    if type(stats.obrientransform([1.0, 2.0, 4.0])) is tuple:  # from SciPy 1.18 on
        return tuple(found)
    if len({one.shape for one in found}) > 1:
        raise NotDifferentiable("arraygrad.scipy.stats.obrientransform: the samples must have equal shapes")
    return ag.stack(found)


# -- robust lines -----------------------------------------------------------------------------------------------------


def _line(y, x):
    y = ag.reshape(ag.asarray(y), (-1,))
    x = np.arange(float(y.shape[0])) if x is None else x
    return y, ag.reshape(ag.asarray(x), (-1,))


def _pairwise(y, x):
    """All slopes between points with x_i > x_j."""
    i, j = np.nonzero(np.asarray(raw(x))[:, None] > np.asarray(raw(x))[None, :])
    return (ag.take(y, i) - ag.take(y, j)) / (ag.take(x, i) - ag.take(x, j))


@declare_statistic("theilslopes", "y x", "Sen (1968); by selection")
def _theilslopes(y, x=None, alpha=0.95, method="separate"):
    plain = stats.theilslopes(raw(y), None if x is None else raw(x), alpha, method)
    y, x = _line(y, x)
    slopes = _pairwise(y, x)
    slope = np.median(slopes)
    intercept = np.median(y - slope * x) if method == "joint" else np.median(y) - slope * np.median(x)
    values = np.asarray(raw(slopes))
    ends = [slopes[int(np.argmin(np.abs(values - end)))] for end in (plain.low_slope, plain.high_slope)]
    return slope, intercept, *ends


@declare_statistic("siegelslopes", "y x", "Siegel (1982); by selection")
def _siegelslopes(y, x=None, method="hierarchical"):
    y, x = _line(y, x)
    values = np.asarray(raw(x))
    slopes, crossings = [], []
    for i in range(len(values)):
        j = np.flatnonzero(values != values[i])
        if j.size:
            run = ag.take(x, j) - x[i]
            slopes.append(np.median((ag.take(y, j) - y[i]) / run))
            crossings.append(np.median((ag.take(x, j) * y[i] - x[i] * ag.take(y, j)) / run))
    slope = np.median(ag.stack(slopes))
    intercept = np.median(y - slope * x) if method == "hierarchical" else np.median(ag.stack(crossings))
    return slope, intercept


# -- bins -------------------------------------------------------------------------------------------------------------


def _of_bins(name, places, original, values, statistic, plain):
    """The statistics of the bins, by the numbers of the bins that SciPy found."""
    if statistic not in ("mean", "sum", "std"):
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{name}: the derivative is known for statistic='mean', 'sum' and 'std'"
        )
    values = ag.asarray(values)
    shape = np.shape(original)[values.ndim - 1 :]
    inside = np.all([(p >= 1) & (p <= n) for p, n in zip(places, shape, strict=True)], axis=0)
    flat = np.ravel_multi_index([np.where(inside, p - 1, 0) for p in places], shape)
    members = (flat[None, :] == np.arange(int(np.prod(shape)))[:, None]) & inside[None, :]
    count = np.sum(members, axis=1)
    some = count > 0

    def total(v):
        return ag.matmul(v, np.asarray(members.T, dtype=float))

    found = total(values)
    if statistic != "sum":
        mean = found / np.where(some, count, 1)
        found = mean
        if statistic == "std":
            away = values - ag.take(mean, flat, axis=-1)
            square = total(away * away) / np.where(some, count, 1)
            found = ag.sqrt(ag.where(np.asarray(raw(square)) > 0, square, 1.0)) * (np.asarray(raw(square)) > 0)
        found = ag.where(some, found, np.nan if statistic == "mean" else 0.0)
        if statistic == "std":
            found = ag.where(np.isnan(np.reshape(original, raw(found).shape)), np.nan, found)
    return ag.reshape(found, np.shape(original))


@_composition("binned_statistic", "values", "definition; by selection")
def _binned_statistic(x, values, statistic="mean", bins=10, range=None):
    _no_gradient("binned_statistic", "x", x)
    plain = stats.binned_statistic(raw(x), raw(values), statistic, bins, range)
    found = _of_bins("binned_statistic", [plain.binnumber], plain.statistic, values, statistic, plain)
    return type(plain)(found, plain.bin_edges, plain.binnumber)


@_composition("binned_statistic_2d", "values", "definition; by selection")
def _binned_statistic_2d(x, y, values, statistic="mean", bins=10, range=None, expand_binnumbers=False):
    _no_gradient("binned_statistic_2d", "x and y", (x, y))
    options = {"statistic": statistic, "bins": bins, "range": range}
    plain = stats.binned_statistic_2d(raw(x), raw(y), raw(values), expand_binnumbers=True, **options)
    found = _of_bins("binned_statistic_2d", list(plain.binnumber), plain.statistic, values, statistic, plain)
    if not expand_binnumbers:
        plain = stats.binned_statistic_2d(raw(x), raw(y), raw(values), **options)
    return type(plain)(found, plain.x_edge, plain.y_edge, plain.binnumber)


@_composition("binned_statistic_dd", "values", "definition; by selection")
def _binned_statistic_dd(sample, values, statistic="mean", bins=10, range=None, expand_binnumbers=False):
    _no_gradient("binned_statistic_dd", "sample", sample)
    options = {"statistic": statistic, "bins": bins, "range": range}
    plain = stats.binned_statistic_dd(raw(sample), raw(values), expand_binnumbers=True, **options)
    places = list(np.atleast_2d(plain.binnumber))
    found = _of_bins("binned_statistic_dd", places, plain.statistic, values, statistic, plain)
    if not expand_binnumbers:
        plain = stats.binned_statistic_dd(raw(sample), raw(values), **options)
    return type(plain)(found, plain.bin_edges, plain.binnumber)


def _no_gradient(name, what, value):
    parts = value if isinstance(value, (tuple, list)) else (value,)
    if any(isinstance(part, Tensor) and part.requires_grad for part in parts):
        raise NotDifferentiable(
            f"arraygrad.scipy.stats.{name}: {what} requires grad, but only chooses the bins. Pass its detach()"
        )
