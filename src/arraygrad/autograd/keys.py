"""Numbers that are items of sets and keys of dicts: equal ones are one item in a plain call, and two when recorded.

May import: autograd.source_locations, core.tensor, the standard library, numpy.

Note [Keys that are equal]
~~~~~~~~~~~~~~~~~~~~~~~~~~
A Tensor is a key by its identity, as its value may be written in place. Floats are keys by value. So `{x, x * 1.0}` has
two items where the plain call has one, and what is counted, summed or asked of such a set is another value. A cache is
another thing: `if k not in known: known[k] = f(k)` computes anew what is equal, which gives the right value and the
right gradient, where an equal key would give a constant of an earlier call. So hashes stay what they are, and a
transform warns where a key is equal to another one and the container is no cache:
(1) a display or comprehension of a set, and calls of set, frozenset and Counter: equal items of one container;
(2) `x in s`, `s.add(x)`, `s.discard(x)` of a set that is a plain or dotted name: an equal item that is there;
(3) `d[x]` of a Counter or defaultdict, `d.setdefault(x, ...)`, and `d[x] = ...`, `d[x] += ...` of any dict where the
    statement reads the dict too.
Hashes that libraries and arraygrad ask for say nothing. Guarded by tests/adoption/test_equal_keys.py.
"""

import ast
import collections
import dis
import linecache
import threading
import weakref

import numpy

from arraygrad.autograd.source_locations import SourceLocation, is_ours, object_of, parsed, source_of, warn_at
from arraygrad.core.tensor import Tensor

__all__ = ["meets_an_equal_key", "warn_of_key"]

_MAKERS = frozenset(("set", "frozenset", "_count_elements"))  # the last one by Counter
_ASKS = frozenset(("add", "discard", "remove", "setdefault"))
_MANY = 1024

_kinds: dict = {}  # (code, offset) -> what is asked there; see `_kind`


class _Building(threading.local):
    """The container that this thread makes, and the values of the keys that it has got."""

    def __init__(self):
        self.key = self.holder = None
        self.count = 0
        self.values = {}


_building = _Building()


def meets_an_equal_key(t, frame):
    """Whether `t`, a number, becomes a key beside an equal one at the place of a frame, in no cache.

    Parameters
    ----------
    t : Tensor
    frame : frame
        The innermost one of Python code.
    """
    if frame.f_lasti < 0 or (is_ours(frame) and frame.f_globals.get("__name__") != "collections"):
        return False
    key = (frame.f_code, frame.f_lasti)
    kind = _kinds.get(key)
    if kind is None:
        if len(_kinds) > _MANY:
            _kinds.clear()
        kind = _kinds[key] = _kind(frame)
    what, detail = kind
    if what == "made":
        return _is_beside_an_equal_one(t, frame, detail)
    if what == "asked":
        container = object_of(detail, frame)
        return isinstance(container, (set, frozenset)) and _holds(container, t)
    if what == "kept":
        node, reads = detail
        container = object_of(node, frame)
        if isinstance(container, (collections.Counter, collections.defaultdict)):
            reads = True
        return reads and isinstance(container, dict) and _holds(container, t)
    return False


def _kind(frame):
    """("made", how many items a display has), ("asked", set), ("kept", (dict, whether it is read)) or ("", None)."""
    step = next(step for step in dis.get_instructions(frame.f_code) if step.offset == frame.f_lasti)
    if step.opname in ("BUILD_SET", "SET_ADD", "SET_UPDATE"):
        return "made", step.arg if step.opname == "BUILD_SET" else 0
    node = parsed(source_of(frame.f_code, frame.f_lasti, frame.f_globals))
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in _MAKERS:
            return "made", 0
        if name in _ASKS and isinstance(node.func, ast.Attribute):
            return ("kept", (node.func.value, True)) if name == "setdefault" else ("asked", node.func.value)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return "asked", node.comparators[0]
    if isinstance(node, ast.Subscript):
        return "kept", (node.value, step.opname == "STORE_SUBSCR" and _reads(frame, node.value))
    return "", None


def _reads(frame, container):
    """Whether the statement of a frame's line stores into a container by what it reads of it."""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
    try:
        statement = ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError):
        return False
    if isinstance(statement, ast.AugAssign):
        return True
    named = ast.dump(container)
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Assign) and any(ast.dump(node) == named for node in ast.walk(value))


def _is_beside_an_equal_one(t, frame, size):
    """(1); `size`: how many items a display has, 0: that is not known."""
    here = _building
    holder = frame.f_locals.get(".0")  # the iterator of a comprehension, which no other one has
    key = (frame.f_code, frame.f_lasti, id(frame))
    if here.key != key or here.holder is not holder or (size and here.count >= size):
        here.key, here.holder, here.count, here.values = key, holder, 0, {}
    here.count += 1
    value = _value(t)
    met = here.values.get(value)
    other = None if met is None else met()  # gone with the set before, of a comprehension in a loop (Python 3.12 on)
    if other is None:
        here.values[value] = weakref.ref(t)
    return other is not None and other is not t


def _holds(container, t):
    value = _value(t)
    return any(k is not t and _value(k) == value for k in container)


def _value(key):
    """What a number is as a key."""
    if isinstance(key, Tensor):
        return key.array.item() if isinstance(key.array, numpy.ndarray) and key.ndim == 0 else key
    return key if isinstance(key, (int, float, complex, numpy.generic)) else None


def warn_of_key(frame):
    """Warn of a place where a key meets an equal one."""
    place = SourceLocation(frame)
    warn_at(
        place,
        f"{place}: a number that is being differentiated is an item or key beside an equal one. In a plain call they "
        "are one, by value; recorded numbers are two, by identity. Use numpy.unique(numpy.array([...])) for distinct "
        "values, a list (`if v not in found`), or the values, arraygrad.stop_gradient(x).item(), as keys.",
    )
