"""NumPy's reductions and scans on Tensors, with NumPy's signatures.

May import: numpy_api.functions, core.exposed_memory, core.tensor, ops._axes, numpy.
"""

import math
import operator

import numpy

from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.functions import (
    OUT,
    F,
    as_plain,
    axes_of,
    beside,
    host,
    implements,
    refuse,
    tensor_of,
    tensors,
    with_bits,
)
from arraygrad.ops._axes import not_enlarged

__all__ = ["begun", "keep", "masked", "of_none", "root"]

_NoValue = numpy._NoValue


def keep(keepdims):
    """keepdims= as a truth value. TypeError, as NumPy's, for what is no whole number."""
    return keepdims is not _NoValue and bool(operator.index(keepdims))


def masked(name, a, where, neutral):
    """`a` with the neutral element wherever `where` is false: what is not chosen has no part in the derivative.

    Raises NumPy's errors: a mask must broadcast to the array's shape, and not enlarge it.
    """
    if where is True or where is _NoValue:
        return tensor_of(a)
    if neutral is _NoValue or neutral is None:
        raise ValueError(f"numpy.{name}: where= needs initial=, as the reduction has no neutral element")
    a, where = tensors(a, where)
    not_enlarged(f"numpy.{name}", "where=", a.shape, where.shape)
    return F["where"](where, a, _in_dtype_of(a, neutral))


def _in_dtype_of(a, value):
    """A beginning of a reduction in the dtype in which it computes, whatever the number's own is."""
    return tensors(value, a)[0].astype(a.dtype)


def _check_number(name, initial):
    if getattr(initial, "ndim", 0) or isinstance(initial, list | tuple):
        raise ValueError(f"numpy.{name}: initial= must be a number, got {type(initial).__name__} with axes")


def begun(name, function, result, initial):
    """The reduction's result together with `initial`, a number, in the result's dtype."""
    if initial is _NoValue or initial is None:
        return result
    _check_number(name, initial)
    return function(result, _in_dtype_of(result, initial))


def _as_numpys(ufunc, found, arguments):
    """A sum or product with `where` or `initial`, with the bits of NumPy's, which begins with the latter."""
    a, axis, dtype, keepdims, initial, where = arguments
    options = {} if where is True or where is _NoValue else {"where": host(where)}
    if initial is not _NoValue and initial is not None:
        options["initial"] = host(initial)
    if not options or type(raw_array(found)) is not numpy.ndarray:
        return found
    with numpy.errstate(all="ignore"):  # the composition has said it
        values = numpy.asarray(ufunc.reduce(host(tensor_of(a)), axis, dtype, None, keep(keepdims), **options))
    return with_bits(found, values) if values.dtype == found.dtype else found


def of_none(name, a, axis, keepdims, initial):
    """What the reduction of no elements is that has no neutral one: `initial`, in the result's place. None: there are
    some, or there is no `initial`."""
    if initial is _NoValue or initial is None or a.size:
        return None
    if all(a.shape[i] for i in (range(a.ndim) if axis is None else axes_of(axis, a.ndim))):
        return None
    _check_number(name, initial)
    zeros = a.sum(axis=axis, keepdims=keepdims).astype(a.dtype)
    return F["where"](F["ones_like"](zeros.detach()) == 1, tensors(initial, zeros)[0].astype(zeros.dtype), zeros)


@implements("sum")
def _sum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("sum", out=(out, OUT))
    result = masked("sum", a, where, 0).sum(axis=axis, dtype=dtype, keepdims=keep(keepdims))
    return _as_numpys(numpy.add, begun("sum", F["add"], result, initial), (a, axis, dtype, keepdims, initial, where))


@implements("prod")
def _prod(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("prod", out=(out, OUT))
    result = masked("prod", a, where, 1).prod(axis=axis, dtype=dtype, keepdims=keep(keepdims))
    return _as_numpys(
        numpy.multiply, begun("prod", F["multiply"], result, initial), (a, axis, dtype, keepdims, initial, where)
    )


def _is_whole(dtype):
    """Whether a mean or a variance is to be one of integers: NumPy's value, which has no derivative."""
    return dtype is not None and numpy.dtype(dtype).kind in "iub"


def _chosen(where):
    return True if where is _NoValue else host(where)


@implements("mean")
def _mean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("mean", out=(out, OUT))
    if _is_whole(dtype):
        return beside(numpy.mean(host(a), axis, dtype, None, keep(keepdims), where=_chosen(where)), tensor_of(a))
    if where is True or where is _NoValue:
        a = tensor_of(a)
        integral = dtype is None and backend_of(a).xp.isdtype(a.dtype, ("integral", "bool"))
        return (a.astype(numpy.float64) if integral else a).mean(axis=axis, dtype=dtype, keepdims=keep(keepdims))
    total = masked("mean", a, where, 0).sum(axis=axis, dtype=dtype, keepdims=keep(keepdims))
    mean = total / _counted(a, where, axis, keep(keepdims)).astype(total.dtype)
    return as_plain(numpy.mean, mean, a, axis, dtype, None, keepdims, where=where)


@implements("max", "amax")
def _max(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("max", out=(out, OUT))
    a = masked("max", a, where, initial)
    alone = of_none("max", a, axis, keep(keepdims), initial)
    return begun("max", F["maximum"], a.max(axis=axis, keepdims=keep(keepdims)), initial) if alone is None else alone


@implements("min", "amin")
def _min(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("min", out=(out, OUT))
    a = masked("min", a, where, initial)
    alone = of_none("min", a, axis, keep(keepdims), initial)
    return begun("min", F["minimum"], a.min(axis=axis, keepdims=keep(keepdims)), initial) if alone is None else alone


@implements("ptp")
def _ptp(a, axis=None, out=None, keepdims=_NoValue):
    refuse("ptp", out=(out, OUT))
    a = tensor_of(a)
    return a.max(axis=axis, keepdims=keep(keepdims)) - a.min(axis=axis, keepdims=keep(keepdims))


def _counted(a, where, axis, keepdims):
    """How many elements along `axis` a mask chooses, in the dtype of `a`."""
    a, where = tensors(a, where)
    not_enlarged("numpy", "where=", a.shape, where.shape)
    ones = F["where"](where, F["ones_like"](a.detach()), 0.0)
    return ones.sum(axis=axis, keepdims=keepdims)


def _var(name, a, axis, dtype, ddof, keepdims, where, mean):
    """As NumPy's: `axis` is counted by the array where elements are counted, and by the deviations where these are
    summed, which a `mean` may give more axes ("raw")."""
    a, mean = (tensor_of(a), mean) if mean is _NoValue else tensors(a, mean)
    a = a if dtype is None else a.astype(dtype)
    if where is True or where is _NoValue:
        n = math.prod([a.shape[i] for i in (range(a.ndim) if axis is None else axes_of(axis, a.ndim))])
        total = a.sum(axis=axis, keepdims=True) if mean is _NoValue else None
    else:
        chosen = masked(name, a, where, 0)
        n = _counted(a, where, axis, keepdims)
        total = chosen.sum(axis=axis, keepdims=True) if mean is _NoValue else None
    if mean is _NoValue:
        mean = total / (n if isinstance(n, int) else _counted(a, where, axis, True))
    squares = _squares(a - mean, _is_complex(a))
    squares = masked(name, squares, where, 0).sum(axis=axis, keepdims=keepdims)
    left = (n if isinstance(n, int) else F["real"](n * 1.0)) - ddof
    if isinstance(n, int) and not isinstance(ddof, Tensor):
        left = max(left, 0)
        return squares / left if left else squares / beside(numpy.zeros((), host(F["real"](squares)).dtype), squares)
    return squares / F["maximum"](left, 0.0)


def _squares(away, conjugated):
    """Squares of deviations: of complex arrays their squared size, of real arrays and a complex mean no conjugate."""
    return F["real"](away * away.conj()) if conjugated else away * away


def _is_complex(a):
    return backend_of(a).xp.isdtype(a.dtype, "complex floating")


def _spread(name):
    def spread(
        a,
        axis=None,
        dtype=None,
        out=None,
        ddof=0,
        keepdims=_NoValue,
        *,
        where=_NoValue,
        mean=_NoValue,
        correction=_NoValue,
    ):
        refuse(name, out=(out, OUT))
        if correction is not _NoValue:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        if _is_whole(dtype):
            given = {} if mean is _NoValue else {"mean": host(mean)}
            given = {"ddof": ddof, "keepdims": keep(keepdims), "where": _chosen(where), **given}
            return beside(getattr(numpy, name)(host(a), axis, dtype, **given), tensor_of(a))
        if (where is True or where is _NoValue) and mean is _NoValue and (dtype is None or not _is_numpys(a)):
            return getattr(tensor_of(a), name)(axis=axis, dtype=dtype, ddof=ddof, keepdims=keep(keepdims))
        found = _var(name, a, axis, dtype, ddof, keep(keepdims), where, mean)
        found = found if name == "var" else root(found)
        given = {key: value for key, value in (("where", where), ("mean", mean)) if value is not _NoValue}
        return as_plain(getattr(numpy, name), found, a, axis, dtype, None, ddof, keepdims, **given)

    return spread


def _is_numpys(a):
    return isinstance(raw_array(tensor_of(a)), numpy.ndarray)


def root(squares):
    """The square root, with a zero derivative where it is zero, as that of `std`."""
    flat = squares == 0
    return F["where"](flat, 0.0, F["sqrt"](F["where"](flat, 1.0, squares)))


implements("var")(_spread("var"))
implements("std")(_spread("std"))


@implements("average")
def _average(a, axis=None, weights=None, returned=False, *, keepdims=_NoValue):
    a = tensor_of(a) if weights is None else tensors(a, weights)[0]
    axis = None if axis is None else axes_of(axis, a.ndim)
    if weights is None:
        mean = a.mean(axis=axis, keepdims=keep(keepdims))
        count = a.size / mean.size  # no mean at all is NumPy's ZeroDivisionError
        total = F["full_like"](mean.detach(), count)
    else:
        weights = _along(tensors(weights, a)[0], a.shape, axis)
        products = a * weights
        total = weights.astype(products.dtype).sum(axis=axis, keepdims=keep(keepdims))
        if not host(total).all():
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = products.sum(axis=axis, keepdims=keep(keepdims)) / total
        total = F["broadcast_to"](total, mean.shape) if returned and total.shape != mean.shape else total
    return (mean, total) if returned else mean


def _along(weights, shape, axes):
    """Weights of an average in its `shape`: as they are, or those of its `axes`. Raises NumPy's errors for others."""
    if weights.shape == shape:
        return weights
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if weights.shape != tuple([shape[i] for i in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    weights = weights.transpose(numpy.argsort(axes).tolist())
    return weights.reshape([n if i in axes else 1 for i, n in enumerate(shape)])


@implements("any")
def _any(a, axis=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("any", out=(out, OUT))
    if where is not True and where is not _NoValue:
        a, where = tensors(a, where)
        not_enlarged("numpy.any", "where=", a.shape, where.shape)
        a = F["where"](where, a != 0, False)
    return tensor_of(a).any(axis=axis, keepdims=keep(keepdims))


@implements("all")
def _all(a, axis=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("all", out=(out, OUT))
    if where is not True and where is not _NoValue:
        a, where = tensors(a, where)
        not_enlarged("numpy.all", "where=", a.shape, where.shape)
        a = F["where"](where, a != 0, True)
    return tensor_of(a).all(axis=axis, keepdims=keep(keepdims))


@implements("argmax")
def _argmax(a, axis=None, out=None, *, keepdims=_NoValue):
    refuse("argmax", out=(out, OUT))
    return tensor_of(a).argmax(axis=axis, keepdims=keep(keepdims))


@implements("argmin")
def _argmin(a, axis=None, out=None, *, keepdims=_NoValue):
    refuse("argmin", out=(out, OUT))
    return tensor_of(a).argmin(axis=axis, keepdims=keep(keepdims))


@implements("count_nonzero")
def _count_nonzero(a, axis=None, *, keepdims=False):
    return F["count_nonzero"](tensor_of(a), axis=axis, keepdims=keepdims)


@implements("cumsum")
def _cumsum(a, axis=None, dtype=None, out=None):
    refuse("cumsum", out=(out, OUT))
    return tensor_of(a).cumsum(axis=_one(axis), dtype=dtype)


@implements("cumprod")
def _cumprod(a, axis=None, dtype=None, out=None):
    refuse("cumprod", out=(out, OUT))
    return tensor_of(a).cumprod(axis=_one(axis), dtype=dtype)


def _one(axis):
    if isinstance(axis, bool | numpy.bool):
        raise TypeError("an integer is required for the axis")
    return None if axis is None else operator.index(axis)


@implements("median", values=True)
def _median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    refuse("median", out=(out, OUT))
    a = tensor_of(a)
    shape = a.shape
    axes = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in axes]
    n = math.prod([shape[i] for i in axes])
    rows = a.transpose((*kept, *axes)).reshape([shape[i] for i in kept] + [n])
    if n == 0:
        return rows.mean(axis=-1) if not keepdims else a.mean(axis=axes, keepdims=True)
    ordered = F["sort"](rows, axis=-1)
    middle = ordered[..., (n - 1) // 2 : n // 2 + 1].mean(axis=-1)  # as NumPy, also of zeros of one sign
    # A NaN sorts to the end, and makes the median NaN in numpy.
    last = ordered[..., -1]
    middle = F["where"](F["isnan"](last), last, middle)
    return middle.reshape([1 if i in axes else n for i, n in enumerate(shape)]) if keepdims else middle
