"""Filters of images and signals in all their options, of images that are zero nearly everywhere, too.

The class: modes, orders, widths and axes for each axis of their own, constants beyond the edge, right angles, bands
that begin, end or are empty at zero. Of a sparse image another function may have SciPy's value, so that only its
derivative tells.
"""

import importlib

import numpy as np

from .spelling import Spelling

MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
CALLS = 120
UNDECIDED = 0.4  # a kink at zero, an edge of an image


def draw(rng):
    return (_gaussian, _turned, _moved, _edges, _windowed, _enveloped)[int(rng.choice(6))](rng)


def one_of(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def image(rng, ndim):
    shape = tuple(int(n) for n in rng.integers(2, 6, size=ndim))
    if rng.random() < 0.5:
        return rng.normal(size=shape)
    sparse = np.zeros(shape)
    sparse.ravel()[rng.choice(sparse.size, size=min(3, sparse.size), replace=False)] = 1.0
    return sparse


def axes_of(rng, ndim):
    """(what is given as axes, how many they are)."""
    if rng.random() < 0.4:
        return None, ndim
    n = int(rng.integers(1, ndim + 1))
    chosen = [int(i) - (ndim if rng.random() < 0.5 else 0) for i in rng.permutation(ndim)[:n]]
    return (chosen[0] if n == 1 and rng.random() < 0.5 else tuple(chosen)), n


def each(rng, n, drawn):
    """One for all, or one for each of n axes."""
    return drawn() if rng.random() < 0.5 else [drawn() for _ in range(n)]


def _edged(rng, n):
    return {"mode": each(rng, n, lambda: one_of(rng, *MODES)), "cval": float(rng.choice([0.0, 0.7]))}


def _call(name, arrays, options, order=1, **more):
    chapter, _, function = name.rpartition(".")

    def of(package):
        def call(*given):
            return getattr(importlib.import_module(f"{package}.{chapter}"), function)(*given, **options)

        return call

    what = f"scipy.{name}({', '.join([repr(a.tolist()) for a in arrays])}, {options})"
    return Spelling(
        what, of("arraygrad.scipy"), of("scipy"), arrays, order=order, may_refuse=(TypeError,), must_refuse=False,
        dtypes=False, rtol=1e-5, **more,
    )  # fmt: skip


def _gaussian(rng):
    ndim = int(rng.integers(1, 4))
    name = one_of(rng, "gaussian_laplace", "gaussian_gradient_magnitude", "gaussian_filter")
    axes, n = axes_of(rng, ndim)
    options = {"axes": axes, **_edged(rng, n)}
    magnitude = name == "gaussian_gradient_magnitude"  # which has a kink where an image is flat
    smoothed = ndim if magnitude else n
    sigma = np.asarray(each(rng, smoothed, lambda: round(float(rng.uniform(0.4, 1.2)), 2)))
    if name == "gaussian_filter":
        options["order"] = each(rng, n, lambda: int(rng.integers(0, 3)))
    pixels = rng.normal(size=rng.integers(2, 6, size=ndim)) if magnitude else image(rng, ndim)
    return _call(f"ndimage.{name}", (pixels, sigma), options)


def _turned(rng):
    angle = float(one_of(rng, 90, 180, 270, -90, 0, 360, 33, 45, 10.5))
    axes = one_of(rng, (1, 0), (0, 1), (-1, -2))
    options = {
        "angle": angle, "axes": axes, "reshape": bool(rng.random() < 0.5), "order": int(rng.integers(0, 4)),
        "mode": one_of(rng, "constant", "nearest", "mirror", "reflect"), "cval": float(rng.choice([0.0, 0.7])),
    }  # fmt: skip
    return _call("ndimage.rotate", (image(rng, 2),), options)


def _moved(rng):
    name = one_of(rng, "shift", "zoom", "affine_transform")
    options = {"order": int(rng.integers(0, 4)), "mode": one_of(rng, "constant", "nearest", "mirror")}
    if name == "shift":
        options["shift"] = each(rng, 2, lambda: float(rng.choice([1.0, -1.0, 0.5, 0.3, 0.1, 2.0])))
    elif name == "zoom":
        options["zoom"] = each(rng, 2, lambda: float(rng.choice([1.0, 2.0, 0.5, 1.5])))
    else:
        matrix = one_of(rng, [1.0, 0.5], [0.1, 3.0], [[0.0, 1.0], [-1.0, 0.0]], [[0.8, 0.1], [-0.2, 0.7]])
        options |= {"matrix": np.asarray(matrix), "offset": each(rng, 2, lambda: float(rng.choice([0.0, 1.0, 0.3])))}
    return _call(f"ndimage.{name}", (image(rng, 2),), options)


def _edges(rng):
    ndim = int(rng.integers(1, 4))
    name = one_of(rng, "laplace", "sobel", "prewitt", "uniform_filter", "correlate1d", "spline_filter1d")
    if name in ("laplace", "uniform_filter"):
        axes, n = axes_of(rng, ndim)
        options = {"axes": axes, **_edged(rng, n)}
        if name == "uniform_filter":
            options |= {"size": each(rng, n, lambda: int(rng.integers(1, 4)))}
        return _call(f"ndimage.{name}", (image(rng, ndim),), options)
    options = {
        "axis": int(rng.integers(-ndim, ndim)),
        "mode": one_of(rng, *MODES),
        "cval": float(rng.choice([0.0, 0.7])),
    }
    if name in ("sobel", "prewitt"):
        options["mode"] = each(rng, ndim, lambda: one_of(rng, *MODES))
    if name == "correlate1d":
        options |= {"weights": [1.0, 0.3, -0.5], "origin": int(rng.integers(-1, 2))}
    if name == "spline_filter1d":
        options = {"axis": options["axis"], "order": int(rng.integers(2, 4)), "mode": one_of(rng, "mirror", "reflect")}
    return _call(f"ndimage.{name}", (image(rng, ndim),), options)


def _windowed(rng):
    """Of distinct numbers: where some are equal, which of them is chosen is a choice."""
    ndim = int(rng.integers(1, 4))
    name = one_of(rng, "maximum_filter", "minimum_filter", "median_filter", "rank_filter", "grey_opening")
    options = {"size": int(rng.integers(2, 4)), "mode": one_of(rng, *MODES), "cval": 0.7}
    if name == "rank_filter":
        options["rank"] = int(rng.integers(-1, 2))
    if name != "grey_opening":
        options |= {"axes": axes_of(rng, ndim)[0], "origin": int(rng.integers(-1, 1))}
    shape = tuple(int(n) for n in rng.integers(2, 6, size=ndim))
    return _call(f"ndimage.{name}", (rng.normal(size=shape),), options)


def _enveloped(rng):
    n = int(rng.integers(5, 10))
    low, high = -(n // 2), (n + 1) // 2
    options = {
        "bp_in": (one_of(rng, None, 0, 1, -1, low), one_of(rng, None, 0, 1, 2, high)),
        "n_out": one_of(rng, None, n + 2, n - 2, 2 * n),
        "squared": bool(rng.random() < 0.5),
        "residual": one_of(rng, "lowpass", "all", None),
    }
    wave = np.cos(np.arange(n) * np.pi / 2) + 1.0
    signal = wave if options["squared"] and rng.random() < 0.5 else rng.normal(size=n)
    return _call("signal.envelope", (signal,), options, order=2 if options["squared"] else 1)
