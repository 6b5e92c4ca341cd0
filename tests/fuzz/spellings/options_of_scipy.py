"""SciPy's functions with options drawn anew, on the arrays of their samples and on arrays away from these.

The class: every sample of tests/scipy_rules x combinations of the options that the function's documentation lists,
which replace those of the sample x arrays of perturbed_samples; first and second derivatives, where both sides agree.
"""

import functools
import importlib
import inspect
import re

import numpy as np

from arraygrad.scipy import NotDifferentiable

from . import perturbed_samples
from .perturbed_samples import ANEW, ORDERS, TIES, drawn_anew, named, numbers_in, ordered, tied
from .spelling import Spelling

CALLS = 150
UNDECIDED = 0.6

# Of these the differences of a plain call tell only its iteration, or a draw tells nothing.
NO_OPTIONS = (
    "optimize.", "integrate.odeint", "integrate.solve_", "integrate.ode", "integrate.quad", "integrate.nquad",
    "integrate.dblquad", "integrate.tplquad", "integrate.nsum", "integrate.cubature", "integrate.tanhsinh",
    "interpolate.RegularGridInterpolator", "interpolate.interpn", "interpolate.CloughTocher", "sparse.linalg.",
    "differentiate.",
)  # fmt: skip
SLOW = ("linalg.solve_continuous_are", "linalg.solve_discrete_are", "signal.lsim")  # no second derivatives
# What is refused in words, by what the words say; a degree that is no whole number; an axis of a vector that SciPy
# takes without looking; overwrite_*=True of a view of a leaf, where this SciPy writes.
REFUSALS = "|".join([
    "requires grad, but is not differentiable", "which only complete it", "can't be computed for this matrix",
    "cannot be interpreted as an integer", "arrays used as indices", "out of bounds for an array of 1 dim",
    "cannot reshape array", "Singular matrix", "a view of a leaf Variable that requires grad",
])  # fmt: skip
# Parameters that are drawn by their name, where the function has them.
BY_NAME = {
    "axis": (0, 1, -1, -2, None),
    "axes": (None, (0,), (-1,), (0, 1), (1, 0)),
    "keepdims": (True, False),
    "nan_policy": ("propagate", "omit", "raise"),
    "check_finite": (True, False),
    "alternative": ("two-sided", "less", "greater"),
    "norm": (None, "ortho", "forward", "backward"),
    "type": (1, 2, 3, 4),
    "orthogonalize": (None, True, False),
    "n": (None, 1, 3, 5),
    "s": (None, (3,), (2, 3)),
    "workers": (None, 1),
    "mode": ("full", "valid", "same", "constant", "nearest", "mirror", "reflect", "wrap", "interp", "grid-wrap",
             "grid-mirror", "grid-constant", "economic", "r", "right", "left", "soft", "hard"),
    "cval": (0.0, 1.5, -0.7),
    "origin": (0, 1, -1),
    "order": (0, 1, 2, 3, 4, 5),
    "prefilter": (True, False),
    "truncate": (1.0, 2.5),
    "radius": (None, 1, 2),
    "boundary": ("fill", "wrap", "symm", None, "zeros", "even", "odd", "constant"),
    "fillvalue": (0, 1.5),
    "padtype": ("odd", "even", "constant", None),
    "padlen": (None, 0, 2),
    "scaling": ("density", "spectrum"),
    "detrend": ("constant", "linear", False),
    "return_onesided": (True, False),
    "average": ("mean", "median"),
    "window": ("boxcar", "hann", "hamming", ("kaiser", 3.0), ("tukey", 0.4), "flattop"),
    "nperseg": (None, 4, 8),
    "noverlap": (None, 1, 2),
    "nfft": (None, 16, 9),
    "fs": (1.0, 2.5),
    "whole": (True, False),
    "include_nyquist": (True, False),
    "analog": (True, False),
    "ddof": (0, 1, 2),
    "bias": (True, False),
    "fisher": (True, False),
    "equal_var": (True, False),
    "trim": (0, 0.2),
    "correction": (True, False, 0, 1),
    "method": ("auto", "fft", "direct", "exact", "asymptotic", "approx", "linear", "nearest", "zero", "slinear",
               "cubic", "quintic", "makima", "akima", "pchip", "inv", "gust", "pad", "bilinear", "zoh", "foh",
               "impulse", "euler", "backward_diff", "gbt", "tustin", "trapezoid", "simpson", "average", "min", "max",
               "dense", "ordinal"),
    "lower": (True, False),
    "trans": (0, 1, 2, "N", "T", "C"),
    "transposed": (True, False),
    "unit_diagonal": (True, False),
    "overwrite_a": (True, False),
    "overwrite_b": (True, False),
    "overwrite_x": (True, False),
    "overwrite_ab": (True, False),
    "assume_a": (None, "gen", "sym", "her", "pos", "diagonal", "tridiagonal", "banded", "upper triangular",
                 "lower triangular"),
    "lapack_driver": ("gesdd", "gesvd", "gelsd", "gelsy", "gelss"),
    "full_matrices": (True, False),
    "compute_uv": (True, False),
    "left": (True, False),
    "right": (True, False),
    "pivoting": (False, True),
    "economic": (True, False),
    "output": ("real", "complex", "ba", "zpk", "sos"),
    "side": ("right", "left"),
    "sort": (None, "lhp", "rhp"),
    "eigvals_only": (True, False),
    "homogeneous_eigvals": (False,),
    "subset_by_index": (None, [0, 0], [0, 1]),
    "select": ("a", "i"),
    "separate": (0, 1),
    "permute": (True, False),
    "scale": (True, False, 2.0),
    "zero_phase": (True, False),
    "ftype": ("iir", "fir"),
    "extrapolate": (True, False, None, "periodic"),
    "bc_type": (None, "natural", "not-a-knot", "clamped", "periodic"),
    "k": (0, 1, 2, 3, 5),
    "nu": (0, 1, 2),
    "ext": (0, 1, 2, 3),
    "der": (0, 1, 2),
    "kind": ("linear", "nearest", "zero", "slinear", "quadratic", "cubic", "previous", "next"),
    "fill_value": (np.nan, 0.5, "extrapolate"),
    "bounds_error": (None, False),
    "initial": (None, 0, 1.5),
    "dx": (1.0, 0.5, 2),
    "x": (None,),
    "deriv": (0, 1, 2),
    "delta": (1.0, 0.4),
    "polyorder": (1, 2, 3),
    "window_length": (3, 4, 5, 7),
    "up": (1, 2, 3),
    "down": (1, 2, 3),
    "zi": (None,),
    "lags": (None,),
    "p": (1, 2, 3.5, np.inf, 0.5),
    "w": (None,),
    "V": (None,),
    "metric": ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis",
               "seuclidean", "mahalanobis", "minkowski", "jensenshannon"),
    "base": (None, 2, 10),
    "weights": (None,),
    "normalize": (True, False),
    "power": (0, 1, 2),
    "moment": (1, 2, 3, 4),
    "order_": (1, 2, 3),
    "center": ("median", "mean", "trimmed"),
    "proportiontocut": (0.1, 0.25),
    "limits": (None, (0.1, 0.2), (-0.5, 0.7), 0.2),
    "inclusive": ((True, True), (False, False), (True, False)),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "interpolation_method": ("fraction", "lower", "higher"),
    "rng": ((25, 75), (10, 95.5)),
    "nan": (True, False),
    "scale_by_median": (True, False),
    "zero_method": ("wilcox", "pratt", "zsplit"),
    "use_continuity": (True, False),
    "variant": ("b", "c", "two-sided"),
    "lambda_": (None, "pearson", "log-likelihood", "freeman-tukey", "mod-log-likelihood", "neyman", "cressie-read",
                0.5, 0, -1),
    "normed": (True, False),
    "absolute_sigma": (True, False),
    "exclude": (None,),
    "nanmedian": (True, False),
    "return_sign": (True, False),
    "exact": (True, False),
    "degree": (1, 2),
    "degrees": (True, False),
    "kernel": ("thin_plate_spline", "cubic", "linear", "quintic", "gaussian", "multiquadric", "inverse_multiquadric",
               "inverse_quadratic"),
    "epsilon": (1.0, 0.6),
    "smoothing": (0.0, 0.3),
    "rescale": (False, True),
    "local": (False, True),
}  # fmt: skip


@functools.cache
def samples():
    """(name, call, arrays, options of the function) of all samples that are drawn from."""
    perturbed_samples.samples()  # reads them
    every = importlib.import_module("scipy_samples").SAMPLES
    return [
        (number, name, call, arrays, found)
        for number, (name, call, arrays, _) in enumerate(every)
        if arrays
        and all(0 < a.size <= perturbed_samples.MOST for a in arrays)
        and not name.startswith(NO_OPTIONS)
        and (found := options(name))
    ]


@functools.cache
def options(name):
    """The parameters of SciPy's function that have a default, and what each is drawn from."""
    try:
        function = named("scipy", name)
        if isinstance(function, np.ufunc):
            return {}
        parameters = inspect.signature(function).parameters
    except (ImportError, TypeError, ValueError):  # not in this release, or without a signature
        return {}
    text = inspect.getdoc(function) or ""
    found = {}
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty or (name.startswith("fftpack.") and key == "overwrite_x"):
            continue  # samples that call several times
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        listed = re.search(rf"^{re.escape(key)} : ([^\n]*(?:\n {{4,}}[^\n]*)?)", text, re.MULTILINE)
        values = []
        if listed:
            first = listed[1].split("}")[0]
            if "{" in first:
                values += re.findall(r"['\"\u2018`]+([\w -]+)['\"\u2019`]+", first.split("{")[1])
            if re.match(r"\{?bool", listed[1]) or type(parameter.default) is bool:
                values += [True, False]
            if values and "None" in first:
                values.append(None)
        values = values or list(BY_NAME.get(key, ()))
        if type(parameter.default) is bool and not values:
            values = [True, False]
        if values:
            found[key] = values
    return found


def with_options(function, names, drawn):
    """The function, with those of the drawn options that the caller does not give by position."""

    def call(*arguments, **given):
        taken = set(names[: len(arguments)])
        return function(*arguments, **{**given, **{k: v for k, v in drawn.items() if k not in taken}})

    return call


def draw(rng):
    every = samples()
    names = sorted({name for _, name, *_ in every})
    wanted = str(rng.choice(names))  # each function as often as another, however many samples it has
    mine = [entry for entry in every if entry[1] == wanted]
    number, name, call, arrays, found = mine[int(rng.integers(len(mine)))]
    group = rng.choice(["as they are", "as they are", "anew", "order", "tie", "float32"])
    kind = str(group)
    if group == "anew":
        kind = str(rng.choice(list(ANEW)))
        arrays = drawn_anew(kind, arrays, rng)
    elif group == "order":
        kind = str(rng.choice(ORDERS))
        arrays = ordered(kind, arrays, rng)
    elif group == "tie":
        kind = str(rng.choice(TIES))
        arrays = tied(kind, arrays, rng)
    elif group == "float32":
        arrays = [a.astype(np.complex64 if np.iscomplexobj(a) else np.float32) for a in arrays]
    chosen = [key for key in found if rng.random() < max(0.25, 1.2 / len(found))]
    drawn = {key: found[key][int(rng.integers(len(found[key])))] for key in chosen}

    names = list(inspect.signature(named("scipy", name)).parameters)

    def of(root):
        function = with_options(named(root, name), names, drawn)
        return lambda *given: numbers_in(call(function, *given))

    low, order = group == "float32", 2 if rng.random() < 0.4 and not name.startswith(SLOW) else 1
    return Spelling(
        f"{name} (sample {number}), {kind}, {drawn}: {[a.tolist() for a in arrays]}", of("arraygrad.scipy"),
        of("scipy"), tuple(np.ascontiguousarray(a).reshape(a.shape) for a in arrays), order=order, rtol=1e-5,
        value_rtol=1e-4 if low else 1e-8, step=1e-4, dtypes=not name.startswith("sparse."), must_refuse=False,
        may_refuse=(NotDifferentiable,), refusals=REFUSALS, anywhere=True,
        may_be_nan=group == "tie",
    )  # fmt: skip
