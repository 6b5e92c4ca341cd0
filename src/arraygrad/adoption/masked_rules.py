"""What numpy.ma computes where elements are masked, of recorded data and a mask.

May import: autograd.of_libraries, autograd.python_numbers, core.constructors, numpy.

See Note [Masked arrays] in masked_names.py, (2).
Each rule takes (data, mask, *arguments of the method) and gives the data of the result. It never computes with masked
elements: they are replaced before, so that nothing of them is in a derivative. Which elements of the result are masked
is numpy.ma's own answer.
"""

import numpy

from arraygrad.autograd.of_libraries import MASKED
from arraygrad.autograd.python_numbers import place
from arraygrad.core.constructors import asarray

__all__ = ["REDUCTIONS", "STRUCTURAL", "refused", "without"]

# Operations that move elements, and their masks with them.
STRUCTURAL = frozenset(
    """
    getitem reshape ravel flatten transpose T swapaxes squeeze take repeat diagonal copy concatenate stack hstack
    vstack column_stack expand_dims atleast_1d atleast_2d atleast_3d resize diag moveaxis astype
    """.split()
)


def refused(what):
    return TypeError(f"{place()}: {what} of recorded data. {MASKED}")


def without(data, mask, other=1):
    """The data with `other` in the places of masked elements, which are constants there."""
    return numpy.where(mask, other, data) if numpy.any(mask) else data


def _axes(axis, keepdims, **more):
    found = {"axis": axis, **more}
    if keepdims is not numpy._NoValue:
        found["keepdims"] = keepdims
    return found


def _count(mask, axis, keepdims, ddof=0):
    """How many elements are not masked; 1 where there are none, as the result is masked there."""
    count = numpy.sum(~mask, **_axes(axis, keepdims)) - ddof
    return numpy.where(count > 0, count, 1)


def _no_place(out):
    if out is not None and out is not numpy._NoValue:
        raise refused("out= of a masked array")


def _sum(data, mask, axis=None, dtype=None, out=None, keepdims=numpy._NoValue):
    _no_place(out)
    return numpy.sum(without(data, mask, 0), **_axes(axis, keepdims, dtype=dtype))


def _prod(data, mask, axis=None, dtype=None, out=None, keepdims=numpy._NoValue):
    _no_place(out)
    return numpy.prod(without(data, mask, 1), **_axes(axis, keepdims, dtype=dtype))


def _mean(data, mask, axis=None, dtype=None, out=None, keepdims=numpy._NoValue):
    total = _sum(data, mask, axis, dtype, out, keepdims)
    return total / _count(mask, axis, keepdims).astype(total.dtype)


def _var(data, mask, axis=None, dtype=None, out=None, ddof=0, keepdims=numpy._NoValue, mean=numpy._NoValue):
    _no_place(out)
    if mean is not numpy._NoValue or data.dtype.kind == "c":
        raise refused("var of a masked array")
    apart = without(data - _mean(data, mask, axis, dtype, None, True), mask, 0)
    total = numpy.sum(apart * apart, **_axes(axis, keepdims))
    return total / _count(mask, axis, keepdims, ddof).astype(total.dtype)


def _std(data, mask, *args, **kwargs):
    return numpy.sqrt(_var(data, mask, *args, **kwargs))


def _largest(data, mask, axis=None, out=None, fill_value=None, keepdims=numpy._NoValue):
    _no_place(out)
    return numpy.max(without(data, mask, -numpy.inf), **_axes(axis, keepdims))


def _smallest(data, mask, axis=None, out=None, fill_value=None, keepdims=numpy._NoValue):
    _no_place(out)
    return numpy.min(without(data, mask, numpy.inf), **_axes(axis, keepdims))


def _ptp(data, mask, axis=None, out=None, fill_value=None, keepdims=numpy._NoValue):
    return _largest(data, mask, axis, out, None, keepdims) - _smallest(data, mask, axis, out, None, keepdims)


def _cumsum(data, mask, axis=None, dtype=None, out=None):
    _no_place(out)
    return numpy.cumsum(without(data, mask, 0), axis=axis, dtype=dtype)


def _cumprod(data, mask, axis=None, dtype=None, out=None):
    _no_place(out)
    return numpy.cumprod(without(data, mask, 1), axis=axis, dtype=dtype)


def _median(data, mask, axis=None, out=None, overwrite_input=False, keepdims=False):
    _no_place(out)
    if (axis is not None and data.ndim > 1) or keepdims:
        raise refused("median along an axis of a masked array")
    return numpy.median(data[~mask])


def _average(data, mask, axis=None, weights=None, returned=False, keepdims=numpy._NoValue):
    if returned:
        raise refused("average with returned=True of a masked array")
    if weights is None:
        return _mean(data, mask, axis, None, None, keepdims)
    if numpy.shape(weights) != data.shape:
        if axis is None or numpy.ndim(weights) != 1:
            raise refused("average of a masked array")
        shape = [1] * data.ndim
        shape[axis] = -1
        weights = numpy.broadcast_to(numpy.reshape(weights, shape), data.shape)
    weights = without(asarray(weights), mask, 0)
    total = numpy.sum(weights, **_axes(axis, keepdims))
    return numpy.sum(without(data, mask, 0) * weights, **_axes(axis, keepdims)) / numpy.where(total == 0.0, 1.0, total)


def _anom(data, mask, axis=None, dtype=None):
    return data - (_mean(data, mask, None, dtype) if axis is None else _mean(data, mask, axis, dtype, None, True))


REDUCTIONS = {
    "sum": _sum, "prod": _prod, "product": _prod, "mean": _mean, "var": _var, "std": _std, "max": _largest,
    "min": _smallest, "ptp": _ptp, "cumsum": _cumsum, "cumprod": _cumprod,
    "median": _median, "average": _average, "anom": _anom, "anomalies": _anom, "amax": _largest, "amin": _smallest,
}  # fmt: skip
