"""NumPy's functions that rearrange elements on Tensors: insert, delete, resize, block, apply_along_axis and others.

May import: ops, core.given, core.tensor, numpy_api.functions, numpy. Where the result holds elements of the argument
and nothing else, NumPy's function is run on the elements' positions, on the host, and what it says is taken out of the
Tensor: NumPy's own semantics, and a gather is recorded.
"""

import functools
import operator

import numpy

from arraygrad.core.given import raw_array
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.numpy_api.functions import F, axes_of, backend_among, host, implements, pick, tensor_of, tensors
from arraygrad.numpy_api.shapes import _diag
from arraygrad.ops import OPS

__all__ = ["Vectorize"]


def _rearranged(function, t, *args, **kwargs):
    """function(t, ...) for a function whose result holds elements of `t` alone."""
    return pick(t, function(numpy.arange(t.size).reshape(t.shape), *args, **kwargs))


@implements("insert")
def _insert(arr, obj, values, axis=None):
    arr, values = tensors(arr, values)
    if axis is None:
        arr, axis = arr.ravel(), 0
    positions = numpy.arange(arr.size).reshape(arr.shape)
    more = numpy.arange(values.size).reshape(values.shape) + arr.size
    both = F["concat"]([arr.ravel(), values.astype(arr.dtype).ravel()])
    return pick(both, numpy.insert(positions, _index(obj), more, axis=axis))


@implements("delete")
def _delete(arr, obj, axis=None):
    return _rearranged(numpy.delete, tensor_of(arr), _index(obj), axis)


def _index(obj):
    return obj if isinstance(obj, int | slice) else host(obj)


@implements("resize")
def _resize(a, new_shape):
    a = tensor_of(a)
    if not a.size:
        return F["zeros_like"](a.detach()).sum() * numpy.zeros(new_shape)
    return _rearranged(numpy.resize, a, new_shape)


@implements("lib.stride_tricks.sliding_window_view")
def _sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """As numpy.lib.stride_tricks.sliding_window_view: a read-only view of NumPy's arrays, else a copy."""
    x = tensor_of(x)
    if writeable:
        raise TypeError(
            "sliding_window_view: writeable=True is not recorded, as an element of the array lies in several windows: "
            "write into the array itself, whose windows see it"
        )
    lengths = tuple(window_shape) if numpy.iterable(window_shape) else (window_shape,)
    axes = range(x.ndim) if axis is None else axis if numpy.iterable(axis) else (axis,)
    # What is wrong with them is said by NumPy, for other libraries too.
    if not _slide(x.shape, lengths, axes):
        numpy.lib.stride_tricks.sliding_window_view(numpy.broadcast_to(0, x.shape), lengths, tuple(axes))
    return apply_op(OPS["_windows"], (x, tuple(map(int, lengths)), tuple(map(operator.index, axes))))


def _slide(shape, lengths, axes):
    """Whether windows of `lengths` fit along `axes`, as plain ints that nothing is wrong with."""
    left = list(shape)
    if len(lengths) != len(axes):
        return False
    for length, axis in zip(lengths, axes, strict=True):
        if type(length) is not int or type(axis) is not int or not -len(shape) <= axis < len(shape):
            return False
        left[axis] -= length - 1
        if length < 1 or left[axis] < 1:
            return False
    return True


@implements("rollaxis")
def _rollaxis(a, axis, start=0):
    a = tensor_of(a)
    (axis,), given = axes_of(operator.index(axis), a.ndim), operator.index(start)
    start = given + a.ndim if given < 0 else given
    if not 0 <= start <= a.ndim:
        raise numpy.exceptions.AxisError(
            f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {given} was passed in"
        )
    return F["moveaxis"](a, axis, start - 1 if axis < start else start)


@implements("diagflat")
def _diagflat(v, k=0):
    v = tensor_of(v).ravel()
    return _diag(v, k)


@implements("block")
def _block(arrays):
    if not isinstance(arrays, list):
        return tensor_of(arrays).copy()
    return _blocks(arrays, max(_depth(arrays), *[t.ndim for t in _leaves(arrays)], 0), 1)


def _depth(arrays):
    return 1 + max(_depth(item) for item in arrays) if isinstance(arrays, list) else 0


def _leaves(arrays):
    if isinstance(arrays, list):
        if not arrays:
            raise ValueError("List at arrays cannot be empty")
        return [leaf for item in arrays for leaf in _leaves(item)]
    return [tensor_of(arrays)]


def _blocks(arrays, ndim, level):
    if not isinstance(arrays, list):
        t = tensor_of(arrays)
        return t.reshape((1,) * (ndim - t.ndim) + t.shape)
    depth = _depth(arrays)
    pieces = tensors(*[_blocks(item, ndim, level + 1) for item in arrays], *_leaves(arrays))[: len(arrays)]
    return F["concat"](pieces, axis=ndim - depth)


@implements("apply_along_axis")
def _apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = tensor_of(arr)
    (axis,) = axes_of(axis, arr.ndim)
    rows = F["moveaxis"](arr, axis, -1)
    before = rows.shape[:-1]
    if 0 in before:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [func1d(rows[(*index, slice(None))], *args, **kwargs) for index in numpy.ndindex(before)]
    results = tensors(*results, arr)[:-1]
    joined = F["stack"](results).reshape((*before, *results[0].shape))
    # The result's own axes take the place of the one that was given away.
    own = range(len(before), joined.ndim)
    return F["moveaxis"](joined, tuple(own), tuple(range(axis, axis + len(own)))) if len(own) else joined


@implements("apply_over_axes")
def _apply_over_axes(func, a, axes):
    a = result = tensor_of(a)
    for given in numpy.atleast_1d(host(axes)).tolist():
        axis = given + a.ndim if given < 0 else given
        found = func(result, axis)  # which says what it thinks of an axis that is none
        result = found if found.ndim == result.ndim else F["expand_dims"](found, axis)
        if result.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return result


@implements("ediff1d")
def _ediff1d(ary, to_end=None, to_begin=None):
    ary, *ends = tensors(*[x for x in (ary, to_begin, to_end) if x is not None])
    ends = iter(ends)
    begin = next(ends) if to_begin is not None else None
    end = next(ends) if to_end is not None else None
    pieces = [None if begin is None else begin.ravel(), F["diff"](ary.ravel()), None if end is None else end.ravel()]
    pieces = [p.astype(ary.dtype) for p in pieces if p is not None]
    return F["concat"](pieces) if len(pieces) > 1 else pieces[0]


@implements("vander")
def _vander(x, N=None, increasing=False):
    x = tensor_of(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    if isinstance(raw_array(x), numpy.ndarray):
        x = x.astype(numpy.result_type(x.dtype, numpy.int64))  # NumPy's dtype, which is float64 for float32
    n = x.shape[0] if N is None else N
    columns = [F["ones_like"](x.detach())]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    columns = columns[:n]
    return F["stack"](columns if increasing else columns[::-1], axis=1)


@implements("require")
def _require(a, dtype=None, requirements=None):
    a = tensor_of(a)
    return a if dtype is None else a.astype(dtype)


@implements("asarray_chkfinite")
def _asarray_chkfinite(a, dtype=None, order=None):
    a = tensor_of(a)
    if not numpy.isfinite(host(a)).all():
        raise ValueError("array must not contain infs or NaNs")
    return a if dtype is None else a.astype(dtype)


# For `arraygrad.numpy` and code that is given that namespace: NumPy offers no protocol for these two.


@implements("vectorize")
class Vectorize:
    """numpy.vectorize for Tensors: the function is called once per element, and its results are stacked, recorded."""

    def __init__(self, pyfunc, otypes=None, doc=None, excluded=None, cache=False, signature=None):
        self._plain = numpy.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
        functools.update_wrapper(self, pyfunc, updated=())
        self.__doc__ = self._plain.__doc__

    @classmethod
    def of(cls, plain):
        """What does the work of an object of numpy.vectorize."""
        found = cls.__new__(cls)
        found._plain = plain
        return found

    def __getattr__(self, name):
        if name == "_plain":  # of an object that copy or pickle has begun to make
            raise AttributeError(name)
        return getattr(self._plain, name)

    def __setattr__(self, name, value):
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:  # what stands in for a program's object is not there to keep it
            setattr(self._plain, name, value)

    def __call__(self, *args, **kwargs):
        plain = self._plain
        if plain.signature is not None or plain.excluded or kwargs or not args:
            if backend_among((*args, *kwargs.values())) is None:
                return plain(*args, **kwargs)
            raise TypeError("vectorize: signature=, excluded= and arguments by name are not supported for Tensors")
        if backend_among(args) is None:
            return self._of_arrays(args)
        arrays = F["broadcast_arrays"](*tensors(*args))
        rows = zip(*[F["unstack"](a.ravel()) for a in arrays], strict=True)
        results = [plain.pyfunc(*row) for row in rows]
        if not results:
            return arrays[0].copy()
        if isinstance(results[0], tuple):
            return tuple([self._joined(part, arrays[0], i) for i, part in enumerate(zip(*results, strict=True))])
        return self._joined(results, arrays[0], 0)

    def _of_arrays(self, args):
        """Of plain arguments: NumPy's, unless the function closes over Tensors."""
        plain = self._plain
        results = []

        def noted(*row):
            found = plain.pyfunc(*row)
            for part in found if isinstance(found, tuple) else (found,):
                if isinstance(part, Tensor):
                    raise _ClosesOverTensors
            results.append(found)
            return found

        try:
            return numpy.vectorize(noted, plain.otypes, None, None, plain.cache)(*args)
        except _ClosesOverTensors:
            return self(*[tensors(numpy.asarray(a, dtype=float))[0] for a in args])

    def _joined(self, results, like, i):
        results = [r.reshape(()) if isinstance(r, Tensor) else r for r in results]
        joined = F["stack"](tensors(*results, like)[:-1]).reshape(like.shape)
        otypes = self._plain.otypes
        return joined if otypes is None else joined.astype(numpy.dtype(otypes[i]))


class _ClosesOverTensors(Exception):
    """A vectorized function of plain numbers gave a Tensor."""
