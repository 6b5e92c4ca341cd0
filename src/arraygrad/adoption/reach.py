"""Which namespaces a function reaches, and the places in them that hold NumPy, math and their functions.

May import: adoption.exchange, adoption.bindings, adoption.code, adoption.identity_comparisons, adoption.namespaces,
adoption.stand_ins, adoption.polynomial_names, adoption.rewritten, adoption.scipy_names, adoption.table,
adoption.text_names, adoption.vectorized_classes, adoption.written, autograd.instructions, the standard library, numpy.

Note [What adoption reaches]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~
(1) A function looks up `np`, `zeros` and `float` in the globals of its module. So stand-ins are put into modules, and
    all code of a module that is reached sees them: functions, methods, properties, generators, whoever calls them.
(2) Which modules: those of the functions and classes that the function's code names, of what these name, and so on;
    further of what it closes over, of its defaults, of what a partial, a bound method or a wrapper holds, of the
    attributes of objects, of the items of dicts and lists, and of the arguments of the call. A class is reached with
    all its methods, a module by the attributes that the code names.
(3) Besides globals, these hold stand-ins: cells of closures, default arguments, dicts that are globals
    (`OPS = {"exp": math.exp}`), what a partial calls, and lists, dicts and attributes of objects wherever the search
    finds them: each is a Patch, which counts its calls itself, as several modules may share it. An attribute is set in
    the object's own dict, so that no code of the program runs. And what functions import in their bodies:
    `import numpy` is an instruction that names a module, so the function runs code that names the stand-in's.
(4) Not reached: the standard library and the array libraries of `_LIBRARIES`, whose code stays as it is; compiled code;
    a module that only a text names (`getattr(module, text)`, `importlib`). But numpy.polynomial is, where the code
    names it: it is plain code over NumPy's functions. A module that a function imports in its body, and that is not
    there yet, is imported for the search where the import comes before any branch; others are waited for.
(5) What code that is reached compares by `is` (`xp is np`, `type(x) is float`) has no stand-in anywhere in the call:
    that is another object, and a branch would flip. So it is with `==`, `in` and keys of global dicts and sets, but for
    float, complex and type, whose stand-ins are equal to them. In a module that is reached other code may run too, by
    other threads or found by a text: what any function there compares has no stand-in there.
    What loses a gradient by it is refused, as everywhere. Code of one package does not get at what another one only
    calls (`np.zeros(3)`) or asks for a name. So a package has stand-ins for what others compare, but where its code
    hands it over as a value (`lib.f(np)`, `xp = np`), or a dict, cell, default, list or attribute holds it.
(6) What a function's code leads to is kept, and found anew when the number of names in one of the namespaces changes,
    or what a name, item or attribute is bound to: Note [What is bound anew].
(7) numpy.ndarray is a type that programs compare, derive from and hand over, and it has no stand-in where they do. In
    a module whose functions do nothing but call it (`out = np.ndarray((3, 3))`) it has one, in the stand-in for numpy.
(8) Lists and attributes go from hand to hand, and are compared where no instruction names what they hold:
    `TUPLE[0] in FUNCTIONS`. So they hold the real thing, if that is also held where no stand-in is put: in a tuple or
    set, a slot, a class attribute, a key, an argument of the call, an object whose hash is its own, or where a global
    list is compared; also where code asks `importlib` or `sys.modules` for modules. Such a Patch is `loose`. Types in
    lists and attributes stay, and modules in lists; a module that an attribute holds (`self.xp = numpy`) has a
    stand-in. Without one the call is refused, as everywhere.
Guarded by tests/adoption/test_reach.py and test_places_of_functions.py.
"""

import functools
import importlib
import os
import sys
import threading
import types

import numpy

from arraygrad.adoption.bindings import Likeness, Patch, attributes_of, fit, held_items, is_plain, real_of, watch
from arraygrad.adoption.code import imported, imported_at_once, importing_stand_ins, names_in
from arraygrad.adoption.exchange import AWAITED, Route, set_renewal
from arraygrad.adoption.identity_comparisons import ITEMS, attribute, held, parts
from arraygrad.adoption.namespaces import CACHES, NOTHING, Names, cache_for, forget, renewed, wanted
from arraygrad.adoption.polynomial_names import polynomial
from arraygrad.adoption.rewritten import rewritten, set_libraries
from arraygrad.adoption.scipy_names import load, methods_of
from arraygrad.adoption.stand_ins import pair_of
from arraygrad.adoption.table import stands_for
from arraygrad.adoption.text_names import load as load_readers
from arraygrad.adoption.vectorized_classes import METHODS
from arraygrad.adoption.written import without_parameters, written
from arraygrad.autograd.instructions import forget_steps

__all__ = ["Reach", "adoptable", "is_foreign", "is_library", "reach_of", "slots_of"]

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
_PLAIN_PART_OF_PYTHON = "statistics"  # over math's functions
_OF_NUMPY = os.path.join(os.path.dirname(numpy.__file__), "")
_STANDARD_LIBRARY = (os.path.dirname(os.__file__), "<")
_DEPTH = 8  # how deep objects in objects are followed
_OBJECTS = 20_000  # how many objects one search looks at

# id of a code object or class -> (it, the namespace it is looked from, what it leads to with sizes, code and classes)
_leads: dict = {}
_writes: dict = {}  # ids of the code and classes that a search begins with -> names of what is written
_MANY = 1 << 15  # so many of these are kept


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
_known: dict = {}  # id of a code object -> (it, globals, _Known), for functions and methods that hold something
CACHES += [_leads, _reaches, _known, _writes]


def _is_bare(function):
    """Whether a function holds nothing but its code."""
    return type(function) is types.FunctionType and not (
        function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__
    )


# Types of compiled functions.
_COMPILED = frozenset(
    (
        types.BuiltinFunctionType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.MethodWrapperType,
        numpy.ufunc,
        type(numpy.sum),
    )
)


def is_foreign(function):
    """Whether a function is compiled or a library's, and holds nothing that could lead to a program."""
    if type(function) in _COMPILED or type(function).__name__ == "cython_function_or_method":
        return True
    return _is_bare(function) and not adoptable(function.__globals__)


def reach_of(function, packages):
    """The Reach of a function: that of a function of the same code that holds the same, where there is one."""
    inner = function.__func__ if type(function) is types.MethodType else function
    if packages is not None or type(inner) is not types.FunctionType:
        return Reach(function, packages)
    bare = _is_bare(function)
    known = cache_for(inner.__globals__, _reaches if bare else _known).get(id(inner.__code__))
    if known is not None and known[0] is inner.__code__ and known[1] is inner.__globals__:
        if bare:
            return known[2]
        items = held_items(function)
        if items is not None and known[2].watch.holds_items(items):
            return Reach(function).take(known[2])
    reach = Reach(function)
    if bare:
        _keep(_reaches, function, reach)
    return reach


def _keep(cache, function, found):
    """Keep what was found for a function, for others of its code."""
    cache = cache_for(function.__globals__, cache)
    if len(cache) > _MANY:
        cache.clear()
    cache[id(function.__code__)] = (function.__code__, function.__globals__, found)


class _Known:
    """What a search found for a function that holds something: what it holds does not live on in this."""

    __slots__ = ("found", "sizes", "stamp", "watch", "writes")

    def __init__(self, reach):
        self.found, self.sizes, self.stamp, self.watch = reach.found, reach.sizes, reach.stamp, reach.watch
        self.writes = reach.writes


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
        self._given = None  # of the last call with objects among its arguments: what they were like, what was found

    def take(self, known):
        """Have what was found for another function that holds the same; returns self."""
        self.searched(known.found, [], known.sizes, known.stamp)
        self.root, self.watch, self.by_items = self._function, known.watch, True
        self.writes = known.writes
        return self

    def _begun(self):
        """A search, which gives other code to functions of the packages alone."""
        search = _Search()
        search.matches = None if self._packages is None else self._matches
        return search

    def search(self):
        """Find what the function leads to."""
        _import_at_once(self._function)
        search = self._begun()
        search.visit(self._function, 0)
        found, own = self._wanted(search)
        self.searched(found, own, [names.state() for names in found], self.stamp)
        self.writes = search.writes()
        if type(self._function) is types.FunctionType and not (
            self._function.__defaults__ or self._function.__kwdefaults__
        ):  # a parameter without a default is what the call hands over
            self.writes = without_parameters(self.writes, self._function.__code__)
        items = held_items(self._function)
        self.by_items = items is not None
        if self.by_items:
            self.root = self._function
            self.watch = watch(items) if items else None
            if self.watch is not None and self._packages is None and not own and self.watch.lets_go():
                _keep(_known, getattr(self._function, "__func__", self._function), _Known(self))
        else:
            self.root = (self._function,)
            self.watch = watch(self.root)
        forget_steps()

    def with_arguments(self, arguments):
        """(Names, Patches) for a call with these arguments."""
        objects = _objects(arguments, 0, [])
        if self._given is not None:
            likenesses, sizes, stamp, found = self._given
            if stamp == self.stamp and fit(likenesses, objects) and all(names.state() == n for names, n in sizes):
                return found
        search = self._begun()
        search.visit(self._function, 0)
        for one in objects:
            search.keep(one)
            search.visit(one, 0)
        found = self._wanted(search)
        self.given_writes = search.writes()
        try:
            likenesses = [Likeness(one, bool(found[1])) for one in objects]
            self._given = likenesses, [(n, n.state()) for n in found[0]], self.stamp, found
        except TypeError:  # what has no room for a weak reference may be another object next time
            self._given = None
        return found

    def _wanted(self, search):
        found = search.finish()
        if self._packages is not None:
            self._check_packages(found)
            found = [names for names in found if self._matches(names.namespace.get("__name__") or "")]
        return wanted(found, search.places, frozenset(search.held))

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
    places : list of Patch
        Of functions that are no globals, and of what holds stand-ins but is no namespace.
    held : set of int
        Ids of the real things that are held where no stand-in is put (8).
    matches : callable or None
        Says of the name of a module whether functions there may have other code; None: all may.
    """

    __slots__ = ("_functions", "_led", "_reached", "_seen", "found", "held", "matches", "places")

    def __init__(self):
        self._seen = {}
        self._led = {}
        self._reached = []  # for each of these the code and classes that it leads to
        self._functions = None  # those that wait for the one that is looked at; None: none is
        self.found = {}
        self.places = []
        self.held = set()
        self.matches = None

    def keep(self, value):
        """Note what is held where no stand-in is put (8)."""
        if pair_of(value) is not None:
            self.held.add(id(value))

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
            self._in_turn(obj, depth)
        elif isinstance(obj, type):
            self._class(obj)
        elif isinstance(obj, list | tuple | set | frozenset | dict):
            if depth < _DEPTH and kind_of(obj).__len__(obj) <= ITEMS:
                self._items(obj, kind, depth)
            if kind not in (list, tuple, set, frozenset, dict):
                self._object(obj, depth)
        elif kind is types.MethodType:
            self.visit(obj.__func__, depth)
            self.visit(obj.__self__, depth)
        elif isinstance(obj, functools.partial):
            self._put(obj, "func", obj.func, kind is functools.partial)
            for item in (obj.func, obj.args, obj.keywords):
                self.visit(item, depth)
        elif kind in (classmethod, staticmethod):
            self.visit(obj.__func__, depth)
        elif kind is property:
            for item in (obj.fget, obj.fset):
                self.visit(item, depth)
        else:
            self._object(obj, depth)

    def _put(self, holder, key, value, may=True):
        """Note a place that holds `value`, if that has a stand-in; `may`: whether the stand-in can be put there."""
        pair = pair_of(value)
        if pair is None:
            self._put_by_another(holder, key, value, True)
            return
        if isinstance(value, type):  # a type is compared in more ways: (8)
            return
        if may and not (type(value) is types.ModuleType and type(holder) is list):
            self.places.append(Patch.of(holder, key, *pair, True, True))
        else:
            self.held.add(id(value))

    def _put_by_another(self, holder, key, value, loose):
        """Note a place in which a call that is running has put a stand-in: the search is for later calls, too."""
        real = real_of(value)
        if real is not value:
            place = Patch.of(holder, key, real, value, loose, True)
            if place.users:  # the program's own else
                self.places.append(place)

    def _items(self, obj, kind, depth):
        """Look at the items of a container."""
        if isinstance(obj, dict):
            items = list(dict.items(obj))
            for key, _ in items:
                for part in parts(key):
                    self.keep(part)
        else:
            items = [(None, item) for item in kind_of(obj).__iter__(obj)]
            if kind in (set, frozenset):
                for _, item in items:
                    for part in parts(item):
                        self.keep(part)
        may = kind is list or (kind is dict and "__name__" not in obj)
        for key, item in items:
            self._put(obj, key, item, may)
            self.visit(item, depth + 1)

    def _module(self, module, depth, named):
        """What the code that names a module names in it; all of one that is handed over."""
        namespace = vars(module)
        if not adoptable(namespace):
            if module is numpy and named is not None and "polynomial" in named:
                self._module(polynomial(), depth, named)
            for name in named & namespace.keys() if module is numpy and named is not None else ():
                value = namespace[name]  # what a program has put there
                if isinstance(value, type | types.FunctionType) and _is_programs(value.__module__):
                    self.visit(value, depth, named)
            return
        _ready(namespace)
        if "__array_api_version__" in namespace:  # code calls its functions by a parameter, as in xp.asarray(x)
            named = None
        key = id(module), id(named)
        if key in self._seen:
            return
        self._seen[key] = module, named
        names = list(namespace) if named is None else named & namespace.keys()
        shown = {name for name in names if _may_lead(namespace[name])}
        if named is not None and shown:
            found = self.found[id(namespace)] = Names.of(namespace)
            found.attributes_are(shown)
        for name in names:
            value = namespace[name]
            if named is not None or type(value) is not types.ModuleType:
                self.visit(value, depth, named)

    def _in_turn(self, function, depth):
        """Look at a function, after the one that led to it: functions may hold functions however deep."""
        if self._functions is not None:
            self._functions.append((function, depth))
            return
        self._functions = [(function, depth)]
        try:
            while self._functions:
                self._function(*self._functions.pop())
        finally:
            self._functions = None

    def _function(self, function, depth):
        namespace = function.__globals__
        _ready(namespace)
        code = function.__code__
        load(code, namespace)
        load_readers(imported(code, namespace.get("__package__")))
        if id(code) not in _leads and not adoptable(namespace):
            # A decorator of a library: the function that it wraps; one that this package has made of a program's.
            if hasattr(function, "__wrapped__"):
                self.visit(function.__wrapped__, depth)  # decorators are no objects in objects, however many there are
            elif depth < _DEPTH and _top(namespace.get("__name__")) == "arraygrad":
                for _, value in held(function):
                    self.visit(value, depth + 1)
            return
        self._lead(code, namespace)
        if function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__:
            for holder, value in held(function):
                pair = pair_of(value)
                if pair is not None:
                    self.places.append(Patch.of(*holder, *pair))
                else:
                    self._put_by_another(*holder, value, False)
                if type(value) is types.FunctionType:
                    self.visit(value, depth)
                elif depth < _DEPTH:  # what Numba compiles has a stand-in, and leads on
                    self.visit(value, depth + 1)
        other = importing_stand_ins(rewritten(code, namespace))
        if other is not code:
            stands_for(other, code)
            self._other_code(namespace, Patch.of(function, "__code__", code, other))

    def _other_code(self, namespace, place):
        """Note the place of a function's code, in the module whose globals these are."""
        if self.matches is None or self.matches(namespace.get("__name__") or ""):
            self.places.append(place)

    def _class(self, cls):
        if numpy.vectorize in cls.__mro__[1:]:
            self.places += [Patch.of(*method) for method in METHODS]
        for base in cls.__mro__[:-1]:
            for namespace in _homes(base):
                if adoptable(namespace):
                    self._lead(base, namespace)

    def _object(self, obj, depth):
        wrapped = getattr(type(obj), "__wrapped__", None) is None and attribute(obj, "__wrapped__")
        if wrapped:
            self.visit(wrapped, depth)
        cls = type(obj)
        if cls is numpy.vectorize:
            self._put(obj, "pyfunc", obj.pyfunc)
            self.visit(obj.pyfunc, depth)
            return
        if cls is not types.SimpleNamespace:
            if is_library(cls.__module__) or (
                _top(cls.__module__) in sys.stdlib_module_names
                and cls.__module__ != _PLAIN_PART_OF_PYTHON
                and not (cls.__module__ == "builtins" and _homes(cls))
            ):
                self.places += [Patch.of(*method) for method in methods_of(cls)]
                return
            self.visit(cls, depth)
        attributes = attributes_of(obj)
        if attributes is not None and depth < _DEPTH:
            may = _takes_stand_ins(cls)
            for name, value in list(attributes.items())[:ITEMS]:
                self._put(obj, name, value, may)
                self.visit(value, depth + 1)
        for _, value in slots_of(obj):
            self.keep(value)

    def _lead(self, item, namespace):
        """Find what code, or the methods of a class, lead to by the globals of their module."""
        if id(item) in self._led:
            return
        self._led[id(item)] = item
        leads = cache_for(namespace, _leads)
        known = leads.get(id(item))
        if known is not None and known[0] is item and known[1] is namespace:
            for names, n in known[2]:
                if names.state() != n:
                    break
                self.found[id(names.namespace)] = names
            else:
                self._reached.append(known[3])
                return
        inner = _Spread(item, namespace)
        if len(leads) > _MANY:
            leads.clear()
        reached = list(inner._led.values())
        leads[id(item)] = (item, namespace, [(names, names.state()) for names in inner.finish()], reached)
        self.found.update(inner.found)
        self._reached.append(reached)

    def writes(self):
        """Names through which the code that was found writes arrays: Note [Names that are written]."""
        key = tuple(sorted(self._led))
        found = _writes.get(key)
        if found is None:
            if len(_writes) > _MANY:
                _writes.clear()
            items = {id(item): item for reached in self._reached for item in reached}.values()
            found = _writes[key] = written(
                [
                    item
                    for item in items
                    if isinstance(item, types.CodeType) and not item.co_filename.startswith(_OF_NUMPY)
                ],
                [item for item in self._led.values() if isinstance(item, types.CodeType)],
                {item.__name__ for item in items if isinstance(item, type)},
            )
        return found


class _Spread(_Search):
    """The walk from one code object or class over globals, with all that they lead to in turn."""

    __slots__ = ("_start", "_waiting")

    def __init__(self, item, namespace):
        super().__init__()
        self._start = namespace
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
                self.keep(value.__func__ if isinstance(value, staticmethod) else value)
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
            self.visit(value, 1, named)
        for name in imported(item, namespace.get("__package__")):
            module = sys.modules.get(name)
            if module is not None:
                self.visit(module, 1, named)
            elif _is_programs(name):
                AWAITED.add(name)

    def _object(self, obj, depth):
        super()._object(obj, max(depth, 2))

    def _other_code(self, namespace, place):
        Names.of(namespace).saw(place.pair[0], [place])  # it goes with its module where packages are named

    def finish(self):
        """As before; the places of functions that are globals go with some namespace."""
        if not self.found and (self.places or self.held):
            self.found[id(self._start)] = Names.of(self._start)
        for names in self.found.values():
            names.saw(NOTHING, self.places, self.held)
            break
        return super().finish()


def kind_of(container):
    """The builtin class of a container, whose methods do not run code of the program."""
    return next(kind for kind in (list, tuple, set, frozenset, dict) if isinstance(container, kind))


def _may_lead(value):
    """Whether what a module holds may be, or become, something with a stand-in."""
    return value is None or not (type(value) is types.ModuleType or is_plain(value))


def _takes_stand_ins(cls):
    """Whether attributes of the objects of a class may hold stand-ins: not where they make up its hash."""
    return cls.__hash__ in (None, object.__hash__) and not issubclass(cls, threading.local)


def slots_of(obj):
    """(slot, value) of the slots of an object."""
    found = []
    for cls in type(obj).__mro__:
        for member in vars(cls).values():
            if type(member) is types.MemberDescriptorType:
                try:
                    found.append((member, member.__get__(obj)))
                except AttributeError:  # not assigned
                    continue
    return found


def _top(module):
    return (module if isinstance(module, str) else "").partition(".")[0]


def is_library(module):
    """Whether the module of this name belongs to a library that is not reached."""
    return _top(module) in _LIBRARIES and not module.startswith(_PLAIN_PART)


def _homes(cls):
    """The namespaces that the code of a class runs in: that of its module, and of a file that `exec` has run.

    Without `__name__` there the class is said to be of `builtins`, whose own classes have no functions of Python's.
    """
    module = sys.modules.get(cls.__module__) if cls.__module__ != "builtins" else None
    found = [] if module is None else [vars(module)]
    for value in vars(cls).values():
        if type(value) is types.FunctionType and value.__qualname__.startswith(cls.__qualname__):
            if all(value.__globals__ is not one for one in found):
                found.append(value.__globals__)
    return found


def _is_programs(name):
    """Whether a module of this name would be a program's."""
    return not is_library(name) and _top(name) not in sys.stdlib_module_names


def _import_at_once(function):
    """Import the program's modules that the body of a function imports in any case: (2) leads there.

    What else a function imports is found by the search after the next change of `sys.modules`.
    """
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType) and adoptable(function.__globals__):
        names = imported_at_once(function.__code__, function.__globals__.get("__package__"))
        for name in sorted(filter(_is_programs, names - sys.modules.keys())):
            try:
                importlib.import_module(name)
            except Exception:  # no module, but what one holds; or the program's affair, when it comes to that
                continue


def _ready(namespace):
    """Have the stand-ins of numpy.polynomial, which are made where code first leads there."""
    name = namespace.get("__name__")
    if isinstance(name, str) and name.startswith(_PLAIN_PART):
        polynomial()


def adoptable(namespace):
    """Whether a namespace is a program's: no library's of arrays, nor the standard library's (4)."""
    name = namespace.get("__name__")
    top = _top(name)
    if is_library(name):
        return False
    if top not in sys.stdlib_module_names or name == _PLAIN_PART_OF_PYTHON:
        return True
    file = namespace.get("__file__")  # a program may call a file as the standard library does: test.py, signal.py
    return isinstance(file, str) and not file.startswith(_STANDARD_LIBRARY)


set_renewal(renewed, forget, reach_of)
set_libraries(is_library)
