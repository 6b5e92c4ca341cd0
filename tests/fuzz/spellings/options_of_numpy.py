"""NumPy's functions with options drawn anew, on arrays drawn anew.

The class: every function of numpy, numpy.linalg, numpy.fft and numpy.polynomial that is recorded, methods of arrays and
of ufuncs x combinations of their options x arrays of any order, with zeros, ties, nan and infinities, in every
precision and layout, empty ones and those without axes; recorded step by step, or as `ag.adopt` calls the function.
"""

import ast
import re

import numpy as np

import arraygrad as ag

from .calls_of_numpy import CALLS_WITH_OPTIONS
from .drawn_arrays import DTYPES, KINDS, array
from .spelling import Spelling

CALLS = 250
UNDECIDED = 0.6  # ties, sums that cancel

# What an option is drawn from: expressions.
VALUES = {
    "axis": "0 1 -1 -2 0 -1 None",
    "axis1": "0 1 -1",
    "axis_of_one": "0 1 -1 -2",
    "axes": "0 1 -1 -2 None (0,1) (-1,0) (0,) () (0,2)",
    "dtype": "None 'f8' 'f4' 'c16' float complex 'g'",
    "keepdims": "True False",
    "initial": "2 0 -1.5 1.0 np.float32(0.25) 3",
    "where": "mask(a) mask(a)[...,:1] True rowmask(a)",
    "ddof": "0 1 2 0.5 -1",
    "correction": "0 1 2 0.5",
    "mean_": "np.mean(a, keepdims=True)",
    "bool": "True False",
    "method": (
        "'linear' 'hazen' 'nearest' 'lower' 'higher' 'midpoint' 'median_unbiased' 'normal_unbiased' 'weibull'"
        " 'inverted_cdf' 'averaged_inverted_cdf' 'closest_observation' 'interpolated_inverted_cdf'"
    ),
    "overwrite_input": "True False",
    "fold": "'full' 'same' 'valid'",
    "norm": "None 'ortho' 'forward' 'backward'",
    "n": "None 1 2 3 4 5 8",
    "s": "None (2,3) (4,) (3,5) (1,2) (-1,4) (2,-1)",
    "fft_axes": "None (0,1) (-1,) (1,0) (0,) (-2,-1) (0,0)",
    "order": "'C' 'F' 'A' 'K'",
    "offset": "0 1 -1 2",
    "k": "0 1 -1 3 -2",
    "edge_order": "1 2",
    "number": "2 1.5 np.float32(1.5) 0 -1 True",
    "ord": "None 1 2 -1 -2 'fro' 'nuc' np.inf -np.inf 3 0 0.5 -0.5",
    "vector_ord": "1 2 3 0 np.inf -np.inf 0.5 -1 2.5",
    "matrix_ord": "1 2 -1 -2 'fro' 'nuc' np.inf -np.inf",
    "rcond": "None 1e-3 0.3 1e-15",
    "rtol": "None 1e-3 0.3",
    "clip_mode": "'raise' 'wrap' 'clip'",
    "kind": "None 'stable' 'quicksort' 'heapsort' 'mergesort'",
    "left": "None -1.0 2",
    "period": "None 1.5 2 -3",
    "bins": "3 1 5 [-2,-0.5,0.25,2] 'auto' 'sqrt' 'sturges' 'rice' 'scott' 'fd' 'doane' 'stone' np.array([-3.0,0,3])",
    "range": "None (-2,2) (0,1) (-3,4)",
    "density": "None True False",
    "num": "1 2 3 5 0",
    "casting": "'same_kind' 'unsafe' 'safe'",
    "UPLO": "'L' 'U' 'l' 'u'",
    "decimals": "0 1 -1 2",
    "index": "'xy' 'ij'",
    "pad_mode": "'constant' 'edge' 'reflect' 'symmetric' 'wrap' 'mean' 'median' 'maximum' 'minimum' 'linear_ramp'",
    "reflecting": "'reflect' 'symmetric'",
    "reflect": "'even' 'odd'",
    "statistic": "'mean' 'median' 'maximum' 'minimum'",
    "stat": "1 2 3 None (1,2)",
    "none": "None",
    "cond_ord": "None 2 -2",
    "qr_mode": "'reduced' 'complete' 'r' 'raw'",
    "trim": "'fb' 'f' 'b' 'FB'",
}  # fmt: skip
# What is refused in words, by what the words say.
REFUSALS = "|".join([
    "would drop the imaginary parts", "a complex value can't be written", "complex numbers have no order",
    "would drop its gradient silently", "outermost coefficients are zero", r"unsupported operand type\(s\) for",
    "no __array_namespace__", "is not supported for Tensors", "has no recorded gradient", "which is not recorded",
    "leaves out singular values", "in-place operation", "what is recorded of the result",
    "can't be written into a plain array", "shows memory that is none of the elements", "a root that is not simple",
    "not the fold of all", "mixes the axes of q",
])  # fmt: skip
HELPERS = {}


def helper(function):
    HELPERS[function.__name__] = function
    return function


@helper
def mask(a):
    """Truth values of the array's shape."""
    return np.arange(int(np.prod(np.shape(a)))).reshape(np.shape(a)) % 3 != 1


@helper
def rowmask(a):
    return np.arange(np.shape(a)[-1] if np.ndim(a) else 1) % 2 == 0


@helper
def into(function, *arrays, **options):
    """The call with `out=`."""
    found = function(*arrays, **options)
    out = np.zeros_like(found) * 1.0
    return function(*arrays, **options, out=out), out


@helper
def at(ufunc, x, places, *operand):
    x = np.copy(x)
    ufunc.at(x, places, *operand)
    return x


@helper
def changed(change, x):
    x = np.copy(x)
    change(x)
    return x


@helper
def hermitian(s):
    return (s + np.conj(np.swapaxes(s, -1, -2))) / 2


@helper
def definite(s):
    return s @ np.conj(np.swapaxes(s, -1, -2)) + np.eye(s.shape[-1])


@helper
def regular(s):
    return s + 3 * np.eye(s.shape[-1])


@helper
def positive(a):
    return np.exp(0.3 * a)


def expanded(text, rng):
    """A call with some of its options. Of `call; options`: {name} stands for a value, `name=values` has values' own."""
    call, _, options = text.partition(";")
    while found := re.search(r"\{(\w+)\}", call):
        call = call.replace(found[0], str(rng.choice(VALUES[found[1]].split())), 1)
    chosen = []
    for option in options.split():
        name, _, values = option.partition("=")
        if rng.random() < 0.5:
            chosen.append(f"{name}={rng.choice(VALUES[values or name].split())}")
    call = call.strip()
    if chosen:
        call = f"{call[:-1]}{'' if call.endswith('()') else ', '}{', '.join(chosen)})"
    return call


def shapes(rng):
    """The shape of each array that a call may name."""
    lengths = (1, 2, 3, 4, 5) if rng.random() > 0.12 else (0, 1, 2)
    n, k = int(rng.choice(lengths)), int(rng.choice(lengths))
    a = tuple([int(rng.choice(lengths)) for _ in range(int(rng.choice([0, 1, 1, 2, 2, 3])))])
    b = a[int(rng.integers(len(a) + 1)) :] if rng.random() < 0.5 else a
    return {
        "a": a, "b": tuple([1 if rng.random() < 0.15 else i for i in b]), "v": (n,), "u": (n,), "w": (k,), "m": (k, n),
        "o": (k, n), "s": (n, n), "t": (2, n, n), "z": (), "y": (), "l": (n + k + 3,), "c3": (3, 3, 2),
        "g2": (n, 3), "h2": (1, 3), "i2": (k, n, 3),
    }  # fmt: skip


def laid_out(x, layout):
    """The same numbers, in memory that is not contiguous."""
    if layout == "strided" and np.ndim(x):
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout == "reversed" and np.ndim(x):
        return np.flip(x, 0)[::-1]
    if layout == "turned" and np.ndim(x):
        return np.copy(np.swapaxes(x, 0, -1), order="C").swapaxes(0, -1)
    return x


def names_in(call):
    return {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}


def compiled(call, names, layout):
    """The call as a function of the arrays, which adoption can read."""
    lines = [f"    {name} = laid_out({name}, {layout!r})" for name in names if layout != "contiguous"]
    scope = {"np": np, "laid_out": laid_out, **HELPERS}
    exec("\n".join([f"def run({', '.join(names)}):", *lines, f"    return {call}"]), scope)
    return scope["run"]


def draw(rng, text=None):
    text = text or str(rng.choice(CALLS_WITH_OPTIONS))
    call = expanded(text, rng)
    kind, dtype = str(rng.choice(KINDS)), str(rng.choice(DTYPES))
    if kind == "infinite" and re.search(r"floor_divide|divmod|//", call):
        kind = "normal"  # quotients of infinities are those of the standard (docs/conformance.md)
    if "np.interp(" in call and "period=" in call and kind in ("grid", "zeros", "equal", "one tie"):
        kind = "normal"  # between equal knots that move the function is any of their values
    if kind == "infinite" and "definite(" in call:
        kind = "normal"  # a product of complex infinities is nan or not by the order in which parts are multiplied
    layout = str(rng.choice(["contiguous", "contiguous", "strided", "reversed", "turned"]))
    used = names_in(call)
    arrays, given = {}, shapes(rng)
    for name in sorted(used & set(given)):
        own_kind, own_dtype = (kind, dtype) if rng.random() < 0.7 else ("normal", str(rng.choice(DTYPES)))
        arrays[name] = array(rng, given[name], own_kind, own_dtype)

    run = compiled(call, tuple(arrays), layout)
    adopted = (
        rng.random() < 0.5 or "polynomial" in call or re.search("into|item|fromiter|vectorize|kaiser|as_strided", call)
    )
    what = f"{call} {layout}{' adopted' if adopted else ''}: " + ", ".join(
        [f"{name} = {a!r}" for name, a in arrays.items()]
    )
    narrow = any(a.dtype == np.float16 for a in arrays.values()) or "'f4'" in call
    return Spelling(
        what, ag.adopt(run) if adopted else run, run, tuple(arrays.values()), order=0 if narrow else 2, rtol=1e-5,
        anywhere=True, must_refuse=False, refusals=REFUSALS,
    )  # fmt: skip
