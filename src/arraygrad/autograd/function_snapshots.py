"""Functions of a program that backward calls again, as they were when a solver called them.

May import: autograd.closed_functions, autograd.quick_looks, core.constant_checks, core.containers,
core.exposed_memory, core.tensor, engine, numpy.

Begin reading at `kept`; Note [Function snapshots] says what is kept and what is compared.
"""

from __future__ import annotations

import array
import collections
import collections.abc
import contextvars
import functools
import itertools
import math
import types

import numpy

from arraygrad.autograd.closed_functions import (
    called_by,
    closed,
    compares_itself,
    contents_of,
    function_over,
    hands_self_on,
    names_in,
    names_of,
    written_cells,
)
from arraygrad.autograd.quick_looks import (
    ANY_NAME,
    DEPTH,
    FUNCTIONS,
    HOLDERS,
    LIBRARIES,
    LIBRARY_FUNCTIONS,
    MOST,
    PLAIN_TYPES,
    ROUNDS,
    SPECIAL,
    FlowLook,
    QuickLook,
    is_library,
    library_function,
    read_names,
)
from arraygrad.core.constant_checks import Contents, constants_are_compared
from arraygrad.core.containers import flatten
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.tensor import Tensor
from arraygrad.engine.graph_task import current_graph_task_id
from arraygrad.engine.later import called_later, real_thing
from arraygrad.engine.node import is_grad_enabled

__all__ = [
    "FUNCTIONS", "Reader", "closed", "contents_of", "differ", "function_over", "held", "is_holder", "kept", "names_of",
    "written_cells",
]  # fmt: skip


# Note [Function snapshots]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
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
#     the forward calls with the numbers 1, 4, 16, ... What `covers` answers for is not compared either: arrays in which
#     functions work (Note [What calls leave] in implicit/carried.py).
# (4) The rules of a primitive and the backward of a Function are called in backward alone, so no copy of them is made:
#     what they read is compared, with what objects and containers among the arguments of a primitive, or on ctx, hold
#     (`Reader`). Most read nothing that can change, which a look at the names of their code tells; a `_Look` is taken
#     where objects of the program's classes are among it. What the code only writes (`n += 1` of a nonlocal name,
#     `log.append(g)`) is not compared. What was found to change while it ran may be as the last run left it.
# (4b) Threads of devices, or of the program, may call the backward of one Function at once. Then one call may find what
#     another has changed and not yet left. So where a call finds a difference, it looks first what the calls that are
#     under way have changed: each of them found all as it was when it began. While they run, nothing is known of what
#     they change. A call that raises has changed what it has changed. Guarded by tests/autograd/test_rules_at_once.py.
# (5) What has changed and is known to reach no result (a count of calls that other functions advance too) is no error:
#     Note [Values that reach no result] in flow_of_names.py. This is asked where a difference is found, never before.
# (6) Not compared: modules, classes and functions of libraries, which adoption exchanges for others while a call runs;
#     iterators; what only compiled code holds.
# Guarded by tests/autograd/test_function_snapshots.py.

_PLAIN = (int, float, complex, str, bytes, type(None), numpy.generic)
_ROWS = (list, tuple, set, frozenset, collections.deque)
_VIEWS = (collections.abc.KeysView, collections.abc.ValuesView, collections.abc.ItemsView)
_BUFFERS = (bytearray, memoryview, array.array)
_THINGS = 4000  # how many are looked at


def kept(f, name, args=(), bind=None, found=None):
    """A function to give to the solver `name` and to call again in backward. See Note [Function snapshots].

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
        found(copy, read, codes), before the first bind: (Tensor, whether a closure or a default holds it) of those that
        require grad and that `f` reads besides its arguments, for each place; the code that it reaches. It returns
        None, or covers(before, now): whether what stands at a path need not be compared.

    Returns
    -------
    callable
        Its attribute `direct()` gives what one solution may call in its place, many times, and a function without
        arguments to call when that is over, or None; `seen` is what it was found to read.

    Raises
    ------
    RuntimeError
        When it is called in backward and variables that it reads have changed since.
    """
    bind = bind or (lambda f: f)
    if not is_grad_enabled():
        return bind(f)
    copy = closed(f)
    seen = _Seen(lambda before: _Look((copy,), args, before), (f,))
    if found is not None:
        seen.covers = found(copy, seen.look.recorded_besides(written_cells(copy)), seen.look.codes)
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

    def direct():
        nonlocal checked
        run = current_graph_task_id()
        if run == born:
            return now, seen.forget_changed
        seen.check(name)
        checked = run
        return again, None

    function.__name__ = getattr(f, "__name__", type(f).__name__)
    function.compares_itself = True
    function.direct = direct
    function.seen = seen
    return function


class _Seen:
    """What functions read, as it is now. `take(before)` gives a look, which is like the one `before` (None: the first).

    Paths in `ignored` are compared with what the functions themselves have `left` there, not with what was there when
    they were recorded. `holders` are those that the functions are given besides: {path: object}.
    """

    def __init__(self, take, functions, ignored=frozenset(), look=None, holders=None, left=None):
        self.take, self.functions, self.ignored, self.holders = take, functions, ignored, holders
        self.left = _Left() if left is None else left
        self.look = take(None) if look is None else look
        self.covers = None
        self.forgot = False  # whether something is compared no more
        # What is differentiated is saved by the node, which knows about writes.
        arrays = self.look.arrays.items()
        constants = {path: v for path, v in arrays if not (isinstance(v, Tensor) and v.requires_grad)}
        self.contents = Contents(constants, tensors=True)

    def changed(self):
        """Paths of what is different now."""
        if not constants_are_compared() or self.look.is_as_before():
            return []
        now = self.take(self.look).values
        return [
            path
            for path, value in self.look.values.items()
            if path in now
            and differ(value, now[path])
            and not (self.covers is not None and self.covers(value, now[path]))
            and not (path in self.ignored and self.left.is_at(path, now[path], self.holders))
        ]

    def written(self):
        """Paths of the arrays that contain something else now."""
        return [
            path
            for path in self.contents.written()
            if not (path in self.ignored and self.left.is_in(path, self.look.arrays[path]))
            and not (self.covers is not None and self.covers(self.look.arrays[path], self.look.arrays[path]))
        ]

    def forget_changed(self):
        """What the function itself has changed is compared no more."""
        changed, written = self.changed(), self.contents.written()
        for path in changed:
            del self.look.values[path]
        self.contents.forget(written)
        self.forgot = self.forgot or bool(changed or written)

    def check(self, name, again=" again"):
        """Raise RuntimeError where a variable has changed, or what an array contains."""
        found, written = self.changed(), self.written()
        if not (found or written):
            return
        decides = self.left.judge(self)
        found = [path for path in found if decides(path)]
        if found:
            have = "has" if len(found) == 1 else "have"
            raise RuntimeError(
                f"{name}: backward calls the function{again}, and {', '.join(found[:4])} {have} another value now than "
                f"when {name} was called: the gradient would be that of another function. Give what changes to the "
                "function as an argument (args=) or as a default (lambda x, k=k: ...). An array that the function only "
                "works in is made in the function: work = numpy.empty(n)"
            )
        if any(map(decides, written)):
            self.contents.check(name)


class _Left:
    """What functions that change what they read have left there when they ran last."""

    def __init__(self, running=()):
        self.running = running  # while there is anything in it, what stands there may change at any moment
        self.values, self.arrays, self.contents = {}, {}, Contents({})
        self.judged = {}  # (path, the code that was found) -> whether it decides

    def judge(self, seen):
        """A function that says whether what stands at a path may decide what the functions return."""
        codes = frozenset([value for value in seen.look.values.values() if isinstance(value, types.CodeType)])
        flow = None

        def decides(path):
            nonlocal flow
            known = self.judged.get((path, codes))
            if known is None:
                flow = flow or FlowLook(seen.functions, seen.holders)
                known = self.judged[path, codes] = flow.decides(path)
            return known

        return decides

    def note(self, paths, look):
        """What stands at these paths now, by a look."""
        self.values.update({path: look.values[path] for path in paths & (look.values.keys() - look.arrays.keys())})
        arrays = {path: look.arrays[path] for path in paths & look.arrays.keys()}
        self.arrays = {path: one for path, one in arrays.items() if not getattr(one, "requires_grad", False)}
        self.values.update(self.arrays)
        self.contents = Contents(self.arrays, tensors=True)

    def is_at(self, path, value, holders):
        """Whether a value was left there. Those of arguments and of ctx are of one call: nothing is known of them."""
        left = self.values.get(path, value)
        return bool(holders) or bool(self.running) or not differ(left, value)

    def is_in(self, path, array):
        """Whether what an array contains was left there."""
        return bool(self.running) or self.arrays.get(path) is not array or path not in self.contents.written()


class Reader:
    """Reader(name, functions): compares what functions read that only backward calls: Note [Function snapshots] (4)."""

    def __init__(self, name, functions):
        self.name, self.functions = name, functions
        self.ignored = set()
        self._running = []  # what was seen for the calls that are under way, of all threads
        self._begun = 0
        self._left = _Left(self._running)
        self._last = None
        self._attributes = frozenset()

    def seen(self, holders=None):
        """A _Seen of what the functions, and the objects and containers {path: object}, lead to; None: of nothing."""
        look = self._last
        if holders or look is None or not look.is_as_before():
            look = self._look(holders)
            if look.deep:
                take = lambda before: _Look(self.functions, (), before, holders or {})
                return _Seen(take, self.functions, self.ignored, holders=holders, left=self._left)
            if holders:
                return _Seen(
                    lambda before: self._look(holders), self.functions, self.ignored, look, holders, self._left
                )
            self._last = look if look.steady else None  # what is kept here must not keep a graph alive
        if look.seen is None and look.values:
            seen = _Seen(self._take, self.functions, self.ignored, look, left=self._left)
            if look.arrays:
                return seen
            look.seen = seen  # nothing in it but plain values: the same for every call
        return look.seen

    def _take(self, before):
        return self._look(None)

    def _look(self, holders):
        for _ in range(ROUNDS):
            look = QuickLook(self.functions, holders, self._attributes)
            if look.deep or look.attributes == self._attributes:
                break
            self._attributes = look.attributes  # functions that were found name more: of objects seen before them too
        return look

    def begin(self, seen):
        """Raise RuntimeError where something has changed. Where it does not, the functions run, and `end` is called."""
        while True:
            known = len(self.ignored), self._begun
            try:
                seen.check(self.name, "s defined for it")
                break
            except RuntimeError:
                # (4b): what stood there as before when those began has been changed by them, or meanwhile.
                for one in tuple(self._running):
                    self._forget(one)
                if known == (len(self.ignored), self._begun):
                    raise
        self._running.append(seen)
        self._begun += 1

    def end(self, seen):
        """What the functions themselves have changed since `begin` is compared with what they have left."""
        try:
            self._forget(seen)
        finally:
            self._running.remove(seen)

    def _forget(self, seen):
        self.ignored.update(seen.changed(), seen.written())
        if self.ignored:
            self._left.note(self.ignored, seen.take(seen.look))


def is_primitive(value):
    """Whether `arraygrad.primitive` has made it."""
    return getattr(type(value), "is_primitive", False) is True


def is_holder(value):
    """Whether an argument or an attribute may be changed without being an array."""
    kind = type(value)
    if kind in PLAIN_TYPES or kind is numpy.ndarray or isinstance(value, (Tensor, numpy.generic, numpy.dtype)):
        return False
    if kind is tuple:
        return any(is_holder(part) for part in value)
    return not (isinstance(value, (type, *LIBRARY_FUNCTIONS)) or hasattr(kind, "__array_namespace__"))


class _Look:
    """{path: value} of what a function reads; see Note [Function snapshots] (2)."""

    def __init__(self, functions, args=(), before=None, holders=None):
        # A look that was taken before knows the attributes: one round will do. So do those of the functions themselves.
        self.attributes, self.unread = frozenset(), frozenset()  # names of attributes; those that code only writes to
        self.handed_on = self.any_name = False  # code does more with `self` than take its attributes; names any
        if before is not None:
            self.attributes, self.unread = before.attributes, before.unread
            self.handed_on, self.any_name = before.handed_on, before.any_name
        else:
            self.rule({real_thing(f.__code__) for f in functions if isinstance(f, types.FunctionType)})
        self.rules = holders is not None  # what their code only writes does not count
        for _ in range(ROUNDS):
            self.uncalled = set()  # ids of objects whose `__call__` is not followed
            self.values, self.arrays, self.codes = {}, {}, set()
            self.seen, self.followed = {}, {}  # id -> object or function, alive
            self.names = {}  # of functions -> how many have it
            self.leaves, self.direct = set(), set()  # paths of the arguments; of what functions hold, and tuples of it
            self.inside = 0  # how many objects and containers that a program may write to lead to what is looked at
            self.cells = {}  # path -> id of the cell that stands there
            # Where values stand: (dict, name, value), (cell, value). `steady`: nothing else can change.
            self.places, self.contents, self.steady = [], [], not holders
            for f in functions:
                self.function(getattr(f, "__name__", type(f).__name__), f, DEPTH)
            for path, value in (holders or {}).items():
                self.add(path, value, DEPTH)
            for i, value in enumerate(flatten(tuple(args))[0]):
                if not isinstance(value, _PLAIN):  # numbers and containers were taken down when the solver was called
                    self.steady = self.steady and isinstance(value, (numpy.ndarray, Tensor))
                    self.leaves.add(f"argument leaf {i}")
                    self.add(f"argument leaf {i}", value, DEPTH)
            if not self.rule(self.codes):
                break

    def rule(self, codes):
        """Note which names code uses; False where they were known."""
        named = frozenset().union(*[names_in(code)[1] for code in codes])
        unread = named.difference(*[names_in(code)[3] for code in codes])
        handed_on = any(map(hands_self_on, codes))
        loaded = frozenset().union(*[names_in(code)[0] for code in codes])
        any_name = not ANY_NAME.isdisjoint(named | loaded)
        rules = any_name, unread, handed_on
        if named <= self.attributes and rules == (self.any_name, self.unread, self.handed_on):
            return False
        self.attributes = named
        self.any_name, self.unread, self.handed_on = rules
        return True

    def is_as_before(self):
        """True where another look would find the same: the same values in all places, which nothing else can change."""
        if not self.steady:
            return False
        for names, name, value in self.places:
            now = names.get(name, _NOWHERE)
            if now is not value and real_thing(now) is not real_thing(value):
                return False
        for cell, value in self.contents:
            if next(iter(contents_of(cell)), _NOWHERE) is not value:
                return False
        return all(
            real_thing(f.__code__) is code and f.__defaults__ is defaults and not f.__kwdefaults__
            for f, code, defaults in self.followed.values()
        )

    def recorded_besides(self, written):
        """(Tensor, whether a closure or a default holds it), for each place of a Tensor that requires grad.

        But for the arguments themselves, and what stands in the cells with the ids `written`.
        """
        return [
            (value, path in self.direct)
            for path, value in self.arrays.items()
            if isinstance(value, Tensor) and value.requires_grad
            and path not in self.leaves and self.cells.get(path) not in written
        ]  # fmt: skip

    def add(self, path, value, depth):
        """Note what stands at a path, and what it leads to."""
        value = real_thing(value)
        if isinstance(value, _PLAIN):
            self.values[path] = value
            return
        if len(self.seen) >= _THINGS or hasattr(type(value), "__next__"):
            self.steady = False
            return
        known = id(value) in self.seen
        self.seen[id(value)] = value
        if id(value) in self.uncalled and not path.endswith(SELF):  # found under another name, which may be called
            self.uncalled.discard(id(value))
            known = False
        if isinstance(value, (numpy.ndarray, Tensor)):
            self.values[path] = self.arrays[path] = value
        elif isinstance(value, types.ModuleType):
            library = is_library(value.__name__)
            for name in sorted(self.attributes & vars(value).keys()) if depth and not known else ():
                part = vars(value)[name]
                if not library or isinstance(part, (*_PLAIN, numpy.ndarray, *_SHARED)):
                    self.places.append((vars(value), name, part))
                    self.add(f"{path}.{name}", part, depth - 1)
        elif isinstance(value, type):
            if depth and not known and not is_library(value.__module__):
                self.steady = False
                self.members(path, value, value, depth)
        elif isinstance(value, (*FUNCTIONS, _CACHED)) or called_by(value) is not None:
            self.function(path, value, depth)
        elif isinstance(value, (dict, collections.abc.Mapping)):
            self.within(self.container, path, value, value.items, depth, known)
        elif isinstance(value, _VIEWS):
            self.within(self.container, path, value, lambda: enumerate(value), depth, known)
        elif isinstance(value, _BUFFERS):
            self.steady = False
            self.values[f"bytes({path})"] = bytes(value)
        elif isinstance(value, _ROWS):
            look = self.container if isinstance(value, tuple) else functools.partial(self.within, self.container)
            look(path, value, lambda: enumerate(value), depth, known)
        elif isinstance(value, LIBRARY_FUNCTIONS):
            self.values[path] = library_function(value)
            holder = getattr(value, "__self__", None)  # of a bound method of a container, `get = table.get`
            if isinstance(holder, (dict, *_ROWS)):
                self.add(f"{path}: self", holder, depth)
        elif is_primitive(value):  # what it notes for its own rules changes in each call
            self.values[path] = library_function(value)
            self.steady = False
            if depth:
                self.function(path, value.__wrapped__, depth - 1)
        elif isinstance(value, contextvars.ContextVar):
            self.steady = False
            self.add(f"{path}.get()", value.get(None), depth)
        else:
            self.values[path] = value
            self.steady = False
            if depth and not known:
                self.within(self.object, path, value, depth)

    def within(self, look, *given):
        """look(*given) of what a copy would be another thing than the program's, which it may write to."""
        self.inside += 1
        try:
            look(*given)
        finally:
            self.inside -= 1

    def container(self, path, value, items, depth, known):
        self.steady = False
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
        library = module.partition(".")[0] in LIBRARIES
        if not library and is_library(module) and type(value).__name__ not in HOLDERS:
            return
        everything = library or self.any_name
        special = SPECIAL
        if path.endswith(SELF) and not self.handed_on:
            special = SPECIAL - {"__call__"}
            self.uncalled.add(id(value))
        for name in sorted(own if everything else self.attributes & own.keys(), key=str):
            if everything or name not in self.unread or type(own[name]) not in _WRITTEN:
                self.add(f"{path}.{name}", own[name], depth - 1)
        if library:
            for base in type(value).__mro__:
                for name, member in vars(base).items():
                    if isinstance(member, types.MemberDescriptorType) and hasattr(value, name):
                        self.add(f"{path}.{name}", getattr(value, name), depth - 1)
        else:
            self.members(path, value, type(value), depth, own)
            for base in type(value).__mro__:
                for name in sorted(special & vars(base).keys()):
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

    def note_direct(self, path):
        """Note a path of what a function holds, unless an object or a list leads to the function."""
        if not self.inside:
            self.direct.add(path)

    def function(self, path, f, depth):
        """What a function finds in its closure, its globals, its defaults and its object."""
        if compares_itself(f) or not depth:
            return
        if isinstance(f, functools.partial):
            self.steady = False
            for key, part in (*enumerate(f.args), *f.keywords.items()):
                self.note_direct(f"{path}({key})")
                self.add(f"{path}({key})", part, depth - 1)
            self.function(path, f.func, depth - 1)
            return
        if isinstance(f, types.MethodType):
            self.add(f"{path}: self", f.__self__, depth - 1)
            self.function(path, f.__func__, depth)
            return
        if isinstance(f, _CACHED):
            self.steady = False
            self.function(path, f.__wrapped__, depth)
            return
        if called_by(f) is not None:
            self.function(path, called_by(f), depth)
            return
        if not isinstance(f, types.FunctionType):
            self.steady = self.steady and isinstance(f, types.BuiltinFunctionType)
            inner = vars(type(f)).get("__call__")
            if isinstance(inner, types.FunctionType):
                self.add(f"{path}: self", f, depth - 1)
                self.function(path, inner, depth - 1)
            return
        code = real_thing(f.__code__)
        if is_library(f.__globals__.get("__name__", "")):
            self.values[path] = library_function(f)
            for held_in, one in [(cell, one) for cell in f.__closure__ or () for one in contents_of(cell)]:
                self.contents.append((held_in, one))
                # What arraygrad has made of a function of the program leads to it.
                if isinstance(one, FUNCTIONS) or _is_callable_object(one) or called_by(one) is not None:
                    self.function(path, one, depth - 1)
            return
        if len(self.codes) >= MOST:
            self.steady = False
            return
        self.codes.add(code)
        if id(f) in self.followed:
            return
        self.followed[id(f)] = f, code, f.__defaults__
        self.steady = self.steady and not f.__kwdefaults__ and self.attributes.isdisjoint(f.__dict__)
        self.values[path] = code
        count = self.names[f.__name__] = self.names.get(f.__name__, 0) + 1
        place = f"{f.__name__}: " if count == 1 else f"{f.__name__} ({count}): "
        loaded = names_in(code)[0]
        for name in sorted(read_names(code) & loaded if self.rules else loaded):
            if name in f.__globals__:
                self.places.append((f.__globals__, name, f.__globals__[name]))
                self.add(place + name, f.__globals__[name], depth - 1)
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            if self.rules and name not in read_names(code):
                continue
            self.note_direct(place + name)
            self.cells[place + name] = id(cell)
            for part in contents_of(cell):
                self.contents.append((cell, part))
                if part is not f:
                    self.add(place + name, part, depth - 1)
        for key, part in (*enumerate(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).items()):
            self.note_direct(f"{place}default {key!r}")
            self.add(f"{place}default {key!r}", part, depth - 1)
        for name in sorted(self.attributes & f.__dict__.keys()):
            self.add(f"{path}.{name}", f.__dict__[name], depth - 1)


# What the modules of libraries hold for the program to change: os.environ, a list.
_SHARED = (dict, list, collections.abc.MutableMapping)
_CACHED = type(functools.lru_cache(len))
_NOWHERE = object()  # what no name stands for
SELF = ": self"  # how the path of an object ends that a method, or a function in one, knows as `self`
# What code may only write to: `self.log.append(y)`, `self.found[key] = y`.
_WRITTEN = frozenset([list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict])


def _is_callable_object(value):
    """Whether it is an object of a program's class that can be called."""
    return callable(value) and not isinstance(value, type) and not is_library(type(value).__module__)


def _are_exchanged(a, b):
    """Whether adoption may have exchanged an object of a library for one of arraygrad's, or back."""
    tops = {cls.__module__.partition(".")[0] for cls in (a, b)}
    return "arraygrad" in tops and not tops.isdisjoint(("numpy", "scipy")) and not {a, b} & {Tensor, numpy.ndarray}


def differ(before, now, depth=4):
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
            or any(differ(part, parts[1][key], depth - 1) for key, part in parts[0].items())
        )
    try:
        if type(before).__eq__ is not object.__eq__:
            return not bool(before == now)
    except Exception:  # what cannot be compared is another thing
        return True
    parts = [getattr(one, "__dict__", None) for one in (before, now)]
    if not depth or type(parts[0]) is not dict or parts[0].keys() != parts[1].keys():
        return True
    return any(differ(part, parts[1][key], depth - 1) for key, part in parts[0].items())


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
    """{path: array or Tensor} of those that a function finds; see Note [Function snapshots] (2)."""
    return _Look((f,)).arrays
