"""Which namespaces a function reaches, and the places in them that hold NumPy, math and their functions.

May import: adoption.answers, adoption.code, adoption.polynomial_names, adoption.table, numpy_api.rearranging, the
standard library, numpy.

Note [What adoption reaches]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A function looks up `np`, `zeros` and `float` in the globals of its module. So stand-ins are put into modules, and
    all code of a module that is reached sees them: functions, methods, properties, generators, whoever calls them.
(2) Which modules: those of the functions and classes that the function's code names, of what these name, and so on;
    further of what it closes over, of its defaults, of what a partial, a bound method or a wrapper holds, of the
    attributes of objects, of the items of dicts and lists, and of the arguments of the call. A class is reached with
    all its methods, a module by the attributes that the code names.
(3) Besides globals, these hold stand-ins: cells of closures, default arguments, dicts that are globals
    (`OPS = {"exp": math.exp}`), and what functions import in their bodies: `import numpy` is an instruction that names
    a module, so the function runs code that names the stand-in's.
(4) Not reached: the standard library and the array libraries of `_LIBRARIES`, whose code stays as it is; compiled code;
    a module that only a text names (`getattr(module, text)`, `importlib`). But numpy.polynomial is, where the code
    names it: it is plain code over NumPy's functions.
(5) What code that is reached compares by `is` (`xp is np`, `type(x) is float`) has no stand-in anywhere in the call:
    that is another object, and a branch would flip. So it is with `==`, `in` and keys of global dicts and sets, but for
    float, complex and type, whose stand-ins are equal to them. In a module that is reached other code may run too, by
    other threads or found by a text: what any function there compares has no stand-in there.
    What loses a gradient by it is refused, as everywhere.
(6) What a function's code leads to is kept, and found anew when the number of names in one of the namespaces changes,
    or the type of an object among the globals that the code names (`model = Other()`). Of `__main__`, where a notebook
    defines functions again, also when a global becomes another function or class.
(7) numpy.ndarray is a type that programs compare, derive from and hand over, and it has no stand-in where they do. In
    a module whose functions do nothing but call it (`out = np.ndarray((3, 3))`) it has one, in the stand-in for numpy.
Guarded by tests/adoption/test_reach.py.
"""

import builtins
import functools
import os
import sys
import types
import weakref

import numpy

from arraygrad.adoption.answers import Namespace, Route, forgotten, is_plain, set_renewal
from arraygrad.adoption.code import (
    IS_OP,
    compared_globals,
    imported,
    importing_stand_ins,
    names_in,
    unknown_comparison,
    uses_array_type,
)
from arraygrad.adoption.polynomial_names import polynomial
from arraygrad.adoption.table import CALLED, SCALAR_TYPES, STAND_INS, WITHOUT_SCALAR_TYPES
from arraygrad.numpy_api.rearranging import Vectorize

__all__ = [
    "BUILTINS", "Names", "Reach", "adoptable", "codes_of", "compared_at", "forget", "keys_in", "pair_of", "reach_of",
]  # fmt: skip

# The builtins that have stand-ins, by name: a module finds them when its own globals lack the name.
BUILTINS = ("complex", "float", "getattr", "hasattr", "isinstance", "type")

# Top-level packages that are not reached (4): array libraries, what compiles Python code, and what draws or tests.
_LIBRARIES = frozenset(
    """
    arraygrad numpy scipy cupy cupyx cupy_backends torch torchvision jax jaxlib tensorflow keras dask distributed numba
    llvmlite cython Cython pythran autograd sympy mpmath pandas polars pyarrow xarray numexpr bottleneck sparse
    array_api_compat array_api_strict array_api_extra array_api_tests matplotlib mpl_toolkits PIL cv2 h5py netCDF4
    IPython ipykernel traitlets pytest _pytest pluggy hypothesis coverage setuptools pip pkg_resources tqdm joblib
    cloudpickle dill optree attr attrs pydantic host_cuda
    """.split()
)
# What of them is plain code over NumPy's functions, and is reached as a program's is.
_PLAIN_PART = "numpy.polynomial"
_BUILTIN_NAMES = frozenset(BUILTINS)
_NOTHING = compile("", "", "exec")
_STANDARD_LIBRARY = (os.path.dirname(os.__file__), "<")
_DEPTH = 4  # how deep objects in objects are followed
_ITEMS = 256  # how many items of a container are looked at
_OBJECTS = 20_000  # how many objects one search looks at

# What globals of these types lead to is taken to last; a global of another type is watched (6).
_LASTING = frozenset((types.FunctionType, types.BuiltinFunctionType, types.ModuleType, numpy.ufunc))

_namespaces: dict = {}  # id of a dict -> its Names, which keeps it alive
_leads: dict = {}  # id of a code object or class -> (it, the namespace it is looked from, what it leads to, sizes)
_MANY = 4096  # so many of these are kept


class Names(Namespace):
    """A namespace, the globals of some module, and the places that stand-ins are put into.

    Attributes
    ----------
    namespace : dict
    places : list of (dict, key, real thing, stand-in)
        In the namespace itself, and in dicts that are its globals.
    shared : list of Place
        Cells, defaults and code of functions that are globals.
    compared : frozenset of int
        Ids of the real things that code here compares (5).
    users : int
        How many running adopted calls have the stand-ins in place. Guarded by the lock of `calls.py`.
    """

    __slots__ = ("_base", "_codes", "_looked", "_others", "_shared", "_used", "_whole", "added", "compared")

    def __init__(self, namespace):
        self.namespace = namespace
        self._base = self  # of one that is `without` some: the whole
        self.users = 0
        self.places = []
        self.shared = []
        self.added = []
        self._shared = {}
        self._codes = {}  # id -> code object that was seen
        self._used = set()  # names of builtins in them
        self._looked = None
        self._others = {}
        self.watched = {}
        self.bound = {}
        self._whole = {}  # id of the code of a function that is defined here, reached or not -> (it, what it compares)
        self.compared = frozenset()

    @classmethod
    def of(cls, namespace):
        """The Names of a namespace."""
        found = _namespaces.get(id(namespace))
        if found is None:
            if len(_namespaces) > _MANY:
                forget()
            found = _namespaces[id(namespace)] = cls(namespace)
        return found

    def saw(self, code, places):
        """Note a code object that looks names up here, and places that belong to its function."""
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self._looked = None
            self._used.update(names_in(code) & _BUILTIN_NAMES)
            self.compared |= _compared(self.namespace, code)
        for place in places:
            self._shared[id(place)] = place
            self._looked = None

    def look(self):
        """Find the places, unless nothing has changed or they are in use."""
        if self.users or self._looked == len(self.namespace) or any(names.users for names in self.siblings or ()):
            return
        places = []
        kept = self._left_alone()
        called = self._calls_array_type()
        for name, value in list(self.namespace.items()):
            pair = pair_of(value)
            if called and (value is numpy or value is numpy.ndarray):
                pair = (value, CALLED[id(value)])
            if pair is not None:
                if name not in _BUILTIN_NAMES or name in self._used:
                    places.append((self.namespace, name, *pair))
            elif type(value) is dict and len(value) <= _ITEMS and "__name__" not in value and not name.startswith("__"):
                # no namespace: those of NumPy and the standard library stay as they are
                places += [(value, key, *pair_of(item)) for key, item in value.items() if pair_of(item) is not None]
        for name in self._used - self.namespace.keys():
            # The name stays there from now on, with the real thing: names that come and go cost lookups everywhere.
            self.namespace[name] = getattr(builtins, name)
            self.added.append(name)
            places.append((self.namespace, name, *STAND_INS[id(self.namespace[name])]))
        self.places = _but_for(places, kept)
        self.shared = [place for place in self._shared.values() if place.real not in kept]
        self._looked = len(self.namespace)
        self._others.clear()
        if self.siblings is not None:
            self.siblings.clear()  # none of them runs

    def _calls_array_type(self):
        """Whether code here calls numpy.ndarray, and does nothing else with it: only then it has a stand-in (7)."""
        uses = [uses_array_type(code) for code in (*self._codes.values(), *codes_of(self.namespace))]
        return any(calls for calls, _ in uses) and not any(more for _, more in uses)

    def _left_alone(self):
        """Ids of the real things that any code here compares: they have no stand-in here (5)."""
        found = keys_in(self.namespace)
        self._whole, before = {}, self._whole
        for code in codes_of(self.namespace):
            compared = before.get(id(code)) or (code, _compared(self.namespace, code))
            self._whole[id(code)] = compared
            found |= compared[1]
        return found

    def comparing(self):
        """The code that was seen here, whose comparisons hold in every module of a call."""
        return list(self._base._codes.values())

    def now(self):
        """The Names of the namespace, after `forget()` too: with all that was seen here."""
        base, now = self._base, Names.of(self.namespace)
        if now is not base:
            for code in base._codes.values():
                now.saw(code, ())
            now.saw(_NOTHING, base._shared.values())
        now.look()
        return now

    def without(self, real):
        """As this, but for places of the real things with these ids."""
        if not real:
            return self
        other = self._others.get(real)
        if other is None:
            other = self._others[real] = Names(self.namespace)
            other._base = self
            other.home = self
            if self.siblings is None:
                self.siblings = [self]
            other.siblings = self.siblings
            other.places = _but_for(self.places, real)
            other.shared = [place for place in self.shared if place.real not in real]
        return other


def _but_for(places, real):
    """The places but for those of the real things with these ids."""
    found = [place for place in places if id(place[2]) not in real]
    if SCALAR_TYPES.isdisjoint(real):
        return found
    return [(holder, key, what, WITHOUT_SCALAR_TYPES.get(id(other), other)) for holder, key, what, other in found
            if id(what) not in SCALAR_TYPES]  # fmt: skip


class Place:
    """A cell or a default argument of a function, which several searches may find.

    `users` says how many Names have the stand-in there; guarded by the lock of `calls.py`.
    """

    __slots__ = ("__weakref__", "_holder", "_key", "_other", "_real", "real", "users")

    _known: weakref.WeakValueDictionary = (
        weakref.WeakValueDictionary()
    )  # (id of the holder, key, id of the real thing) -> Place

    def __init__(self, holder, key, real, other):
        self._holder = _weak(holder)
        self._key = key
        self._real = real
        self._other = other
        self.real = id(real)
        self.users = 0

    @classmethod
    def of(cls, holder, key, real, other):
        """The Place there, one for all. It is kept, whatever code compares: numpy is shown without scalars' types."""
        other = WITHOUT_SCALAR_TYPES.get(id(other), other)
        name = (id(holder), key, id(real))
        place = cls._known.get(name)
        if place is None:
            place = cls._known[name] = cls(holder, key, real, other)
        return place

    def put(self):
        """Put the stand-in there, unless it is there."""
        if not self.users:
            self._swap(self._real, self._other)
        self.users += 1

    def take_back(self):
        """Put the real thing back when nobody needs the stand-in any more."""
        self.users -= 1
        if not self.users:
            self._swap(self._other, self._real)

    def _swap(self, old, new):
        holder = self._holder()
        if type(holder) is dict:
            if holder.get(self._key) is old:
                holder[self._key] = new
        elif type(holder) is types.CellType:
            try:
                found = holder.cell_contents
            except ValueError:  # the program has deleted it
                return
            if found is old:
                holder.cell_contents = new
        elif self._key == "__code__":
            if holder is not None and holder.__code__ is old:
                holder.__code__ = new
        elif holder is not None:
            defaults = holder.__defaults__
            if defaults is not None and any(item is old for item in defaults):
                holder.__defaults__ = tuple([new if item is old else item for item in defaults])


def forget():
    """Take out of all namespaces what was added to them, and look at them afresh when they are reached again."""
    forgotten()
    _leads.clear()
    _reaches.clear()
    for names in list(_namespaces.values()):
        if names.users or any(other.users for other in names.siblings or ()):
            continue
        for name in names.added:
            if names.namespace.get(name) is getattr(builtins, name):
                del names.namespace[name]
        del _namespaces[id(names.namespace)]


def renewed(found):
    """What a call has put into place, and the calls around it, looked at again: (Names, Places, the same or None)."""
    names, places, around = found
    names = _wanted([one.now() for one in names])[0]
    return names, places, None if around is None else renewed(around)


set_renewal(renewed)


def _wanted(found, places=()):
    """Names and Places but for what code that was found compares (5)."""
    compared = frozenset().union(*[names.compared for names in found])
    if not compared:
        return found, places
    return [names.without(compared) for names in found], [place for place in places if place.real not in compared]


def _weak(obj):
    """A function that gives the object; one of a function of Python does not keep it alive."""
    return weakref.ref(obj) if type(obj) is types.FunctionType else lambda: obj


def _objects(items, depth, found):
    """What is no number or array among the items and in the lists, tuples and dicts among them."""
    for item in items:
        if is_plain(item):
            continue
        kind = type(item)
        if depth < _DEPTH and kind in (list, tuple, dict):
            _objects(item.values() if kind is dict else item, depth + 1, found)
        else:
            found.append(item)
    return found


_reaches: dict = {}  # id of a code object -> (it, globals, its Reach), for functions that are no more than that


def reach_of(function, packages):
    """The Reach of a function."""
    if (
        packages is not None
        or type(function) is not types.FunctionType
        or function.__closure__
        or function.__defaults__
        or function.__kwdefaults__
        or function.__dict__
    ):
        return Reach(function, packages)
    code = function.__code__
    known = _reaches.get(id(code))
    if known is not None and known[0] is code and known[1] is function.__globals__:
        return known[2]
    if len(_reaches) > _MANY:
        _reaches.clear()
    reach = Reach(function)
    _reaches[id(code)] = (code, function.__globals__, reach)
    return reach


class Reach(Route):
    """The namespaces that a function reaches.

    Parameters
    ----------
    function : callable
    packages : tuple of str or None
        Names of the packages and modules that alone are reached; None: all that may be.
    """

    __slots__ = ("_function", "_given", "_packages")

    def __init__(self, function, packages=None):
        self._function = function
        self._packages = packages
        self._given = None  # of the last call with objects among its arguments: them, and what was found

    def search(self):
        """Find what the function leads to."""
        search = _Search()
        search.visit(self._function, 0)
        self.found, self.own = self._wanted(search)
        self.sizes = [names.state() for names in self.found]

    def with_arguments(self, arguments):
        """(Names, Places) for a call with these arguments."""
        objects = _objects(arguments, 0, [])
        if self._given is not None:
            known, sizes, stamp, found = self._given
            if (
                stamp == self.stamp
                and len(known) == len(objects)
                and all(ref() is one for ref, one in zip(known, objects, strict=True))
                and all(names.state() == n for names, n in sizes)
            ):
                return found
        search = _Search()
        search.visit(self._function, 0)
        for one in objects:
            search.visit(one, 0)
        found = self._wanted(search)
        try:
            sizes = [(n, n.state()) for n in found[0]]
            self._given = [weakref.ref(one) for one in objects], sizes, self.stamp, found
        except TypeError:  # what has no room for a weak reference may be another object next time
            self._given = None
        return found

    def _wanted(self, search):
        found = search.finish()
        if self._packages is not None:
            self._check_packages(found)
            found = [names for names in found if self._matches(names.namespace.get("__name__") or "")]
        return _wanted(found, search.places)

    def _check_packages(self, found):
        known = {names.namespace.get("__name__") for names in found} | sys.modules.keys()
        unknown = [package for package in self._packages if package not in known]
        if len(unknown) == len(self._packages):
            raise ValueError(
                f"adopt: no module or package that is imported is called {' or '.join(map(repr, unknown))}, so nothing "
                "would be adopted"
            )

    def _matches(self, name):
        return any(name == package or name.startswith(f"{package}.") for package in self._packages)


class _Search:
    """A walk over objects: which namespaces they lead to, and which places outside of namespaces hold stand-ins.

    Attributes
    ----------
    found : dict of int to Names
    places : list of Place
        Of functions that are no globals.
    """

    __slots__ = ("_led", "_seen", "found", "places")

    def __init__(self):
        self._seen = {}
        self._led = {}
        self.found = {}
        self.places = []

    def finish(self):
        """The Names that were found, ready to be used."""
        found = list(self.found.values())
        for names in found:
            names.look()
        return found

    def visit(self, obj, depth, named=None):
        """Look at one object, and at what it holds unless it is too deep. `named`: attributes that the code names."""
        kind = type(obj)
        if is_plain(obj):
            return
        if kind is types.ModuleType:
            self._module(obj, depth, named)
            return
        if id(obj) in self._seen or len(self._seen) > _OBJECTS:
            return
        self._seen[id(obj)] = obj
        if kind is types.FunctionType:
            self._function(obj, depth)
        elif isinstance(obj, type):
            self._class(obj)
        elif isinstance(obj, list | tuple | set | frozenset | dict):
            if len(obj) <= _ITEMS and depth < _DEPTH:
                for item in list(obj.values() if isinstance(obj, dict) else obj):
                    self.visit(item, depth + 1)
            if kind not in (list, tuple, set, frozenset, dict):
                self._object(obj, depth)
        elif kind is types.MethodType:
            self.visit(obj.__func__, depth)
            self.visit(obj.__self__, depth)
        elif isinstance(obj, functools.partial):
            for item in (obj.func, obj.args, obj.keywords):
                self.visit(item, depth)
        elif kind in (classmethod, staticmethod):
            self.visit(obj.__func__, depth)
        elif kind is property:
            for item in (obj.fget, obj.fset):
                self.visit(item, depth)
        else:
            self._object(obj, depth)

    def _module(self, module, depth, named):
        """What the code that names a module names in it; all of one that is handed over."""
        namespace = vars(module)
        if not adoptable(namespace):
            if module is numpy and named is not None and "polynomial" in named:
                self._module(polynomial(), depth, named)
            return
        if namespace["__name__"] == _PLAIN_PART:
            polynomial()
        key = id(module), id(named)
        if key in self._seen:
            return
        self._seen[key] = module, named
        for name in list(namespace) if named is None else named & namespace.keys():
            value = namespace[name]
            if named is not None or type(value) is not types.ModuleType:
                self.visit(value, depth, named)

    def _function(self, function, depth):
        namespace = function.__globals__
        code = function.__code__
        if id(code) not in _leads and not adoptable(namespace):
            # A decorator of a library: the function that it wraps; one that this package has made of a program's.
            if depth < _DEPTH and hasattr(function, "__wrapped__"):
                self.visit(function.__wrapped__, depth + 1)
            elif depth < _DEPTH and _top(namespace.get("__name__")) == "arraygrad":
                for _, value in _held(function):
                    self.visit(value, depth + 1)
            return
        self._lead(code, namespace)
        if function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__:
            for holder, value in _held(function):
                pair = pair_of(value)
                if pair is not None:
                    self.places.append(Place.of(*holder, *pair))
                elif depth < _DEPTH:
                    self.visit(value, depth + 1)
        other = importing_stand_ins(code)
        if other is not code:
            self.places.append(Place.of(function, "__code__", code, other))

    def _class(self, cls):
        for base in cls.__mro__[:-1]:
            module = sys.modules.get(base.__module__)
            if module is not None and adoptable(vars(module)):
                self._lead(base, vars(module))

    def _object(self, obj, depth):
        wrapped = getattr(type(obj), "__wrapped__", None) is None and _attribute(obj, "__wrapped__")
        if wrapped:
            self.visit(wrapped, depth + 1)
        cls = type(obj)
        if cls is numpy.vectorize:
            self.visit(obj.pyfunc, depth)
            return
        if cls is not types.SimpleNamespace:
            if _is_library(cls.__module__) or _top(cls.__module__) in sys.stdlib_module_names:
                return
            self.visit(cls, depth)
        held = _attribute(obj, "__dict__")
        if type(held) is dict and depth < _DEPTH:
            for value in list(held.values())[:_ITEMS]:
                self.visit(value, depth + 1)

    def _lead(self, item, namespace):
        """Find what code, or the methods of a class, lead to by the globals of their module."""
        if id(item) in self._led:
            return
        self._led[id(item)] = item
        known = _leads.get(id(item))
        if known is not None and known[0] is item and known[1] is namespace:
            for names, n in known[2]:
                if names.state() != n:
                    break
                self.found[id(names.namespace)] = names
            else:
                return
        inner = _Spread(item, namespace)
        if len(_leads) > _MANY:
            _leads.clear()
        _leads[id(item)] = (item, namespace, [(names, names.state()) for names in inner.finish()])
        self.found.update(inner.found)


class _Spread(_Search):
    """The walk from one code object or class over globals, with all that they lead to in turn."""

    __slots__ = ("_waiting",)

    def __init__(self, item, namespace):
        super().__init__()
        self._waiting = []
        self._lead(item, namespace)
        while self._waiting:
            self._follow(*self._waiting.pop())

    def _lead(self, item, namespace):
        if id(item) not in self._led:
            self._led[id(item)] = item
            self._waiting.append((item, namespace))

    def _follow(self, item, namespace):
        if isinstance(item, type):
            for value in list(vars(item).values()):
                if isinstance(value, types.FunctionType | property | classmethod | staticmethod | functools.partial):
                    self.visit(value, 1)
                else:
                    self.visit(value, _DEPTH - 1)
            return
        places, self.places = self.places, []
        names = self.found[id(namespace)] = Names.of(namespace)
        names.saw(item, places)
        named = names_in(item)
        for name in named & namespace.keys():
            value = namespace[name]
            if value is None or (type(value) not in _LASTING and not isinstance(value, type) and not is_plain(value)):
                names.watched.setdefault(name, type(value))
            elif isinstance(value, types.FunctionType | type) and namespace.get("__name__") == "__main__":
                if pair_of(value) is None:
                    names.bound.setdefault(name, value)
            self.visit(value, 1, named)
        for name in imported(item, namespace.get("__package__")):
            module = sys.modules.get(name)
            if module is not None:
                self.visit(module, 1, named)

    def _object(self, obj, depth):
        super()._object(obj, max(depth, 2))

    def finish(self):
        """As before; the places of functions that are globals go with some namespace."""
        for names in self.found.values():
            names.saw(_NOTHING, self.places)
            break
        return super().finish()


def _attribute(obj, name):
    """An attribute that an object stores itself; None where there is none, or where asking runs the program's code."""
    try:
        return object.__getattribute__(obj, name)
    except (AttributeError, TypeError, ValueError):
        return None


def _held(function):
    """((holder, key), value) of what a function closes over and of its default arguments."""
    for cell in function.__closure__ or ():
        try:
            yield (cell, None), cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for value in function.__defaults__ or ():
        yield (function, None), value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield (function.__kwdefaults__, name), value
    if "__wrapped__" in vars(function):
        yield (vars(function), "__wrapped__"), vars(function)["__wrapped__"]


def pair_of(value):
    """(the real thing, its stand-in) for a value that has one, else None."""
    pair = STAND_INS.get(id(value))
    if pair is not None and pair[0] is value:
        return pair
    if type(value) is numpy.vectorize:
        return (value, Vectorize.of(value))
    if type(value) is types.MethodType:
        pair = STAND_INS.get(id(value.__self__))
        if pair is not None and pair[0] is value.__self__:
            return (value, _method_of(value, pair[1]))
    return None


def _method_of(method, other):
    """The method of what stands in for the object that a method is bound to: `logpdf = scipy.stats.norm.logpdf`."""

    @functools.wraps(method)
    def call(*args, **kwargs):
        return getattr(other, method.__name__)(*args, **kwargs)

    return call


def _top(module):
    return (module if isinstance(module, str) else "").partition(".")[0]


def _is_library(module):
    """Whether the module of this name belongs to a library that is not reached."""
    return _top(module) in _LIBRARIES and not module.startswith(_PLAIN_PART)


def adoptable(namespace):
    """Whether a namespace is a program's: no library's of arrays, nor the standard library's (4)."""
    name = namespace.get("__name__")
    top = _top(name)
    if _is_library(name):
        return False
    if top not in sys.stdlib_module_names:
        return True
    file = namespace.get("__file__")  # a program may call a file as the standard library does: test.py, signal.py
    return isinstance(file, str) and not file.startswith(_STANDARD_LIBRARY)


# -- what code compares ------------------------------------------------------------------------------------------------


def codes_of(namespace):
    """The code of all functions that a namespace holds and that look names up there, methods of its classes too."""
    found = []
    seen = set()
    waiting = list(namespace.values())
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in _DATA or id(value) in seen:
            continue
        seen.add(id(value))
        if kind is types.FunctionType:
            if value.__globals__ is namespace:
                found.append(value.__code__)
            waiting += [held for _, held in _held(value)]
        elif isinstance(value, type):
            if value.__module__ == namespace.get("__name__"):
                waiting += vars(value).values()
        elif kind is property:
            waiting += [value.fget, value.fset, value.fdel]
        elif kind is functools.partial:
            waiting.append(value.func)
        elif kind in (dict, list, tuple) and len(value) <= _ITEMS:
            waiting += value.values() if kind is dict and "__name__" not in value else value
        elif kind in (classmethod, staticmethod, functools.cached_property) or _attribute(value, "__wrapped__"):
            waiting.append(value.func if kind is functools.cached_property else value.__wrapped__)
    return found


_DATA = frozenset((types.NoneType, bool, int, float, complex, str, bytes, types.ModuleType, numpy.ndarray))


def keys_in(namespace):
    """Ids of the real things that are keys of dicts, or items of sets, that a namespace holds."""
    found = frozenset()
    for name, value in namespace.items():
        if type(value) in (dict, set, frozenset) and len(value) <= _ITEMS and not name.startswith("__"):
            for key in value:
                found |= _identities(key, False)
    return found


def _identities(value, by_is):
    """Ids of what must have no stand-in where code compares a value: it, and the modules that show it."""
    pair = pair_of(value)
    if pair is None or (isinstance(value, type) and not by_is):  # its stand-in is equal to it
        return frozenset()
    if id(value) in SCALAR_TYPES:  # numpy itself has another stand-in then: Note [Types of scalars that stay], 3
        return frozenset(SCALAR_TYPES)
    found = {id(value)}
    waiting = [value]
    while waiting:
        value = waiting.pop()
        name = getattr(value, "__name__", None)
        if not isinstance(name, str):
            continue
        for module, _ in STAND_INS.values():
            if type(module) is types.ModuleType and id(module) not in found:
                if vars(module).get(name.rpartition(".")[2]) is value:
                    found.add(id(module))
                    waiting.append(module)
    return frozenset(found)


def _compared(namespace, code):
    """Ids of the real things with stand-ins that code compares (5)."""
    found = frozenset().union(*[_compared(namespace, c) for c in code.co_consts if isinstance(c, types.CodeType)])
    if unknown_comparison(code, namespace):  # what is a type in the plain call may be its stand-in
        found |= SCALAR_TYPES
    return found.union(*[ids for _, ids in compared_at(namespace, code)])


def compared_at(namespace, code):
    """(a comparison, ids of the real things with stand-ins that it compares) of code; functions in it are left out."""
    for step, steps, at in compared_globals(code):
        yield step, _identities(_loaded(namespace, steps, at), step.opcode == IS_OP)


def _loaded(namespace, steps, at):
    """What a global that is loaded there is, or the attribute of a module that is taken of it; None if it is called."""
    value = namespace.get(steps[at].argval, vars(builtins).get(steps[at].argval))
    if steps[at].opname == "LOAD_GLOBAL" and steps[at].arg & 1:
        return None
    for step in steps[at + 1 :]:
        if step.opname != "LOAD_ATTR":
            return None if step.opname == "LOAD_METHOD" else value
        if type(value) is not types.ModuleType or (sys.version_info >= (3, 12) and step.arg & 1):
            return None
        value = vars(value).get(step.argval)
    return value
