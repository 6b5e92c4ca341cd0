"""numpy.einsum, pad, sinc and i0 on Tensors, with NumPy's signatures, and the ufuncs of scipy.special.

May import: core.containers, namespaces.bind, numpy_api.functions, ops, numpy. SciPy is an optional extra: it is looked
at only where somebody else has imported it, which whoever calls one of its ufuncs has.
"""

import functools
import string
import sys

import numpy

from arraygrad.core.containers import flatten
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor
from arraygrad.namespaces.bind import function_for
from arraygrad.numpy_api.functions import (
    OUT,
    F,
    as_plain,
    beside,
    host,
    implements,
    in_layout,
    refuse,
    tensor_of,
    tensors,
)
from arraygrad.ops import OPS
from arraygrad.ops._axes import no_truth_values
from arraygrad.ops._einsum import sums_over_ellipsis

__all__ = ["scipy_operations", "scipy_ufuncs", "scipys_dtype"]


@implements("einsum")
def _einsum(*operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    refuse("einsum", out=(out, OUT))
    if operands and not isinstance(operands[0], str):
        subscripts, operands = _interleaved(operands)
    else:
        subscripts, *operands = operands
    if "..." in subscripts and sums_over_ellipsis(subscripts, [numpy.ndim(operand) for operand in operands]):
        raise ValueError(
            f"numpy.einsum: {subscripts!r}: '...' stands for axes of an operand, and the result has no '...': "
            "to sum over these axes, give them letters, or call arraygrad.einsum"
        )
    if dtype is not None:
        operands = tensors(*operands)
        for operand in operands:
            if not numpy.can_cast(host(operand).dtype, dtype, casting):
                raise TypeError(
                    f"numpy.einsum: casting={casting!r} lets no operand of {operand.dtype} become one of {dtype}: cast "
                    "it with t.astype(dtype), or give another casting="
                )
        # One operand in its own dtype stays: the result may be a view of it, as without dtype=.
        operands = [operand if operand.dtype == dtype else operand.astype(dtype) for operand in operands]
    return F["einsum"](subscripts, *operands, optimize=optimize)


def _interleaved(arguments):
    """(subscripts, operands) of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    pairs, rest = arguments[: len(arguments) // 2 * 2], arguments[len(arguments) // 2 * 2 :]
    terms = [_term(labels) for labels in pairs[1::2]]
    result = "->" + _term(rest[0]) if rest else ""
    return ",".join(terms) + result, pairs[0::2]


def _term(labels):
    letters = string.ascii_uppercase + string.ascii_lowercase
    no_truth_values(labels)
    try:
        return "".join(["..." if label is Ellipsis else letters[label] for label in labels])
    except (TypeError, IndexError):
        raise ValueError(
            f"numpy.einsum: expected a list of labels, ints from 0 to {len(letters) - 1} or Ellipsis, after each "
            f"operand, got {labels!r}"
        ) from None


# Options of each mode of numpy.pad that arraygrad.pad does not have.
_PAD_OPTIONS = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}


@implements("pad")
def _pad(array, pad_width, mode="constant", **kwargs):
    array = tensor_of(array)
    if callable(mode):
        raise TypeError(
            "numpy.pad: a function as mode writes into a plain array, which is not recorded: compose the padding with "
            "numpy.concatenate"
        )
    widths = pad_width.values() if isinstance(pad_width, dict) else [pad_width]
    if any(numpy.asarray(host(width)).dtype.kind not in "iu" for width in widths):
        raise TypeError("`pad_width` must be of integral type.")
    unknown = kwargs.keys() - set(_PAD_OPTIONS.get(mode, ()))
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    odd = kwargs.pop("reflect_type", "even") == "odd"
    if mode == "empty":  # its elements are undefined, so they may be zero
        return F["pad"](array, pad_width, "constant")
    if not odd and mode not in ("linear_ramp", "maximum", "mean", "median", "minimum"):
        return F["pad"](array, pad_width, mode, **kwargs)
    given, raw = array, raw_array(array)
    (option,) = _PAD_OPTIONS[mode]
    ends = flatten(kwargs.get(option))[0]
    if any(isinstance(value, Tensor) and value.requires_grad for value in ends):
        raise TypeError(f"numpy.pad: {option}= requires grad, which is not recorded: give {option}.detach()")
    options = {key: _pairs(host(value), array.ndim) for key, value in kwargs.items() if value is not None}
    for axis, (before, after) in enumerate(_pairs(pad_width, array.ndim).astype(int).tolist()):
        if before or after:
            own = {key: tuple(pairs[axis].tolist()) for key, pairs in options.items()}
            array = _pad_axis(array, axis, before, after, mode, own, odd)
    if not isinstance(raw, numpy.ndarray):
        return array
    array = as_plain(numpy.pad, array, given, pad_width, mode, **kwargs, **({"reflect_type": "odd"} if odd else {}))
    return in_layout(array, numpy.empty(array.shape, bool, order="F" if raw.flags.fnc else "C"))  # as NumPy makes it


def _pairs(values, ndim):
    if isinstance(values, dict):
        given, values = values, numpy.zeros((ndim, 2), dtype=int)
        for axis, pair in given.items():
            values[axis] = pair
    return numpy.broadcast_to(numpy.asarray(values), (ndim, 2))


def _pad_axis(x, axis, before, after, mode, options, odd):
    n = x.shape[axis]
    rows = F["moveaxis"](x, axis, 0)
    if mode in ("maximum", "minimum", "median"):
        lengths = options.get("stat_length", (n, n))
        low = _statistic(mode, rows[: min(lengths[0], n)])
        high = _statistic(mode, rows[n - min(lengths[1], n) :])
        ends = [low.repeat(before, axis=0), high.repeat(after, axis=0)]
    else:
        # What is added is linear in the elements of the axis: NumPy says how, padding the unit vectors and zero.
        given = {**options, "reflect_type": "odd"} if odd else options
        widths = ((before, after), (0, 0))
        zero = numpy.pad(numpy.zeros((n, 1)), widths, mode, **_spread(given))
        unit = numpy.pad(numpy.eye(n), widths, mode, **_spread(given)) - zero
        flat = rows.reshape((n, -1))
        ends = [
            (beside(unit[part].astype(host(x).dtype), x) @ flat + beside(zero[part], x).astype(x.dtype)).reshape(
                (-1, *rows.shape[1:])
            )
            for part in (slice(0, before), slice(before + n, None))
        ]
    return F["moveaxis"](F["concat"]([ends[0], rows, ends[1]], axis=0), 0, axis)


def _spread(options):
    """Options of one axis for a matrix that is padded along its first."""
    return {key: (value, (1, 1)) if isinstance(value, tuple) else value for key, value in options.items()}


def _statistic(mode, rows):
    if mode == "median":
        return numpy.median(rows, axis=0, keepdims=True)
    return rows.max(axis=0, keepdims=True) if mode == "maximum" else rows.min(axis=0, keepdims=True)


@implements("sinc")
def _sinc(x):
    return F["sinc"](tensor_of(x))


@implements("i0")
def _i0(x):
    x = tensor_of(x)
    if str(x.dtype) == "float128":  # for which SciPy has no loop
        return as_plain(numpy.i0, F["i0"](x.astype(numpy.float64)).astype(x.dtype), x)
    return as_plain(numpy.i0, F["i0"](x), x)


# Ufuncs behind functions of scipy.special that are none themselves -> operation.
_BEHIND = {"_zeta": "zeta", "_riemann_zeta": "zeta"}


def scipy_operations():
    """dict ufunc of scipy.special -> operation; empty where nobody has imported scipy.special."""
    module = sys.modules.get("scipy.special")
    if module is None:
        return {}
    ufuncs = sys.modules.get("scipy.special._ufuncs")
    found = {getattr(module, name, None): op for name, op in OPS.items()}
    found |= {getattr(ufuncs, private, None): OPS[name] for private, name in _BEHIND.items()}
    return {ufunc: op for ufunc, op in found.items() if isinstance(ufunc, numpy.ufunc)}


def scipy_ufuncs():
    """dict ufunc of scipy.special -> function of Tensors; empty where nobody has imported scipy.special."""
    found = {ufunc: function_for(op, "arraygrad.special") for ufunc, op in scipy_operations().items()}
    return {u: function if u.nin == 1 else _in_scipys_precision(u, function) for u, function in found.items()}


def _in_scipys_precision(ufunc, function):
    """`function` in the precision in which SciPy's computes: beside a number a float32 array is one of float64 to some.

    Those of `arraygrad.special` keep the precision of the arrays.
    """

    @functools.wraps(function)
    def call(*args):
        singles = [isinstance(a, Tensor) and _is_single(raw_array(a)) for a in args]
        if any(singles) and not all(singles) and scipys_dtype(ufunc, args) == numpy.float64:
            args = [a.astype(numpy.float64) if single else a for a, single in zip(args, singles, strict=True)]
        return function(*args)

    return call


def _is_single(raw):
    return isinstance(raw, numpy.ndarray) and raw.dtype == numpy.float32


def scipys_dtype(ufunc, args):
    """The dtype of SciPy's result for such arguments, None where it has none."""
    return _scipys_dtype(ufunc, tuple([_kind(a) for a in args]))


@functools.cache
def _scipys_dtype(ufunc, kinds):
    try:
        return ufunc(*[numpy.ones(0, k) if isinstance(k, numpy.dtype) else k(1) for k in kinds]).dtype
    except (TypeError, ValueError):
        return None


def _kind(a):
    """What of an argument decides on a result's dtype: its own, or its class where it is Python's."""
    if isinstance(a, list | tuple):
        a = host(a)
    if isinstance(a, numpy.generic):
        return type(a)  # a scalar, as some functions ask for
    return getattr(raw_array(a) if isinstance(a, Tensor) else a, "dtype", None) or type(a)
