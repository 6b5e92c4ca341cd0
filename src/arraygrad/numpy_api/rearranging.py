"""NumPy's functions that rearrange elements on Tensors: insert, delete, resize, block, apply_along_axis and others.

May import: ops, core.exposed_memory, core.tensor, numpy_api.arrays, numpy_api.functions, numpy. Where the result holds
elements of the argument and nothing else, NumPy's function is run on the elements' positions, on the host, and what it
says is taken out of the Tensor: NumPy's own semantics, and a gather is recorded.
"""

import functools
import itertools
import operator
import re

import numpy

from arraygrad.core.exposed_memory import raw_array, unshared
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.numpy_api.arrays import ARRAYS
from arraygrad.numpy_api.functions import (
    F,
    axes_of,
    backend_among,
    beside,
    host,
    host_key,
    implements,
    not_written,
    pick,
    tensor_of,
    tensors,
)
from arraygrad.numpy_api.shapes import _diag
from arraygrad.ops import OPS
from arraygrad.ops._axes import no_truth_values
from arraygrad.ops._windows import places

__all__ = ["Vectorize", "as_strided", "asarray_chkfinite", "of_python_function", "require"]


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
    if isinstance(obj, int | slice) or (isinstance(obj, list | tuple) and not len(obj)):
        return obj  # NumPy takes an empty list of no dtype, not an empty array of floats
    return host(obj)


@implements("resize")
def _resize(a, new_shape):
    a = tensor_of(a)
    if not a.size:
        return F["broadcast_to"](a.sum().astype(a.dtype), numpy.empty(new_shape, bool).shape).copy()  # zeros
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


# NumPy offers no protocol for it: adoption does, and `arraygrad.numpy`.
@implements("lib.stride_tricks.as_strided")
def as_strided(x, shape=None, strides=None, subok=False, writeable=True, *, check_bounds=None):
    """numpy.lib.stride_tricks.as_strided: a view of NumPy's arrays that is read-only, and shows elements of x alone."""
    x = tensor_of(x)
    own = host(x).strides
    if not isinstance(raw_array(x), numpy.ndarray):
        raise TypeError("as_strided: strides are those of NumPy's arrays: give it arraygrad.to_backend(x, 'numpy')")
    no_truth_values([*(shape or ()), *(strides or ())])
    shape = x.shape if shape is None else tuple([operator.index(n) for n in shape])
    strides = own if strides is None else tuple([operator.index(n) for n in strides])
    if len(shape) != len(strides) or any(n < 0 for n in shape):
        numpy.lib.stride_tricks.as_strided(host(x), shape, strides)  # NumPy's own error
    places(x.shape, own, shape, strides)
    return apply_op(OPS["_strided"], (x, shape, strides, own))


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
    leaves = []
    depth = _leaves_of(arrays, leaves, "arrays")
    leaves = tensors(*leaves)
    ndim = max(depth, *[t.ndim for t in leaves])
    pieces = (t if t.ndim == ndim else t.reshape((1,) * (ndim - t.ndim) + t.shape) for t in leaves)
    return _joined(arrays, pieces, ndim - depth)


def _leaves_of(arrays, leaves, name):
    """Append what nested lists hold to `leaves`. Returns how many levels of lists there are, the same everywhere."""
    if not isinstance(arrays, list):
        leaves.append(arrays)
        return 0
    if not arrays:
        raise ValueError(f"List at {name} cannot be empty")
    depths = [_leaves_of(item, leaves, f"{name}[{i}]") for i, item in enumerate(arrays)]
    for i, depth in enumerate(depths):
        if depth != depths[0]:
            raise ValueError(
                f"List depths are mismatched: {name}[0] holds {depths[0]} levels of lists, {name}[{i}] holds {depth}"
            )
    return depths[0] + 1


def _joined(arrays, pieces, axis):
    if not isinstance(arrays, list):
        return next(pieces)
    return F["concat"]([_joined(item, pieces, axis + 1) for item in arrays], axis=axis)


@implements("apply_along_axis")
def _apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = tensor_of(arr)
    (axis,) = axes_of(axis, arr.ndim)
    rows = F["moveaxis"](arr, axis, -1)
    before = rows.shape[:-1]
    if 0 in before:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    # NumPy stores each result before the next call, which may use the same buffer.
    results = [unshared([func1d(rows[(*index, slice(None))], *args, **kwargs)]) for index in numpy.ndindex(before)]
    results = tensors(*results, arr)[:-1]
    joined = F["stack"](results).reshape((*before, *results[0].shape))
    # The result's own axes take the place of the one that was given away.
    own = range(len(before), joined.ndim)
    return F["moveaxis"](joined, tuple(own), tuple(range(axis, axis + len(own)))) if len(own) else joined


def _parts_of(found):
    """What a function returned as a list of its results, which holds nothing twice."""
    return list(found) if isinstance(found, tuple) else [found]


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


@implements("vander", values=True)
def _vander(x, N=None, increasing=False):
    x = tensor_of(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    if isinstance(raw_array(x), numpy.ndarray):
        x = x.astype(numpy.result_type(x.dtype, numpy.int64))  # NumPy's dtype, which is float64 for float32
    n = x.shape[0] if N is None else N
    columns = [F["ones_like"](x.detach())]
    for i in range(n - 1):
        columns.append(columns[-1] * x if i else x)  # one times a complex infinity has nan in it
    columns = columns[:n]
    if not columns:
        return F["broadcast_to"](x[:, None], (x.shape[0], 1))[:, :0].copy()
    return F["stack"](columns if increasing else columns[::-1], axis=1)


_REQUIREMENTS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F", "A": "A",
    "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


@implements("require")
def require(a, dtype=None, requirements=None, *, like=None):
    """numpy.require of a Tensor, or of nested lists that hold Tensors: the Tensor itself where it meets them."""
    wanted = {_REQUIREMENTS[one.upper()] for one in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "C" if "C" in wanted else "F" if "F" in wanted else "K"
    made = ARRAYS[numpy.asanyarray](a, dtype, order)
    flags = getattr(raw_array(made), "flags", None)
    if ("W" in wanted and not getattr(flags, "writeable", True)) or (
        "O" in wanted and not getattr(flags, "owndata", True)
    ):
        return made.copy(order)
    return made


@implements("asarray_chkfinite")
def asarray_chkfinite(a, dtype=None, order=None):
    """numpy.asarray_chkfinite of a Tensor, or of nested lists that hold Tensors."""
    a = ARRAYS[numpy.asarray](a, dtype, order)
    if not numpy.isfinite(host(a)).all():
        raise ValueError("array must not contain infs or NaNs")
    return a


# For `arraygrad.numpy` and code that is given that namespace: NumPy offers no protocol for these two.


# NumPy's own, while adoption has another one there: see `of_a_derived_class`.
_call = numpy.vectorize.__call__


class _CountsAsNumpys(type):
    """The type of a class whose instances NumPy's are, and those of classes that a program derives from it."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, numpy.vectorize) or super().__instancecheck__(obj)

    def __subclasscheck__(cls, other):
        return issubclass(other, numpy.vectorize) or super().__subclasscheck__(other)


@implements("vectorize")
class Vectorize(metaclass=_CountsAsNumpys):
    """numpy.vectorize for Tensors: the function is called once per element, and its results are stacked, recorded.

    A class that a program derives from numpy.vectorize asks for its methods by name, `np.vectorize.__init__(self, f)`.
    """

    @staticmethod
    def recordable(made):
        """A plain result as adopted calls need it, so that it can be written: `adoption` replaces this."""
        return made

    def __init__(self, pyfunc=numpy._NoValue, otypes=None, doc=None, excluded=None, cache=False, signature=None):
        if isinstance(self, numpy.vectorize):
            numpy.vectorize.__init__(self, pyfunc, otypes, doc, excluded, cache, signature)
            return
        self._plain = numpy.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
        if pyfunc is not numpy._NoValue:  # else a decorator with options, which is called with the function
            self._decorate(pyfunc)

    def _decorate(self, pyfunc):
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
        if isinstance(self, numpy.vectorize):
            return of_a_derived_class(self, *args, **kwargs)
        plain = self._plain
        function = plain.pyfunc
        if function is numpy._NoValue:
            _call(plain, *args, **kwargs)
            self._decorate(plain.pyfunc)
            return self
        if plain.signature is not None and backend_among((*args, *kwargs.values())) is None:
            return self.recordable(_call(plain, *args, **kwargs))
        if kwargs or plain.excluded:
            function, args = self._of_positions(args, kwargs)
        if plain.signature is not None:
            return self._by_signature(function, args)
        if not args:
            return function()
        return self._of_elements(function, args)

    def _of_elements(self, function, args):
        """As NumPy does: without `otypes` the first elements are looked at by a call of their own, unless `cache`."""
        otypes, cached = self._plain.otypes, self._plain.cache
        args = [tensors(a)[0] if backend_among((a,)) is not None else numpy.asanyarray(a) for a in args]
        shape = numpy.broadcast_shapes(*[tuple(a.shape) for a in args])
        if 0 in shape:
            return self._as_given(self._plain_of(args), args)
        columns = [_elements(a, shape) for a in args]
        results, firsts = [], []
        if otypes is None:
            firsts = [function(*[_first(a) for a in args])]
            results = firsts[:] if cached else []
        rows = itertools.islice(zip(*columns, strict=True), len(results), None)
        results += [function(*row) for row in rows]
        parts = [part for row in (*firsts, *results) for part in (row if isinstance(row, tuple) else (row,))]
        if not any(isinstance(part, Tensor) for part in parts):
            told = iter(firsts + results)  # NumPy makes an array of them
            places = numpy.arange(len(results)).reshape(shape)
            return self._as_given(_call(numpy.vectorize(lambda place: next(told), otypes), places), args)
        rows = [row if isinstance(row, tuple) else (row,) for row in results]
        if otypes is None:
            looked_at = firsts[0] if isinstance(firsts[0], tuple) else (firsts[0],)
            otypes = [tensors(part)[0].dtype if isinstance(part, Tensor) else numpy.asarray(part).dtype
                      for part in looked_at]  # fmt: skip
        if any(len(row) != len(otypes) for row in rows):
            raise ValueError(f"vectorize: the function returns {len(rows[0])} results, expected {len(otypes)}")
        like = next(part for part in parts if isinstance(part, Tensor))
        joined = [
            _in_one_array(column, like, shape, dtype)
            for column, dtype in zip(zip(*rows, strict=True), otypes, strict=True)
        ]
        return tuple(joined) if isinstance(results[0], tuple) else joined[0]

    def _as_given(self, made, args):
        """NumPy's result: a Tensor where an argument is one, and the result has a dtype of numbers."""
        if isinstance(made, tuple):
            return tuple([self._as_given(part, args) for part in made])
        if made.dtype.kind in "biufc" and any(isinstance(a, Tensor) for a in args):
            return beside(made, next(a for a in args if isinstance(a, Tensor)))
        return self.recordable(made)

    def _of_positions(self, args, kwargs):
        """(function, arguments): that of the arguments that are not excluded, by position, and these."""
        excluded = self._plain.excluded
        names = [name for name in kwargs if name not in excluded]
        positions = [i for i in range(len(args)) if i not in excluded]

        def function(*given):
            all_args = list(args)
            for i, value in zip(positions, given, strict=False):
                all_args[i] = value
            named = zip(names, given[len(positions) :], strict=True)
            return self._plain.pyfunc(*all_args, **{**kwargs, **dict(named)})

        return function, [*[args[i] for i in positions], *[kwargs[name] for name in names]]

    def _by_signature(self, function, args):
        """The function of stacks of arrays, "(m,n),(n)->(m)": called for each, its results stacked."""
        taken, given = (
            [tuple(re.findall(r"\w+", one)) for one in re.findall(r"\([^)]*\)", side)]
            for side in self._plain.signature.split("->")
        )
        if len(args) != len(taken):
            raise TypeError(f"wrong number of positional arguments: expected {len(taken)}, got {len(args)}")
        arrays, sizes = tensors(*args), {}
        for a, names in zip(arrays, taken, strict=True):
            _note_sizes(sizes, a.shape, names)
        loop = numpy.broadcast_shapes(*[a.shape[: a.ndim - len(names)] for a, names in zip(arrays, taken, strict=True)])
        if 0 in loop:
            found = self._plain_of(arrays)
            return tuple(tensors(*found)) if isinstance(found, tuple) else tensors(found)[0]
        stacks = [
            F["broadcast_to"](a, (*loop, *[sizes[name] for name in names]))
            for a, names in zip(arrays, taken, strict=True)
        ]
        rows = []
        for index in numpy.ndindex(*loop):
            row = _parts_of(function(*[a[index] for a in stacks]))
            row = [unshared([row.pop(0)]) for _ in range(len(row))]  # the next call may use the same buffers
            if len(row) != len(given):
                raise ValueError(f"wrong number of outputs from pyfunc: expected {len(given)}, got {len(row)}")
            rows.append(tensors(*row, arrays[0])[:-1])
        joined = []
        for i, (parts, names) in enumerate(zip(zip(*rows, strict=True), given, strict=True)):
            for part in parts:
                _note_sizes(sizes, part.shape, names)
            whole = F["stack"](list(parts)).reshape((*loop, *parts[0].shape))
            otypes = self._plain.otypes
            joined.append(whole if otypes is None else whole.astype(numpy.dtype(otypes[i])))
        return joined[0] if len(given) == 1 else tuple(joined)

    def _plain_of(self, arrays):
        """NumPy's result, of arguments without elements: it does not call the function."""
        plain = self._plain
        empty = numpy.vectorize(plain.pyfunc, plain.otypes, signature=plain.signature)
        return _call(empty, *[host(a) for a in arrays])


def of_a_derived_class(plain, *args, **kwargs):
    """`numpy.vectorize.__call__` of an object of numpy.vectorize or a class derived from it."""
    if plain.pyfunc is numpy._NoValue:
        return _call(plain, *args, **kwargs)
    return Vectorize.of(plain)(*args, **kwargs)


def of_python_function(ufunc, method, inputs, kwargs):
    """What a ufunc that numpy.frompyfunc has made gives: an array of objects, Tensors where the function gives such.

    Its method is called on arrays of objects, as NumPy makes them of numbers: elements are 0-d Tensors where they are
    recorded, and Python's numbers else.
    """
    if method == "at":
        return _written_at(ufunc, *inputs)
    inputs = [_objects(x) if isinstance(x, Tensor) else x for x in inputs]
    return getattr(ufunc, method)(*inputs, **kwargs)


def _written_at(ufunc, a, indices, b=None):
    """`ufunc.at` of objects, whose results are written into the array: NumPy would write into the objects alone."""
    if not isinstance(a, Tensor):
        raise not_written(f"numpy.{ufunc.__name__}.at", a)
    objects = _objects(a)
    given = () if b is None else (_objects(b) if isinstance(b, Tensor) else b,)
    ufunc.at(objects, host_key(indices), *given)
    a[...] = _in_one_array(list(objects.reshape(-1)), a, a.shape, a.dtype)


# Precisions that Python's numbers do not have.
_OF_PYTHON = {"e": numpy.float64, "f": numpy.float64, "F": numpy.complex128}


def _objects(t):
    found = numpy.empty(t.size, object)
    for i, element in enumerate(_elements(t, tuple(t.shape))):
        found[i] = element
    return found.reshape(t.shape)


def _elements(a, shape):
    """What NumPy calls a vectorized function with: Tensors where they are recorded, Python's numbers for constants.

    Python's numbers have double precision, and so have the Tensors.
    """
    if isinstance(a, Tensor) and (a.requires_grad or not isinstance(a.array, numpy.ndarray)):
        wide = _OF_PYTHON.get(a.dtype.char) if isinstance(a.array, numpy.ndarray) else None
        a = a if wide is None else a.astype(wide)
        return F["unstack"](F["broadcast_to"](a, shape).reshape((-1,)))
    a = numpy.asanyarray(host(a) if isinstance(a, Tensor) else a, dtype=object)
    return numpy.broadcast_to(a, shape).reshape(-1)


def _first(a):
    """The first element, as NumPy's first call of a vectorized function has it."""
    if isinstance(a, Tensor) and (a.requires_grad or not isinstance(a.array, numpy.ndarray)):
        return a.reshape((-1,))[0]
    return (host(a) if isinstance(a, Tensor) else a).flat[0]


def _in_one_array(results, like, shape, dtype):
    """The results of a vectorized function, Tensors among them, in an array of the dtype that NumPy's has."""
    dtype = numpy.dtype(dtype) if isinstance(dtype, str | type) else dtype
    if getattr(dtype, "kind", "") == "O":
        made = numpy.empty(len(results), object)
        for i, result in enumerate(results):
            made[i] = result
        return made.reshape(shape)
    results = [r.reshape(()) if isinstance(r, Tensor) else r for r in results]
    made = F["stack"](tensors(*results, like)[:-1]).reshape(shape)
    return made if made.dtype == dtype else made.astype(dtype)


def _note_sizes(sizes, shape, names):
    """Note the sizes of an array's last axes by their names in a signature."""
    if len(shape) < len(names):
        raise ValueError(
            f"{len(shape)}-dimensional argument does not have enough dimensions for all core dimensions {names!r}"
        )
    for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}")
