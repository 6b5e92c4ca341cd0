"""Functions of a program that backward calls again, as they were when a solver called them.

May import: core.constants, core.containers, core.given, core.tensor, engine, numpy.

Begin reading at `kept`; Note [Kept functions] says what is kept and what is compared.
"""

from __future__ import annotations

import collections
import collections.abc
import contextvars
import dis
import functools
import itertools
import math
import os
import sys
import types

import numpy

from arraygrad.core.constants import Contents, constants_are_compared
from arraygrad.core.containers import flatten
from arraygrad.core.given import raw_array
from arraygrad.core.tensor import Tensor
from arraygrad.engine.graph_task import current_graph_task_id
from arraygrad.engine.later import called_later, real_thing
from arraygrad.engine.node import is_grad_enabled

__all__ = ["FUNCTIONS", "closed", "contents_of", "held", "kept", "names_of", "written_cells"]


# Note [Kept functions]
# ~~~~~~~~~~~~~~~~~~~~~
# Python looks up a variable when a function runs, not when the function is made. A solver in a loop,
# `for k in range(3): total = total + quad(lambda x: a * x**k, 0, 1)[0]`, is given a function whose k is 0, 1 and 2; but
# backward calls the same functions after the loop, when k is 2 for all of them.
# (1) Forward, the function itself is called. Backward calls a copy of it whose closure has the contents of the time at
#     which the solver was called; so have the functions that the closure and the defaults hold. A cell that one of
#     these functions writes (`nonlocal n`) stays shared: it is compared, as follows.
# (2) What else a function reads may change as well: globals, and what objects, lists, dicts and arrays hold. A `_Look`
#     follows the code: the names that it loads, in its closure, its globals, its defaults and its object; the
#     attributes that it names, of any of these; and so on in the functions that it finds. Of objects of NumPy and
#     SciPy, whose code is not read, it takes all attributes. In each backward run the look is taken again before the
#     first call. A difference is an error.
# (3) What the function itself changes (a counter, a buffer, a log) is not compared: it is found by looking again after
#     the forward calls with the numbers 1, 4, 16, ...
# (4) Not compared: modules, classes and functions of libraries, which adoption exchanges for others while a call runs;
#     iterators; what only compiled code holds.
# Guarded by tests/autograd/test_kept_functions.py.

FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_PLAIN = (int, float, complex, str, bytes, type(None), numpy.generic)
_ROWS = (list, tuple, set, frozenset, collections.deque)
# Libraries whose objects have nothing but what they compute with: all attributes of these are compared. Their code is
# not read, and neither is that of Python's own library.
_LIBRARIES = frozenset(["numpy", "scipy", "arraygrad", "array_api_compat"])
# Names by which code asks for attributes that it does not name.
_ANY_NAME = frozenset(["getattr", "vars", "__dict__", "attrgetter"])
# How deep it is looked, at how many things, and at how many functions; how often, until all attributes are known.
_DEPTH, _THINGS, _MOST, _ROUNDS = 8, 4000, 100, 4


def kept(f, name, args=(), bind=None, found=None):
    """A function to give to the solver `name` and to call again in backward. See Note [Kept functions].

    Parameters
    ----------
    f : callable
        The user's function.
    name : str
        Of the solver, for the error.
    args : tuple
        What it is called with besides the solver's own arguments: constants among it are compared as well.
    bind : callable, optional
        bind(f), for `f` and for the copy of it that backward calls: what is called in its place.
    found : callable, optional
        found(read), before the first bind: (Tensor, whether a closure or a default holds it) of those that require grad
        and that `f` reads besides its arguments, for each place.

    Returns
    -------
    callable

    Raises
    ------
    RuntimeError
        When it is called in backward and variables that it reads have changed since.
    """
    bind = bind or (lambda f: f)
    if not is_grad_enabled():
        return bind(f)
    copy = closed(f)
    seen = _Seen(copy, args)
    if found is not None:
        found(seen.read)
    now, again = bind(f), called_later(bind(copy))
    born = checked = current_graph_task_id()
    calls, next_look = 0, 1

    def function(*args, **kwargs):
        nonlocal checked, calls, next_look
        run = current_graph_task_id()
        if run != born:
            if run != checked:
                seen.check(name)
                checked = run
            return again(*args, **kwargs)
        found = now(*args, **kwargs)
        calls += 1
        if calls == next_look:
            next_look *= 4
            seen.forget_changed()
        return found

    function.__name__ = getattr(f, "__name__", type(f).__name__)
    function.compares_itself = True
    return function


def _compares_itself(f):
    """Whether `kept` made it: what holds it leaves the copy and the comparison to it."""
    return getattr(f, "compares_itself", False) is True


class _Seen:
    """What a function reads, as it is now."""

    def __init__(self, f, args):
        self.f, self.args = f, args
        self.look = _Look(f, args)
        # What is differentiated is saved by the node, which knows about writes.
        arrays = self.look.arrays.items()
        recorded = {path: v for path, v in arrays if isinstance(v, Tensor) and v.requires_grad}
        constants = {path: v for path, v in arrays if path not in recorded}
        self.contents = Contents(constants, tensors=True)
        written = written_cells(f)
        self.read = [
            (v, path in self.look.direct)
            for path, v in recorded.items()
            if path not in self.look.leaves and self.look.cells.get(path) not in written
        ]

    def changed(self):
        """Paths of what is different now."""
        if not constants_are_compared():
            return []
        now = _Look(self.f, self.args, self.look).values
        return [path for path, value in self.look.values.items() if path in now and _differ(value, now[path])]

    def forget_changed(self):
        """What the function itself has changed is compared no more."""
        for path in self.changed():
            del self.look.values[path]
        self.contents.forget(self.contents.written())

    def check(self, name):
        """Raise RuntimeError where a variable has changed, or what an array contains."""
        found = self.changed()
        if found:
            have = "has" if len(found) == 1 else "have"
            raise RuntimeError(
                f"{name}: backward calls the function again, and {', '.join(found[:4])} {have} another value now than "
                f"when {name} was called: the gradient would be that of another function. Give what changes to the "
                "function as an argument (args=) or as a default (lambda x, k=k: ...)"
            )
        self.contents.check(name)


class _Look:
    """{path: value} of what a function reads; see Note [Kept functions] (2)."""

    def __init__(self, f, args=(), before=None):
        # A look that was taken before knows the attributes: one round will do.
        self.attributes = frozenset() if before is None else before.attributes
        self.any_name = before is not None and before.any_name
        for _ in range(_ROUNDS):
            self.values, self.arrays, self.codes = {}, {}, set()
            self.seen, self.followed = {}, {}  # id -> object or function, alive
            self.names = {}  # of functions -> how many have it
            self.leaves, self.direct = set(), set()  # paths of the arguments; of what functions hold, and tuples of it
            self.cells = {}  # path -> id of the cell that stands there
            self.function(getattr(f, "__name__", type(f).__name__), f, _DEPTH)
            for i, value in enumerate(flatten(tuple(args))[0]):
                if not isinstance(value, _PLAIN):  # numbers and containers were taken down when the solver was called
                    self.leaves.add(f"argument leaf {i}")
                    self.add(f"argument leaf {i}", value, _DEPTH)
            named = frozenset().union(*[_names(code)[1] for code in self.codes])
            loaded = frozenset().union(*[_names(code)[0] for code in self.codes])
            any_name = not _ANY_NAME.isdisjoint(named | loaded)
            if named <= self.attributes and any_name == self.any_name:
                break
            self.attributes, self.any_name = named, any_name

    def add(self, path, value, depth):
        """Note what stands at a path, and what it leads to."""
        value = real_thing(value)
        if isinstance(value, _PLAIN):
            self.values[path] = value
            return
        if len(self.seen) >= _THINGS:
            return
        known = id(value) in self.seen
        self.seen[id(value)] = value
        if isinstance(value, (numpy.ndarray, Tensor)):
            self.values[path] = self.arrays[path] = value
        elif isinstance(value, types.ModuleType):
            library = _is_library(value.__name__)
            for name in sorted(self.attributes & vars(value).keys()) if depth and not known else ():
                part = vars(value)[name]
                if not library or isinstance(part, (*_PLAIN, numpy.ndarray, *_SHARED)):
                    self.add(f"{path}.{name}", part, depth - 1)
        elif isinstance(value, type):
            if depth and not known and not _is_library(value.__module__):
                self.members(path, value, value, depth)
        elif isinstance(value, (*FUNCTIONS, _CACHED)):
            self.function(path, value, depth)
        elif isinstance(value, (dict, collections.abc.MutableMapping)):
            self.container(path, value, value.items, depth, known)
        elif isinstance(value, _ROWS):
            self.container(path, value, lambda: enumerate(value), depth, known)
        elif isinstance(value, _LIBRARY_FUNCTIONS):
            self.values[path] = _named(value)
        elif isinstance(value, contextvars.ContextVar):
            self.add(f"{path}.get()", value.get(None), depth)
        elif not hasattr(type(value), "__next__"):
            self.values[path] = value
            if depth and not known:
                self.object(path, value, depth)

    def container(self, path, value, items, depth, known):
        self.values[path], self.values[f"len({path})"] = type(value), len(value)
        if depth and not known:
            for key, part in itertools.islice(items(), _THINGS):
                if path in self.direct and isinstance(value, tuple):
                    self.direct.add(f"{path}[{key!r}]")
                self.add(f"{path}[{key!r}]", part, depth - 1)

    def object(self, path, value, depth):
        """The attributes of an object: those that code names, or all; then what its class has under such names."""
        own = getattr(value, "__dict__", None)
        own = own if type(own) is dict else {}
        module = type(value).__module__
        library = module.partition(".")[0] in _LIBRARIES
        if not library and _is_library(module) and type(value).__name__ not in _HOLDERS:
            return
        everything = library or self.any_name
        for name in sorted(own if everything else self.attributes & own.keys(), key=str):
            self.add(f"{path}.{name}", own[name], depth - 1)
        if library:
            for base in type(value).__mro__:
                for name, member in vars(base).items():
                    if isinstance(member, types.MemberDescriptorType) and hasattr(value, name):
                        self.add(f"{path}.{name}", getattr(value, name), depth - 1)
        else:
            self.members(path, value, type(value), depth, own)
            for base in type(value).__mro__:
                for name in sorted(_SPECIAL & vars(base).keys()):
                    if isinstance(vars(base)[name], types.FunctionType):
                        self.function(f"{path}.{name}", vars(base)[name], depth - 1)

    def members(self, path, value, cls, depth, own=()):
        """What a class has under the names that code uses: functions are followed, slots and constants noted."""
        for name in sorted(self.attributes):
            if name in own:
                continue
            for i, base in enumerate(base for base in cls.__mro__ if name in vars(base)):
                member = vars(base)[name]
                if isinstance(member, types.MemberDescriptorType):
                    if value is not cls and hasattr(value, name):
                        self.add(f"{path}.{name}", getattr(value, name), depth - 1)
                    break
                if isinstance(member, (staticmethod, classmethod)):
                    member = member.__func__
                elif isinstance(member, property):
                    member = member.fget
                elif isinstance(member, functools.cached_property):
                    member = member.func
                if i and not isinstance(member, types.FunctionType):
                    break  # what super() calls may matter, other values are hidden by the first
                self.add(f"{path}.{name}" if not i else f"{base.__name__}.{name}", member, depth - 1)

    def function(self, path, f, depth):
        """What a function finds in its closure, its globals, its defaults and its object."""
        if _compares_itself(f) or not depth:
            return
        if isinstance(f, functools.partial):
            for key, part in (*enumerate(f.args), *f.keywords.items()):
                self.direct.add(f"{path}({key})")
                self.add(f"{path}({key})", part, depth - 1)
            self.function(path, f.func, depth - 1)
            return
        if isinstance(f, types.MethodType):
            self.add(f"{path}: self", f.__self__, depth - 1)
            self.function(path, f.__func__, depth)
            return
        if isinstance(f, _CACHED):
            self.function(path, f.__wrapped__, depth)
            return
        if not isinstance(f, types.FunctionType):
            inner = vars(type(f)).get("__call__")
            if isinstance(inner, types.FunctionType):
                self.add(f"{path}: self", f, depth - 1)
                self.function(path, inner, depth - 1)
            return
        code = real_thing(f.__code__)
        if _is_library(f.__globals__.get("__name__", "")):
            self.values[path] = _named(f)
            for one in itertools.chain(*map(contents_of, f.__closure__ or ())):
                # What arraygrad has made of a function of the program leads to it.
                if isinstance(one, FUNCTIONS) or _is_callable_object(one):
                    self.function(path, one, depth - 1)
            return
        if len(self.codes) >= _MOST:
            return
        self.codes.add(code)
        if id(f) in self.followed:
            return
        self.followed[id(f)] = f
        self.values[path] = code
        count = self.names[f.__name__] = self.names.get(f.__name__, 0) + 1
        place = f"{f.__name__}: " if count == 1 else f"{f.__name__} ({count}): "
        for name in sorted(_names(code)[0]):
            if name in f.__globals__:
                self.add(place + name, f.__globals__[name], depth - 1)
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            self.direct.add(place + name)
            self.cells[place + name] = id(cell)
            for part in contents_of(cell):
                if part is not f:
                    self.add(place + name, part, depth - 1)
        for key, part in (*enumerate(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).items()):
            self.direct.add(f"{place}default {key!r}")
            self.add(f"{place}default {key!r}", part, depth - 1)
        for name in sorted(self.attributes & f.__dict__.keys()):
            self.add(f"{path}.{name}", f.__dict__[name], depth - 1)


# Classes of Python's library whose objects hold what the program puts there.
_HOLDERS = frozenset(["SimpleNamespace", "Namespace", "_local"])
# What the modules of libraries hold for the program to change: os.environ, a list.
_SHARED = (dict, list, collections.abc.MutableMapping)
_CACHED = type(functools.lru_cache(len))
# Methods that code calls without naming them.
_SPECIAL = frozenset(
    f"__{name}__"
    for name in "call getitem getattr getattribute get len iter contains float array bool enter exit neg abs add radd "
    "sub rsub mul rmul truediv rtruediv pow rpow matmul rmatmul".split()
)
_LIBRARY_FUNCTIONS = (types.BuiltinFunctionType, types.MethodWrapperType, numpy.ufunc, type(numpy.sum))


def _named(f):
    """A function of a library, told by its name, as adoption exchanges it for another while a call runs."""
    return f"<the function {getattr(f, '__name__', '')} of a library>"


@functools.lru_cache(maxsize=1024)
def _is_library(name):
    """Whether a module is one of the libraries', or Python's own."""
    top = name.partition(".")[0]
    if top in _LIBRARIES or top == "builtins":
        return True
    if top not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(name), "__file__", None)  # a program's module may have such a name as well
    return file is None or (os.path.dirname(os.__file__) in file and "site-packages" not in file)


def _is_callable_object(value):
    """Whether it is an object of a program's class that can be called."""
    return callable(value) and not isinstance(value, type) and not _is_library(type(value).__module__)


def _are_exchanged(a, b):
    """Whether adoption may have exchanged an object of a library for one of arraygrad's, or back."""
    tops = {cls.__module__.partition(".")[0] for cls in (a, b)}
    return "arraygrad" in tops and not tops.isdisjoint(("numpy", "scipy")) and not {a, b} & {Tensor, numpy.ndarray}


def _differ(before, now, depth=4):
    """Whether what stands at one path leads to other results than before."""
    if before is now:
        return False
    if isinstance(before, Tensor) and isinstance(now, Tensor) and not (before.requires_grad or now.requires_grad):
        before, now = raw_array(before), raw_array(now)
    if isinstance(before, numpy.ndarray) and isinstance(now, numpy.ndarray):
        # Another array with the same content is the same constant.
        same = before.shape == now.shape and before.dtype == now.dtype and not before.dtype.hasobject
        return not (same and before.tobytes() == now.tobytes())
    if type(before) is not type(now) or isinstance(before, Tensor):
        return not _are_exchanged(type(before), type(now))
    if isinstance(before, float) and math.isnan(before) and math.isnan(now):
        return False
    parts = [_parts(before), _parts(now)]
    if parts[0] is not None:
        return (
            not depth
            or parts[0].keys() != parts[1].keys()
            or any(_differ(part, parts[1][key], depth - 1) for key, part in parts[0].items())
        )
    try:
        if type(before).__eq__ is not object.__eq__:
            return not bool(before == now)
    except Exception:  # what cannot be compared is another thing
        return True
    parts = [getattr(one, "__dict__", None) for one in (before, now)]
    if not depth or type(parts[0]) is not dict or parts[0].keys() != parts[1].keys():
        return True
    return any(_differ(part, parts[1][key], depth - 1) for key, part in parts[0].items())


def _parts(value):
    """What a list, tuple, dict or function consists of; None for anything else."""
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return value
    if isinstance(value, types.FunctionType):
        cells = [next(iter(contents_of(cell)), None) for cell in value.__closure__ or ()]
        return {"code": real_thing(value.__code__), "defaults": value.__defaults__, **dict(enumerate(cells))}
    return None


def held(f):
    """{path: array or Tensor} of those that a function finds; see Note [Kept functions] (2)."""
    return _Look(f).arrays


def names_of(code):
    """Names of the globals that code, and functions in it, load."""
    return _names(code)[0]


@functools.lru_cache(maxsize=512)
def _names(code):
    """Names of the globals and attributes that code, and functions in it, load, and of the cells that it writes."""
    loaded, attributes, written = set(), set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(instruction.argval)
        elif instruction.opname in ("STORE_DEREF", "DELETE_DEREF"):
            written.add(instruction.argval)
        elif isinstance(instruction.argval, types.CodeType):
            inner = _names(instruction.argval)
            loaded |= inner[0]
            attributes |= inner[1]
            written |= inner[2]
    return frozenset(loaded), frozenset(attributes), frozenset(written)


def closed(f):
    """A copy of a function, and of those that it holds, over closures of their own; see Note [Kept functions]."""
    written, reached = set(), {}
    _reach(f, written, reached)
    return _copied(f, written, {}) if any(reached.values()) else f


def written_cells(f):
    """Ids of the cells that a function, and those that it holds, write (`nonlocal n`)."""
    written = set()
    _reach(f, written, {})
    return written


def _reach(f, written, reached):
    """Note the ids of cells that the functions held by `f` write, and which functions have closures."""
    if id(f) in reached or len(reached) > _MOST or _compares_itself(f):
        return
    if isinstance(f, (functools.partial, types.MethodType)):
        reached[id(f)] = False
        held_ones = [f.__func__] if isinstance(f, types.MethodType) else [f.func, *f.args, *f.keywords.values()]
    elif isinstance(f, types.FunctionType):
        reached[id(f)] = bool(f.__closure__)
        held_ones = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
        stores = _names(f.__code__)[2]
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            if name in stores:
                written.add(id(cell))
            held_ones += contents_of(cell)
    else:
        return
    for one in held_ones:
        _reach(one, written, reached)


def _encloses(f, seen):
    """Whether a function, or one that it holds, has a closure."""
    if id(f) in seen:
        return False
    seen.add(id(f))
    if isinstance(f, functools.partial):
        return any(_encloses(one, seen) for one in (f.func, *f.args, *f.keywords.values()))
    if isinstance(f, types.MethodType):
        return _encloses(f.__func__, seen)
    if not isinstance(f, types.FunctionType):
        return False
    return bool(f.__closure__) or any(
        _encloses(one, seen) for one in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    )


def _copied(f, written, copies):
    if id(f) in copies:
        return copies[id(f)]
    if len(copies) > _MOST or _compares_itself(f):
        return f
    if isinstance(f, functools.partial) and type(f) is functools.partial:
        args = [_copied(one, written, copies) for one in f.args]
        keywords = {key: _copied(one, written, copies) for key, one in f.keywords.items()}
        copies[id(f)] = functools.partial(_copied(f.func, written, copies), *args, **keywords)
        return copies[id(f)]
    if isinstance(f, types.MethodType):
        copies[id(f)] = types.MethodType(_copied(f.__func__, written, copies), f.__self__)
        return copies[id(f)]
    if not isinstance(f, types.FunctionType) or not _encloses(f, set()):
        return f  # a program may compare it by `is`
    # A cell that is not assigned yet is shared: it will be, by the program.
    cells = [
        cell if id(cell) in written or not contents_of(cell) else types.CellType() for cell in f.__closure__ or ()
    ]  # fmt: skip
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells) or None)
    copies[id(f)] = made  # before its parts: a function may hold itself
    made.__dict__.update(f.__dict__)
    made.__qualname__, made.__doc__, made.__module__ = f.__qualname__, f.__doc__, f.__module__
    for cell, old in zip(cells, f.__closure__ or (), strict=True):
        if cell is not old:
            cell.cell_contents = _copied(old.cell_contents, written, copies)
    if f.__defaults__:
        made.__defaults__ = tuple(_copied(one, written, copies) for one in f.__defaults__)
    if f.__kwdefaults__:
        made.__kwdefaults__ = {key: _copied(one, written, copies) for key, one in f.__kwdefaults__.items()}
    return made


def contents_of(cell):
    """What the cell of a closure holds, as a list; an empty one where the variable is not assigned yet."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []
