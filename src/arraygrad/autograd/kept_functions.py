"""Functions of a program that backward calls again, as they were when a solver called them.

May import: core.constants, core.tensor, engine, numpy.

Begin reading at `kept`; Note [Kept functions] says what is kept and what is compared.
"""

from __future__ import annotations

import dis
import functools
import math
import types

import numpy

from arraygrad.core.constants import Contents, constants_are_compared
from arraygrad.core.tensor import Tensor
from arraygrad.engine.graph_task import current_graph_task_id
from arraygrad.engine.later import called_later
from arraygrad.engine.node import is_grad_enabled

__all__ = ["closed", "held", "kept"]


# Note [Kept functions]
# ~~~~~~~~~~~~~~~~~~~~~
# Python looks up a variable when a function runs, not when the function is made. A solver in a loop,
# `for k in range(3): total = total + quad(lambda x: a * x**k, 0, 1)[0]`, is given a function whose k is 0, 1 and 2; but
# backward calls the same functions after the loop, when k is 2 for all of them.
# (1) Forward, the function itself is called. Backward calls a copy of it whose closure has the contents of the time at
#     which the solver was called; so have the functions that the closure and the defaults hold. A cell that one of
#     these functions writes (`nonlocal n`) stays shared: it is compared, as follows.
# (2) What else a function reads may change as well: globals, attributes of its object and of objects that it names,
#     what lists, dicts and arrays contain. Its numbers and texts are remembered and arrays are told by their content,
#     as constants are. In each backward run they are compared before the first call. A difference is an error.
# (3) What the function itself changes (a counter, a buffer, a log) is not compared: it is found by looking again after
#     the forward calls with the numbers 1, 2, 4, 8, ...
# Guarded by tests/autograd/test_kept_functions.py.

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_PLAIN = (int, float, complex, str, bytes, type(None), numpy.generic)
# How deep containers are looked into, how many of their elements, and how many functions.
_DEPTH, _ELEMENTS, _MOST = 4, 10_000, 100


def kept(f, name, bind=None):
    """A function to give to the solver `name` and to call again in backward. See Note [Kept functions].

    Parameters
    ----------
    f : callable
        The user's function.
    name : str
        Of the solver, for the error.
    bind : callable, optional
        bind(f), for `f` and for the copy of it that backward calls: what is called in its place.

    Returns
    -------
    callable

    Raises
    ------
    RuntimeError
        When it is called in backward and variables that it reads have changed since.
    """
    bind = bind or (lambda f: f)
    now = bind(f)
    if not is_grad_enabled():
        return now
    copy = closed(f)
    again = called_later(bind(copy))
    seen = _Seen(copy)
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
            next_look *= 2
            seen.forget_changed()
        return found

    function.__name__ = getattr(f, "__name__", type(f).__name__)
    function.compares_itself = True
    return function


def _compares_itself(f):
    """Whether `kept` made it: what holds it leaves the copy and the comparison to it."""
    return getattr(f, "compares_itself", False) is True


class _Seen:
    """The variables that a function reads, as they are now."""

    def __init__(self, f):
        self.f = f
        found = held(f)
        self.variables = _variables(found)
        # What is differentiated is saved by the node, which knows about writes.
        constants = {k: v for k, v in found.items() if not (isinstance(v, Tensor) and v.requires_grad)}
        self.contents = Contents(constants, tensors=True)

    def changed(self):
        """Names of what is different now."""
        if not constants_are_compared():
            return []
        now = _variables(held(self.f))
        return [name for name, value in self.variables.items() if name in now and _differ(value, now[name])]

    def forget_changed(self):
        """What the function itself has changed is compared no more."""
        for name in self.changed():
            del self.variables[name]
        self.contents.forget(self.contents.written())

    def check(self, name):
        """Raise RuntimeError where a variable has changed, or what an array contains."""
        found = self.changed()
        if found:
            have = "has" if len(found) == 1 else "have"
            raise RuntimeError(
                f"{name}: backward calls the function again, and {', '.join(found)} {have} another value now than when "
                f"{name} was called: the gradient would be that of another function. Give what changes to the function "
                "as an argument (args=) or as a default (lambda x, k=k: ...)"
            )
        self.contents.check(name)


def _differ(before, now):
    if before is now:
        return False
    if isinstance(before, _PLAIN) and isinstance(now, _PLAIN):
        nan = isinstance(before, float) and isinstance(now, float) and math.isnan(before) and math.isnan(now)
        return not (nan or (type(before) is type(now) and bool(before == now)))
    # Another array with the same content is the same constant.
    if isinstance(before, numpy.ndarray) and isinstance(now, numpy.ndarray):
        same = before.shape == now.shape and before.dtype == now.dtype and not before.dtype.hasobject
        return not (same and before.tobytes() == now.tobytes())
    return True


def _variables(found):
    """{name: value} of the numbers, texts, arrays and Tensors in what `held` has found."""
    variables = {}

    def add(name, value, depth):
        if isinstance(value, (*_PLAIN, numpy.ndarray, Tensor)):
            variables[name] = value
        elif depth and isinstance(value, (list, tuple, dict)) and len(value) <= _ELEMENTS:
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                add(f"{name}[{key!r}]", part, depth - 1)

    for name, value in found.items():
        add(name, value, _DEPTH)
    return variables


def held(function, found=None, seen=None):
    """{name: object} of what a function finds in its closure, its defaults and the globals and attributes it names."""
    found = {} if found is None else found
    seen = set() if seen is None else seen
    if id(function) in seen or len(seen) > _MOST or _compares_itself(function):
        return found
    seen.add(id(function))
    if isinstance(function, functools.partial):
        found |= {f"partial argument {i}": a for i, a in enumerate(function.args)}
        found |= {f"partial argument {name!r}": a for name, a in function.keywords.items()}
        return held(function.func, found, seen)
    owner = getattr(function, "__self__", None)
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        owner, function = function, vars(type(function)).get("__call__")
        if not isinstance(function, types.FunctionType):
            return found
    loaded, attributes, _ = _names(function.__code__)
    values = {name: function.__globals__[name] for name in loaded if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    values |= {f"default {i}": value for i, value in enumerate(function.__defaults__ or ())}
    values |= {f"default {name!r}": value for name, value in (function.__kwdefaults__ or {}).items()}
    values |= {f"self.{name}": value for name, value in getattr(owner, "__dict__", {}).items() if name in attributes}
    for name, value in values.items():
        if isinstance(value, _FUNCTIONS):
            held(value, found, seen)
        elif isinstance(value, types.ModuleType):
            for attribute in attributes:
                if isinstance(part := vars(value).get(attribute), _PLAIN):
                    found[f"{name}.{attribute}"] = part
        elif not isinstance(value, (type, Tensor, numpy.ndarray)) and type(getattr(value, "__dict__", None)) is dict:
            found |= {
                f"{function.__name__}: {name}.{key}": part for key, part in vars(value).items() if key in attributes
            }
            found.setdefault(f"{function.__name__}: {name}", value)
        else:
            found[f"{function.__name__}: {name}"] = value
    return found


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
            try:
                held_ones.append(cell.cell_contents)
            except ValueError:  # not assigned yet
                continue
    else:
        return
    for one in held_ones:
        _reach(one, written, reached)


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
    if not isinstance(f, types.FunctionType):
        return f
    cells = [cell if id(cell) in written or _is_empty(cell) else types.CellType() for cell in f.__closure__ or ()]
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


def _is_empty(cell):
    try:
        return cell.cell_contents is cell
    except ValueError:  # not assigned yet
        return True
