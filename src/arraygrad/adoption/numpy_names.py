"""What stands in for NumPy in adopted calls: creation functions make Tensors, lists of Tensors are arrays.

May import: adoption.builtin_answers, adoption.either, adoption.exchange, adoption.objects, adoption.scalar_names,
adoption.table, adoption.testing_names, adoption.text_names, adoption.of_lists, core.inplace, core.number_lists,
core.constructors, core.tensor, interop.transfer, numpy_api.arrays, numpy_api.handlers, numpy_api.loops,
numpy_api.rearranging, numpy_api.records, numpy.
"""

import collections
import contextlib
import functools
import inspect
import sys
import threading
import types
import typing

import numpy

from arraygrad.adoption import of_lists
from arraygrad.adoption.builtin_answers import gathered, has_tensor, is_floating, isinstance_, plain_type
from arraygrad.adoption.either import EitherClass, StandInClass
from arraygrad.adoption.exchange import TEXTS, is_on, makes_tensors
from arraygrad.adoption.objects import asked_again
from arraygrad.adoption.scalar_names import leave_out
from arraygrad.adoption.table import (
    CALLED,
    CREATORS,
    LIKE,
    MAKERS,
    SCALAR_TYPES,
    STAND_IN_MODULES,
    stand_in,
    stand_in_for,
    stand_ins_of,
    stands_for,
)  # fmt: skip
from arraygrad.adoption.testing_names import testing
from arraygrad.adoption.text_names import holds_text, reader, tell_read
from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.inplace import as_scalar, is_scalar
from arraygrad.core.number_lists import joined_numbers
from arraygrad.core.tensor import Tensor
from arraygrad.interop.transfer import to_backend
from arraygrad.numpy_api.arrays import ARRAYS, Joined, fromiter, holds_tensors, of_objects
from arraygrad.numpy_api.handlers import is_of_python
from arraygrad.numpy_api.loops import Broadcast, Enumerated
from arraygrad.numpy_api.rearranging import Vectorize, as_strided, asarray_chkfinite, require
from arraygrad.numpy_api.records import fromarrays, of_rows

__all__ = ["CREATION", "install", "made_over", "module_of"]

_AS_FLOAT = {"dtype": float}
_CopyMode = numpy._CopyMode  # the array-API namespaces of libraries say it in the place of True, False and None
_COPIES = {_CopyMode.ALWAYS: True, _CopyMode.NEVER: False, _CopyMode.IF_NEEDED: None}
# Make an array without another; arange and full have functions of their own.
_FRESH = (CREATORS | {"fromfunction", "load"}) - {"arange", "full"}
# Make an array of the numbers in a text.
_READ = ("fromfile", "fromregex", "fromstring", "genfromtxt", "loadtxt")
# Make an array of the values of another, in memory of its own or in that of the other.
_OF_AN_ARRAY = LIKE | {"copy", "diag", "diagflat", "meshgrid", "repeat", "tile", "vander"}
# Take a sequence of arrays: NumPy sees the Tensors among them itself, but not those in lists among them.
_OF_SEQUENCES = frozenset(
    """
    choose column_stack concat concatenate dstack hstack ix_ lexsort linalg.multi_dot piecewise row_stack select stack
    vstack
    """.split()
)
# Take arrays alone, so that a range among their arguments is one.
_OF_RANGES = frozenset("convolve correlate cross dot inner interp kron outer polyval trapezoid vdot".split())


def _recordable(result, given=()):
    """An array with a derivative as a Tensor, also in tuples and lists; anything else, and what is given, as it is.

    An array over the memory of one that is given stays an array: Note [Stand-ins], 5.
    """
    if isinstance(result, tuple | list):
        return type(result)([_recordable(item, given) for item in result]) if type(result) in (tuple, list) else result
    if type(result) is not numpy.ndarray or result.dtype.kind not in "fc":
        return result
    for item in given:
        if isinstance(item, numpy.ndarray) and numpy.may_share_memory(item, result):
            return result
    return _own(result)


class _Over(threading.local):
    now = None


_over = _Over()


@contextlib.contextmanager
def made_over(kind):
    """Within it, Tensors over arrays that are made are over kind(array), of another library, on this thread."""
    before, _over.now = _over.now, kind
    try:
        yield
    finally:
        _over.now = before


def _own(made):
    """A Tensor over an array that nobody else holds."""
    t = wrap_raw(made if _over.now is None else _over.now(made))
    return t if t.ndim else as_scalar(t, False)


def _array(made, data):
    """What NumPy makes an array of, as an array also where it has no axes: of a scalar `data` a new one."""
    if type(made) is not Tensor or made.ndim or not is_scalar(made):
        return made
    return as_scalar(made.copy() if made is data else made, False)


def _copies_itself(obj):
    """Whether NumPy leaves copying to an object's `__array__`, because it takes `copy`."""
    code = getattr(getattr(type(obj), "__array__", None), "__code__", None)
    if code is None:
        return False
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return "copy" in named or bool(code.co_flags & inspect.CO_VARKEYWORDS)


def _fresh(function):
    @functools.wraps(function)
    def create(*args, **kwargs):
        made = function(*args, **kwargs)
        if makes_tensors():
            if type(made) is numpy.ndarray and made.dtype.kind in "fc":
                return _own(made)
            return _recordable(made)
        return made

    return create


def _of_an_array(function):
    @functools.wraps(function)
    def create(*args, **kwargs):
        if not makes_tensors():
            return function(*args, **kwargs)
        args = [gathered(a) for a in args]
        try:
            found = function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            data = args[0] if args else None
            args, kwargs = asked_again(error, args, kwargs)
            if function is numpy.copy and _copies_itself(data):
                return args[0]
            return create(*args, **kwargs)
        made = _recordable(found, (*args, *kwargs.values()))
        return _array(made, args[0]) if args else made

    return create


def _is_object(dtype):
    return dtype is not None and dtype in (object, "O", "object")


def _of_objects(function, data, args, kwargs):
    """NumPy's array of objects, of nested lists that hold Tensors: its elements are Tensors where the list's are."""
    first = "object" if function is numpy.array else "a"
    rest = {key: value for key, value in kwargs.items() if key != first}
    made = function(_bare(data), *args[1:], **rest)
    found = made.copy()
    for index in numpy.ndindex(made.shape):
        item = data
        for i in index:
            item = item[i]
        found[index] = item
    return found


def _bare(data):
    """Nested lists with plain arrays in the places of Tensors."""
    if isinstance(data, list | tuple):
        return [_bare(item) for item in data]
    return data.detach().array if isinstance(data, Tensor) else data


def _from_data(function):
    """numpy.array and its like: of Tensors and lists of them, recorded; of anything else NumPy's, made recordable."""
    ours = ARRAYS[function]
    copies = function not in (numpy.asarray, numpy.asanyarray)

    @functools.wraps(function)
    def create(*args, **kwargs):
        if not makes_tensors():
            return function(*args, **kwargs)
        if isinstance(kwargs.get("copy"), _CopyMode):
            kwargs["copy"] = _COPIES[kwargs["copy"]]
        if kwargs.get("order", "K") is None:  # as if it were not said
            del kwargs["order"]
        data = args[0] if args else kwargs.get("object", kwargs.get("a"))
        kind = type(data)
        if (kind is list or kind is tuple) and len(args) == 1 and (not kwargs or kwargs == _AS_FLOAT):
            joined = joined_numbers(data)
            if joined is not None:
                return joined
        if kind is Tensor and not _is_object(args[1] if len(args) > 1 else kwargs.get("dtype")):
            if not copies and len(args) == 1 and not kwargs and (data.ndim or not is_scalar(data)):
                return data
            return _array(ours(*args, **kwargs), data)
        if kind is collections.deque and args:
            data = list(data)
            args = (data, *args[1:])
        if _is_object(args[1] if len(args) > 1 else kwargs.get("dtype")) and holds_tensors(data):
            return _of_objects(function, data, args, kwargs)
        if kind is numpy.ndarray and data.dtype.kind == "O":
            dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
            held = of_objects(data) if dtype is not None and not _is_object(dtype) else None
            if held is not None:  # their numbers are asked for
                kwargs.pop("object", None), kwargs.pop("a", None)
                return ours(held, *args[1:], **kwargs)
        if isinstance(data, list | tuple):
            try:
                if has_tensor(data):
                    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
                    records = of_rows(data, dtype) if dtype is not None and numpy.dtype(dtype).names else None
                    return ours(*args, **kwargs) if records is None else records
                made = function(*args, **kwargs)
            except (TypeError, ValueError) as error:
                args, kwargs = asked_again(error, args, kwargs)
                return create(*args, **kwargs)
            if type(made) is not numpy.ndarray or made.dtype.kind not in "fc":
                return made
            if TEXTS and holds_text(data):
                tell_read(made, sys._getframe(1))
            return _own(made)
        if hasattr(kind, "__recorded__") and args:  # a numpy.matrix of Tensors, which sparse matrices make
            return ours(data.__recorded__(), *args[1:], **kwargs)
        try:
            made = function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            args, kwargs = asked_again(error, args, kwargs)
            if function is numpy.array and _copies_itself(data):
                kwargs["copy"] = None
            return create(*args, **kwargs)
        if made is data or type(made) is not numpy.ndarray or made.base is not None or made.dtype.kind not in "fc":
            return made
        if TEXTS and holds_text(data):
            tell_read(made, sys._getframe(1))
        if kind is not numpy.ndarray and hasattr(kind, "__array__") and not isinstance(data, numpy.generic):
            return made  # it may be an array that the object holds too
        return _own(made)

    return create


@functools.wraps(numpy.full)
def _full(shape, fill_value, dtype=None, order="C", **kwargs):
    fill_value = gathered(fill_value) if makes_tensors() else fill_value
    if isinstance(fill_value, Tensor) and makes_tensors():
        if dtype is not None and numpy.dtype(dtype).subdtype:  # NumPy appends the axes of a subarray
            dtype, more = numpy.dtype(dtype).subdtype
            shape = (*numpy.broadcast_to(0, shape).shape, *more)
        value = fill_value if dtype is None else fill_value.astype(numpy.dtype(dtype))
        return _array(numpy.broadcast_to(value, shape).copy(), fill_value)
    made = numpy.full(shape, fill_value, dtype, order, **kwargs)
    return _recordable(made) if makes_tensors() else made


@functools.wraps(numpy.full_like)
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, **kwargs):
    if not makes_tensors():
        return numpy.full_like(a, fill_value, dtype, order, subok, shape, **kwargs)
    if not holds_tensors(a) and not holds_tensors(fill_value):
        return _recordable(numpy.full_like(a, fill_value, dtype, order, subok, shape, **kwargs))
    return numpy.full_like(asarray(gathered(a)), gathered(fill_value), dtype, order, subok, shape, **kwargs)


def _scalar(x):
    """A Tensor's number in its own precision."""
    return x.detach().numpy()[()] if isinstance(x, Tensor) else x


@functools.wraps(numpy.arange)
def _arange(*args, **kwargs):
    if not makes_tensors() or not has_tensor([*args, *kwargs.values()]):
        made = numpy.arange(*args, **kwargs)
        return _own(made) if makes_tensors() and made.dtype.kind in "fc" else made
    start, step, dtype = _range(*args, **kwargs)
    start, step = [to_backend(x, "numpy") if isinstance(x, Tensor) else x for x in (start, step)]
    made = numpy.arange(*[_scalar(x) for x in args], **{k: _scalar(x) for k, x in kwargs.items()})
    if made.dtype.kind not in "fc" or (dtype is not None and numpy.dtype(dtype) != made.dtype):
        return made
    # The end says how many elements there are; their values follow from start and step.
    found = _own(made)
    if isinstance(start, Tensor):
        found = found + (start - start.detach())
    if isinstance(step, Tensor):
        found = found + numpy.arange(len(made)) * (step - step.detach())
    return found


def _range(start, stop=None, step=1, dtype=None, **kwargs):
    """(start, step, dtype) of the arguments of numpy.arange."""
    return 0 if stop is None else start, step, dtype


@functools.wraps(numpy.fromiter)
def _fromiter(iter, dtype, count=-1, **kwargs):
    if not makes_tensors():
        return numpy.fromiter(iter, dtype, count, **kwargs)
    made = fromiter(iter, dtype, count)
    return made if is_floating(made) else made.array


@functools.wraps(numpy.isscalar)
def _isscalar(element):
    if is_on() and isinstance(element, Tensor):
        return issubclass(plain_type(element), numpy.generic)
    return numpy.isscalar(element)


def _checked(function, ours):
    """numpy.require and its like, which make an array of what they are given where it is none."""

    @functools.wraps(function)
    def create(a, *args, **kwargs):
        if not makes_tensors():
            return function(a, *args, **kwargs)
        a = gathered(a)
        return ours(a, *args, **kwargs) if type(a) is Tensor else _recordable(function(a, *args, **kwargs), (a,))

    return create


def _of_tensors(function, ours):
    """A function of NumPy without a protocol: ours of a Tensor."""

    @functools.wraps(function)
    def call(x, *args, **kwargs):
        return (ours if makes_tensors() and isinstance(x, Tensor) else function)(x, *args, **kwargs)

    return call


def _array_of(function):
    """A function of NumPy whose result is an array also where it has no axes."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        made = function(*args, **kwargs)
        return _array(made, made) if type(made) is Tensor and is_on() else made

    return call


_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


@functools.lru_cache(256)
def _method(name, real):
    """A method of numpy.ndarray that is called by the class: that of a Tensor, or of an object that holds one."""

    @functools.wraps(real)
    def call(x, *args, **kwargs):
        own = Tensor if type(x) is Tensor else getattr(type(x), "_arraygrad_base", None)  # as in adoption.subclasses
        return (real if own is None else getattr(own, name))(x, *args, **kwargs)

    return call


class _ArrayType(StandInClass):
    """The type of what stands in for numpy.ndarray where code calls it: `out = numpy.ndarray((3, 3))`."""

    def __call__(cls, *args, **kwargs):
        made = numpy.ndarray(*args, **kwargs)
        return _own(made) if makes_tensors() and made.base is None and made.dtype.kind in "fc" else made

    def __instancecheck__(cls, obj):
        return isinstance_(obj, numpy.ndarray)

    def __getattribute__(cls, name):  # adoption.subclasses makes objects of recorded data by object.__new__
        return type.__getattribute__(cls, name) if name == "__new__" else super().__getattribute__(name)

    def __getattr__(cls, name):
        found = getattr(numpy.ndarray, name)
        return _method(name, found) if type(found) in _METHODS else found


_ndarray: typing.Any = _ArrayType.of(numpy.ndarray)


def _poly1d(c_or_r, r=False, variable=None):
    """numpy.poly1d of a list of Tensors too; of arrays it is plain code, recorded as it runs."""
    return numpy.poly1d(gathered(c_or_r), r, variable)


class _Broadcast(Broadcast):
    """numpy.broadcast, of lists of Tensors too."""

    def __new__(cls, *arrays):
        return super().__new__(cls, *map(gathered, arrays)) if makes_tensors() else numpy.broadcast(*arrays)


class _Enumerated(Enumerated):
    """numpy.ndenumerate, of lists of Tensors too."""

    def __new__(cls, arr):
        return super().__new__(cls, gathered(arr)) if makes_tensors() else numpy.ndenumerate(arr)


def _from_rows(real):
    """numpy.rec.fromrecords and numpy.rec.array: of a list of tuples with Tensors, records of its columns."""

    @functools.wraps(real)
    def made(rows, *args, **kwargs):
        if not makes_tensors() or not isinstance(rows, list) or not has_tensor(rows):
            return real(rows, *args, **kwargs)
        if not all(isinstance(row, tuple) and len(row) == len(rows[0]) for row in rows):
            return real(rows, *args, **kwargs)
        return _fromarrays([list(column) for column in zip(*rows, strict=True)], *args, **kwargs)

    return made


@functools.wraps(numpy.rec.fromarrays)
def _fromarrays(arrayList, *args, **kwargs):
    arrays = [gathered(a) for a in arrayList] if makes_tensors() else arrayList
    if any(isinstance(a, Tensor) and a.requires_grad for a in arrays):
        return fromarrays(arrays, *args, **kwargs)
    return numpy.rec.fromarrays(arrays, *args, **kwargs)


class _Grids:
    """numpy.mgrid; with Tensors among the ends of several axes the grids of numpy.ogrid, spread and stacked."""

    def __getattr__(self, name):
        return getattr(numpy.mgrid, name)

    def __getitem__(self, key):
        ends = [end for item in key for end in (item.start, item.stop)] if type(key) is tuple else []
        if not is_on() or not has_tensor(ends):
            return numpy.mgrid[key]
        axes = [numpy.mgrid[item] for item in key]
        shape = tuple([len(axis) for axis in axes])
        axes = [axis.reshape([-1 if i == at else 1 for i in range(len(shape))]) for at, axis in enumerate(axes)]
        return numpy.stack([numpy.broadcast_to(axis, shape) for axis in axes])


def _joined(result, items):
    return _recordable(result, items) if makes_tensors() else result


# -- lists -------------------------------------------------------------------------------------------------------------


def _of_lists(function, name):
    """A function of NumPy that takes lists of Tensors as it takes lists of numbers."""
    return of_lists.Function(function, name in _OF_RANGES, name in _OF_SEQUENCES)


@functools.wraps(numpy.frompyfunc)
def _frompyfunc(*args, **kwargs):
    made = numpy.frompyfunc(*args, **kwargs)
    return of_lists.Ufunc(made) if is_on() else made


def _ufunc_of_python(value):
    """(it, what stands in for it) of a ufunc that numpy.frompyfunc has made, None of anything else."""
    return (value, of_lists.Ufunc(value)) if type(value) is numpy.ufunc and is_of_python(value) else None


# -- the names ---------------------------------------------------------------------------------------------------------


def _creation():
    """dict numpy function -> what stands for it."""
    found = {getattr(numpy, name): _fresh(getattr(numpy, name)) for name in _FRESH}
    found.update({getattr(numpy, name): _fresh(reader(getattr(numpy, name))) for name in _READ})
    found.update({getattr(numpy, name): _of_an_array(getattr(numpy, name)) for name in _OF_AN_ARRAY})
    found.update({function: _from_data(function) for function in ARRAYS})
    found[numpy.arange] = _arange
    found[numpy.full] = _full
    found[numpy.full_like] = _full_like
    found[numpy.fromiter] = _fromiter
    found[numpy.vectorize] = Vectorize
    found[numpy.frompyfunc] = _frompyfunc
    found[numpy.require] = _checked(numpy.require, require)
    found[numpy.asarray_chkfinite] = _checked(numpy.asarray_chkfinite, asarray_chkfinite)
    return found


CREATION = _creation()


# Modules of NumPy's whose functions have stand-ins, and how their names begin.
_MODULES = (
    (numpy, ""), (numpy.linalg, "linalg."), (numpy.fft, "fft."), (numpy.emath, "emath."),
    (numpy.lib.stride_tricks, "lib.stride_tricks."),
)  # fmt: skip


def install():
    """Put what stands in for numpy, numpy.linalg, numpy.fft and their functions into the table."""
    of_lists.install(stand_in)
    for real, other in CREATION.items():
        stand_in(real, other)
    MAKERS.append(_ufunc_of_python)
    Vectorize.recordable = staticmethod(lambda made: _recordable(made) if makes_tensors() else made)
    stand_in(numpy.isscalar, _isscalar)
    stand_in(numpy.block, _array_of(numpy.block))
    stand_in(numpy.poly1d, EitherClass(numpy.poly1d, _poly1d))
    stand_in(numpy.rec.fromarrays, _fromarrays)
    stand_in(numpy.rec.fromrecords, _from_rows(numpy.rec.fromrecords))
    stand_in(numpy.rec.array, _from_rows(numpy.rec.array))
    stand_in(numpy.broadcast, EitherClass(numpy.broadcast, _Broadcast))
    stand_in(numpy.ndenumerate, EitherClass(numpy.ndenumerate, _Enumerated))
    for joined, columns in ((numpy.r_, False), (numpy.c_, True)):
        stand_in(joined, Joined(joined, columns, _joined))
    stand_in(numpy.mgrid, _Grids())
    stand_in(numpy.lib.stride_tricks.as_strided, _of_tensors(numpy.lib.stride_tricks.as_strided, as_strided))
    for module, prefix in _MODULES:
        for name, function in vars(module).items():
            if hasattr(function, "_implementation") and function not in CREATION and function is not numpy.block:
                stand_in(function, _of_lists(function, prefix + name))
    stand_in(numpy.broadcast_to, _array_of(stand_in_for(numpy.broadcast_to)))
    others = [module for module, _ in _MODULES[1:]]
    for module in (*others, numpy.lib, numpy.rec, numpy):  # numpy last: it holds the others
        stand_in(module, module_of(module))
    CALLED[id(numpy)] = module_of(numpy)
    CALLED[id(numpy)].ndarray = CALLED[id(numpy.ndarray)] = _ndarray
    stands_for(CALLED[id(numpy)], numpy)
    stands_for(_ndarray, numpy.ndarray)
    leave_out(CALLED[id(numpy)])
    # What functions import in their bodies: Note [Types of scalars that stay], 3.
    sys.modules[STAND_IN_MODULES["numpy"]] = leave_out(stand_in_for(numpy))


def module_of(real):
    """A module with the names of `real` and stand-ins among them."""
    module = types.ModuleType(real.__name__, real.__doc__)
    vars(module).update(vars(real))
    found = stand_ins_of(real)
    if real is not numpy:  # Note [Types of scalars that stay], 3
        found = {name: other for name, other in found.items() if id(vars(real)[name]) not in SCALAR_TYPES}
    vars(module).update(found)
    # Submodules and names that come later: from the real one.
    module.__getattr__ = lambda name: stand_in_for(getattr(real, name))
    if real is numpy:  # which imports this one where it is first used
        vars(module).pop("testing", None)
        module.__getattr__ = lambda name: (
            testing(numpy.testing) if name == "testing" else stand_in_for(getattr(numpy, name))
        )
    return module
