"""NumPy's functions of one array along axes: axes of both signs and out of bounds, axes of length one and none.

Complex numbers, both precisions, second order; functions, methods of arrays, and methods of ufuncs.
"""

import numpy as np

from .arrays_of_numpy import FLOATS, REALS, Draw, spelling

CALLS = 120

# Functions of an array and `axis`, which is one axis, or None too, or a tuple too.
ONE = (
    "cumulative_sum cumulative_prod diff unwrap fft.fft fft.ifft fft.hfft fft.ihfft fft.rfft fft.irfft argsort".split()
)
NONE = "sort cumsum cumprod nancumsum nancumprod argmax argmin nanargmax nanargmin partition".split()
MANY = """
    sum mean prod max min var std ptp any all count_nonzero median average nansum nanmean nanprod nanmax nanmin
    nanvar nanstd nanmedian flip squeeze linalg.vector_norm linalg.norm
""".split()
TRANSFORMS = (
    "fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftshift fft.ifftshift".split()
)


def found(name):
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    return function


def _shape(d):
    """More often of several axes."""
    return d.shape(d.one_of(0, 1, 2), 3)


def _one(d):
    name = d.one_of(*ONE)
    shape = _shape(d)
    options = {"axis": d.axis(len(shape))}
    if name.startswith("cumulative"):
        options["include_initial"] = d.chance(0.5)
        if d.chance(0.2) and len(shape) == 1:
            del options["axis"]
    if name == "diff":
        options["n"] = d.integer(0, 3)
    if name.startswith("fft"):
        shape = tuple([max(n, 1) for n in shape])  # NumPy leaves transforms of nothing uninitialized
        options["n"] = d.one_of(None, 1, 2, 4)
        options["norm"] = d.one_of(None, "ortho", "forward")
    if name == "argsort":
        options["kind"] = "stable"
    dtypes = REALS if name in ("unwrap", "fft.rfft", "fft.ihfft", "argsort") else FLOATS
    return f"np.{name}", found(name), (d.array(shape, dtypes),), options


def _none(d):
    name = d.one_of(*NONE)
    shape = _shape(d)
    options = {"axis": None if d.chance(0.2) else d.axis(len(shape))}
    if name == "partition":
        options["kth"] = d.one_of(0, -1, [0, 1])
    if "arg" in name:
        options["keepdims"] = d.chance(0.3)
    return f"np.{name}", found(name), (d.array(shape, REALS if name not in ("cumsum", "cumprod") else FLOATS),), options


def _many(d):
    name = d.one_of(*MANY)
    shape = _shape(d)
    options = {"axis": d.axes(len(shape))}
    if name == "squeeze":
        shape = tuple([1 if d.chance(0.6) else n for n in shape])
    elif name != "flip":
        options["keepdims"] = d.chance(0.4)
    if name in ("var", "std", "nanvar", "nanstd"):
        options["ddof"] = d.one_of(0, 1, 0.5)
    if name == "linalg.norm":
        options["ord"] = d.one_of(None, 1, 2, np.inf, "fro", "nuc", -1, 3)
    if name == "linalg.vector_norm":
        options["ord"] = d.one_of(1, 2, np.inf, 3)
    complex_too = name in (
        "sum",
        "mean",
        "prod",
        "var",
        "std",
        "nansum",
        "nanmean",
        "nanvar",
        "flip",
        "squeeze",
        "linalg.norm",
    )
    return f"np.{name}", found(name), (d.array(shape, FLOATS if complex_too else REALS),), options


def _transform(d):
    name = d.one_of(*TRANSFORMS)
    shape = tuple([max(n, 1) for n in d.shape(d.one_of(1, 2), 3)])
    axes = d.axes(len(shape))
    options = {"axes": (axes,) if isinstance(axes, int) and "shift" not in name else axes}
    if d.chance(0.2):
        del options["axes"]
    if "shift" not in name and d.chance(0.4):
        n = len(options["axes"]) if options.get("axes") else d.integer(1, 2)
        options["s"] = tuple([d.integer(1, 3) for _ in range(n)])
    return f"np.{name}", found(name), (d.array(shape, REALS if "fft.r" in name else FLOATS),), options


MOVED = """
    moveaxis rollaxis swapaxes transpose expand_dims roll rot90 stack split array_split unstack repeat diagonal
    trace linalg.diagonal linalg.trace fliplr flipud delete apply_along_axis apply_over_axes
    lib.stride_tricks.sliding_window_view trim_zeros gradient matrix_transpose linalg.matrix_norm tile pad
    hsplit vsplit dsplit atleast_1d atleast_2d atleast_3d ravel resize reshape linalg.matrix_transpose
    linalg.cond linalg.tensorinv permute_dims broadcast_to tril triu diag diagflat insert
""".split()


def _moved(d):
    name = d.one_of(*MOVED)
    shape = _shape(d)
    ndim = len(shape)
    more, options = (), {}
    if name == "moveaxis":
        n = d.integer(0, ndim)
        both = [[int(i) - (ndim if d.chance(0.5) else 0) for i in d.rng.permutation(ndim)[:n]] for _ in range(2)]
        more = (d.axis(ndim), d.axis(ndim)) if d.chance(0.5) else tuple(both)
    elif name == "rollaxis":
        more = (d.axis(ndim), d.integer(-ndim, ndim))
    elif name == "swapaxes":
        more = (d.axis(ndim), d.axis(ndim))
    elif name in ("transpose", "permute_dims"):
        more = (tuple([int(i) - (ndim if d.chance(0.5) else 0) for i in d.rng.permutation(ndim)]),)
    elif name == "expand_dims":
        n = d.integer(1, 2)
        more = (d.axis(ndim + 1),) if d.chance(0.5) else (tuple([d.axis(ndim + n) for _ in range(n)]),)
    elif name == "roll":
        axes = d.axes(ndim)
        more = (
            d.one_of(1, -2)
            if not isinstance(axes, tuple) or d.chance(0.5)
            else tuple([d.one_of(1, -1, 0) for _ in axes]),
        )
        options = {"axis": axes}
    elif name == "rot90":
        options = {"k": d.integer(-1, 3), "axes": (d.axis(ndim), d.axis(ndim))}
    elif name == "stack":
        options = {"axis": d.axis(ndim)}
    elif name in ("split", "array_split"):
        more = (d.one_of(1, 2, 3, [1], [0, 2], [], [5], [-1]),)
        options = {"axis": d.axis(ndim)}
    elif name == "unstack":
        options = {"axis": d.axis(ndim)}
    elif name == "repeat":
        more = (d.integer(0, 2),)
        options = {"axis": None if d.chance(0.2) else d.axis(ndim)}
    elif name in ("diagonal", "trace"):
        options = {"offset": d.integer(-1, 1), "axis1": d.axis(ndim), "axis2": d.axis(ndim)}
    elif name in ("linalg.diagonal", "linalg.trace"):
        options = {"offset": d.integer(-1, 1)}
    elif name == "delete":
        more = (d.one_of(0, -1, [0], slice(None, None, 2)),)
        options = {"axis": None if d.chance(0.2) else d.axis(ndim)}
    elif name == "apply_along_axis":
        of = d.one_of(np.sum, np.cumsum, lambda v: v[None, :] * v[:, None], lambda v: v[:1])
        return (
            "np.apply_along_axis",
            lambda a, axis: np.apply_along_axis(of, axis, a),
            (d.array(shape),),
            {"axis": d.axis(ndim)},
        )
    elif name == "apply_over_axes":
        axes = d.axes(ndim) or 0
        return (
            "np.apply_over_axes",
            lambda a, axes: np.apply_over_axes(np.sum, a, axes),
            (d.array(shape),),
            {"axes": axes},
        )
    elif name.endswith("window_view"):
        axes = d.axes(ndim)
        n = ndim if axes is None else 1 if isinstance(axes, int) else len(axes)
        more = (d.integer(1, 2) if d.chance(0.3) else tuple([d.integer(1, 2) for _ in range(n)]),)
        options = {"axis": axes}
    elif name == "trim_zeros":
        a, mask = d.array(shape), d.rng.random(shape) < 0.5

        def trimmed(a, **options):
            return np.trim_zeros(a * mask, **options)  # zeros that differences leave zeros

        return "np.trim_zeros", trimmed, (a,), {"axis": d.axes(ndim), "trim": d.one_of("fb", "f", "b")}
    elif name == "gradient":
        shape = tuple([n + 1 for n in shape])
        options = {"axis": d.axes(ndim), "edge_order": d.one_of(1, 2)}
    elif name == "linalg.matrix_norm":
        options = {"ord": d.one_of("fro", 1, -1, np.inf, 2, "nuc"), "keepdims": d.chance(0.4)}
    elif name == "tile":
        more = (d.one_of(2, 0, (2, 1), (1, 0), (2, 1, 1, 1), ()),)
    elif name == "pad":
        mode = d.one_of("constant", "edge", "reflect", "wrap", "symmetric", "mean", "linear_ramp", "maximum")
        more = (d.one_of(1, (0, 1), [[d.integer(0, 2), d.integer(0, 2)] for _ in range(max(ndim, 1))]), mode)
    elif name in ("hsplit", "vsplit", "dsplit"):
        more = (d.one_of(1, 2, [1]),)
    elif name in ("resize", "broadcast_to"):
        more = (d.one_of((2, 2), (0,), 3, (), (1, 2, 3), (*[2 for _ in range(d.integer(0, 1))], *shape)),)
    elif name == "reshape":
        more = (d.one_of(-1, (1, -1), shape[::-1], (*shape, 1)),)
        options = {"order": d.one_of("C", "F", "A")}
    elif name == "linalg.cond":
        more = (d.one_of(None, 2, -2, 1, np.inf, "fro"),)
        shape = (*shape[:1], 2, 2) if d.chance(0.8) else shape
    elif name == "linalg.tensorinv":
        shape = d.one_of((2, 3, 6), (6, 2, 3), (2, 2), (1, 1, 1), (2, 3, 3, 2))
        options = {"ind": d.integer(0, 3)}
    elif name in ("tril", "triu", "diag", "diagflat"):
        more = (d.integer(-3, 3),)
    elif name == "insert":
        more = (d.one_of(0, -1, [0, 0], [1], slice(0, 1)), d.one_of(2.0, [3.0]))
        options = {"axis": None if d.chance(0.2) else d.axis(ndim)}
    return f"np.{name}", found(name), (d.array(shape),), options, more


METHODS = """
    sum mean prod max min var std cumsum cumprod any all argmax argmin squeeze swapaxes take repeat diagonal
    trace sort_of partition_of
""".split()


def _method(d):
    name = d.one_of(*METHODS)
    shape = _shape(d)
    options = {"axis": d.axes(len(shape))}
    if name in ("cumsum", "cumprod", "argmax", "argmin", "take", "repeat"):
        options = {"axis": None if d.chance(0.2) else d.axis(len(shape))}
    if name == "swapaxes":
        options = {"axis1": d.axis(len(shape)), "axis2": d.axis(len(shape))}
        return "Tensor.swapaxes", lambda a, axis1, axis2: a.swapaxes(axis1, axis2), (d.array(shape),), options
    if name in ("diagonal", "trace"):
        options = {"axis1": d.axis(len(shape)), "axis2": d.axis(len(shape)), "offset": d.integer(-1, 1)}
    if name in ("take", "repeat"):
        options["indices" if name == "take" else "repeats"] = (
            d.one_of(0, 1, [0, 0], [[0], [-1]]) if name == "take" else d.one_of(0, 1, 2)
        )
    if name.endswith("_of"):
        axis = d.axis(len(shape))

        def ordered(a):
            a = a * 1.0
            a.sort(axis=axis) if name == "sort_of" else a.partition(0, axis=axis)
            return a

        return f"Tensor.{name}(axis={axis})", ordered, (d.array(shape, ("float64",)),), {}
    if name in ("sum", "mean", "prod", "max", "min", "var", "std", "any", "all", "argmax", "argmin"):
        options["keepdims"] = d.chance(0.4)
    return f"Tensor.{name}", lambda a, **options: getattr(a, name)(**options), (d.array(shape, REALS),), options


MAKERS = (_one, _none, _many, _many, _transform, _moved, _moved, _method)


def draw(rng):
    d = Draw(rng)
    made = d.one_of(*MAKERS)(d)
    return spelling(*made, order=d.one_of(1, 1, 2), rtol=1e-5)
