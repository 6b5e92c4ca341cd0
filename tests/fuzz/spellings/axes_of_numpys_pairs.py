"""NumPy's functions of two arrays and an axis: operands of other ndim, axes of both signs and out of bounds.

Lengths of one and none, complex numbers, both precisions, operands exchanged, second order. What NumPy refuses is to be
refused, what it answers to be answered with its shape, dtype and value.
"""

import numpy as np

from .arrays_of_numpy import REALS, Draw, spelling

CALLS = 120


def _pair(d, least=0, most=3):
    first = d.shape(least, most)
    second = d.near(first, least)
    return (first, second) if d.chance(0.5) else (second, first)


def _trapezoid(d):
    y, x = _pair(d, 1) if d.chance(0.7) else (d.shape(1), d.shape(1, 1))
    return "np.trapezoid", np.trapezoid, d.arrays(y, x), {"axis": d.axis(len(y))}


def _vecdot(d):
    first, second = _pair(d, 1)
    name = d.one_of("np.linalg.vecdot", "np.vecdot")
    function = np.vecdot if name == "np.vecdot" else np.linalg.vecdot
    options = {"axis": d.axis(d.one_of(len(first), len(second)))} if d.chance(0.85) else {}
    if name == "np.vecdot" and d.chance(0.3):
        options = {"axes": [d.axis(len(first)), d.axis(len(second)), *([()] if d.chance(0.5) else [])]}
    return name, function, d.arrays(first, second), options


def _product(d):
    name = d.one_of("matmul", "matvec", "vecmat")
    cores = {"matmul": (2, 2, 2), "matvec": (2, 1, 1), "vecmat": (1, 2, 1)}[name]
    n, m, k = d.one_of(*d.lengths), d.one_of(*d.lengths), d.one_of(*d.lengths)
    core = {"matmul": ((n, m), (m, k)), "matvec": ((n, m), (m,)), "vecmat": ((m,), (m, k))}[name]
    loop = d.shape(0, 1)
    loops = (loop, d.near(loop)) if d.chance(0.5) else (d.near(loop), loop)
    shapes, axes = [], []
    for where, inner in zip(loops, core, strict=True):
        shape = [*where, *inner]
        places = [int(i) for i in d.rng.permutation(len(shape))[: len(inner)]]
        rest = iter(where)
        full = [None] * len(shape)
        for place, length in zip(places, inner, strict=True):
            full[place] = length
        shapes.append(tuple([next(rest) if length is None else length for length in full]))
        axes.append(tuple([p - (len(shape) if d.chance(0.5) else 0) for p in places]))
    ndim = max(map(len, loops)) + cores[2]
    axes.append(tuple([int(i) - (ndim if d.chance(0.5) else 0) for i in d.rng.permutation(ndim)[: cores[2]]]))
    axes = [a[0] if len(a) == 1 and d.chance(0.5) else a for a in axes]
    return f"np.{name}", getattr(np, name), d.arrays(*shapes), {"axes": axes}


def _cross(d):
    first, second = _pair(d, 1)
    name = d.one_of("np.linalg.cross", "np.cross")
    lengths = (3, 3) if name == "np.linalg.cross" else (d.one_of(2, 3, 3), d.one_of(2, 3, 3))
    places = [d.integer(0, len(s) - 1) for s in (first, second)]
    axis = d.axis(max(len(first), len(second)))
    if d.chance(0.5):
        places = [axis % len(s) for s in (first, second)]
    first, second = [(*s[:p], n, *s[p + 1 :]) for s, p, n in zip((first, second), places, lengths, strict=True)]
    if name == "np.linalg.cross" or d.chance(0.3):
        options = {"axis": axis}
    else:
        signs = [len(s) if d.chance(0.5) else 0 for s in (first, second)]
        options = {"axisa": places[0] - signs[0], "axisb": places[1] - signs[1]}
        if d.chance(0.5):
            options["axisc"] = d.axis(max(len(first), len(second)))
    return name, np.cross if name == "np.cross" else np.linalg.cross, d.arrays(first, second), options


def _tensordot(d):
    first, second = d.shape(1), d.shape(1)
    n = d.integer(0, min(len(first), len(second)))
    if d.chance(0.4):
        second = (*first[len(first) - n :], *second[n:])
        return "np.tensordot", np.tensordot, d.arrays(first, second), {"axes": n}
    left = [int(i) for i in d.rng.permutation(len(first))[:n]]
    right = [int(i) for i in d.rng.permutation(len(second))[:n]]
    second = list(second)
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    left = [i - (len(first) if d.chance(0.5) else 0) for i in left]
    right = [j - (len(second) if d.chance(0.5) else 0) for j in right]
    return "np.tensordot", np.tensordot, d.arrays(first, tuple(second)), {"axes": (left, right)}


def _no_axis(d):
    name = d.one_of(
        "inner", "dot", "matmul", "kron", "outer", "vdot", "linalg.matmul", "linalg.outer", "linalg.tensordot"
    )
    first, second = _pair(d)
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    return f"np.{name}", function, d.arrays(first, second), {}


def _spaces(d):
    name = d.one_of("linspace", "logspace", "geomspace")
    start, stop = _pair(d, 0, 2)
    positive = name == "geomspace"
    arrays = d.arrays(start, stop, positive=positive)
    options = {"num": d.integer(0, 3), "axis": d.axis(max(len(start), len(stop)) + 1), "endpoint": d.chance(0.7)}
    if name == "linspace" and d.chance(0.3):
        options["retstep"] = True
    if name == "logspace" and d.chance(0.6):
        base = d.array(d.near(start), REALS, positive=True)

        def logspace(start, stop, base, **options):
            return np.logspace(start, stop, base=base, **options)

        return "np.logspace(..., base=)", logspace, (*arrays, base), options
    return f"np.{name}", getattr(np, name), arrays, options


def _spread(d):
    name = d.one_of("var", "std", "nanvar", "nanstd")
    shape = d.shape()
    axis = d.axes(len(shape))
    a = d.array(shape)
    try:
        right = np.sum(a, axis=axis, keepdims=True).shape
    except np.exceptions.AxisError:
        right = d.near(shape)
    mean = d.array(right if d.chance(0.5) else d.near(d.one_of(right, shape)))
    options = {"axis": axis, "keepdims": d.chance(0.3), "ddof": d.one_of(0, 0, 1)}

    def spread(a, mean, **options):
        return getattr(np, name)(a, mean=mean, **options)

    return f"np.{name}(mean=)", spread, (a, mean), options


def _masked(d):
    names = (
        "sum",
        "prod",
        "mean",
        "max",
        "min",
        "var",
        "std",
        "any",
        "all",
        "nansum",
        "nanprod",
        "nanmean",
        "nanmax",
        "nanmin",
        "nanvar",
        "nanstd",
        "add.reduce",
        "multiply.reduce",
        "maximum.reduce",
    )
    name = d.one_of(*names)
    shape = d.shape()
    a = d.array(shape, REALS)
    mask = d.array(d.near(shape), dtype="bool")
    initial = (
        {} if name.rpartition("nan")[2] in ("mean", "var", "std", "any", "all") else {"initial": d.one_of(0.5, -1.0)}
    )
    initial = initial if d.chance(0.7) or name.rpartition("nan")[2] in ("max", "min", "maximum.reduce") else {}
    if initial and d.chance(0.15):
        initial = {"initial": np.full(d.near(shape), 0.5)}
    function = np
    for part in name.split("."):
        function = getattr(function, part)

    def masked(a, mask, **options):
        return function(a, where=mask, **options)

    return f"np.{name}(where=)", masked, (a, mask), {"axis": d.axes(len(shape)), "keepdims": d.chance(0.3), **initial}


def _average(d):
    shape = d.shape()
    axis = d.axes(len(shape))
    a = d.array(shape)
    if d.chance(0.4):
        weights = shape
    else:
        axes = (axis,) if isinstance(axis, int) else axis or ()
        weights = tuple([shape[i] for i in axes if -len(shape) <= i < len(shape)])
    if d.chance(0.15):
        weights = d.near(shape)
    options = {"axis": axis, "returned": d.chance(0.3), "keepdims": d.chance(0.3)}
    w = d.array(weights, REALS, positive=True)

    def average(a, weights, **options):
        return np.average(a, weights=weights, **options)

    return "np.average(weights=)", average, (a, w), options


def _quantile(d):
    name = d.one_of("quantile", "percentile", "nanquantile", "nanpercentile")
    shape = d.shape()
    a = d.array(shape, REALS)
    q = d.rng.uniform(0.05, 0.95, size=d.shape(0, 1)) * (100 if "percent" in name else 1)
    methods = (
        "linear",
        "hazen",
        "weibull",
        "median_unbiased",
        "normal_unbiased",
        "interpolated_inverted_cdf",
        "lower",
        "midpoint",
        "nearest",
        "inverted_cdf",
        "averaged_inverted_cdf",
        "closest_observation",
    )
    options = {"axis": d.axes(len(shape)), "keepdims": d.chance(0.3), "method": d.one_of("linear", d.one_of(*methods))}
    return f"np.{name}", getattr(np, name), (a, q), options


def _weighted_quantile(d):
    name = d.one_of("quantile", "percentile", "nanquantile", "nanpercentile")
    shape = d.shape(1)
    axis = d.axes(len(shape))
    a = d.array(shape, REALS)
    axes = (axis,) if isinstance(axis, int) else range(len(shape)) if axis is None else axis
    lengths = tuple([shape[i] for i in axes if -len(shape) <= i < len(shape)])
    weights = d.array(d.one_of(shape, lengths), dtype="int64") + 0.25
    q = d.rng.uniform(0.05, 0.95, size=d.shape(0, 1)) * (100 if "percent" in name else 1)

    def quantile(a, q, weights, **options):
        return getattr(np, name)(a, q, weights=weights, method="inverted_cdf", **options)

    return f"np.{name}(weights=)", quantile, (a, q, weights), {"axis": axis, "keepdims": d.chance(0.3)}


def _take(d):
    shape = d.shape()
    n = max(shape, default=1)
    indices = d.rng.integers(-n, max(n, 1), size=d.shape())
    axis = None if d.chance(0.2) else d.axis(len(shape))
    mode = d.one_of("wrap", "clip") if 0 not in shape else "clip"  # NumPy's "wrap" does not end in an axis of none
    options = {"axis": axis, **({"mode": mode} if d.chance(0.4) else {})}
    return "np.take", np.take, (d.array(shape), indices), options


def _take_along_axis(d):
    shape = d.shape(0)
    other = shape if d.chance(0.5) else d.near(shape)
    axis = None if d.chance(0.1) else d.axis(len(shape))
    if axis is not None and shape and len(other) == len(shape) and -len(shape) <= axis < len(shape):
        other = list(other)
        other[axis] = d.one_of(*d.lengths)
    other = tuple(other) if axis is not None else (d.one_of(*d.lengths),)
    n = 2 if d.chance(0.3) else 1
    indices = d.rng.integers(-n, n, size=tuple(other))
    return "np.take_along_axis", np.take_along_axis, (d.array(shape), indices), {"axis": axis}


def _repeat(d):
    name = d.one_of("repeat", "compress", "delete")
    shape = d.shape(0)
    axis = None if d.chance(0.2) else d.axis(len(shape))
    n = int(np.prod(shape)) if axis is None else shape[axis] if -len(shape) <= axis < len(shape) else 1
    a = d.array(shape)
    if name == "repeat":
        repeats = d.one_of(2, d.rng.integers(0, 3, size=n), d.rng.integers(0, 3, size=1))
        return "np.repeat", np.repeat, (a,), {"repeats": repeats, "axis": axis}
    if name == "compress":
        condition = d.rng.random(max(n - d.integer(0, 1), 0)) < 0.6

        def compress(a, **options):
            return np.compress(condition, a, **options)

        return f"np.compress({condition!r})", compress, (a,), {"axis": axis}
    obj = d.one_of(0, -1, slice(0, 1), np.array([0]), np.zeros(0, int), [0, -1])
    return "np.delete", np.delete, (a,), {"obj": obj, "axis": axis}


def _joined(d):
    name = d.one_of("concatenate", "stack", "append", "hstack", "vstack", "dstack", "column_stack")
    shape = d.shape(0)
    second = shape if d.chance(0.6) else d.near(shape)
    axis = d.axis(len(shape) + (name == "stack"))
    if (
        name in ("concatenate", "append")
        and d.chance(0.5)
        and len(second) == len(shape)
        and -len(shape) <= axis < len(shape)
    ):
        second = (*second[: axis % len(shape)], d.one_of(*d.lengths), *second[axis % len(shape) + 1 :])
    options = (
        {} if name in ("hstack", "vstack", "dstack", "column_stack") else {"axis": axis if d.chance(0.9) else None}
    )
    arrays = d.arrays(shape, second)
    if name in ("concatenate", "stack", "hstack", "vstack") and d.chance(0.3):
        options["casting"] = d.one_of("no", "equiv", "safe", "same_kind", "unsafe")
    elif name in ("concatenate", "stack", "hstack", "vstack") and d.chance(0.3):
        # No casts of complex numbers to real ones: arraygrad refuses them where NumPy warns.
        is_complex = any(a.dtype.kind == "c" for a in arrays)
        options |= {"casting": "unsafe", "dtype": "complex128" if is_complex else "float64"}
    if name == "append":
        return "np.append", np.append, arrays, options

    def joined(*arrays, **options):
        return getattr(np, name)(arrays, **options)

    return f"np.{name}", joined, arrays, options


def _insert(d):
    shape = d.shape(0)
    axis = None if d.chance(0.2) else d.axis(len(shape))
    obj = d.one_of(0, -1, [0], [0, 0], slice(0, 2), np.array([True, False]))
    values = d.array(d.near(shape))

    def insert(a, values, **options):
        return np.insert(a, obj, values, **options)

    return f"np.insert(obj={obj!r})", insert, (d.array(shape, ("float64", "complex128")), values.real), {"axis": axis}


def _gradient(d):
    shape = tuple([n + 1 for n in d.shape(0)])
    f = d.array(shape)
    axes = d.axes(len(shape)) if d.chance(0.7) else None
    named = range(len(shape)) if axes is None else (axes,) if isinstance(axes, int) else axes
    kind = d.one_of("none", "one", "each")
    options = {"axis": axes, "edge_order": d.one_of(1, 1, 2)}
    if kind == "none":
        return "np.gradient", np.gradient, (f,), options
    if kind == "one":
        return "np.gradient", np.gradient, (f, d.array((), REALS, positive=True)), options
    steps = []
    for i in named:
        n = shape[i] if -len(shape) <= i < len(shape) else 2
        vector = np.cumsum(d.array((n,), ("float64", "float64", "float32"), positive=True))
        steps.append(vector if d.chance(0.6) else d.array((), REALS, positive=True))
    return "np.gradient", np.gradient, (f, *steps), options


def _diff(d):
    shape = d.shape(0)
    axis = d.axis(len(shape))
    arrays = [d.array(shape)]
    ends = [end for end in ("prepend", "append") if d.chance(0.6)]
    for _ in ends:
        other = d.one_of((), shape, d.near(shape))
        if len(other) == len(shape) and shape and -len(shape) <= axis < len(shape) and d.chance(0.5):
            other = (*other[: axis % len(shape)], d.one_of(*d.lengths), *other[axis % len(shape) + 1 :])
        arrays.append(d.array(other))

    def diff(a, *given, **options):
        return np.diff(a, **dict(zip(ends, given, strict=True)), **options)

    return f"np.diff({ends})", diff, tuple(arrays), {"axis": axis, "n": d.integer(0, 3)}


def _cov(d):
    name = d.one_of("cov", "corrcoef")
    shape = d.shape(1, 2)
    other = shape if d.chance(0.6) else d.near(shape, 0)
    a, b = d.arrays(shape, other)
    options = {"rowvar": d.chance(0.5)}
    if name == "cov" and d.chance(0.4):
        options["ddof"] = d.one_of(0, 1)
    return f"np.{name}", getattr(np, name), (a, b) if d.chance(0.8) else (a,), options


def _solve(d):
    name = d.one_of("linalg.solve", "linalg.tensorsolve", "linalg.lstsq")
    function = getattr(np.linalg, name.partition(".")[2])
    n = d.one_of(*d.lengths)
    if name == "linalg.solve":
        a, b = (*d.shape(0, 2), n, n), d.one_of((n,), (n, d.one_of(*d.lengths)), (*d.shape(1, 2), n, 2))
        return f"np.{name}", function, d.arrays(a, b), {}
    if name == "linalg.lstsq":
        return f"np.{name}", lambda a, b: function(a, b)[0], d.arrays((n + 1, n), d.one_of((n + 1,), (n + 1, 2))), {}
    shape = [n + 1, 2, 2, n + 1]
    order = [int(i) for i in d.rng.permutation(4)]
    a = d.array(tuple([shape[i] for i in order]))
    moved = sorted(range(4), key=order.__getitem__)
    b = d.array((n + 1, 2) if d.chance(0.5) else (2, n + 1))
    axes = [m - (4 if d.chance(0.5) else 0) for m in moved[2:]]
    return f"np.{name}", function, (a, b), {"axes": axes if d.chance(0.7) else tuple(axes)}


def _ufunc_method(d):
    name = d.one_of("add", "multiply", "maximum", "subtract", "logaddexp", "hypot", "arctan2", "divide")
    ufunc = getattr(np, name)
    method = d.one_of("reduceat", "accumulate", "reduce", "outer")
    if (
        name == "arctan2" and method != "accumulate"
    ):  # NumPy's loop for it leaves elements of a fold out, on some processors
        method = "outer"
    shape = d.shape(0)
    a = d.array(shape, REALS, positive=True)
    axis = d.axis(len(shape))
    if method == "outer":
        return f"np.{name}.outer", ufunc.outer, (a, d.array(d.shape(0, 2), REALS)), {}
    if method == "reduceat":
        n = shape[axis] if -len(shape) <= axis < len(shape) else 1
        indices = d.rng.integers(0, max(n, 1), size=d.integer(0, 3))
        return f"np.{name}.reduceat", ufunc.reduceat, (a,), {"indices": indices, "axis": axis}
    options = {"axis": axis}
    if method == "reduce":
        options = {"axis": d.axes(len(shape)), "keepdims": d.chance(0.3)}
        if d.chance(0.4):
            options["initial"] = 0.5
    return f"np.{name}.{method}", getattr(ufunc, method), (a,), options


def _along(d):
    name = d.one_of("interp", "convolve", "correlate", "polyfit", "polyval", "vander", "searchsorted", "put_along_axis")
    if name == "interp":
        k = d.integer(1, 3)
        knots = np.cumsum(d.array((k,), REALS, positive=True))
        return "np.interp", np.interp, (d.array(d.shape(), REALS), knots, d.array((k,), ("float64", "complex128"))), {}
    if name in ("convolve", "correlate"):
        options = {"mode": d.one_of("full", "same", "valid")}
        return f"np.{name}", getattr(np, name), d.arrays(d.shape(0, 1), d.shape(0, 1)), options
    if name == "polyval":
        return "np.polyval", np.polyval, d.arrays(d.shape(0, 1), d.shape()), {}
    if name == "vander":
        return "np.vander", np.vander, (d.array(d.shape(0, 2)),), {"N": d.one_of(None, 0, 1, 3)}
    if name == "polyfit":
        x = d.array((4,), REALS)
        return "np.polyfit", np.polyfit, (x, d.array(d.one_of((4,), (4, 2)), REALS)), {"deg": d.integer(0, 2)}
    if name == "searchsorted":
        a = np.sort(d.array(d.shape(1, 1), REALS))
        return "np.searchsorted", np.searchsorted, (a, d.array(d.shape(), REALS)), {"side": d.one_of("left", "right")}
    shape = d.shape(1)
    axis = d.axis(len(shape))
    indices = list(shape)
    if -len(shape) <= axis < len(shape):
        indices[axis] = 1
    values = d.array(d.one_of((), tuple(indices), d.near(tuple(indices))), ("float64",))

    def put(a, values, axis):
        a = a * 1.0
        np.put_along_axis(a, np.zeros(tuple(indices), int), values, axis)
        return a

    return "put_along_axis", put, (d.array(shape, ("float64",)), values), {"axis": axis}


MAKERS = (
    _trapezoid, _vecdot, _product, _cross, _tensordot, _no_axis, _spaces, _spread, _masked, _average, _quantile,
    _weighted_quantile, _take, _take_along_axis, _repeat, _joined, _insert, _gradient, _diff, _cov, _solve,
    _ufunc_method, _along,
)  # fmt: skip


def draw(rng):
    d = Draw(rng)
    made = d.one_of(*MAKERS)(d)
    return spelling(*made, order=d.one_of(1, 1, 2), rtol=1e-5)
