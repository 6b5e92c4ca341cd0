"""Places that hold the arrays and numbers of a program: attributes, slots, items, variables of closures, globals.

May import: adoption.bindings, adoption.identity_comparisons, adoption.reach, adoption.written, core.tensor, the
standard library, numpy.

A walk finds them from what a call reaches, without running code of the program; `get` and `put` read and write one.
"""

import collections
import functools
import sys
import threading
import types

import numpy

from arraygrad.adoption.bindings import attributes_of, is_plain, references
from arraygrad.adoption.identity_comparisons import attribute
from arraygrad.adoption.reach import adoptable, is_library, slots_of
from arraygrad.adoption.written import parameter
from arraygrad.core.tensor import Tensor

__all__ = ["ITEMS", "Found", "Walk", "get", "is_a_programs", "put"]

ITEMS = 4096
_PLAIN = frozenset(
    (float, int, complex, str, bytes, bool, types.NoneType, numpy.float64, numpy.float32, numpy.int64, range, slice)
)
_CONTAINERS = frozenset((dict, list, tuple, set, frozenset))
# What is looked into by its kind, or not at all.
_NO_OBJECTS = (
    types.FunctionType, types.MethodType, types.ModuleType, functools.partial, type, staticmethod, classmethod,
    property,
)  # fmt: skip


class Found:
    """An array, and the places that hold it: (holder, key)."""

    __slots__ = ("box", "frames", "named", "places")

    def __init__(self, array):
        self.box = [array]  # so that references are counted without one more
        self.places = []
        self.named = False
        self.frames = 0  # references by variables of functions that wait


class Walk:
    """A walk over what a call reaches, and what else holds arrays. No code of the program runs."""

    depth = 8  # how deep objects in objects are followed
    objects = 20_000  # how many objects one search looks at
    items = ITEMS  # how many items of a container

    def __init__(self, names):
        self.arrays = {}
        self._names = names
        self._seen = {}
        self._dicts = set()  # ids of those that were looked at
        self._places = set()
        self._kept = []  # so that an id stays an id

    # What is found

    def array(self, holder, key, value, named):
        """An array in a place."""
        found = self.arrays.get(id(value))
        if found is None:
            found = self.arrays[id(value)] = Found(value)
        found.named = found.named or named
        name = (id(holder[0]), id(holder[1])) if type(holder) is tuple else (id(holder), key)
        if name not in self._places:  # one place counts once, however it is reached: (2)
            self._places.add(name)
            found.places.append((holder, key))

    def tensor(self, holder, key, value):
        """A Tensor in a place."""

    def leave_out(self, dicts):
        """Have dicts left out of the walk."""
        self._kept += dicts
        self._dicts.update(map(id, dicts))

    def may_be_key(self, key):
        """Whether a value can be put under a key: the hash of an object may be code of the program."""
        return is_plain(key)

    # The walk

    def namespaces(self, namespaces):
        """Look at the names that code looks up in namespaces: pairs of a namespace and names."""
        for namespace, names in namespaces:
            if is_a_programs(namespace):
                self.entries(namespace, -1, names=names)

    def item(self, holder, key, value, depth, named):
        """What a place holds; without a holder: where nothing can be exchanged."""
        kind = type(value)
        if kind in _PLAIN:
            return
        if kind is numpy.ndarray:
            if holder is not None:
                self.array(holder, key, value, named)
        elif kind is Tensor:
            if holder is not None:
                self.tensor(holder, key, value)
        else:
            self.visit(value, depth, named)

    def visit(self, value, depth=0, named=False):
        """Look at what an object holds."""
        known = self._seen.get(id(value))
        kind = type(value)  # asked by issubclass: isinstance reads `__class__`, which may be code of the program
        if depth > self.depth or (known is not None and (known or not named)) or len(self._seen) > self.objects:
            return
        self._seen[id(value)] = named
        if known is None:
            self._kept.append(value)
        elif not issubclass(kind, list | tuple | dict):  # seen before, but not as something that is written
            return
        if issubclass(kind, dict):
            if known is None or named:
                self.entries(value, depth, named, again=known is not None)
        elif issubclass(kind, list):
            if list.__len__(value) <= self.items:
                for k, item in enumerate(list.__iter__(value)):
                    self._once(known, value, k, item, depth + 1, named)
        elif issubclass(kind, tuple | set | frozenset):
            base = next(one for one in (tuple, set, frozenset) if issubclass(kind, one))
            if base.__len__(value) <= self.items:
                for item in base.__iter__(value):
                    self.item(None, None, item, depth + 1, named)
        elif issubclass(kind, types.FunctionType):
            self.function(value, depth)
        elif issubclass(kind, types.MethodType):
            self.visit(value.__func__, depth)
            self.item(None, None, value.__self__, depth, False)
        elif kind is functools.partial:
            self._partial(value, depth)
        elif issubclass(kind, type):
            self._class(value, depth)
        elif issubclass(kind, staticmethod | classmethod):
            self.visit(value.__func__, depth)
        if not issubclass(kind, _NO_OBJECTS) and kind not in _CONTAINERS:
            self.object(value, depth)

    def _once(self, known, holder, key, value, depth, named):
        """An item of a container; of one that was seen before only whether it is written is new."""
        if known is None or type(value) not in (numpy.ndarray, Tensor):
            self.item(holder, key, value, depth, named)
        elif id(value) in self.arrays:
            self.arrays[id(value)].named = True

    def entries(self, items, depth, named=False, names=None, again=False):
        """The items of a dict, a namespace or the attributes of an object; `names`: those that are looked at."""
        if dict.__len__(items) > self.items:
            return
        if names is None and not again:
            if id(items) in self._dicts:
                return
            self._dicts.add(id(items))
            self._kept.append(items)
        if names is None:
            pairs = list(dict.items(items))
        else:  # of a namespace, whose names are text
            pairs = [(name, items.get(name)) for name in names & items.keys() if name != "__builtins__"]
        for key, value in pairs:
            if type(value) in _PLAIN:
                continue
            text = type(key) is str
            holder = items if text or self.may_be_key(key) else None
            self._once(True if again else None, holder, key, value, depth + 1, named or (text and key in self._names))

    def function(self, function, depth):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) in self._seen:
                continue
            self._seen[id(cell)] = True
            self._kept.append(cell)
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self.item(cell, None, value, depth + 1, name in self._names)
        code = function.__code__
        box = [function.__defaults__ or ()]
        own = references(box) == 2  # the tuple is nobody else's
        more = max(0, len(box[0]) - code.co_argcount)  # than there are parameters, which Python leaves unused
        names = ("",) * more + code.co_varnames[code.co_argcount + more - len(box[0]) : code.co_argcount]
        for k, value in enumerate(box[0]):
            self.item(function if own else None, k, value, depth + 1, parameter(code, names[k]) in self._names)
        for name, value in (function.__kwdefaults__ or {}).items():
            self.item(function.__kwdefaults__, name, value, depth + 1, parameter(code, name) in self._names)
        if function.__dict__:
            self.visit(function.__dict__, depth)

    def _partial(self, partial, depth):
        self.visit(partial.func, depth)
        code = getattr(getattr(partial.func, "__func__", partial.func), "__code__", None)
        names = code.co_varnames[isinstance(partial.func, types.MethodType) :] if type(code) is types.CodeType else ()
        box = [partial.args]
        own = references(box) == 2
        for k, value in enumerate(box[0]):
            named = k < len(names) and parameter(code, names[k]) in self._names
            self.item(partial if own else None, k, value, depth + 1, named)
        for name, value in partial.keywords.items():
            named = name in names and parameter(code, name) in self._names
            self.item(partial.keywords, name, value, depth + 1, named)

    def _class(self, cls, depth):
        for base in cls.__mro__[:-1]:
            module = sys.modules.get(base.__module__)
            if module is None or not is_a_programs(vars(module)) or (base is not cls and id(base) in self._seen):
                continue
            self._seen[id(base)] = False
            self._kept.append(base)
            for name, value in list(vars(base).items()):
                if not name.startswith("__") and type(value) not in (types.FunctionType, property):
                    self.item(base, name, value, depth + 1, name in self._names)

    def object(self, obj, depth):
        wrapped = attribute(obj, "__wrapped__")  # a transform of a program's function, for one
        if wrapped is not None and attribute(type(obj), "__wrapped__") is None:
            self.visit(wrapped, depth)
        cls = type(obj)
        if cls is not types.SimpleNamespace and (
            is_library(cls.__module__) or cls.__module__.partition(".")[0] in sys.stdlib_module_names
        ):
            return
        if issubclass(cls, threading.local):
            return
        self.visit(cls, depth)
        attributes = attributes_of(obj)
        if attributes is not None:
            self.entries(attributes, depth)
        for member, value in slots_of(obj):
            if value is attributes:  # of SimpleNamespace
                continue
            self.item((obj, member), None, value, depth + 1, member.__name__ in self._names)


def get(holder, key):
    """What a place holds; None where there is no such place any more."""
    if isinstance(holder, dict):
        return dict.get(holder, key)
    if isinstance(holder, list):
        return list.__getitem__(holder, key) if key < list.__len__(holder) else None
    if type(holder) is types.CellType:
        try:
            return holder.cell_contents
        except ValueError:
            return None
    if type(holder) is types.FunctionType:
        given = holder.__defaults__ or ()
        return given[key] if key < len(given) else None
    if type(holder) is functools.partial:
        return holder.args[key]
    if type(holder) is tuple:
        try:
            return holder[1].__get__(holder[0])
        except AttributeError:  # deleted
            return None
    return vars(holder).get(key)


def put(holder, key, value):
    """Have a place hold a value; no code of the program runs."""
    if isinstance(holder, dict):
        dict.__setitem__(holder, key, value)
    elif isinstance(holder, list):
        list.__setitem__(holder, key, value)
    elif isinstance(holder, collections.deque):
        collections.deque.__setitem__(holder, key, value)
    elif type(holder) is numpy.ndarray:  # of objects
        holder.flat[key] = value
    elif type(holder) is types.CellType:
        holder.cell_contents = value
    elif type(holder) is types.FunctionType:
        given = list(holder.__defaults__)
        given[key] = value
        holder.__defaults__ = tuple(given)
    elif type(holder) is functools.partial:
        args = list(holder.args)
        args[key] = value
        functools.partial.__setstate__(holder, (holder.func, tuple(args), holder.keywords, vars(holder)))
    elif type(holder) is tuple:
        holder[1].__set__(holder[0], value)
    else:
        type.__setattr__(holder, key, value)


def is_a_programs(namespace):
    """Whether a namespace is a program's, and none of numpy.polynomial, whose arrays are constants."""
    return adoptable(namespace) and (namespace.get("__name__") or "").partition(".")[0] != "numpy"
