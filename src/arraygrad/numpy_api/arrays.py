"""numpy.array and its like for Tensors and lists that hold Tensors: the values stay part of the graph.

May import: core.exposed_memory, core.constructors, core.tensor, namespaces.bind, numpy_api.functions, numpy. NumPy
itself asks no protocol here, but where `like=` is a Tensor; `arraygrad.numpy` shows these functions, and so does a
function that a transform adopts.
"""

import functools

import numpy

from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor, backend_of
from arraygrad.namespaces.bind import contains_tensor
from arraygrad.numpy_api.functions import beside

__all__ = ["ARRAYS", "Joined", "fromiter", "holds_tensors", "numpys_own", "of_objects"]


def holds_tensors(obj):
    """Whether data are a Tensor, or a nested list or tuple with one in it."""
    return isinstance(obj, Tensor) or (isinstance(obj, list | tuple) and contains_tensor(obj))


def of_objects(data, dtype=None):
    """A Tensor of the numbers in an array of objects, Tensors among them; None where it holds no Tensor, or no numbers.

    `dtype`: that of the result, float64 if it is None.
    """
    if type(data) is not numpy.ndarray or data.dtype.kind != "O":
        return None
    items = data.ravel().tolist()
    if not any(isinstance(item, Tensor) for item in items):
        return None
    if not all(item.ndim == 0 if isinstance(item, Tensor) else isinstance(item, _NUMBERS) for item in items):
        return None
    kind = numpy.dtype(float if dtype is None else dtype)
    return array(items, None if kind.kind == "O" else kind).reshape(data.shape)


_NUMBERS = (int, float, complex, numpy.number, numpy.bool_)


def array(
    object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None, device=None, requires_grad=False
):
    """A Tensor of data, with the parameters of numpy.array: a copy, unless `copy` is None or False.

    A Tensor, and nested lists that hold Tensors, stay in the graph: the copy, the stacking and a change of dtype are
    recorded. (`arraygrad.tensor(data)` makes a leaf of the bare values.) Of anything else the result is a leaf.

    Raises
    ------
    TypeError
        For arrays of objects, subclasses of numpy.ndarray and what else is no array of numbers.
    ValueError
        For ragged lists; with `copy=False` where a copy is needed.
    """
    return _made("array", object, dtype, copy, order, ndmin, device, requires_grad)


def _asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None, requires_grad=False):
    """A Tensor over an array, or of a nested list: see numpy.asarray and arraygrad.numpy.array."""
    return _made("asarray", a, dtype, copy, order or "K", 0, device, requires_grad)


def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None, requires_grad=False):
    """As `asarray`: a Tensor has no subclasses, and subclasses of numpy.ndarray are refused."""
    return _made("asanyarray", a, dtype, copy, order or "K", 0, device, requires_grad)


def ascontiguousarray(a, dtype=None, *, like=None, requires_grad=False):
    """A Tensor of at least one axis, row by row in memory: a recorded copy where it is not."""
    return _made("ascontiguousarray", a, dtype, None, "C", 1, None, requires_grad)


def asfortranarray(a, dtype=None, *, like=None, requires_grad=False):
    """A Tensor of at least one axis, column by column in memory: a recorded copy where it is not."""
    return _made("asfortranarray", a, dtype, None, "F", 1, None, requires_grad)


def _made(name, data, dtype, copy, order, ndmin, device, requires_grad):
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"{name}: order must be one of 'C', 'F', 'A', or 'K', but got {order!r}")
    listed = isinstance(data, list | tuple)
    if listed and type(data) not in (list, tuple):
        data = list(data)  # a named tuple and the like: what asarray stacks are lists and tuples
    if not holds_tensors(data):
        if not listed and hasattr(type(data), "__array__") and backend_of(_numpy_array(data)).name != "numpy":
            raise TypeError(
                f"{name}: an array of {backend_of(data).name} was given to the namespace of numpy: convert it first, "
                "by arraygrad.to_backend(x, 'numpy')"
            )
        made = numpy.array(data, dtype=dtype, copy=copy, order=order, ndmin=ndmin)
        # Over memory that the program holds too: what nodes keep of it is watched.
        return wrap_raw(made, requires_grad) if copy or listed else asarray(made, requires_grad=requires_grad)
    if listed and copy is False:
        raise ValueError(f"{name}: a list becomes an array by a copy, but copy=False was asked for")
    kind = _dtype(dtype, data)
    if listed and isinstance(kind, numpy.dtype) and kind.kind in "biu":
        # Whole numbers have no gradient. NumPy casts each: floating-point numbers would lose digits of the others.
        made = asarray(numpy.array(_values(data), dtype=kind), device=device)
    else:
        made = asarray(data, dtype=kind, device=device, copy=None if listed else copy)
    made = _in_order(name, made, order, copy)
    if made.ndim < ndmin:
        made = made.reshape((1,) * (ndmin - made.ndim) + made.shape)
    return asarray(made, requires_grad=True) if requires_grad else made


def _values(data):
    """Nested lists with the arrays of their Tensors."""
    if isinstance(data, list | tuple):
        return [_values(item) for item in data]
    return data.array if isinstance(data, Tensor) else data


def _numpy_array(data):
    """An array of NumPy's for a scalar of NumPy's, which is no array of any library; anything else as it is."""
    return numpy.asarray(data) if isinstance(data, numpy.generic) else data


def _dtype(dtype, data):
    """`dtype` as Tensors over NumPy know it; other libraries' as they are."""
    while isinstance(data, list | tuple):
        data = next(item for item in data if holds_tensors(item))
    return numpy.dtype(dtype) if dtype is not None and isinstance(data.array, numpy.ndarray) else dtype


def _in_order(name, t, order, copy):
    flags = getattr(t.array, "flags", None)
    if order == "K" or flags is None or not hasattr(flags, "c_contiguous"):
        return t
    if order == "A":
        order = "C" if not flags.f_contiguous or flags.c_contiguous else "F"
    if flags.c_contiguous if order == "C" else flags.f_contiguous:
        return t
    if copy is False:
        raise ValueError(f"{name}: order={order!r} needs a copy, but copy=False was asked for")
    return t.copy(order)


def fromiter(iter, dtype, count=-1, *, like=None):
    """A Tensor of the items of an iterable, as numpy.fromiter: of Tensors recorded."""
    items = []
    for item in iter:
        items.append(item)
        if len(items) == count:
            break
    if not holds_tensors(items):
        return asarray(numpy.fromiter(items, dtype, count))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    dtype = numpy.dtype(dtype)
    if dtype.subdtype is None:
        return array(items, dtype)
    dtype, shape = dtype.subdtype  # each item fills an array of that shape
    return array([numpy.broadcast_to(array(item, dtype), shape) for item in items], dtype)


class Joined:
    """numpy.r_ and numpy.c_: slices, numbers, arrays and Tensors between brackets, joined; what lacks Tensors is
    NumPy's, given to `plain`."""

    __slots__ = ("_columns", "_own", "_plain")

    def __init__(self, own, columns, plain):
        self._own = own
        self._columns = columns
        self._plain = plain

    def __getattr__(self, name):
        return getattr(self._own, name)

    def __getitem__(self, key):
        items = key if isinstance(key, tuple) else (key,)
        ends = [end for item in items if isinstance(item, slice) for end in (item.start, item.stop)]
        if not contains_tensor(items) and not contains_tensor(ends):
            return self._plain(self._own[key], items)
        if isinstance(items[0], str):
            raise TypeError("numpy.r_: a string of axes is not supported beside Tensors: use numpy.concatenate")
        pieces = [self._slice(item) if isinstance(item, slice) else self._piece(item) for item in items]
        like = next((piece for piece in pieces if isinstance(piece, Tensor)), None)
        if like is not None and not isinstance(raw_array(like), numpy.ndarray):  # numbers go where the Tensors are
            pieces = [beside(p, like) if isinstance(p, int | float | complex | numpy.ndarray) else p for p in pieces]
        return numpy.column_stack(pieces) if self._columns else numpy.concatenate(numpy.atleast_1d(*pieces, 0)[:-1])

    @staticmethod
    def _slice(item):
        if isinstance(item.step, complex) and contains_tensor((item.start, item.stop)):
            return numpy.linspace(0 if item.start is None else item.start, item.stop, int(abs(item.step)))
        return numpy.r_[item]

    @staticmethod
    def _piece(item):
        return asarray(item) if holds_tensors(item) else item


# Functions of numbers and shapes that the standard lacks: their arrays are Tensors in arraygrad.numpy.
_MAKERS = frozenset(
    """
    bartlett blackman frombuffer fromfile fromfunction fromstring genfromtxt hamming hanning identity kaiser load
    loadtxt tri
    """.split()
)


def numpys_own(name):
    """What `arraygrad.numpy` shows of NumPy that has no derivative: the same object, or a function that makes Tensors.

    Raises
    ------
    AttributeError
        If NumPy has no such name.
    """
    value = getattr(numpy, name)
    if name in ("r_", "c_"):
        return Joined(value, name == "c_", lambda result, items: _shown(result))
    if name == "fromiter":
        return fromiter
    if name not in _MAKERS:
        return value

    @functools.wraps(value)
    def make(*args, **kwargs):
        return _shown(value(*args, **kwargs))

    return make


def _shown(made):
    """An array of numbers as a Tensor; anything else as it is."""
    return asarray(made) if type(made) is numpy.ndarray and made.dtype.kind in "biufc" else made


# numpy function -> function of Tensors with the same parameters
ARRAYS = {
    numpy.array: array,
    numpy.asarray: _asarray,
    numpy.asanyarray: asanyarray,
    numpy.ascontiguousarray: ascontiguousarray,
    numpy.asfortranarray: asfortranarray,
}
for _function in ARRAYS.values():
    _function.__name__ = _function.__qualname__ = _function.__name__.removeprefix("_")
    _function.__module__ = "arraygrad.numpy"
