"""Classes that a program derives from numpy.ndarray, where their data is recorded.

May import: adoption.builtin_answers, adoption.exchange, adoption.reach, adoption.subclass_probes, adoption.table,
autograd.python_numbers, core.inplace, core.operands, core.constructors, core.tensor, numpy_api.more_methods, the
standard library, numpy.

Note [Classes derived from arrays]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`np.asarray(x).view(Point)` makes an object of the program's class, with its attributes and methods. No numpy.ndarray
may hold recorded data: compiled code would read the memory and lose the gradient. So what an adopted call makes here is
an object of another class, that of its *twin*, which holds a Tensor.
(1) The twin of a class has the same functions, operators, properties and attributes. Where the class derives from
    numpy.ndarray, the twin derives from `Held`, which has NumPy's methods for a Tensor. So the program's methods run as
    they stand, on recorded data. Functions are shared; all other members are asked of the class each time.
(2) `isinstance`, `type(x)`, `x.__class__` and `case` give the program's class. `super()` leads from a class to the
    twin's base. NumPy's compiled code finds no array in the object: it asks `__array_ufunc__`, `__array_function__`, or
    `__array__`, which gives the Tensor, and NumPy refuses that if no stand-in takes it.
(3) Which class a result has, what `__array_finalize__` is called with, and whether `__array_wrap__` is called, is not
    written down here: NumPy is asked. The same function runs on the plain values, in a class (`Probe`) that notes both
    calls and runs no code of the program's; then the program's own functions are called on the recorded result. So they
    see recorded values, and a value that they compute has its gradient.
(4) What the program's class overrides of NumPy's methods and operators is a tripwire in the probe: a NumPy function
    that would call it inside (`np.cross` indexes its arguments) is refused, as its parts would have to be recorded one
    by one. NumPy's functions that only call a method (`np.sum(x)`) call the overridden one.
(5) Refused is what this does not hold for: an `__init__` (Python calls it only for an object of the class itself),
    `__slots__`, `__getattribute__`, `__setattr__`, a metaclass of the program's, an `__init_subclass__`, classes of
    NumPy and of libraries that are not reached, several steps through `__array_finalize__` or `__array_wrap__` in one
    function.
(6) An object of the class that exists as a plain array (made before the call, or of data that no call made) and meets a
    Tensor in an operator counts as one that holds its memory as a constant, with the same attributes.
Guarded by tests/adoption/test_subclasses_of_arrays.py and tests/adoption/test_subclasses_that_are_recorded.py.
"""

import abc
import functools
import operator
import sys
import types
import weakref

import numpy

from arraygrad.adoption.builtin_answers import CLASSES, set_of_super
from arraygrad.adoption.exchange import is_on, makes_tensors
from arraygrad.adoption.reach import is_library
from arraygrad.adoption.subclass_probes import Asked, probe_of, within
from arraygrad.adoption.table import CALLED
from arraygrad.autograd.python_numbers import place
from arraygrad.core.constructors import asarray, wrap_raw
from arraygrad.core.inplace import as_scalar
from arraygrad.core.operands import set_subclasses
from arraygrad.core.tensor import Tensor
from arraygrad.numpy_api.more_methods import set_view_of_class

__all__ = ["Held", "holding", "install", "twin_of"]

_ABSENT = object()
_MANY = 1024  # so many twins are kept
_twins: dict = {}  # class -> (its functions when the twin was made, the twin)

# Members of a class that its twin does not take over: what makes or pickles objects, and what only an array is asked.
_LEFT_OUT = frozenset(
    """
    __abstractmethods__ __annotate__ __annotate_func__ __annotations__ __array__ __array_interface__ __array_struct__
    __buffer__ __class__ __class_getitem__ __del__ __dict__ __dlpack__ __dlpack_device__ __firstlineno__ __getstate__
    __new__ __orig_bases__ __parameters__ __reduce__ __reduce_ex__ __setstate__ __slots__ __static_attributes__
    __type_params__ __weakref__ _abc_impl
    """.split()
)
_WITHOUT_DATA = frozenset(("abc", "collections.abc", "typing"))  # of bases such as ABC, Generic
_COPIED = frozenset("__doc__ __module__ __qualname__".split())
# NumPy's functions that call the method of their name where the class is no plain array.
_CALL_A_METHOD = frozenset("all any clip max mean min prod round std sum var".split())


class Held:
    """What stands for numpy.ndarray below a twin: an object that holds a Tensor.

    Attributes
    ----------
    _arraygrad_tensor : Tensor
        Its data.
    """

    __slots__ = ("__dict__", "__weakref__", "_arraygrad_tensor")
    _arraygrad_class: type = numpy.ndarray
    _arraygrad_base: type
    __array_priority__ = 0.0

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self):
        asker = sys._getframe(1).f_globals.get("__name__")
        if isinstance(asker, str) and asker.startswith(("arraygrad.", "numpy.")):
            return type(self)
        return type(self)._arraygrad_class

    def __recorded__(self):
        """What numpy.asarray makes of it in adopted calls."""
        return self._arraygrad_tensor

    def __array__(self, dtype=None, copy=None):
        t = self._arraygrad_tensor
        if t.requires_grad:
            return t if dtype is None else t.astype(dtype)
        return numpy.array(t.numpy(), dtype)

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"{type(self).__name__}: an object of a class derived from numpy.ndarray whose data is recorded can't be "
            "pickled: pickle arraygrad.stop_gradient(numpy.asarray(x)).numpy()"
        )

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __array_finalize__(self, obj):
        pass

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if type(array) is type(self):
            return array
        return _made(type(self), _tensor(array), self)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        for x in (*inputs, *kwargs.get("out", ())):
            if _overrides_ufuncs(x):
                return NotImplemented
        if method == "at":
            getattr(ufunc, method)(*_data(inputs), **_data(kwargs))
            return None
        return _applied(_UfuncCall(ufunc, method), inputs, kwargs, (ufunc, inputs, 0))

    def __array_function__(self, function, types, args, kwargs):
        if not all(issubclass(t, Held | Tensor | numpy.ndarray) for t in types):
            return NotImplemented
        name = function.__name__
        if name in _CALL_A_METHOD and args and isinstance(args[0], Held) and _overrides(type(args[0]), name):
            return getattr(args[0], name)(*args[1:], **kwargs)
        return _applied(function, args, kwargs)

    # -- numbers and text ----------------------------------------------------------------------------------------------

    def __float__(self):
        return self._arraygrad_tensor.reshape(())

    __complex__ = __float__

    def __bool__(self):
        return bool(self._arraygrad_tensor)

    def __int__(self):
        return int(self._arraygrad_tensor)

    def __index__(self):
        return operator.index(self._arraygrad_tensor)

    def __repr__(self):
        return repr(_shown(self))

    def __str__(self):
        return str(_shown(self))

    def __format__(self, spec):
        return format(_shown(self), spec)

    # -- items ---------------------------------------------------------------------------------------------------------

    def __len__(self):
        return len(self._arraygrad_tensor)

    def __iter__(self):
        if not self._arraygrad_tensor.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, item):
        return bool((self._arraygrad_tensor == _data(item)).any())

    def __getitem__(self, key):
        return _applied(_GETITEM, (self, key), {})

    def __setitem__(self, key, value):
        self._arraygrad_tensor[_data(key)] = _data(value)

    # -- what is the array's -------------------------------------------------------------------------------------------

    def view(self, dtype=None, type=None):
        """A view of the same memory, in another class; another dtype is refused, as bytes have no derivative."""
        wanted = dtype if type is None else type
        if wanted is None or wanted == self._arraygrad_tensor.dtype:
            wanted = self._arraygrad_class
        if numpy.ndarray not in getattr(wanted, "__mro__", ()):
            return self._arraygrad_tensor.view(dtype, type)
        return _viewed(self._arraygrad_tensor, wanted, self)

    def __setattr__(self, name, value):
        if name in _SET_IN_PLACE and not _overrides(type(self), name):
            setattr(self._arraygrad_tensor, name, _data(value))
        else:
            object.__setattr__(self, name, value)


_SET_IN_PLACE = frozenset(("shape", "real", "imag"))
_DATA = Held.__dict__["_arraygrad_tensor"]


class _UfuncCall:
    """A ufunc, or a method of one."""

    def __init__(self, ufunc, method):
        self._called = ufunc if method == "__call__" else getattr(ufunc, method)
        self.__name__ = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"

    def __call__(self, *args, **kwargs):
        return self._called(*args, **kwargs)


class _MethodCall:
    """A method of arrays: NumPy's own of an array, a Tensor's of a Tensor."""

    def __init__(self, name):
        self.__name__ = name
        self._of_arrays = getattr(numpy.ndarray, name)

    def __call__(self, x, *args, **kwargs):
        if isinstance(x, numpy.ndarray):
            return self._of_arrays(x, *args, **kwargs)
        return getattr(x, self.__name__)(*args, **kwargs)


_GETITEM = _MethodCall("__getitem__")
_POW = _MethodCall("__pow__")


class _AttributeOf(_MethodCall):
    """An attribute of arrays that is an array."""

    def __call__(self, x):
        return self._of_arrays.__get__(x) if isinstance(x, numpy.ndarray) else getattr(x, self.__name__)


# -- twins -------------------------------------------------------------------------------------------------------------


class _Member:
    """A member of a class that is no function, asked of the class each time."""

    def __init__(self, holder, name):
        self._holder = holder
        self._name = name

    def __get__(self, obj, owner=None):
        found = vars(self._holder)[self._name]
        cls = (owner or type(obj))._arraygrad_class
        get = getattr(type(found), "__get__", None)
        return found if get is None else get(found, obj, cls)


class _DataMember(_Member):
    """Such a member that is set, as a property."""

    def __set__(self, obj, value):
        found = vars(self._holder)[self._name]
        type(found).__set__(found, obj, value)

    def __delete__(self, obj):
        found = vars(self._holder)[self._name]
        type(found).__delete__(found, obj)


def refusal_of(cls):
    """Why an object of this class can't hold recorded data: a text, "" where it can (5)."""
    derived = cls.__mro__[: cls.__mro__.index(numpy.ndarray)]
    for base in (*derived, *cls.__mro__[len(derived) + 1 : -1]):
        if is_library(base.__module__) or base.__module__.partition(".")[0] == "numpy":
            return f"{base.__module__}.{base.__qualname__} is a library's class"
        if base.__module__ in _WITHOUT_DATA:
            continue
        for name in ("__init__", "__getattribute__", "__setattr__", "__delattr__", "__init_subclass__"):
            if name in vars(base):
                return f"{base.__qualname__} defines {name}"
        if any(type(member) is types.MemberDescriptorType for member in vars(base).values()):
            return f"{base.__qualname__} has __slots__"
    return "" if type(cls) in (type, abc.ABCMeta) else f"{cls.__qualname__} has a metaclass"


def twin_of(cls):
    """The class of objects that stand for those of `cls` and hold a Tensor."""
    if cls is numpy.ndarray:
        return Held
    functions = [(name, member) for name, member in vars(cls).items() if type(member) is types.FunctionType]
    bases = tuple([twin_of(base) if issubclass(base, numpy.ndarray) else base for base in cls.__bases__])
    known = _twins.get(cls)
    if known is not None and known[0] == functions and known[1].__bases__ == bases:
        return known[1]
    members = {name: member for name, member in functions if name not in _LEFT_OUT}
    for name, member in vars(cls).items():
        if name in _COPIED or (member is None and name.startswith("__")):
            members[name] = member
        elif name not in members and name not in _LEFT_OUT:
            members[name] = (_DataMember if hasattr(type(member), "__set__") else _Member)(cls, name)
    members["_arraygrad_class"] = cls
    made = type(cls)(cls.__name__, bases, members)
    CLASSES[id(made)] = lambda obj: type(obj)._arraygrad_class
    weakref.finalize(made, CLASSES.pop, id(made), None)
    if len(_twins) >= _MANY:
        _twins.clear()
    _twins[cls] = functions, made
    return made


def _overrides(twin, name):
    """Whether the program's class has a member of this name of its own."""
    return next((base for base in twin.__mro__ if name in vars(base)), Held) not in (Held, object)


def _overrides_ufuncs(x):
    """Whether an operand has ufuncs of its own, which NumPy asks: what ndarray's `__array_ufunc__` looks for."""
    if isinstance(x, Held):
        return _overrides(type(x), "__array_ufunc__")
    if isinstance(x, Tensor) or type(x) is numpy.ndarray:
        return False
    found = getattr(type(x), "__array_ufunc__", numpy.ndarray.__array_ufunc__)
    return found is not numpy.ndarray.__array_ufunc__


# -- making objects ----------------------------------------------------------------------------------------------------


def holding(cls, tensor):
    """A new object of a class below Held, without attributes, that holds a Tensor."""
    made = object.__new__(cls)
    _DATA.__set__(made, tensor if tensor.ndim else as_scalar(tensor, False))
    return made


def _made(twin, tensor, parent, attributes=None):
    """A new object that holds a Tensor, after `__array_finalize__(parent)`."""
    made = holding(twin, tensor)
    if attributes is not None:
        made.__dict__ = attributes
    else:
        _finalize(made, parent)
    return made


def _finalize(made, parent):
    finalize = getattr(type(made), "__array_finalize__", None)
    if finalize is not None and finalize is not Held.__array_finalize__:
        finalize(made, parent)


def _as_array(tensor):
    """A Tensor as an object that has what a numpy.ndarray has, and no more."""
    return _made(Held, tensor, None)


def _viewed(tensor, cls, parent):
    """`tensor.view(cls)`, where `parent` is what the view is taken of."""
    if cls is numpy.ndarray:
        return tensor[...]
    why = refusal_of(cls)
    if why:
        raise TypeError(
            f"{place()}: Tensor.view({cls.__name__}): an object of this class can't hold recorded data, as {why}: "
            "leave the view out, or keep the array in an attribute of a class that is no array"
        )
    return _made(twin_of(cls), tensor[...], parent)


def _view_of_class(tensor, cls):
    """What `Tensor.view(cls)` gives in adopted calls; None elsewhere."""
    if not is_on() or (cls is not numpy.ndarray and cls.__module__.partition(".")[0] == "numpy"):
        return None
    return _viewed(tensor, cls, _as_array(tensor))


def _beside_a_tensor(x):
    """An object of a derived class, a plain array, as one that holds its memory (6); None where it can't be."""
    cls = type(x)
    if not is_on() or x.dtype.kind not in "biufc" or isinstance(x, numpy.matrix | numpy.ma.MaskedArray):
        return None
    if refusal_of(cls) or any(_of_operators(base) for base in cls.__mro__[: cls.__mro__.index(numpy.ndarray)]):
        return None
    return _made(twin_of(cls), asarray(x.view(numpy.ndarray)), None, getattr(x, "__dict__", {}))


def _of_operators(base):
    return not _OPERATORS.isdisjoint(vars(base))


def _tensor(x):
    """The data of what a program's function is given as an array."""
    if isinstance(x, Held):
        return x._arraygrad_tensor
    return x if isinstance(x, Tensor) else wrap_raw(numpy.asarray(x))


def _data(x):
    """Arguments with Tensors in the places of objects that hold them, also in lists, tuples and dicts."""
    return x._arraygrad_tensor if isinstance(x, Held) else within(x, _data)


def _shown(held):
    """The plain object, of copied values, for text."""
    found = held._arraygrad_tensor.detach().numpy().copy().view(held._arraygrad_class)
    found.__dict__.update(vars(held))
    return found


# -- calls -------------------------------------------------------------------------------------------------------------


def _applied(function, args, kwargs, context=None):
    """What a function of NumPy gives for objects among its arguments, in the class that NumPy gives it (3)."""
    for x in (*args, *kwargs.values()):
        if isinstance(x, types.FunctionType | types.MethodType | functools.partial):
            raise TypeError(f"{place()}: {_named(function)} calls a function: {_WAY_OUT}")
    asked = Asked(function, args, kwargs, _probe, Held, _called_by(function))
    found = function(*_data(args), **_data(kwargs))
    if asked.writes:
        if found is None:
            return None
        raise TypeError(f"{place()}: {_named(function)} writes into an argument: {_WAY_OUT}")
    if found is NotImplemented:
        return found
    if asked.touched:
        raise TypeError(
            f"{place()}: {_named(function)} would call {asked.touched}, which the class overrides: {_WAY_OUT}"
        )
    return _like(asked, asked.result, found, function, context)


def _probe(x):
    twin = type(x)
    return probe_of(twin, x._arraygrad_tensor, _touched(twin), _wraps(twin))


def _called_by(function):
    """The member of a class that NumPy asks for the call itself."""
    if isinstance(function, _UfuncCall):
        return "__array_ufunc__"
    return "__array_function__" if hasattr(function, "_implementation") else None


_WAY_OUT = "give it numpy.asarray(x) of the object, and take the view of the result where it is to have the class"


def _named(function):
    return f"{getattr(function, '__name__', function)} of an object of a class derived from numpy.ndarray"


def _like(asked, result, found, function, context):
    """A recorded result, or several, as what NumPy gave in the probe's classes."""
    if isinstance(result, tuple | list):
        parts = [_like(asked, r, f, function, context) for r, f in zip(result, found, strict=True)]
        return type(found)(*parts) if hasattr(type(found), "_fields") else type(found)(parts)
    same = asked.given(result)
    if same is not None and not asked.wraps:
        return same
    if not asked.is_probe(result):
        return found
    if asked.wraps:
        holder, scalar, last = asked.wraps[-1]
        if len(asked.wraps) > 1 or last is not result or holder is None:
            raise TypeError(
                f"{place()}: {_named(function)} calls __array_wrap__, which the class overrides, inside: {_WAY_OUT}"
            )
        return holder.__array_wrap__(_tensor(found) if same is None else same, context, scalar)
    twin = asked.class_of(result)
    parent, steps = asked.parent(result)
    if steps > 1 and twin.__array_finalize__ not in (None, Held.__array_finalize__):
        raise TypeError(
            f"{place()}: {_named(function)} takes several steps with __array_finalize__, which the class overrides: "
            f"{_WAY_OUT}"
        )
    if parent is _ABSENT or isinstance(parent, numpy.ndarray):
        parent = _as_array(_tensor(found))
    return _made(twin, _tensor(found), parent)


@functools.lru_cache(_MANY)
def _touched(twin):
    """Names that the program's class has of its own among those that NumPy's functions may call (4)."""
    return frozenset(name for name in _CALLED_BY_NUMPY if _overrides(twin, name))


@functools.lru_cache(_MANY)
def _wraps(twin):
    """Whether the program's class has an `__array_wrap__` of its own."""
    return _overrides(twin, "__array_wrap__")


# -- NumPy's operators, methods and attributes -------------------------------------------------------------------------

_ARITHMETIC: dict[str, numpy.ufunc] = {
    "add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "truediv": numpy.true_divide,
    "floordiv": numpy.floor_divide, "mod": numpy.remainder, "pow": numpy.power, "matmul": numpy.matmul,
    "divmod": numpy.divmod, "and": numpy.bitwise_and, "or": numpy.bitwise_or, "xor": numpy.bitwise_xor,
    "lshift": numpy.left_shift, "rshift": numpy.right_shift,
}  # fmt: skip
_COMPARISONS: dict[str, numpy.ufunc] = {
    "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater, "ge": numpy.greater_equal, "eq": numpy.equal,
    "ne": numpy.not_equal,
}  # fmt: skip
_BY_UFUNCS: dict[str, tuple[numpy.ufunc, str]] = {
    "sum": (numpy.add, "reduce"), "prod": (numpy.multiply, "reduce"), "max": (numpy.maximum, "reduce"),
    "min": (numpy.minimum, "reduce"), "cumsum": (numpy.add, "accumulate"), "cumprod": (numpy.multiply, "accumulate"),
}  # fmt: skip
_OF_ONE: dict[str, numpy.ufunc] = {
    "neg": numpy.negative,
    "pos": numpy.positive,
    "abs": numpy.absolute,
    "invert": numpy.invert,
}
_OPERATORS = frozenset(
    f"__{kind}{name}__" for kinds, names in (
        (("", "r", "i"), _ARITHMETIC), (("",), _COMPARISONS), (("",), _OF_ONE)) for name in names for kind in kinds
)  # fmt: skip
# Methods that write, or whose results are no arrays: the Tensor's.
_OF_THE_TENSOR = frozenset(
    """
    byteswap dump dumps fill getfield item itemset partition put resize setfield setflags sort to_device tobytes tofile
    tolist
    """.split()
)
# What NumPy's functions call, of what a class may override: all of an array's members but these.
_CALLED_BY_NUMPY = frozenset(dir(numpy.ndarray)) - frozenset(
    """
    __array__ __array_finalize__ __array_priority__ __array_wrap__ __class__ __class_getitem__ __copy__ __deepcopy__
    __dir__ __doc__ __format__ __getattribute__ __getstate__ __hash__ __init__ __init_subclass__ __new__ __reduce__
    __reduce_ex__ __repr__ __setstate__ __sizeof__ __str__ __subclasshook__ __array_struct__ __array_interface__
    """.split()
)


def _gives_way(self, other):
    """Whether NumPy's array leaves an operator to the class of `other`."""
    cls = type(other)
    if isinstance(other, Held | Tensor | numpy.ndarray | int | float | complex | list | tuple):
        return False
    ufunc = getattr(cls, "__array_ufunc__", _ABSENT)
    if ufunc is not _ABSENT:
        return ufunc is None
    priority = getattr(other, "__array_priority__", None)
    return isinstance(priority, int | float) and priority > self.__array_priority__


def _put(name, function):
    function.__name__ = name
    function.__qualname__ = f"Held.{name}"
    setattr(Held, name, function)


def _put_operators():
    def forward(ufunc):
        return lambda self, other, *more: NotImplemented if _gives_way(self, other) else ufunc(self, other)

    def reflected(ufunc):
        return lambda self, other, *more: NotImplemented if _gives_way(self, other) else ufunc(other, self)

    def in_place(ufunc):
        return lambda self, other: ufunc(self, other, out=(self,))

    for name, ufunc in _ARITHMETIC.items():
        _put(f"__{name}__", forward(ufunc))
        _put(f"__r{name}__", reflected(ufunc))
        if name != "divmod":
            _put(f"__i{name}__", in_place(ufunc))
    for name, ufunc in _COMPARISONS.items():
        _put(f"__{name}__", forward(ufunc))
    for name, ufunc in _OF_ONE.items():
        _put(f"__{name}__", lambda self, ufunc=ufunc: ufunc(self))

    def power(self, other, modulo=None):
        # By the operator, which takes other paths than numpy.power: squares, roots.
        if _gives_way(self, other):
            return NotImplemented
        return numpy.power(self, other) if _overrides_ufuncs(self) else _applied(_POW, (self, other), {})

    _put("__pow__", power)
    Held.__hash__ = None  # as of an array


def _put_methods():
    def applied(name):
        call = _MethodCall(name)
        return lambda self, *args, **kwargs: _applied(call, (self, *args), kwargs)

    def of_tensor(name):
        return lambda self, *args, **kwargs: getattr(self._arraygrad_tensor, name)(*_data(args), **_data(kwargs))

    for name, member in vars(numpy.ndarray).items():
        if name.startswith("_") or name == "view":
            continue
        if not callable(member):
            if name in ("T", "mT", "real", "imag"):
                call = _AttributeOf(name)
                setattr(Held, name, property(lambda self, call=call: _applied(call, (self,), {})))
            else:
                setattr(Held, name, property(lambda self, name=name: getattr(self._arraygrad_tensor, name)))
        else:
            _put(name, (of_tensor if name in _OF_THE_TENSOR else applied)(name))

    def through_ufunc(name, ufunc, method):
        # As NumPy computes it where the class has ufuncs of its own, which are asked.
        otherwise = getattr(Held, name)
        ufunc = getattr(ufunc, method)
        axis = {"axis": None} if method == "reduce" else {}

        def call(self, *args, **kwargs):
            if _overrides_ufuncs(self):
                return ufunc(self, *args, **(kwargs if args else axis | kwargs))
            return otherwise(self, *args, **kwargs)

        return call

    for name, (ufunc, method) in _BY_UFUNCS.items():
        _put(name, through_ufunc(name, ufunc, method))

    def mean(self, axis=None, dtype=None, out=None, **kwargs):
        # As NumPy computes it: the sum's class decides.
        if not kwargs.keys() <= {"keepdims"} or not (_wraps(type(self)) or _overrides_ufuncs(self)):
            return _applied(_MethodCall("mean"), (self, axis, dtype, out), kwargs)
        total = numpy.add.reduce(self, axis, dtype, out, **kwargs)
        if isinstance(total, Held):
            raise TypeError(
                f"{place()}: {_named(mean)} calls __array_wrap__, which the class overrides, inside: {_WAY_OUT}"
            )
        return total / (self.size / max(getattr(total, "size", 1), 1))

    _put("mean", mean)


# -- super and construction --------------------------------------------------------------------------------------------


class _Creating:
    """`super()` in a class method or `__new__` of a class that derives from numpy.ndarray."""

    __slots__ = ("_found",)

    def __init__(self, found):
        object.__setattr__(self, "_found", found)

    def __getattribute__(self, name):
        found = getattr(object.__getattribute__(self, "_found"), name)
        return _new_array if name == "__new__" and found is numpy.ndarray.__new__ else found


def _new_array(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """numpy.ndarray.__new__: of a class that may hold recorded data such an object."""
    kept = buffer._arraygrad_tensor if isinstance(buffer, Held) else buffer
    dtype = numpy.dtype(dtype)
    if isinstance(kept, Tensor):
        if makes_tensors() and not refusal_of(cls) and _is_all_of(kept, dtype, offset, strides, order):
            n = int(numpy.prod(shape))
            if n <= kept.size:
                return _made(twin_of(cls), kept.reshape(-1)[:n].reshape(shape), None)
        if kept.requires_grad:
            why = refusal_of(cls) or "the buffer is another part of its memory"
            raise TypeError(
                f"{place()}: numpy.ndarray.__new__({cls.__name__}, ...) of a Tensor's memory: {why}. Write "
                f"numpy.asarray(x).view({cls.__name__})"
            )
        kept = kept.numpy()
    elif buffer is None and makes_tensors() and dtype.kind in "fc" and not refusal_of(cls):
        made = numpy.ndarray(shape, dtype, order=order)
        return _made(twin_of(cls), asarray(made), None)
    return numpy.ndarray.__new__(cls, shape, dtype, kept, offset, strides, order)


def _is_all_of(tensor, dtype, offset, strides, order):
    """Whether an array over a Tensor's memory, from its beginning, has its elements in their order."""
    return (
        tensor.dtype == dtype and offset == 0 and strides is None and order in (None, "C", "K", "A")
        and tensor.flags.c_contiguous
    )  # fmt: skip


def _of_super(found, cls, obj):
    """What super(cls, obj) is, where `obj` is an object that holds a Tensor, or a class that derives from arrays."""
    if isinstance(obj, type):
        return _Creating(found)
    for base in type(obj).__mro__:
        if getattr(base, "_arraygrad_class", None) is cls and base is not Held:
            return super(base, obj)
    return found


def install():
    """Have Tensors make such objects, and `super` lead through their classes."""
    CLASSES[id(Held)] = lambda obj: numpy.ndarray
    set_view_of_class(_view_of_class)
    set_subclasses(_beside_a_tensor)
    set_of_super(_of_super)
    CALLED[id(numpy.ndarray)].__new__ = staticmethod(_new_array)


Held._arraygrad_base = Held  # whose methods are those of numpy.ndarray
_put_operators()
_put_methods()
