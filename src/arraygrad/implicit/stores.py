"""Whether a function that a solver calls stores numbers: they are constants of the gradient, and a warning says so.

May import: core.containers, core.exposed_memory, core.tensor, engine, autograd.function_snapshots,
autograd.instructions, autograd.source_locations, autograd.python_numbers, numpy.

A solver calls its function on plain numbers, and the gradient comes from the solved equation. What the function stores
on the way (`log.append(y[0])`, `state["p"] = k * y`, `self.last = y`, `hist[i] = y`) has no history, and a loss that is
computed of it lacks that part of the gradient. So the lists, dicts, arrays, attributes and variables that the function
leads to are noted before the solver runs, and compared afterwards. An array that a function fills and returns
(`self.d[0] = ...; return self.d`) says nothing, unless other code of the program names it too. Guarded by
tests/implicit/test_stored_numbers.py.
"""

import functools
import math
import sys
import threading
import types
import zlib

import numpy

from arraygrad.autograd.function_snapshots import FUNCTIONS, contents_of
from arraygrad.autograd.instructions import steps_of
from arraygrad.autograd.python_numbers import adopting, number_warnings_are_off
from arraygrad.autograd.source_locations import SourceLocation, is_ours, warn_at
from arraygrad.core.containers import flatten
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled

__all__ = ["leaves_nothing", "ran_unrecorded", "running", "watching"]

# What is looked into: functions in functions, containers in containers; objects in all; elements; bytes of an array.
_DEPTH, _MOST, _ELEMENTS, _BYTES = 6, 200, 10_000, 1 << 20
_LIBRARIES = frozenset(["numpy", "scipy", "arraygrad", "builtins", "functools"])


_state = threading.local()  # `unrecorded`: how often a function has computed with Tensors while nothing was recorded


def ran_unrecorded():
    """Note that a function has computed with Tensors while nothing was recorded: what it stored of them is constant."""
    _state.unrecorded = getattr(_state, "unrecorded", 0) + 1


def running():
    """The `watching` in which this thread's innermost solver runs; None outside."""
    return getattr(_state, "running", None)


def leaves_nothing(f, watch):
    """Whether a function that ran in `watch` stores nothing that others would find when it is called again.

    It may then be called on something else than numbers. What is called on copies stores in these.
    """
    return watch is None or not watch.stored or getattr(f, "on_copies", False)


class watching:
    """Context in which a solver runs: at its end it warns of numbers that `functions` stored.

    Parameters
    ----------
    name : str
        Of the solver.
    functions : iterable
    depends_on : list of Tensor, or bool
        Nothing is looked at where it is empty.
    tensors : bool
        Tensors that were stored are constants, too: the solver differentiates the function itself.
    """

    def __init__(self, name, functions, depends_on, tensors=False):
        self._name, self._tensors = name, tensors
        self._unrecorded = getattr(_state, "unrecorded", 0)
        self._before = _Stores(functions) if depends_on and is_grad_enabled() else None
        self.stored = False  # whether they have; known at the end

    def __enter__(self):
        self._around, _state.running = running(), self
        return self

    def __exit__(self, kind, error, traceback):
        _state.running = self._around
        if error is not None or self._before is None:
            return
        unrecorded = getattr(_state, "unrecorded", 0) != self._unrecorded
        found = self._before.found(self._tensors, unrecorded, sys._getframe(1))
        self.stored = bool(found)
        if not found or number_warnings_are_off():
            return
        place = SourceLocation(sys._getframe(1))
        what = " and ".join(repr(one) for one in found[:3])
        warn_at(
            place,
            f"{place}: a function that {self._name} called has stored numbers in {what}. The solver calls it on plain "
            "numbers, so they are constants of the gradient. Compute what a loss depends on from the solver's result; "
            "arraygrad.number_policy('off') turns this warning off where they are only shown",
        )


class _Stores:
    """The containers that functions lead to, with what they held."""

    def __init__(self, functions):
        self._held, self._followed = {}, {}
        self._codes = {}  # id -> code of the functions, and of the methods beside them
        for f in functions:
            self._function(f, _DEPTH)

    def found(self, tensors, unrecorded, frame):
        """Names of those that hold numbers now that they did not hold before, and that code behind a frame may read."""
        held = [(name, now) for name, now, before in self._held.values() if _stored(now(), before, tensors, unrecorded)]
        if not held:
            return []
        returned = {name for code in self._codes.values() for name in _returned(code)}
        others = None
        names = []
        for name, now in held:
            last = name.rpartition("['")[2].removesuffix("']")
            if last in returned and isinstance(now(), numpy.ndarray):
                others = _other_codes(frame, self._codes) if others is None else others
                if not any(last in code.co_names or last in code.co_freevars for code in others):
                    continue
            names.append(name)
        return names

    def _note(self, name, thing, now):
        """Keep what `now()` gives; False where it is known, or too much."""
        key = thing if type(thing) is tuple else id(thing)
        if key in self._held or len(self._held) >= _MOST:
            return False
        value = now()
        if isinstance(value, numpy.ndarray):
            self._held[key] = (name, now, _fingerprint(value))
        elif len(value) <= _ELEMENTS:
            self._held[key] = (name, now, value)
        else:
            return False
        return True

    def _function(self, f, depth):
        if depth <= 0 or id(f) in self._followed:
            return
        self._followed[id(f)] = f
        if isinstance(f, types.FunctionType):
            self._codes[id(f.__code__)] = f.__code__
        if isinstance(f, functools.partial):
            self._function(f.func, depth - 1)
            for one in (*f.args, *f.keywords.values()):
                self._value(getattr(f.func, "__name__", "partial"), one, depth - 1)
        elif isinstance(f, types.MethodType):
            self._object("self", f.__self__, depth - 1)
            self._function(f.__func__, depth - 1)
        elif isinstance(f, types.FunctionType):
            if f.__globals__.get("__name__", "").partition(".")[0] in _LIBRARIES:
                for cell in f.__closure__ or ():  # what arraygrad has made of a function of the program
                    for one in contents_of(cell):
                        if isinstance(one, FUNCTIONS) or (callable(one) and not isinstance(one, type)):
                            self._value(f.__name__, one, depth - 1)
                return
            code = f.__code__
            for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
                now = functools.partial(contents_of, cell)
                if self._note(name, cell, now):
                    for one in now():
                        self._value(name, one, depth)
            for one in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
                self._value(code.co_name, one, depth)
            space = f.__globals__
            for name in code.co_names:
                value = space.get(name)
                if isinstance(value, (numpy.ndarray, Tensor)):  # it may be written, or the name bound anew
                    self._note(name, (id(space), name), functools.partial(_named, space, name))
                if isinstance(value, (list, dict, numpy.ndarray, Tensor, types.FunctionType)):
                    self._value(name, value, depth)
                elif isinstance(value, type):
                    self._class(name, value, depth)
                elif hasattr(value, "__dict__") and not isinstance(value, (types.ModuleType, types.MethodType)):
                    self._value(name, value, depth)
                elif name in space and isinstance(value, (type(None), float, complex, numpy.inexact)):
                    self._note(name, (id(space), name), functools.partial(_named, space, name))
            self._value(code.co_name, f.__dict__, depth)
        else:
            self._value(type(f).__name__, f, depth)

    def _object(self, name, thing, depth):
        self._class(type(thing).__name__, type(thing), depth)
        slots = [m for base in type(thing).__mro__ for m in vars(base).values() if type(m) is _Slot]
        if slots and type(thing).__module__.partition(".")[0] not in _LIBRARIES:
            self._note(name, ("slots", id(thing)), functools.partial(_in_slots, thing, slots))
        kept = getattr(thing, "__dict__", None)
        if type(kept) is dict and not isinstance(thing, (type, types.ModuleType, Tensor)) and depth > 0:
            self._value(name, kept, depth)

    def _class(self, name, cls, depth):
        """What a class of the program holds: its attributes, and the containers among them."""
        if depth > 0 and cls.__module__.partition(".")[0] not in _LIBRARIES and self._note(
            name, cls, lambda: [one for one in vars(cls).values() if not callable(one)]
        ):  # fmt: skip
            for one in list(vars(cls).values()):
                if isinstance(one, types.FunctionType):
                    self._codes[id(one.__code__)] = one.__code__
                if isinstance(one, (list, dict, set, numpy.ndarray, Tensor)):
                    self._value(name, one, depth - 1)

    def _value(self, name, value, depth):
        if isinstance(value, FUNCTIONS):
            self._function(value, depth - 1)
        elif isinstance(value, (numpy.ndarray, Tensor)):
            # A Tensor may be an array of the program, which an adopted call has made or made recordable.
            raw = raw_array(value) if isinstance(value, Tensor) else value
            if (
                isinstance(raw, numpy.ndarray)
                and raw.dtype.kind in "fc"
                and raw.flags.writeable
                and raw.nbytes <= _BYTES
            ):
                self._note(name, value, lambda: raw)
        elif isinstance(value, (list, dict, set)):
            parts = (lambda: list(value.values())) if isinstance(value, dict) else (lambda: list(value))
            if depth > 0 and self._note(name, value, parts):
                keys = list(value) if isinstance(value, dict) else ()
                for i, one in enumerate(parts()):
                    if not isinstance(one, (float, int, str)):
                        self._value(f"{name}[{keys[i]!r}]" if keys else name, one, depth - 1)
        elif type(value).__module__.partition(".")[0] not in _LIBRARIES:
            self._object(name, value, depth - 1)


def _returned(code):
    """The names of what code returns: `return self.d`, `return d`, `return self.d.copy()`."""
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if step.opname == "RETURN_VALUE" and i:
            end = i - 1
            if steps[end].opname.startswith(("CALL", "PRECALL")):  # of a method without arguments
                while end and steps[end].opname.startswith(("CALL", "PRECALL", "PUSH_NULL")):
                    end -= 1
                if steps[end].argval != "copy":
                    continue
                end -= 1
            if steps[end].opname.startswith("LOAD_") and isinstance(steps[end].argval, str):
                yield steps[end].argval


def _other_codes(frame, known):
    """The code of the program's functions that may run behind a frame, but for that of `known` functions that return.

    Functions of the modules of all frames of the program, and of the modules that these name; methods of their classes.
    """
    spaces, waiting = {}, []
    while frame is not None:
        if not is_ours(frame):
            spaces[id(frame.f_globals)] = frame.f_globals
            waiting.append(frame.f_code)
        frame = frame.f_back
    for space in list(spaces.values()):
        for value in list(space.values()):
            if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] not in (
                _LIBRARIES | sys.stdlib_module_names
            ):
                spaces.setdefault(id(vars(value)), vars(value))
    for space in spaces.values():
        for value in list(space.values()):
            inner = vars(value).values() if isinstance(value, type) else (value,)
            waiting += [one.__code__ for one in list(inner) if isinstance(one, types.FunctionType)]
    found = {}
    while waiting and len(found) < _ELEMENTS:
        code = waiting.pop()
        if id(code) in found:
            continue
        found[id(code)] = code
        waiting += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return [
        code
        for code in found.values()
        if code.co_name != "__init__" and not (id(code) in known and any(_returned(code)))
    ]


_Slot = types.MemberDescriptorType


def _in_slots(value, slots):
    """What stands in the slots of an object."""
    held = []
    for slot in slots:
        try:
            held.append(slot.__get__(value))
        except AttributeError:  # not assigned
            continue
    return held


def _named(space, name):
    return [space.get(name)]


def _fingerprint(array):
    return zlib.crc32(numpy.ascontiguousarray(array).data.cast("B")) if array.size else 0


def _stored(now, before, tensors, unrecorded):
    if isinstance(now, numpy.ndarray):
        return _fingerprint(now) != before
    known = {id(one) for one in before}  # alive: `before` holds them
    return any(_is_number(leaf, tensors, unrecorded) for one in now if id(one) not in known for leaf in flatten(one)[0])


def _is_number(leaf, tensors, unrecorded):
    """Whether a leaf holds finite floating-point numbers, as integers, texts and truth values do not depend on any.

    `tensors`: Tensors do; `unrecorded`: those do that do not require grad.
    """
    if isinstance(leaf, Tensor):
        # One that requires no grad is an array of the program: adopted calls make Tensors of those.
        if tensors or leaf.requires_grad or not (unrecorded or adopting()):
            return tensors
        leaf = leaf.array
    if isinstance(leaf, (float, complex)):
        return math.isfinite(abs(leaf))
    dtype = getattr(leaf, "dtype", None)
    return getattr(dtype, "kind", "") in tuple("fc") and bool(numpy.any(numpy.isfinite(leaf)))
