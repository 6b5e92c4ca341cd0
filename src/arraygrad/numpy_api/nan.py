"""NumPy's reductions that leave out NaN, on Tensors, with NumPy's signatures.

May import: numpy_api.functions, numpy_api.reductions, core.tensor, ops._axes, numpy. A NaN is replaced before the
reduction, so its derivative is zero, and no NaN comes out of the derivatives of the other elements. (nanmedian,
nanpercentile and nanquantile: `numpy_api.statistics`.)
"""

import warnings

import numpy

from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.functions import OUT, F, as_plain, beside, host, implements, refuse, tensor_of, tensors
from arraygrad.numpy_api.reductions import begun, keep, masked, of_none, root
from arraygrad.ops._axes import not_enlarged

__all__: list[str] = []

_NoValue = numpy._NoValue


def _split(a):
    """(a with zeros for its NaN, mask of what is no NaN)."""
    a = tensor_of(a)
    if backend_of(a).xp.isdtype(a.dtype, ("integral", "bool")):
        return a, F["ones_like"](a) == 1
    numbers = F["logical_not"](F["isnan"](a))
    return F["where"](numbers, a, F["zeros_like"](a.detach())), numbers


def _filled(a, value):
    a, numbers = _split(a)
    return F["where"](numbers, a, F["zeros_like"](a.detach()) + value)


@implements("nansum", values=True)
def _nansum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("nansum", out=(out, OUT))
    a = masked("nansum", _split(a)[0], where, 0)
    return begun("nansum", F["add"], a.sum(axis=axis, dtype=dtype, keepdims=keep(keepdims)), initial)


@implements("nanprod", values=True)
def _nanprod(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("nanprod", out=(out, OUT))
    a = masked("nanprod", _filled(a, 1), where, 1)
    return begun("nanprod", F["multiply"], a.prod(axis=axis, dtype=dtype, keepdims=keep(keepdims)), initial)


@implements("nancumsum")
def _nancumsum(a, axis=None, dtype=None, out=None):
    refuse("nancumsum", out=(out, OUT))
    return _split(a)[0].cumsum(axis=axis, dtype=dtype)


@implements("nancumprod")
def _nancumprod(a, axis=None, dtype=None, out=None):
    refuse("nancumprod", out=(out, OUT))
    return _filled(a, 1).cumprod(axis=axis, dtype=dtype)


def _count(numbers, like, axis, keepdims):
    ones = F["where"](numbers, F["ones_like"](like.detach()), 0)
    return ones.sum(axis=axis, keepdims=keepdims)


def _chosen(name, a, where):
    """(values with zeros in place of what is left out, mask of what is not)."""
    values, numbers = _split(a)
    if where is not True and where is not _NoValue:
        where = tensors(where, values)[0]
        not_enlarged(f"numpy.{name}", "where=", values.shape, where.shape)
        numbers = numbers & where
        values = F["where"](numbers, values, F["zeros_like"](values.detach()))
    return values, numbers


def _check_dtype(a, dtype):
    """NumPy's error for integers of what is no integer."""
    if dtype is not None and numpy.dtype(dtype).kind not in "fc" and host(a).dtype.kind in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")


@implements("nanmean")
def _nanmean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("nanmean", out=(out, OUT))
    _check_dtype(a, dtype)
    values, numbers = _chosen("nanmean", a, where)
    values = values if dtype is None else values.astype(dtype)
    count = _count(numbers, values, axis, keep(keepdims))
    total = values.sum(axis=axis, keepdims=keep(keepdims))
    mean = F["where"](count == 0, numpy.nan, total / F["where"](count == 0, 1, count))
    if not host(count).all():
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=3)
        return mean
    return as_plain(numpy.nanmean, mean, a, axis, dtype, None, keepdims, where=where)


def _nanspread(name):
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
        _check_dtype(a, dtype)
        values, numbers = _chosen(name, tensors(a, mean)[0] if isinstance(mean, Tensor) else a, where)
        values = values if dtype is None else values.astype(dtype)
        whole, mean_given = _count(numbers, values, axis, True), mean
        if mean is _NoValue:
            mean = values.sum(axis=axis, keepdims=True) / F["where"](whole == 0, 1, whole)
        else:
            mean = _fitting_mean(name, tensors(mean, values)[0], values)
        away = F["where"](numbers, values - mean, F["zeros_like"](values.detach()))
        complex_ = backend_of(away).xp.isdtype(away.dtype, "complex floating")
        squares = F["real"](away * away.conj()) if complex_ else away * away
        left = F["real"](_count(numbers, values, axis, keep(keepdims)) * 1.0) - ddof
        total = squares.sum(axis=axis, keepdims=keep(keepdims))
        total = total / F["where"](left <= 0, 1.0, left)
        result = F["where"](left <= 0, numpy.nan, total if name == "nanvar" else root(total))
        result = result.astype(dtype) if dtype is not None and numpy.dtype(dtype).kind == "c" else result
        if not (host(left) > 0).all():
            warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
            return result
        given = {} if mean_given is _NoValue else {"mean": mean_given}
        return as_plain(getattr(numpy, name), result, a, axis, dtype, None, ddof, keepdims, where=where, **given)

    return spread


def _fitting_mean(name, mean, values):
    """A `mean` of the caller's in the shape and dtype of the array: NumPy writes the deviations into that."""
    xp = backend_of(values).xp
    if xp.isdtype(values.dtype, ("integral", "bool")):
        return mean  # of whole numbers, among which there is no nan, it takes numpy.var
    not_enlarged(f"numpy.{name}", "mean=", values.shape, mean.shape)
    if mean.dtype == values.dtype:
        return mean
    is_complex = xp.isdtype(values.dtype, "complex floating")
    return (mean if is_complex else F["real"](mean)).astype(values.dtype)


implements("nanvar")(_nanspread("nanvar"))
implements("nanstd")(_nanspread("nanstd"))


def _nanextremum(name, neutral):
    plain, join = name[3:], {"nanmax": "maximum", "nanmin": "minimum"}[name]

    def extremum(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
        refuse(name, out=(out, OUT))
        a = tensor_of(a)
        if backend_of(a).xp.isdtype(a.dtype, ("integral", "bool")):
            filled, numbers = a, F["ones_like"](a) == 1
        else:
            numbers = F["logical_not"](F["isnan"](a))
            filled = F["where"](numbers, a, neutral)
        filled = masked(name, filled, where, initial)
        alone = of_none(name, filled, axis, keep(keepdims), initial)
        if alone is not None:
            return alone
        result = getattr(filled, plain)(axis=axis, keepdims=keep(keepdims))
        if initial is not _NoValue and initial is not None:
            return begun(name, F[join], result, initial)  # of nan alone: `initial`, as NumPy has it
        some = numbers.any(axis=axis, keepdims=keep(keepdims))
        if not host(some).all():
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
            result = F["where"](some, result, numpy.nan)
        return result

    return extremum


implements("nanmax")(_nanextremum("nanmax", -numpy.inf))
implements("nanmin")(_nanextremum("nanmin", numpy.inf))


def _nanposition(name):
    def position(a, axis=None, out=None, *, keepdims=_NoValue):
        refuse(name, out=(out, OUT))
        a = tensor_of(a)
        return beside(getattr(numpy, name)(host(a), axis=axis, keepdims=keep(keepdims)), a)

    return position


implements("nanargmax")(_nanposition("nanargmax"))
implements("nanargmin")(_nanposition("nanargmin"))
