"""Writes docs/numpy-coverage.md: what becomes of every public function of NumPy that is called with a Tensor.

May import: numpy_api.constants, numpy_api.functions, numpy_api.gathered, numpy_api.handlers, adoption.numpy_names,
ops, numpy.

The names are those of the NumPy that the page was written with, which it states; with another minor version of NumPy
the page is left as it is, and not checked.
"""

import re

import numpy

from arraygrad.adoption.numpy_names import CREATION
from arraygrad.numpy_api.constants import CONSTANT
from arraygrad.numpy_api.gathered import FUNCTIONS
from arraygrad.numpy_api.handlers import ufuncs
from arraygrad.ops import OPS

__all__ = ["coverage", "coverage_page"]

HEADER = """\
# NumPy's functions on Tensors

What becomes of a call with a Tensor, for every public function and ufunc of NumPy {version} (`numpy`, `numpy.linalg`,
`numpy.fft`). This page is generated (`python -m arraygrad.tools.generate`) from what is registered.

- **recorded**: the result is a Tensor that gradients flow through.
- **constant**: the result has no derivative (integers, booleans, shapes, text), or one that is zero wherever it exists.
- **adopted**: its result is recordable in a function that a transform differentiates, or `ag.adopt(f)` calls. NumPy has
  no protocol for it, as it takes no array or converts whatever it is given. So step by step, and with `adopt=False`, it
  makes a plain array, and refuses a Tensor that requires grad.
- **writes**: writes into its argument, which has to be a Tensor, in place; recorded.
- **no array**: takes no array, or only asks something of its argument; works as it does without arraygrad.
- **refused**: TypeError with the way out; the reason is given.

All of a function's parameters are NumPy's, by position and by keyword, with NumPy's errors for what they can't be.
These are refused, with the way out: modes of `linalg.qr` other than `reduced`, `complete` and `r`,
`out` by position, and an argument that requires grad where the function has no derivative in it (indices, `where=`).

`axis=` is counted as NumPy counts it: by each array's own number of dimensions in `vecdot`, `cross` and products with
`axes=`, by the first array's in `take`, weights and `where=`, by the result's in `stack` and `linspace`. A quantile has
a derivative by `q`: between two elements their difference times the slope of the rank, at an element the mean of both
sides; methods that are steps have zero. The edges of bins of one width move with the ends of `range=`, or without it
with the extrema of the data, in `histogram2d` and `histogramdd` too.

`out=` takes Tensors, and is refused for plain arrays, whose memory holds no gradient. A list of Tensors is served by
functions that take several arrays (`concatenate`, `stack`, `block`, ...), and by those that give truth values or whole
numbers alone (`isnan`, `less`, `argmax`, `allclose`). In a function that a transform differentiates they all take
one. Elsewhere NumPy sees only the list, and refuses Tensors in it that require grad: make it one Tensor first,
`arraygrad.asarray([...])`.
`array`, `asarray`, `asanyarray`, `ascontiguousarray` and `asfortranarray` of `arraygrad.numpy` keep the graph, of lists
that hold Tensors too; so do NumPy's own with a Tensor as `like=`.
The methods of NumPy's ufuncs (`numpy.add.reduce`, `accumulate`, `reduceat`, `outer`, `at`) are recorded for every
ufunc of two operands with one result; `where=`, `dtype=`, `initial=` and `keepdims=` are served, `casting=` and
`signature=` are refused.
"""

# Served, without a derivative.
_CONSTANT = frozenset(CONSTANT) | frozenset(
    """
    all allclose any argmax argmin argpartition argsort array2string array_equal array_repr array_str bitwise_count
    around can_cast count_nonzero digitize empty_like fix flatnonzero gcd isclose iscomplexobj isfortran isrealobj lcm
    may_share_memory nanargmax nanargmin ndim nonzero ones_like result_type rint round searchsorted shape shares_memory
    size spacing zeros_like linalg.matrix_rank
""".split()
)
_WRITES = frozenset("copyto fill_diagonal place put put_along_axis putmask".split())

_NO_ARRAY = ""
_FILES = "reads or writes files or bytes: give it t.numpy()"
_TEXT = "makes text of one number: give it t.item()"
_DATES = "works on dates, which have no derivative"
_CLASS = "returns a class of its own that is no plain array"
# Why what is not served is not.
_REFUSED = {
    "asmatrix": _CLASS, "bmat": _CLASS,
    "base_repr": _TEXT, "binary_repr": _TEXT, "format_float_positional": _TEXT, "format_float_scientific": _TEXT,
    "broadcast_shapes": _NO_ARRAY, "diag_indices": _NO_ARRAY, "indices": _NO_ARRAY, "mask_indices": _NO_ARRAY,
    "tril_indices": _NO_ARRAY, "triu_indices": _NO_ARRAY, "fftfreq": _NO_ARRAY, "rfftfreq": _NO_ARRAY,
    "frompyfunc": _NO_ARRAY,
    "isdtype": _NO_ARRAY, "issubdtype": _NO_ARRAY, "promote_types": _NO_ARRAY, "mintypecode": _NO_ARRAY,
    "typename": _NO_ARRAY, "isscalar": _NO_ARRAY, "iterable": _NO_ARRAY,
    "busday_offset": _DATES, "datetime_as_string": _DATES, "datetime_data": _DATES, "is_busday": _DATES,
    "isnat": _DATES, "busday_count": _DATES,
    "from_dlpack": "hands out the bare memory: use arraygrad.from_dlpack",
    "frombuffer": "gives an array over the buffer's memory: numpy.array(...) of it makes one of its own",
    "nested_iters": "iterates over bare memory: iterate over the Tensor",
    "savez": _FILES, "savez_compressed": _FILES, "save": _FILES, "savetxt": _FILES, "fromfile": _FILES,
    "fromregex": _FILES, "fromstring": _FILES, "genfromtxt": _FILES,
}  # fmt: skip

# Public names that are about NumPy itself.
_NOT_NUMERICAL = frozenset(
    """
    get_include get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions setbufsize seterr
    seterrcall show_config show_runtime test errstate
""".split()
)


def coverage():
    """dict module name -> list of (function name, status, reason or "")."""
    return {
        "numpy": _rows(numpy, ""),
        "numpy.linalg": _rows(numpy.linalg, "linalg."),
        "numpy.fft": _rows(numpy.fft, "fft."),
    }


def _rows(module, prefix):
    rows = []
    for name in sorted(module.__all__ if hasattr(module, "__all__") else dir(module)):
        value = getattr(module, name)
        if name.startswith("_") or not callable(value) or name in _NOT_NUMERICAL:
            continue
        if isinstance(value, type) and value is not numpy.vectorize:
            continue
        rows.append((name, *_status(value, prefix + name)))
    return rows


def _status(value, name):
    plain = name.rpartition(".")[2]
    served = ufuncs().get(value) if isinstance(value, numpy.ufunc) else FUNCTIONS.get(value)
    if value in CREATION and (value not in FUNCTIONS or plain in ("vectorize", "require", "asarray_chkfinite")):
        return "adopted", ""
    if plain in _REFUSED and name not in _WRITES:
        return ("refused", _REFUSED[plain]) if _REFUSED[plain] else ("no array", "")
    if plain in _WRITES:
        return "writes", ""
    if served is None:
        return "refused", "has no rule"
    if name in _CONSTANT or plain in _CONSTANT or _derivative(name, value) in ("none", "zero"):
        return "constant", ""
    return "recorded", ""


def _derivative(name, value):
    """The derivative of the table entry that serves a ufunc, None for anything else."""
    if not isinstance(value, numpy.ufunc):
        return None
    found = [op.derivative for op in OPS.values() if any(getattr(numpy, n, None) is value for n in op.entry.numpy)]
    return found[0] if found else None


def coverage_page(old):
    """The text of docs/numpy-coverage.md; `old`, what stands there, if it is of another minor version of NumPy."""
    version = ".".join(numpy.__version__.split(".")[:2])
    stated = re.search(r"ufunc of NumPy (\d+\.\d+)", old)
    if stated is not None and stated.group(1) != version:
        return old
    parts = [HEADER.format(version=version)]
    for module, rows in coverage().items():
        counts = {}
        for _, status, _ in rows:
            counts[status] = counts.get(status, 0) + 1
        told = ", ".join([f"{n} {status}" for status, n in sorted(counts.items(), key=lambda item: -item[1])])
        parts += [
            f"## {module}\n",
            f"{len(rows)} functions: {told}.\n",
            "| function | what becomes of it |",
            "|---|---|",
        ]
        parts += [f"| `{name}` | {status}{': ' + reason if reason else ''} |" for name, status, reason in rows]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"
