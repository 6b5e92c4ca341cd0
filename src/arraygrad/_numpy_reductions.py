"""NumPy's reductions and scans on Tensors, with NumPy's signatures.

May import: _numpy_functions, numpy.
"""

import numpy

from arraygrad._numpy_functions import OUT, F, axes_of, implements, refuse, tensor_of, tensors

__all__: list[str] = []

_WHERE = "choose first, with numpy.where(condition, x, neutral element)"
_INITIAL = "combine the result with it afterwards"
_NoValue = numpy._NoValue


def _keep(keepdims):
    return bool(keepdims) if keepdims is not _NoValue else False


@implements("sum")
def _sum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("sum", out=(out, OUT), initial=(initial, _INITIAL), where=(where, _WHERE))
    return tensor_of(a).sum(axis=axis, dtype=dtype, keepdims=_keep(keepdims))


@implements("prod")
def _prod(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("prod", out=(out, OUT), initial=(initial, _INITIAL), where=(where, _WHERE))
    return tensor_of(a).prod(axis=axis, dtype=dtype, keepdims=_keep(keepdims))


@implements("mean")
def _mean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("mean", out=(out, OUT), where=(where, _WHERE))
    return tensor_of(a).mean(axis=axis, dtype=dtype, keepdims=_keep(keepdims))


@implements("max", "amax")
def _max(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("max", out=(out, OUT), initial=(initial, _INITIAL), where=(where, _WHERE))
    return tensor_of(a).max(axis=axis, keepdims=_keep(keepdims))


@implements("min", "amin")
def _min(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    refuse("min", out=(out, OUT), initial=(initial, _INITIAL), where=(where, _WHERE))
    return tensor_of(a).min(axis=axis, keepdims=_keep(keepdims))


@implements("ptp")
def _ptp(a, axis=None, out=None, keepdims=_NoValue):
    refuse("ptp", out=(out, OUT))
    a = tensor_of(a)
    return a.max(axis=axis, keepdims=_keep(keepdims)) - a.min(axis=axis, keepdims=_keep(keepdims))


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
        refuse(name, out=(out, OUT), where=(where, _WHERE), mean=(mean, "it is computed again"))
        correction = None if correction is _NoValue else correction
        return getattr(tensor_of(a), name)(
            axis=axis, dtype=dtype, ddof=ddof, keepdims=_keep(keepdims), correction=correction
        )

    return spread


implements("var")(_spread("var"))
implements("std")(_spread("std"))


@implements("average")
def _average(a, axis=None, weights=None, returned=False, *, keepdims=_NoValue):
    if weights is None:
        a = tensor_of(a)
        mean = a.mean(axis=axis, keepdims=_keep(keepdims))
        total = mean * 0 + a.size / max(mean.size, 1)
    else:
        a, weights = tensors(a, weights)
        if weights.shape != a.shape:
            if weights.ndim != 1 or axis is None or weights.shape[0] != a.shape[axis]:
                raise TypeError(
                    f"numpy.average: weights of shape {weights.shape} fit neither a, {a.shape}, nor its axis {axis}"
                )
            weights = weights.reshape((-1,) + (1,) * (a.ndim - 1 - axis % a.ndim))
        total = (weights + a * 0).sum(axis=axis, keepdims=_keep(keepdims))
        mean = (a * weights).sum(axis=axis, keepdims=_keep(keepdims)) / total
    return (mean, total) if returned else mean


@implements("any")
def _any(a, axis=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("any", out=(out, OUT), where=(where, _WHERE))
    return tensor_of(a).any(axis=axis, keepdims=_keep(keepdims))


@implements("all")
def _all(a, axis=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    refuse("all", out=(out, OUT), where=(where, _WHERE))
    return tensor_of(a).all(axis=axis, keepdims=_keep(keepdims))


@implements("argmax")
def _argmax(a, axis=None, out=None, *, keepdims=_NoValue):
    refuse("argmax", out=(out, OUT))
    return tensor_of(a).argmax(axis=axis, keepdims=_keep(keepdims))


@implements("argmin")
def _argmin(a, axis=None, out=None, *, keepdims=_NoValue):
    refuse("argmin", out=(out, OUT))
    return tensor_of(a).argmin(axis=axis, keepdims=_keep(keepdims))


@implements("count_nonzero")
def _count_nonzero(a, axis=None, *, keepdims=False):
    return F["count_nonzero"](tensor_of(a), axis=axis, keepdims=keepdims)


@implements("cumsum")
def _cumsum(a, axis=None, dtype=None, out=None):
    refuse("cumsum", out=(out, OUT))
    return tensor_of(a).cumsum(axis=axis, dtype=dtype)


@implements("cumprod")
def _cumprod(a, axis=None, dtype=None, out=None):
    refuse("cumprod", out=(out, OUT))
    return tensor_of(a).cumprod(axis=axis, dtype=dtype)


@implements("median")
def _median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    refuse("median", out=(out, OUT))
    a = tensor_of(a)
    shape = a.shape
    axes = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in axes]
    rows = a.transpose((*kept, *axes)).reshape([shape[i] for i in kept] + [-1])
    n = rows.shape[-1]
    ordered = F["sort"](rows, axis=-1)
    middle = ordered[..., n // 2] if n % 2 else (ordered[..., n // 2 - 1] + ordered[..., n // 2]) / 2
    # A NaN sorts to the end, and makes the median NaN in numpy.
    last = ordered[..., -1]
    middle = F["where"](F["isnan"](last), last, middle)
    return middle.reshape([1 if i in axes else n for i, n in enumerate(shape)]) if keepdims else middle
