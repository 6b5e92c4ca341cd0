"""Looks at what functions read by their names, and at all code that they may run.

May import: autograd.closed_functions, autograd.flow_of_names, autograd.instructions, core.tensor, engine, numpy. Note
[Function snapshots] in function_snapshots.py says what they are for.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
import types

import numpy

from arraygrad.autograd.closed_functions import LOGS, contents_of, names_in
from arraygrad.autograd.flow_of_names import reach
from arraygrad.autograd.instructions import steps_of
from arraygrad.core.tensor import Tensor
from arraygrad.engine.later import real_thing

__all__ = [
    "ANY_NAME", "DEPTH", "FUNCTIONS", "HOLDERS", "LIBRARIES", "LIBRARY_FUNCTIONS", "MOST", "PLAIN_TYPES", "ROUNDS",
    "SPECIAL", "FlowLook", "QuickLook", "is_library", "library_function", "read_names",
]  # fmt: skip

FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
# Libraries whose objects have nothing but what they compute with: all attributes of these are compared. Their code is
# not read, and neither is that of Python's own library.
LIBRARIES = frozenset(["numpy", "scipy", "arraygrad", "array_api_compat", "cupy", "cupyx", "host_cuda"])
# Names by which code asks for attributes that it does not name.
ANY_NAME = frozenset(["getattr", "vars", "__dict__", "attrgetter"])
# How deep it is looked, at how many functions; how often, until all attributes are known.
DEPTH, MOST, ROUNDS = 8, 100, 4
# Classes of Python's library whose objects hold what the program puts there.
HOLDERS = frozenset(["SimpleNamespace", "Namespace", "_local"])
# Methods that code calls without naming them.
SPECIAL = frozenset(
    f"__{name}__"
    for name in "call getitem getattr getattribute get len iter contains float array bool enter exit neg abs add radd "
    "sub rsub mul rmul truediv rtruediv pow rpow matmul rmatmul".split()
)
LIBRARY_FUNCTIONS = (types.BuiltinFunctionType, types.MethodWrapperType, numpy.ufunc, type(numpy.sum))
_look_away = object()
_ARRAY_LIBRARIES = frozenset(["torch", "cupy", "jaxlib", "array_api_strict"])
PLAIN_TYPES = frozenset([int, float, complex, bool, str, bytes, type(None), type(...), slice])
_SETTLED = frozenset([numpy.ufunc])


class QuickLook:
    """What functions read by their names, of the program's own objects too; `deep`: there is more to it, see _Look.

    `attributes` are the names of attributes that code was found to use before.
    """

    def __init__(self, functions, holders, attributes):
        self.values, self.arrays, self.deep = {}, {}, False
        self.followed, self.instances, self.attributes = set(), {}, attributes
        self.counts = {}  # of names of functions
        # Where the values stand: (globals, name, value) and (cell, value). `steady`: nothing else can change.
        self.names, self.cells, self.steady = [], [], True
        self.seen = None
        for f in functions:
            self.function(f)
        for path, value in (holders or {}).items():
            self.steady = False
            self.add(path, value)

    def is_as_before(self):
        """Whether another look would find the same."""
        if not self.steady or self.deep:
            return False
        for names, name, value in self.names:
            if names.get(name, _look_away) is not value:
                return False
        for cell, value in self.cells:
            try:
                if cell.cell_contents is not value:
                    return False
            except ValueError:
                return False
        return True

    def function(self, f):
        while f is not None and type(f) is not types.FunctionType:
            path = getattr(f, "__name__", type(f).__name__)
            if isinstance(f, functools.partial):
                for key, value in (*enumerate(f.args), *f.keywords.items()):
                    self.add(f"{path}({key})", value)
                self.steady, f = False, f.func
            elif type(f) is types.MethodType:
                if not isinstance(f.__self__, type):
                    self.add(f"{path}: self", f.__self__)
                f = f.__func__
            elif is_library(type(f).__module__):
                f = getattr(f, "__wrapped__", None)
            else:
                self.add(path, f)
                return
        if f is None:
            return
        code = real_thing(f.__code__)
        read = read_names(code)
        names = f.__globals__
        closure = f.__closure__
        attributes = names_in(code)[1]
        if not attributes <= self.attributes:
            self.attributes |= attributes
        if not (ANY_NAME.isdisjoint(names_in(code)[0]) and ANY_NAME.isdisjoint(attributes)):
            self.deep = True
        if not (read or closure or f.__defaults__ or f.__kwdefaults__) or f in self.followed:
            return
        if len(self.followed) >= MOST:
            self.deep = True
            return
        self.followed.add(f)
        if is_library(names.get("__name__", "")):
            for cell in closure or ():
                for one in contents_of(cell):
                    self.cells.append((cell, one))
                    if isinstance(one, types.FunctionType):
                        self.function(one)
            return
        count = self.counts[f.__name__] = self.counts.get(f.__name__, 0) + 1
        name = f.__name__ if count == 1 else f"{f.__name__} ({count})"
        for one in read & names_in(code)[0]:  # a variable of a closure may have the name of a global
            value = names.get(one, _look_away)
            self.names.append((names, one, value))
            if type(value) not in _SETTLED and value is not _look_away:
                self.add(f"{name}: {one}", value)
        if closure:
            for one, cell in zip(code.co_freevars, closure, strict=True):
                if one in read:
                    found = contents_of(cell)
                    self.steady = self.steady and bool(found)
                    for value in found:
                        self.cells.append((cell, value))
                        if type(value) not in _SETTLED and value is not f:
                            self.add(f"{name}: {one}", value)
        for key, value in (*enumerate(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).items()):
            if type(value) not in _SETTLED:
                self.add(f"{name}: default {key!r}", value)

    def add(self, path, value, depth=DEPTH):
        value = real_thing(value)
        kind = type(value)
        if kind in PLAIN_TYPES or isinstance(value, numpy.generic):
            self.values[path] = value
        elif isinstance(value, Tensor):
            self.steady = False
            if not value.requires_grad:  # else a node may lead to it, and it to the node
                self.values[path] = self.arrays[path] = value
        elif kind is numpy.ndarray or _is_foreign_array(kind):
            self.values[path] = self.arrays[path] = value
        elif hasattr(kind, "__next__"):  # an iterator is not compared
            self.steady = False
        elif kind is list or kind is tuple or isinstance(value, dict):
            self.steady = self.steady and kind is tuple
            kind = kind if kind is list or kind is tuple else dict
            parts = value.values() if kind is dict else value
            if all(type(part) in PLAIN_TYPES for part in parts):
                self.values[path] = kind(value)
            elif not depth:
                self.deep = True
            else:
                self.values[f"len({path})"] = len(value)
                for key, part in value.items() if kind is dict else enumerate(value):
                    if type(part) not in _SETTLED:
                        self.add(f"{path}[{key!r}]", part, depth - 1)
        elif kind is types.FunctionType:
            self.values[path] = real_thing(value.__code__)
            self.function(value)
        elif kind is types.ModuleType or isinstance(value, type):
            if depth and not is_library(value.__name__ if kind is types.ModuleType else value.__module__):
                for space in (value,) if kind is types.ModuleType else value.__mro__:
                    for name in sorted(self.attributes & vars(space).keys()):
                        part = vars(space)[name]
                        self.names.append((vars(space), name, part))
                        self.add(f"{path}.{name}", getattr(part, "__func__", part), depth - 1)
        elif isinstance(value, numpy.dtype):
            self.values[path] = value
        elif isinstance(value, LIBRARY_FUNCTIONS):
            self.values[path] = library_function(value)
            if isinstance(getattr(value, "__self__", None), (numpy.ndarray, dict)):
                self.add(f"{path}.__self__", value.__self__, depth)
        elif isinstance(value, (property, types.MemberDescriptorType, types.GetSetDescriptorType)):
            self.values[path] = value
        elif kind is types.MethodType or (callable(value) and is_library(kind.__module__)):
            self.function(value)
        else:
            self.instance(path, value, depth)

    def instance(self, path, value, depth):
        """The attributes of an object that code names, and what its class has under such names."""
        kind = type(value)
        if id(value) in self.instances:
            return
        self.instances[id(value)] = value
        if not depth or len(self.instances) > MOST or (is_library(kind.__module__) and kind.__name__ not in HOLDERS):
            self.deep = True
            return
        self.steady = False
        self.values[path] = kind
        own = getattr(value, "__dict__", None)
        own = own if type(own) is dict else {}
        for name in sorted(self.attributes & own.keys()):
            self.add(f"{path}.{name}", own[name], depth - 1)
        for base in kind.__mro__[:-1]:
            for name, member in vars(base).items():
                if name in own or not (name in self.attributes or name in SPECIAL):
                    continue
                if isinstance(member, types.MemberDescriptorType):
                    if hasattr(value, name):
                        self.add(f"{path}.{name}", getattr(value, name), depth - 1)
                    continue
                if isinstance(member, functools.cached_property):
                    member = member.func
                member = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
                if isinstance(member, types.FunctionType):
                    self.function(member)
                elif name in self.attributes:
                    self.add(f"{path}.{name}", member, depth - 1)


# A path of a look: a variable, then attributes and items.
_VARIABLE = re.compile(r"(?:len\()*(?:[^:]*: )?(\w+)(?=[.\[)]|$)")
_STEP = re.compile(r"""\.(\w+)|\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w.+-]+)\]""")


def _name_at(path):
    """The variable or attribute that a path leads to, or that holds what it leads to; None where it is not named."""
    found = _VARIABLE.match(path)
    if found is None:
        return None
    name, at = found[1], found.end()
    while (step := _STEP.match(path, at)) is not None:
        name, at = step[1] if step[1] and step[1] != "__self__" else name, step.end()
    return name if not path[at:].strip(")") else None


class FlowLook(QuickLook):
    """All code that functions may run, and the names under which they find what may be changed.

    See Note [Values that reach no result] in flow_of_names.py.
    """

    def __init__(self, functions, holders):
        self.codes, self.names_of_places, self.aliased, self.classes = set(), {}, set(), set()
        self.answers = {}
        attributes = frozenset()
        for _ in range(ROUNDS):
            self.classes.clear()
            super().__init__(functions, holders, attributes)
            if self.attributes == attributes:
                break
            attributes = self.attributes
        else:
            self.deep = True
        self.aliased.update(getattr(f, "__name__", "") for f in functions)

    def function(self, f):
        if type(f) is types.FunctionType and not is_library(f.__globals__.get("__name__", "")):
            self.codes.add(real_thing(f.__code__))
        super().function(f)

    def add(self, path, value, depth=DEPTH):
        value = real_thing(value)
        name = _name_at(path)
        if isinstance(value, FUNCTIONS) and name != getattr(value, "__name__", None):
            self.aliased.add(getattr(value, "__name__", None))
        elif type(value) not in PLAIN_TYPES:
            self.names_of_places.setdefault(id(value), set()).add(name)
            self.of_class(value if isinstance(value, type) else type(value))
        super().add(path, value, depth)

    def instance(self, path, value, depth):
        if type(value).__module__ not in _HOLDS_NO_CODE:
            super().instance(path, value, depth)

    def of_class(self, cls):
        """Follow all methods: an operator, a constructor or a property does not name them."""
        if cls in self.classes:
            return
        self.classes.add(cls)
        for base in cls.__mro__[:-1] if not is_library(cls.__module__) else ():
            for member in vars(base).values():
                for part in (getattr(member, "__func__", member), *(getattr(member, n, None) for n in _ACCESSORS)):
                    if isinstance(part, types.FunctionType):
                        self.function(part)

    def decides(self, path):
        """Whether what stands at a path may decide what the functions return."""
        name = _name_at(path)
        if name is None or self.deep:
            return True
        if name not in self.answers:
            # What is held under several names is changed under all of them.
            names, more = set(), {name}
            while more != names:
                names = set(more)
                more.update(*[held for held in self.names_of_places.values() if not names.isdisjoint(held)])
            self.answers[name] = None in names or reach(names, self.codes, self.aliased)
        return self.answers[name]


_HOLDS_NO_CODE = frozenset(["_thread", "threading", "logging"])  # modules of locks and loggers
_ACCESSORS = ("fget", "fset", "fdel", "func")


def _is_foreign_array(kind):
    return kind.__module__.partition(".")[0] in _ARRAY_LIBRARIES and hasattr(kind, "dtype")


@functools.lru_cache(maxsize=512)
def read_names(code):
    """Names of globals and of cells that code, and functions in it, read, and do not write themselves."""
    read, written = set(), set()
    found = [step for step in steps_of(code) if step.opname != "PUSH_NULL"]
    for instruction, following in itertools.zip_longest(found, found[1:]):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            method = following is not None and following.opname in ("LOAD_ATTR", "LOAD_METHOD")
            if not (method and following.argval in LOGS):
                read.add(instruction.argval)
        elif name in ("STORE_DEREF", "STORE_GLOBAL"):
            written.add(instruction.argval)
        elif isinstance(instruction.argval, types.CodeType):
            inner = instruction.argval  # what it finds in variables of this code is no global, and no cell of it
            read |= {one for one in read_names(inner) if one not in code.co_cellvars or one in names_in(inner)[0]}
    return frozenset(read - written)


def library_function(f):
    """A function of a library, told by its name, as adoption exchanges it for another while a call runs."""
    return f"<the function {getattr(f, '__name__', '')} of a library>"


@functools.lru_cache(maxsize=1024)
def is_library(name):
    """Whether a module is one of the libraries', or Python's own."""
    top = name.partition(".")[0]
    if top in LIBRARIES or top == "builtins":
        return True
    if top not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(name), "__file__", None)  # a program's module may have such a name as well
    return file is None or (os.path.dirname(os.__file__) in file and "site-packages" not in file)
