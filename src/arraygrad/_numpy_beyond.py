"""numpy.einsum, pad, sinc and i0 on Tensors, with NumPy's signatures, and the ufuncs of scipy.special.

May import: _bind, _numpy_functions, ops, numpy. SciPy is an optional extra: it is looked at only where somebody else
has imported it, which whoever calls one of its ufuncs has.
"""

import string
import sys

import numpy

from arraygrad._bind import function_for
from arraygrad._numpy_functions import OUT, F, implements, refuse, tensor_of
from arraygrad.ops import OPS

__all__ = ["scipy_ufuncs"]


@implements("einsum")
def _einsum(*operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    refuse("einsum", out=(out, OUT), dtype=(dtype, "cast the operands with t.astype(dtype)"))
    if operands and not isinstance(operands[0], str):
        subscripts, operands = _interleaved(operands)
    else:
        subscripts, *operands = operands
    return F["einsum"](subscripts, *operands, optimize=optimize)


def _interleaved(arguments):
    """(subscripts, operands) of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    pairs, rest = arguments[: len(arguments) // 2 * 2], arguments[len(arguments) // 2 * 2 :]
    terms = [_term(labels) for labels in pairs[1::2]]
    result = "->" + _term(rest[0]) if rest else ""
    return ",".join(terms) + result, pairs[0::2]


def _term(labels):
    letters = string.ascii_uppercase + string.ascii_lowercase
    try:
        return "".join(["..." if label is Ellipsis else letters[label] for label in labels])
    except (TypeError, IndexError):
        raise ValueError(
            f"numpy.einsum: expected a list of labels, ints from 0 to {len(letters) - 1} or Ellipsis, after each "
            f"operand, got {labels!r}"
        ) from None


@implements("pad")
def _pad(array, pad_width, mode="constant", **kwargs):
    if kwargs.pop("reflect_type", "even") != "even":
        raise TypeError("numpy.pad: reflect_type='odd' is not supported for Tensors: take 'even'")
    unknown = kwargs.keys() - {"constant_values"}
    if unknown:
        raise TypeError(f"numpy.pad: {', '.join(sorted(unknown))}= is not supported for Tensors: leave it out")
    return F["pad"](tensor_of(array), pad_width, mode, **kwargs)


@implements("sinc")
def _sinc(x):
    return F["sinc"](tensor_of(x))


@implements("i0")
def _i0(x):
    return F["i0"](tensor_of(x))


# Ufuncs behind functions of scipy.special that are none themselves -> operation.
_BEHIND = {"_zeta": "zeta", "_riemann_zeta": "zeta"}


def scipy_ufuncs():
    """dict ufunc of scipy.special -> function of Tensors; empty where nobody has imported scipy.special."""
    module = sys.modules.get("scipy.special")
    if module is None:
        return {}
    found = {}
    for name, op in OPS.items():
        ufunc = getattr(module, name, None)
        if isinstance(ufunc, numpy.ufunc):
            found[ufunc] = function_for(op, "arraygrad.special")
    ufuncs = sys.modules.get("scipy.special._ufuncs")
    for private, name in _BEHIND.items():
        ufunc = getattr(ufuncs, private, None)
        if isinstance(ufunc, numpy.ufunc):
            found[ufunc] = function_for(OPS[name], "arraygrad.special")
    return found
