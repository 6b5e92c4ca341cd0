"""Tensors that a function reads beside its arguments, where nothing is recorded: what forward finds under its names.

May import: autograd.closed_functions, autograd.instructions, autograd.quick_looks, core.containers, core.tensor,
engine. Note [Tensors beside arguments] says what is looked at.
"""

from __future__ import annotations

import functools
import types
import weakref

import numpy

from arraygrad.autograd.closed_functions import LOGS, contents_of
from arraygrad.autograd.instructions import steps_of
from arraygrad.autograd.quick_looks import MOST, is_library
from arraygrad.core.containers import flatten
from arraygrad.core.tensor import Tensor
from arraygrad.engine.later import real_thing

__all__ = ["ClosureLook", "read_beside"]

# Note [Tensors beside arguments]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A Function's forward runs with recording off. A Tensor that it reads from a closure, a global, an attribute or a
# default is a constant there, and its gradient would be lost without a word. Nothing that runs tells: no node is made.
# So the code is read before it runs.
# (1) A chain is a variable and the attributes and constant keys that follow it: `x`, `self.k`, `cfg["k"]`. It is
#     resolved to what stands there now. A Tensor that requires grad at its end is refused, but for a look at what is no
#     value of it (`x.shape`), a way out (`x.detach()`), what is only saved for backward, and an argument of the call.
# (2) A container at the end of a chain is read as a whole. Of an object that is handed on, the attributes count that
#     the code names.
# (3) A chain that ends in a function of the program, or in an object that can be called, is followed into its code,
#     where `self` is the object.
# (4) What code binds itself, and what is behind a computed name (getattr), is not found.
# Most functions read modules, functions and plain constants alone. A look at such a one is good until a name holds
# something else, which `ClosureLook.holds` asks.
# Guarded by tests/autograd/test_tensors_in_closures.py.

# What gives no value of a Tensor, or gives it up by its name.
_NO_VALUE = frozenset(
    "shape ndim size dtype device itemsize nbytes requires_grad is_leaf grad grad_fn detach array numpy data".split()
)
_NAMES = {"LOAD_GLOBAL": "global", "LOAD_NAME": "global", "LOAD_DEREF": "cell", "LOAD_CLASSDEREF": "cell"}
_NO_READ = ("no value", "")
_NOWHERE = object()
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_QUESTIONS = frozenset(["len", "isinstance", "type", "id"])


@functools.lru_cache(maxsize=512)
def _chains(code):
    """(chains, names of attributes) of code: (kind, name, steps), a step being ("attr", name) or ("key", constant).

    The last step of a chain whose end is only looked at, and not read, is ("no value", "").
    """
    chains, attributes = set(), set()
    steps = [step for step in steps_of(code) if step.opname != "PUSH_NULL"]
    stored = {step.argval for step in steps if step.opname in ("STORE_DEREF", "STORE_GLOBAL", "DELETE_DEREF")}
    stored |= {step.argval for step in steps if step.opname == "STORE_FAST"}
    kept = set()  # places of what save_for_backward is given: it is kept, not read
    for at, step in enumerate(steps):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval == "save_for_backward":
            end = at + 1
            while end < len(steps) and steps[end].opname.startswith("LOAD_"):
                end += 1
            kept.update(range(at + 1, end) if end < len(steps) and steps[end].opname.startswith("CALL") else ())
        if isinstance(step.argval, types.CodeType):
            inner, names = _chains(step.argval)
            attributes |= names
            own = step.argval.co_varnames[: step.argval.co_argcount + step.argval.co_kwonlyargcount]
            chains.update([chain for chain in inner if chain[0] != "local" or chain[1] not in own])
            continue
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(step.argval)
        kind = _NAMES.get(step.opname) or ("local" if step.opname.startswith("LOAD_FAST") else None)
        if kind is not None and step.argval not in stored:
            path = _path(steps, at)
            chains.add((kind, step.argval, (*path, _NO_READ) if at in kept else path))
    return tuple(sorted(chains, key=repr)), frozenset(attributes)


def _path(steps, at):
    """What follows the variable that an instruction loads."""
    path, end = [], at + 1
    while end < len(steps):
        step = steps[end]
        following = steps[end + 1] if end + 1 < len(steps) else None
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            constant = following is not None and following.opname in _CONSTANTS and following.argval
            if step.argval == "get" and isinstance(constant, str):
                path.append(("get", constant))
                break
            path.append(("attr", step.argval))
            end += 1
        elif step.opname in _CONSTANTS and following is not None and _takes_item(following):
            if not isinstance(step.argval, (str, int)):
                break
            path.append(("key", step.argval))
            end += 2
        else:
            break
    if end < len(steps) and _is_question(steps, at, end):
        path.append(_NO_READ)
    return tuple(path)


def _takes_item(step):
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _is_question(steps, at, end):
    """Whether what a chain gives is only asked something: `x is None`, `len(x)`, `isinstance(x, ...)`."""
    before, after = steps[at - 1] if at else None, steps[end]
    if after.opname in ("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE") or after.opname.startswith("POP_JUMP_FORWARD_IF_N"):
        return True
    if after.opname == "LOAD_CONST" and end + 1 < len(steps) and steps[end + 1].opname == "IS_OP":
        return True
    return before is not None and before.opname == "LOAD_GLOBAL" and before.argval in _QUESTIONS


_Weak = weakref.ref
# Values that lead to nothing else.
_KEPT = frozenset([bool, int, float, complex, str, bytes, type(None), numpy.ndarray, numpy.float64])


def _weak(value):
    try:
        return _Weak(value)
    except TypeError:
        return None


def _own(value):
    own = getattr(value, "__dict__", None)
    return own if type(own) is dict else {}


class ClosureLook:
    """The Tensors that require grad which `functions` read beside their arguments.

    Parameters
    ----------
    functions : sequence of callable
    given : int
        How many positional arguments the functions get: defaults of these are not read.

    Attributes
    ----------
    found : list of (str, Tensor)
        How the code spells it, and what stands there.
    """

    def __init__(self, functions, given=0):
        self.found, self.places, self.steady = [], [], True
        self._followed, self._attributes, self._objects = set(), set(), []
        for f in functions:
            self._function(f, given)
        for path, value in self._objects:  # (2)
            self._attributes_of(path, value)

    def holds(self):
        """Whether another look would find the same."""
        if not self.steady:
            return False
        for space, name, value in self.places:
            if type(value) is _Weak:
                value = value()
            if type(space) is _Weak:
                now = getattr(space(), "__dict__", {}).get(name, _NOWHERE)
            elif name is None:
                now = next(iter(contents_of(space)), _NOWHERE)
            else:
                now = space.get(name, _NOWHERE)
            if now is not value and real_thing(now) is not real_thing(value):
                return False
        return True

    def _place(self, space, name, value):
        """Note where a value stands. Objects of the program's, which may hold a graph, are not kept alive."""
        kept = isinstance(value, (types.ModuleType, types.FunctionType, type)) or type(value) in _KEPT
        if not kept and not _of_library(value):
            value = _weak(value)
        self.steady = self.steady and space is not None and value is not None
        self.places.append((space, name, value))

    def _function(self, f, given=0, bound=_NOWHERE):
        while not isinstance(f, types.FunctionType):
            if isinstance(f, functools.partial):
                for key, value in (*enumerate(f.args), *f.keywords.items()):
                    self._read(f"argument {key!r} of a partial", value)
                f = f.func
            elif isinstance(f, types.MethodType):
                f, bound, given = f.__func__, f.__self__, given + 1
            else:
                return
        code = real_thing(f.__code__)
        known = (code, id(bound), id(f.__closure__))
        if known in self._followed or len(self._followed) >= MOST or is_library(f.__globals__.get("__name__", "")):
            return
        self._followed.add(known)
        chains, attributes = _chains(code)
        self._attributes |= attributes
        cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
        locals_ = self._defaults(f, code, given)
        if bound is not _NOWHERE and code.co_argcount:
            locals_[code.co_varnames[0]] = bound
        for kind, name, path in chains:
            if kind == "global" and name in f.__globals__:
                value = f.__globals__[name]
                self._place(f.__globals__, name, value)
            elif kind == "cell" and name in cells:
                found = contents_of(cells[name])
                self.steady = self.steady and bool(found)
                if not found:
                    continue
                value = found[0]
                self._place(cells[name], None, value)
            elif name in locals_:  # a variable that an inner function shares is loaded as a cell
                value = locals_[name]
                self.steady = False
            else:
                continue
            if value is not f:
                self._chain(name, real_thing(value), path)

    def _defaults(self, f, code, given):
        """{parameter: default} of those that a call with so many positional arguments does not give."""
        defaults = f.__defaults__ or ()
        first = code.co_argcount - len(defaults)
        found = {code.co_varnames[first + k]: value for k, value in enumerate(defaults) if first + k >= given}
        found.update(f.__kwdefaults__ or {})
        return found

    def _chain(self, spelled, value, path):
        owner = _NOWHERE
        for kind, key in path:
            if kind == "no value" or (isinstance(value, Tensor) and key in _NO_VALUE):
                self.steady = self.steady and not isinstance(value, Tensor)
                return
            if isinstance(value, Tensor) or _of_library(value):
                break
            if kind == "attr" and isinstance(value, (list, tuple, dict)):
                if key in LOGS or key == "keys":
                    return
                break
            owner = value
            if kind == "get" and not isinstance(value, dict):
                self.steady = False
                value = _attribute(value, "get")
                break
            value = _attribute(value, key) if kind == "attr" else _item(value, key)
            if isinstance(owner, types.ModuleType) and value is not _NOWHERE:
                self._place(vars(owner), key, value)
            elif kind == "attr" and type(value) in _KEPT and _own(owner).get(key) is value:
                self._place(_weak(owner), key, value)
            else:
                self.steady = False
            spelled += f".{key}" if kind == "attr" else f"[{key!r}]"
            if isinstance(value, property):
                self._function(value.fget, 0, owner)
                return
            if value is _NOWHERE:
                return
            value = real_thing(value)
        self._read(spelled, value, owner)

    def _read(self, spelled, value, owner=_NOWHERE):
        """Note what the end of a chain leads to."""
        if isinstance(value, Tensor):
            self.steady = False
            if value.requires_grad:
                self.found.append((spelled, value))
        elif isinstance(value, (list, tuple, dict)):
            self.steady = False
            self.found += [(spelled, leaf) for leaf in flatten(value)[0] if isinstance(leaf, Tensor) and
                           leaf.requires_grad]  # fmt: skip
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
            method = isinstance(value, types.FunctionType) and owner is not _NOWHERE
            bound = owner if method and not isinstance(owner, (type, types.ModuleType)) else _NOWHERE
            self._function(value, 0, bound)
        elif not _of_library(value) and not isinstance(value, type) and type(value) not in _KEPT:
            self.steady = False
            call = _attribute(type(value), "__call__")
            if isinstance(call, types.FunctionType):
                self._function(call, 0, value)
            else:
                self._objects.append((spelled, value))

    def _attributes_of(self, spelled, value):
        own = _own(value)
        for name in sorted(self._attributes & own.keys()):
            if isinstance(own[name], Tensor):
                self._read(f"{spelled}.{name}", own[name])


def _of_library(value):
    """Whether nothing of the program's is behind a value: plain ones, and what libraries have made."""
    if isinstance(value, types.ModuleType):
        return is_library(value.__name__)
    if isinstance(value, type):
        return is_library(value.__module__)
    return is_library(type(value).__module__) and not isinstance(
        value, (list, tuple, dict, types.FunctionType, types.MethodType, types.SimpleNamespace, functools.partial)
    )


def _attribute(value, name):
    """What stands under a name, without a call of the program's code: a property as it is; `_NOWHERE`: nothing."""
    if isinstance(value, types.ModuleType):
        return vars(value).get(name, _NOWHERE)
    own = {} if isinstance(value, type) else _own(value)
    if name in own:
        return own[name]
    for base in (value if isinstance(value, type) else type(value)).__mro__:
        if name in vars(base):
            member = vars(base)[name]
            if isinstance(member, types.MemberDescriptorType) and not isinstance(value, type):
                return getattr(value, name, _NOWHERE)
            if isinstance(member, functools.cached_property):
                return property(member.func)
            return getattr(member, "__func__", member)
    return _NOWHERE


def _item(value, key):
    if isinstance(value, dict):
        return value.get(key, _NOWHERE)
    if isinstance(value, (list, tuple)) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    return _NOWHERE


def read_beside(name, spelled):
    """The error for a Tensor that `name` reads and that is no argument of it."""
    what = f"{spelled}, a Tensor that requires grad," if spelled else "a Tensor that requires grad"
    return TypeError(
        f"{name} reads {what} besides its arguments, so its gradient would be lost: pass it as an argument, and return "
        "its gradient beside the others. Where a constant is meant, read its detach()"
    )
