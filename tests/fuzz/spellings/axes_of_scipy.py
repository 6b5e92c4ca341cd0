"""SciPy's functions of several arrays and an axis, in every spelling that counts the axis.

The class: operands of different ndim, axes of both signs, several axes and None, stacks that broadcast, axes of length
one and none, nan that are left out, axes that are kept, both precisions, complex signals, second derivatives.
"""

import numpy as np

from .spelling import Spelling

CALLS = 40
UNDECIDED = 0.35  # differences of p-values, roots and quantiles, which have kinks

# name of a statistic -> (parts of its result or None, least number of elements)
ONE = dict.fromkeys(
    "gmean hmean sem skew kurtosis variation gstd tmean tvar tstd tsem iqr entropy median_abs_deviation circmean "
    "circvar circstd kstat kstatvar lmoment differential_entropy".split(), (None, 4)
)  # fmt: skip
ONE |= {"skewtest": (1, 8), "jarque_bera": (2, 4), "normaltest": (1, 8), "kurtosistest": (1, 8)}
ANY = {"f_oneway": 2, "levene": 2, "bartlett": 2, "alexandergovern": 2, "ttest_ind": 2, "epps_singleton_2samp": 2}
PAIRED = ("gmean", "hmean", "entropy", "ttest_rel", "linregress", "pearsonr", "power_divergence", "chisquare",
          "combine_pvalues")  # fmt: skip
OPTIONS = {"trim_mean": {"proportiontocut": 0.3}, "moment": {"order": 3}, "chisquare": {"sum_check": False}}


def draw(rng):
    group = [_one_sample, _several_samples, _paired, _others_of_stats, _integrals, _signals, _interpolants, _sums,
             _of_one_array]  # fmt: skip
    return group[rng.choice(len(group), p=[0.1, 0.14, 0.14, 0.08, 0.14, 0.12, 0.12, 0.08, 0.08])](rng)


def numbers(rng, shape, dtype="float64", low=0.3, high=2.5):
    return rng.uniform(low, high, shape).astype(dtype)


def one_of(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def batch(rng, most=2):
    return tuple(int(n) for n in rng.choice([1, 2, 3], size=rng.integers(0, most + 1), p=[0.25, 0.5, 0.25]))


def shape_of(rng, outer, place, n, thin=0.3, cut=0.4):
    """The shape of an operand: core of length n at a place of `outer`; some axes are of length one, or left away."""
    shape = [1 if rng.random() < thin else m for m in outer]
    shape.insert(place, n)
    while len(shape) > 1 and rng.random() < cut and (len(shape) > 1 + len(outer) - place):
        shape = shape[1:]
    return tuple(shape)


def axis_of(rng, place, ndim, sign=None):
    return place - ndim if rng.random() < 0.5 else place


def precision(rng):
    return one_of(rng, "float64", "float64", "float64", "float32")


def told(name, arrays, keywords):
    shapes = ", ".join(f"{a.dtype}{a.shape}" for a in arrays)
    return f"scipy.{name}({shapes}, {keywords})"


def spelling(name, arrays, keywords, pick=None, chapter=None, **options):
    """The call of a function of SciPy with arrays in front; `pick` chooses a part of its result."""
    import importlib

    chapter, _, function = name.rpartition(".")

    def of(package):
        def call(*arrays):
            found = getattr(importlib.import_module(f"{package}.{chapter}"), function)(*arrays, **keywords)
            if isinstance(pick, str):
                return getattr(found, pick)
            return found if pick is None else found[pick]

        return call

    return Spelling(told(name, arrays, keywords), of("arraygrad.scipy"), of("scipy"), tuple(arrays), **options)


def _options(rng, outer, place, arrays):
    """axis, keepdims and nan_policy, with nan in the arrays where these are left out."""
    ndim = max(1, *(a.ndim for a in arrays))
    axis = axis_of(rng, place, 1 + len(outer))
    if rng.random() < 0.12:
        axis = None
    elif len(outer) and rng.random() < 0.12:
        axis = tuple(int(i) for i in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])
    keywords = {"axis": axis}
    if rng.random() < 0.3:
        keywords["keepdims"] = True
    if rng.random() < 0.15:
        keywords["nan_policy"] = "omit"
        if arrays[0].size > 8:
            arrays[0].flat[int(rng.integers(arrays[0].size))] = np.nan
    return keywords


def _one_sample(rng):
    name = one_of(rng, *ONE, "trim_mean", "moment")
    parts, least = ONE.get(name, (None, 4))
    outer = batch(rng)
    place, n, dtype = int(rng.integers(len(outer) + 1)), least + int(rng.integers(0, 3)), precision(rng)
    x = numbers(rng, shape_of(rng, outer, place, n, 0, 0), dtype)
    keywords = {**_options(rng, outer, place, [x]), **OPTIONS.get(name, {})}
    pick = None if parts is None else int(rng.integers(parts))
    return spelling(f"stats.{name}", [x], keywords, pick, order=2, step=2e-4, rtol=1e-5, value_rtol=1e-8)


def _several_samples(rng):
    name = one_of(rng, *ANY)
    outer = batch(rng)
    place, dtype = int(rng.integers(len(outer) + 1)), precision(rng)
    least = 8 if name.startswith("epps") else 3
    count = 2 if name in ("ttest_ind", "epps_singleton_2samp") else int(rng.integers(2, 4))
    arrays = [numbers(rng, shape_of(rng, outer, place, least + int(rng.integers(0, 3))), dtype, high=2.5 + i)
              for i in range(count)]  # fmt: skip
    keywords = _options(rng, outer, place, arrays)
    pick = one_of(rng, "statistic", "pvalue")
    # float32 can't tell a statistic of 0 from rounding, where the slope of a p-value may be infinite.
    if pick == "pvalue" or name in ("alexandergovern", "bartlett"):
        arrays = [a.astype("float64") for a in arrays]
    return spelling(f"stats.{name}", arrays, keywords, pick, order=1 if pick == "pvalue" else 2, step=2e-4, rtol=1e-5,
                    value_rtol=1e-7)  # fmt: skip


def _paired(rng):
    name = one_of(rng, *PAIRED)
    outer = batch(rng)
    place, n, dtype = int(rng.integers(len(outer) + 1)), int(rng.integers(4, 7)), precision(rng)
    high = 0.9 if name == "combine_pvalues" else 2.5
    x = numbers(rng, shape_of(rng, outer, place, n), dtype, 0.2, high)
    y = numbers(rng, shape_of(rng, outer, place, n if rng.random() < 0.9 else 1), dtype)
    keywords = {**_options(rng, outer, place, [x, y]), **OPTIONS.get(name, {})}
    pick, arrays = None, [x, y]
    if name == "pearsonr":
        keywords.pop("keepdims", None)
        if keywords.pop("nan_policy", None):
            np.nan_to_num(x, copy=False, nan=0.7)
        pick = int(rng.integers(2))
    elif name not in ("gmean", "hmean", "entropy"):
        pick = int(rng.integers(2))
    if name == "combine_pvalues":
        keywords["method"], pick = one_of(rng, "stouffer", "fisher"), 0
    full = spelling(f"stats.{name}", arrays, keywords, pick, order=1 if pick == 1 else 2, step=2e-4, rtol=1e-5,
                    value_rtol=1e-7)  # fmt: skip
    if name in ("gmean", "hmean", "combine_pvalues"):
        return _by_keyword(full, "weights")
    return full


def _by_keyword(made, *keys):
    """The call with its last arrays passed by keyword."""

    def moved(f):
        # `f` is a closure over the keywords of the call: the arrays join them.
        cells = dict(zip(f.__code__.co_freevars, f.__closure__, strict=True))
        keywords = cells["keywords"].cell_contents

        def call(*arrays):
            count = len(arrays) - len(keys)
            before = dict(keywords)
            try:
                keywords.update(zip(keys, arrays[count:], strict=True))
                return f(*arrays[:count])
            finally:
                keywords.clear()
                keywords.update(before)

        return call

    return Spelling(**{**vars(made), "ours": moved(made.ours), "plain": moved(made.plain)})


def _others_of_stats(rng):
    outer = batch(rng)
    place, n, dtype = int(rng.integers(len(outer) + 1)), int(rng.integers(3, 7)), precision(rng)
    ndim = 1 + len(outer)
    if rng.random() < 0.5:
        x = numbers(rng, shape_of(rng, outer, place, n), dtype)
        p = numbers(rng, shape_of(rng, outer, place, int(rng.integers(1, 4))), dtype, 0.05, 0.95)
        keywords = {"axis": axis_of(rng, place, ndim) if rng.random() < 0.85 else None}
        if rng.random() < 0.3:
            keywords["keepdims"] = True
        keywords["method"] = one_of(rng, "linear", "hazen", "weibull", "median_unbiased", "inverted_cdf",
                                    "averaged_inverted_cdf", "closest_observation")  # fmt: skip
        return spelling("stats.quantile", [x, p], keywords, order=2, step=1e-4)
    scores = numbers(rng, shape_of(rng, outer, place, n), dtype)
    compare = numbers(rng, shape_of(rng, outer, place, int(rng.integers(2, 5)), cut=0.2), dtype)
    axis = axis_of(rng, place, ndim) if rng.random() < 0.85 else None
    return spelling("stats.zmap", [scores, compare], {"axis": axis, "ddof": int(rng.integers(2))}, order=2)


def _integrals(rng):
    name = one_of(rng, "trapezoid", "cumulative_trapezoid", "simpson", "cumulative_simpson")
    outer = batch(rng)
    place, n = int(rng.integers(len(outer) + 1)), int(rng.integers(1, 7))
    dtype = one_of(rng, "float64", "float64", "float32", "complex128")
    shape = shape_of(rng, outer, place, n, 0.1, 0)
    y = numbers(rng, shape, "float64").astype(dtype)
    if dtype == "complex128":
        y = y + 1j * numbers(rng, shape)
    ndim = y.ndim
    keywords = {"axis": axis_of(rng, place, ndim)}
    if name.startswith("cumulative") and rng.random() < 0.4:
        keywords["initial"] = 0
    places = "float32" if dtype == "float32" else "float64"
    kind = rng.random()
    if kind < 0.15:
        return spelling(f"integrate.{name}", [y], keywords | {"dx": 0.3}, order=2)
    if kind < 0.3:
        dx = numbers(rng, shape_of(rng, outer, place, 1, 0.0, 0), places)
        return _by_keyword(spelling(f"integrate.{name}", [y, dx], keywords, order=2, dtypes=False), "dx")
    steps = (n,) if kind < 0.55 else shape if kind < 0.75 else shape_of(rng, outer, place, n)
    x = np.cumsum(numbers(rng, steps, places), axis=-1 if len(steps) == 1 else min(place, len(steps) - 1))
    return _by_keyword(spelling(f"integrate.{name}", [y, x], keywords, order=2, dtypes=False), "x")


def _signals(rng):
    name = one_of(rng, "lfilter", "lfilter with zi", "filtfilt", "sosfilt", "sosfilt with zi", "upfirdn", "csd", "csd",
                  "coherence", "freqz", "freqz", "freqs")  # fmt: skip
    outer = batch(rng)
    place, n = int(rng.integers(len(outer) + 1)), int(rng.integers(6, 10))
    complex_ = rng.random() < 0.25
    dtype = "float64" if complex_ else precision(rng)

    def signal(shape):
        x = numbers(rng, shape, dtype, -1.5, 1.5)
        return x + 1j * numbers(rng, shape, dtype, -1.5, 1.5) if complex_ else x

    b, a = numbers(rng, (3,), dtype), np.array([1.3, -0.4, 0.2], dtype)
    keywords = {"axis": axis_of(rng, place, 1 + len(outer))}
    x = signal(shape_of(rng, outer, place, n, 0.1, 0))
    if name.startswith("freq"):
        shape = tuple(int(m) for m in rng.choice([1, 2, 3], size=rng.integers(1, 3)))
        rows = [int(rng.integers(1, 4)), int(rng.integers(1, 4))]
        arrays = [numbers(rng, (rows[0], *shape[: rng.integers(len(shape) + 1)]), "float64"),
                  numbers(rng, (rows[1], *shape[: rng.integers(len(shape) + 1)]), "float64", 1.0, 2.0)]  # fmt: skip
        where = 3 if name == "freqz" and rng.random() < 0.5 else np.array([0.3, 0.8, 1.4])
        return spelling(f"signal.{name}", arrays, {"worN": where}, 1, order=2)
    if name in ("csd", "coherence"):
        y = signal(shape_of(rng, outer, place, one_of(rng, n, n + 1)))
        if rng.random() < 0.8:
            keywords["axis"] = -1
        # Of two elements a line leaves roundings, of which a quotient says nothing.
        detrends = ("constant", "linear", False) if min(x.shape[-1], y.shape[-1]) > 2 else (False,)
        keywords |= {"nperseg": 4, "detrend": one_of(rng, *detrends)}
        return spelling(f"signal.{name}", [x, y], keywords, 1, order=1, value_rtol=1e-7, rtol=1e-5)
    if name == "upfirdn":
        keywords |= {"up": int(rng.integers(1, 3)), "down": int(rng.integers(1, 3))}
        return spelling("signal.upfirdn", [signal((3,)), x], keywords, order=2)
    if name.startswith("sosfilt"):
        free = np.concatenate([numbers(rng, (2, 3), dtype), numbers(rng, (2, 2), dtype, -0.3, 0.1)], axis=1)
        one = np.ones((2, 1), dtype)
        shape = list(x.shape)
        shape[place] = 2
        made = spelling("signal.sosfilt", [free, x, signal((2, *shape))], keywords, order=1)
        made = _by_keyword(made, "zi") if name.endswith("zi") else spelling("signal.sosfilt", [free, x], keywords)
        # SciPy wants a one in the middle of every section.
        of = lambda f: lambda c, *rest: f(np.concatenate([c[:, :3], one, c[:, 3:]], axis=1), *rest)
        return Spelling(**{**vars(made), "ours": of(made.ours), "plain": of(made.plain)})
    if name == "lfilter with zi":
        shape = [1 if rng.random() < 0.3 else m for m in x.shape]
        shape[place] = 2
        return _by_keyword(spelling("signal.lfilter", [b, a, x, signal(tuple(shape))], keywords, order=2), "zi")
    if name == "filtfilt":
        keywords |= {"padlen": int(rng.integers(0, 4)), "padtype": one_of(rng, "odd", "even", "constant", None)}
        return spelling("signal.filtfilt", [b, a, x], keywords, order=1, rtol=1e-5)
    return spelling("signal.lfilter", [b, a, x], keywords, order=2)


def _interpolants(rng):
    name = one_of(rng, "CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "CubicHermiteSpline", "interp1d",
                  "BSpline", "make_interp_spline", "make_lsq_spline", "make_smoothing_spline", "KroghInterpolator",
                  "BarycentricInterpolator", "pchip_interpolate", "krogh_interpolate",
                  "barycentric_interpolate")  # fmt: skip
    outer = batch(rng)
    place, n = int(rng.integers(len(outer) + 1)), int(rng.integers(5, 8))
    axis = axis_of(rng, place, 1 + len(outer)) + (1 + len(outer) if rng.random() < 0.04 else 0)
    x = np.cumsum(numbers(rng, n))
    y = numbers(rng, shape_of(rng, outer, place, n, 0.1, 0))
    if rng.random() < 0.2 and name not in ("PchipInterpolator", "pchip_interpolate", "Akima1DInterpolator",
                                           "make_smoothing_spline"):  # fmt: skip
        y = y + 1j * numbers(rng, y.shape)
    points = numbers(rng, one_of(rng, (), (1,), (2,), (2, 2), (0,)), "float64", x[0] + 0.1, x[-1] - 0.1)
    nu = int(rng.integers(0, 2)) if name.endswith("Spline") or "_spline" in name else None
    knots = np.concatenate([[x[0]] * 4, [0.5 * (x[2] + x[3])], [x[-1]] * 4])

    def of(package):
        def call(x, y, points):
            import importlib

            module = importlib.import_module(f"{package}.interpolate")
            f = getattr(module, name)
            if name.endswith("_interpolate"):
                return f(x, y, points, axis=axis)
            if name == "CubicHermiteSpline":
                made = f(x, y, 0.5 * y, axis=axis)
            elif name == "BSpline":
                t = np.arange(float(n + 3))
                made = f(t, y, 2, axis=axis)
            elif name == "make_lsq_spline":
                made = f(x, y, knots, axis=axis)
            elif name == "make_smoothing_spline":
                made = f(x, y, lam=0.3, axis=axis)
            elif name == "BarycentricInterpolator":
                made = f(x, y, axis=axis, rng=1)
            else:
                made = f(x, y, axis=axis)
            return made(points) if nu is None else made(points, nu)

        return call

    constant = name in ("BSpline", "make_interp_spline", "make_lsq_spline", "make_smoothing_spline", "interp1d")
    if "arycentric" in name:
        constant = True  # whose weights SciPy divides by a random permutation's order
    ours, plain = of("arraygrad.scipy"), of("scipy")
    what = told(f"interpolate.{name}", [x, y, points], {"axis": axis, "nu": nu})
    if constant:
        return Spelling(what, lambda y, p: ours(x, y, p), lambda y, p: plain(x, y, p), (y, points), order=2,
                        value_rtol=1e-8, rtol=1e-5)  # fmt: skip
    return Spelling(what, ours, plain, (x, y, points), order=1, value_rtol=1e-8, rtol=1e-5)


def _sums(rng):
    name = one_of(rng, "logsumexp", "logsumexp", "softmax", "log_softmax", "jensenshannon")
    outer = batch(rng)
    place, n, dtype = int(rng.integers(len(outer) + 1)), int(rng.integers(1, 5)), precision(rng)
    axis = axis_of(rng, place, 1 + len(outer))
    x = numbers(rng, shape_of(rng, outer, place, n), dtype)
    if name == "jensenshannon":
        q = numbers(rng, shape_of(rng, outer, place, n), dtype)
        keywords = {"axis": axis, "keepdims": bool(rng.integers(2))}
        return spelling("spatial.distance.jensenshannon", [x, q], keywords, order=2 if n > 1 else 0, rtol=1e-5)
    if rng.random() < 0.1:
        axis = None
    if name != "logsumexp":
        return spelling(f"special.{name}", [x], {"axis": axis}, order=2)
    weights = numbers(rng, shape_of(rng, outer, place, one_of(rng, n, n, 1)), dtype)
    if rng.random() < 0.3 and weights.shape[place - 1 - len(outer)] > 1:
        weights.flat[0] = 0.0
    keywords = {"axis": axis, "keepdims": bool(rng.integers(2))}
    if rng.random() < 0.2:
        keywords["return_sign"] = True
        return _by_keyword(spelling("special.logsumexp", [x, weights], keywords, 0, order=2), "b")
    if rng.random() < 0.2:
        x = x + (1j * numbers(rng, x.shape)).astype("complex64" if dtype == "float32" else "complex128")
    return _by_keyword(spelling("special.logsumexp", [x, weights], keywords, order=2), "b")


# function -> (keywords, part of the result); those of ndimage that have axes= are below
ALONG = {
    "signal.hilbert": ({}, None), "signal.detrend": ({}, None), "signal.detrend constant": ({"type": "constant"}, None),
    "signal.savgol_filter": ({"window_length": 5, "polyorder": 2}, None), "signal.resample": ({"num": 5}, None),
    "signal.resample_poly": ({"up": 3, "down": 2}, None), "signal.welch": ({"nperseg": 4}, 1),
    "signal.periodogram": ({}, 1), "signal.stft": ({"nperseg": 4}, 2), "signal.spectrogram": ({"nperseg": 4}, 2),
    "fft.fft": ({"n": 5}, None), "fft.rfft": ({}, None), "fft.irfft": ({}, None), "fft.dct": ({}, None),
    "fft.dst": ({"type": 3}, None), "integrate.romb": ({}, None), "ndimage.gaussian_filter1d": ({"sigma": 0.7}, None),
    "ndimage.uniform_filter1d": ({"size": 3}, None), "ndimage.sobel": ({}, None), "stats.zscore": ({}, None),
    "stats.gzscore": ({}, None), "ndimage.minimum_filter1d": ({"size": 3}, None), "stats.trim_mean": (
        {"proportiontocut": 0.2}, None), "signal.decimate": ({"q": 2, "ftype": "fir", "n": 4}, None),
    "stats.false_discovery_control": ({}, None), "fft.fftn": ({}, None), "fft.dctn": ({}, None),
    "ndimage.gaussian_filter": ({"sigma": 0.7}, None), "ndimage.uniform_filter": ({"size": 3}, None),
    "ndimage.median_filter": ({"size": 3}, None), "ndimage.gaussian_laplace": ({"sigma": 0.7}, None),
    "ndimage.laplace": ({}, None),
}  # fmt: skip
OF_AXES = ("fft.fftn", "fft.dctn", "ndimage.gaussian_filter", "ndimage.uniform_filter", "ndimage.median_filter",
           "ndimage.gaussian_laplace", "ndimage.laplace")  # fmt: skip


def _of_one_array(rng):
    name = one_of(rng, *ALONG)
    keywords, pick = ALONG[name]
    outer = batch(rng)
    place, n = int(rng.integers(len(outer) + 1)), 5 if name.endswith("romb") else int(rng.integers(6, 10))
    ndim = 1 + len(outer)
    shape = [n if i == place else m + 1 for i, m in enumerate(outer[:place] + (n,) + outer[place:])]
    x = numbers(rng, shape, precision(rng), 0.1, 0.9)
    if name in OF_AXES:
        axes = [int(a) for a in rng.permutation(ndim)[: rng.integers(1, ndim + 1)]]
        keywords = keywords | {"axes": tuple([a - ndim if rng.random() < 0.5 else a for a in axes])}
    else:
        keywords = keywords | {"axis": axis_of(rng, place, ndim)}
    made = spelling(name.partition(" ")[0], [x], keywords, pick, order=2, rtol=1e-5, value_rtol=1e-7)
    return made
