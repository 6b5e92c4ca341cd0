"""Objects and classes of libraries that are ours in adopted calls and the library's own elsewhere.

May import: adoption.exchange, the standard library.

Note [Methods that a class is asked for]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A class that a program derives from one of a library's calls the methods of its base by name, as in
`CubicSpline.__init__(self, x, y)` and `KDTree.query(self, p)`. The name is an EitherClass there, `self` an object of
the library's class. So the method is the library's, in adopted calls too; that of ours is for other objects. Where
Python looks for `__init__`, `__call__` and `__new__`, in its type, they are the stand-in's own. Where the program asks
for them they are those of the class that it stands in for.
Guarded by tests/adoption/test_classes_derived_from_scipy.py.
"""

import functools
import types

from arraygrad.adoption.exchange import is_on

__all__ = ["Either", "EitherClass", "StandInClass"]


class Either:
    """An object of a library's, such as a distribution of SciPy's: ours in adopted calls, else the library's own."""

    __slots__ = ("_ours", "_real")

    def __init__(self, real, ours):
        self._real = real
        self._ours = ours

    def __getattr__(self, name):
        ours = is_on() and getattr(self._ours, name, None)
        return ours or getattr(self._real, name)

    def __call__(self, *args, **kwargs):
        return (self._ours if is_on() else self._real)(*args, **kwargs)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class EitherClass(Either):
    """A class of a library's, such as an interpolant of SciPy's: in adopted calls it makes objects of ours.

    Both count as its instances, and a class that is derived from it is derived from the library's. A method that it is
    asked for is that of the object which it is called with: Note [Methods that a class is asked for].
    """

    __slots__ = ()

    def __getattribute__(self, name):
        if name in _ITS_OWN_TOO:  # what Python looks for in the type is not asked here
            return _method(self, name)
        return super().__getattribute__(name)

    def __getattr__(self, name):
        return _method(self, name) if _is_method(self._real, name) else super().__getattr__(name)

    def __instancecheck__(self, obj):
        return isinstance(obj, self._classes())

    def __subclasscheck__(self, cls):
        return issubclass(cls, self._classes())

    def __mro_entries__(self, bases):
        return (self._real,)

    def __eq__(self, other):
        return True if other is self or other is self._real else NotImplemented

    def __hash__(self):
        return hash(self._real)

    def _classes(self):
        return (self._real, self._ours) if isinstance(self._ours, type) else (self._real,)


# What `object` has under the same name, which the class that is stood in for may have otherwise.
_OF_OBJECTS = frozenset(
    """
    __eq__ __format__ __ge__ __gt__ __hash__ __init__ __le__ __lt__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__
    __str__
    """.split()
)
_ITS_OWN_TOO = _OF_OBJECTS.union(("__call__",)).difference(("__reduce__", "__reduce_ex__"))
_NO_METHODS = (classmethod, staticmethod, type, types.ClassMethodDescriptorType)


def _is_method(cls, name):
    """Whether a class has a method of objects under a name."""
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return callable(found) and not isinstance(found, _NO_METHODS)


def _method(either, name):
    real, ours = either._real, either._ours
    if not callable(getattr(real, name)):  # `__hash__` is None
        return getattr(real, name)

    @functools.wraps(getattr(real, name))
    def method(obj, /, *args, **kwargs):
        of_real = issubclass(obj if isinstance(obj, type) else type(obj), real)
        is_ours = not of_real and is_on() and isinstance(ours, type) and hasattr(ours, name)
        return getattr(ours if is_ours else real, name)(obj, *args, **kwargs)

    return method


class StandInClass(type):
    """The type of a class that stands in for another, `_real`: it counts as that one in all but its calls.

    Code that matches with it, `case Fraction():`, needs a class. EitherClass is none.
    """

    _real: type

    def __new__(mcls, name, bases, namespace, **kwargs):
        """A class that a program derives from the stand-in derives from the real class."""
        if any(isinstance(base, StandInClass) for base in bases):
            reals = tuple([base._real if isinstance(base, StandInClass) else base for base in bases])
            return types.new_class(name, reals, kwargs, lambda made: made.update(namespace))
        return super().__new__(mcls, name, bases, namespace)

    @classmethod
    def of(cls, real):
        """What stands in for a class."""
        names = {"_real": real, "__module__": real.__module__, "__doc__": real.__doc__}
        return cls(real.__name__, (), names)

    def __instancecheck__(cls, obj):
        return isinstance(obj, cls._real)

    def __subclasscheck__(cls, other):
        return other is cls or issubclass(other, cls._real)

    def __getattribute__(cls, name):
        return cls.__getattr__(name) if name in _OF_OBJECTS else super().__getattribute__(name)

    def __getattr__(cls, name):
        return getattr(cls._real, name)

    def __eq__(cls, other):
        return True if other is cls or other is cls._real else NotImplemented

    def __hash__(cls):
        return hash(cls._real)

    def __repr__(cls):
        return repr(cls._real)
