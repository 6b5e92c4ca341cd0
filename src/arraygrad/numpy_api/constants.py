"""NumPy's functions on Tensors whose results are indices, questions, sets or text: NumPy's signatures.

May import: numpy_api.functions, core.exposed_memory, core.tensor, numpy. What has no derivative is computed by NumPy on
the host, from the values, and given back as Tensors on the argument's backend. Elements that a set function keeps are
taken out of its argument, recorded.
"""

import functools
import operator

import numpy

from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.numpy_api.functions import F, beside, host, implements, pick, tensor_of, tensors

__all__ = ["CONSTANT"]

# Computed by NumPy from the values alone.
CONSTANT = (
    "argwhere", "array_equiv", "common_type", "diag_indices_from", "einsum_path", "iscomplex", "isin", "isneginf",
    "isposinf", "isreal", "lexsort", "min_scalar_type", "packbits", "ravel_multi_index", "tril_indices_from",
    "triu_indices_from", "unpackbits", "unravel_index",
)  # fmt: skip


def _first(arguments):
    for argument in arguments:
        if isinstance(argument, Tensor):
            return argument
        if isinstance(argument, list | tuple):
            found = _first(argument)
            if found is not None:
                return found
    return None


def _values(argument):
    if isinstance(argument, Tensor):
        return argument.numpy()
    if isinstance(argument, list | tuple):
        return type(argument)([_values(item) for item in argument])
    return argument


def _given_back(result, like):
    if isinstance(result, tuple):
        return tuple([_given_back(item, like) for item in result])
    if isinstance(result, list):
        return result
    if isinstance(result, numpy.ndarray | numpy.generic) and result.dtype.kind in "biufc":
        return beside(result, like)
    return result


def _constant(name, function):
    def constant(*args, **kwargs):
        like = _first((*args, *kwargs.values()))
        args = [_values(a) for a in args]
        return _given_back(function(*args, **{key: _values(value) for key, value in kwargs.items()}), like)

    return constant


for _name in CONSTANT:
    if hasattr(numpy, _name):
        implements(_name)(_constant(_name, getattr(numpy, _name)))


def _standard(name):
    @functools.wraps(F[name])
    def function(x, /, **kwargs):
        return F[name](tensor_of(x), **kwargs)

    return function


for _name in ("unique_all", "unique_counts", "unique_inverse", "cumulative_sum", "cumulative_prod"):
    implements(_name)(_standard(_name))


@implements("astype")
def _astype(x, dtype, /, *, copy=True, device=None):
    return tensor_of(x).astype(dtype, copy=copy)


@implements("unique")
def _unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    ar = tensor_of(ar)
    if axis is None and equal_nan is True and not (return_index or return_inverse or return_counts):
        values = F["unique_values"](ar)
        if backend_of(ar).xp.isdtype(ar.dtype, ("integral", "bool")) or numpy.isnan(host(values)).sum() < 2:
            return values if sorted else _in_numpys_order(ar, values)
    _, index, inverse, counts = numpy.unique(host(ar), True, True, True, axis, equal_nan=equal_nan)
    if axis is None:
        values = pick(ar, index)
    else:  # along the first axis, as NumPy arranges them
        axis = operator.index(axis)
        values = F["moveaxis"](F["moveaxis"](ar, axis, 0).take(beside(index, ar), axis=0), 0, axis)
    wanted = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    results = [values, *[beside(found, ar) for asked, found in wanted if asked]]
    return tuple(results) if len(results) > 1 else values


@implements("unique_values")
def _unique_values(x):
    x = tensor_of(x)
    return _in_numpys_order(x, F["unique_values"](x))


def _in_numpys_order(ar, values):
    """Distinct elements in the order of numpy.unique_values, which is its table's for complex numbers."""
    raw = raw_array(ar)
    if type(raw) is not numpy.ndarray or raw.dtype.kind != "c":
        return values
    plain = numpy.unique_values(raw)
    if plain.shape != values.shape:
        return values
    places = numpy.empty(len(plain), int)
    places[numpy.argsort(plain, kind="stable")] = numpy.argsort(host(values), kind="stable")
    return values.take(beside(places, ar), axis=0)


@implements("intersect1d")
def _intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    ar1, ar2 = tensors(ar1, ar2)
    _, first, second = numpy.intersect1d(host(ar1), host(ar2), assume_unique, return_indices=True)
    common = pick(ar1, first)
    dtype = F["result_type"](ar1, ar2)
    common = common if common.dtype == dtype else common.astype(dtype)
    return (common, beside(first, ar1), beside(second, ar1)) if return_indices else common


@implements("union1d")
def _union1d(ar1, ar2):
    return _unique(_both(ar1, ar2))


def _both(ar1, ar2):
    return F["concat"]([t.ravel() for t in tensors(ar1, ar2)])


@implements("setdiff1d")
def _setdiff1d(ar1, ar2, assume_unique=False):
    ar1, ar2 = tensors(ar1, ar2)
    index = numpy.arange(ar1.size) if assume_unique else numpy.unique(host(ar1), return_index=True)[1]
    return pick(ar1, index[numpy.isin(host(ar1).ravel()[index], host(ar2), invert=True)])


@implements("setxor1d")
def _setxor1d(ar1, ar2, assume_unique=False):
    if not assume_unique:
        ar1, ar2 = [_unique(t) for t in tensors(ar1, ar2)]
    both = _both(ar1, ar2)
    values = host(both)
    order = numpy.argsort(values, kind="stable")
    apart = values[order][1:] != values[order][:-1]  # nan is apart from nan, as for NumPy
    edges = numpy.concatenate([[True], apart, [True]])
    return pick(both, order[edges[1:] & edges[:-1]] if len(order) else order)


@implements("isfortran")
def _isfortran(a):
    return numpy.isfortran(host(a))
