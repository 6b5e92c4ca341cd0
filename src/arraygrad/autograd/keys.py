"""Numbers that are items of sets and keys of dicts: equal ones are one item in a plain call, and two when recorded.

May import: autograd.instructions, autograd.source_locations, core.tensor, the standard library, numpy.

Note [Keys that are equal]
~~~~~~~~~~~~~~~~~~~~~~~~~~
A Tensor is a key by its identity, as its value may be written in place. Floats are keys by value. So `{x, x * 1.0}` has
two items where the plain call has one, and what is counted, summed or asked of such a set is another value. A cache is
another thing: `if k not in known: known[k] = f(k)` computes anew what is equal, which gives the right value and the
right gradient, where an equal key would give a constant of an earlier call. So hashes stay what they are, and a
transform warns where a key is equal to another one and the container is no cache:
(1) a display or comprehension of a set or dict, and calls of set, frozenset, dict.fromkeys and Counter: equal items of
    one container, Tensors or plain numbers that the expression names;
(2) `x in s`, `s.add(x)`, `s.discard(x)`, `s | {x}`, `s.union([x])` of a set that is a plain or dotted name: an equal
    item that is there;
(3) `d[x]` of a Counter or defaultdict, `d.setdefault(x, ...)`, and `d[x] = ...`, `d[x] += ...` of any dict where the
    statement reads the dict too;
(4) what looks a number up in a table and is no cache: `d.get(x, 1.0)` with a number that is written there, `x in d`,
    `x in d.keys()` where the code reads items and stores none, `d[x]` where such code catches errors, `d[x] = ...` of a
    local dict where the code asks no dict for a key; and sets and dicts that are written out: `x in {1.0, 2.0}`.
Numbers that no gradient leads through are keys by value in adopted calls, as floats are (`Tensor.__hash__`).
Hashes that libraries and arraygrad ask for say nothing. Guarded by tests/adoption/test_equal_keys.py.
"""

import ast
import collections
import dis
import itertools
import linecache
import threading
import weakref

import numpy

from arraygrad.autograd.instructions import steps_of
from arraygrad.autograd.source_locations import SourceLocation, is_ours, object_of, parsed, source_of, warn_at
from arraygrad.core.tensor import Tensor

__all__ = ["meets_an_equal_key", "warn_of_key"]

_MAKERS = frozenset(("set", "frozenset", "fromkeys", "_count_elements"))  # the last one by Counter
_ASKS = frozenset(("add", "discard", "remove", "setdefault"))
_JOINS = frozenset(
    """
    difference difference_update intersection intersection_update isdisjoint issubset issuperset symmetric_difference
    symmetric_difference_update union update
    """.split()
)
_OPERATORS = (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)
_DISPLAYS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE", "BUILD_MAP", "MAP_ADD", "BUILD_CONST_KEY_MAP"))
_LOOKS = frozenset(("get", "setdefault", "pop", "keys", "has_key"))
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
        size, beside = detail
        return _is_beside_an_equal_one(t, frame, size) or _is_among(t, beside, frame)
    if what == "among":
        return _is_among(t, detail, frame)
    if what == "asked":
        container = object_of(detail, frame)
        return isinstance(container, (set, frozenset)) and _holds(container, t)
    if what == "looked":
        container = object_of(detail, frame)
        return isinstance(container, dict) and _holds(container, t)
    if what == "joined":
        container, beside = detail
        found = object_of(container, frame)
        return (isinstance(found, (set, frozenset)) and _holds(found, t)) or _is_among(t, beside, frame)
    if what == "in":
        node, is_table = detail
        container = object_of(node, frame)
        return isinstance(container, (set, frozenset, dict) if is_table else (set, frozenset)) and _holds(container, t)
    if what == "kept":
        node, reads, key = detail
        container = object_of(node, frame)
        if isinstance(container, (collections.Counter, collections.defaultdict)):
            reads = True
        return reads and isinstance(container, dict) and (_holds(container, t) or _holds_tuple(container, key, frame))
    return False


def _kind(frame):
    """What is asked at the place of a frame, and what has to be looked at there; ("", None): nothing.

    "made": (how many items a display has, 0: not known; what else is put into it); "among": items; "asked": the set;
    "joined": (the set, what else it gets); "in": (the container, whether a dict counts); "looked": the dict; "kept":
    (the dict, whether it counts, the key).
    """
    code = frame.f_code
    step = next(step for step in dis.get_instructions(code) if step.offset == frame.f_lasti)
    node = parsed(source_of(code, frame.f_lasti, frame.f_globals))
    if step.opname in _DISPLAYS:
        size = step.arg if step.opname.startswith("BUILD") else 0
        return "made", (size, [*_items_of(node), *_joined_with(frame, node)])
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in _MAKERS:
            return "made", (0, [part for arg in node.args for part in _items_of(arg)])
        if name in _ASKS and isinstance(node.func, ast.Attribute):
            if name == "setdefault":
                return "kept", (node.func.value, True, node.args[0] if node.args else None)
            return "asked", node.func.value
        if name in _JOINS and isinstance(node.func, ast.Attribute):
            return "joined", (node.func.value, [part for arg in node.args for part in _items_of(arg)])
        if name == "get" and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Dict):
                return "among", _items_of(node.func.value)
            if len(node.args) == 2 and _written(node.args[1]):
                return "looked", node.func.value
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        container = node.comparators[0]
        if isinstance(container, ast.Set | ast.Dict):
            return "among", _items_of(container)
        if isinstance(container, ast.Call):
            name = getattr(container.func, "attr", getattr(container.func, "id", None))
            if name in _MAKERS:
                return "among", [part for arg in container.args for part in _items_of(arg)]
            if name == "keys" and isinstance(container.func, ast.Attribute):
                container = container.func.value
        return "in", (container, _reads_items(code) and (not _stores_items(code) or _adds_to_items(code)))
    if isinstance(node, ast.Subscript):
        if isinstance(node.value, ast.Dict):
            return "among", _items_of(node.value)
        stores = step.opname == "STORE_SUBSCR"
        if not stores and _catches(code) and not _stores_items(code):
            return "looked", node.value
        fills = stores and _is_local(node.value, code) and not _looks_for_keys(code)
        return "kept", (node.value, stores and (fills or _reads(frame, node.value)), node.slice)
    return "", None


def _items_of(node):
    """The syntax of the items that a container, which an expression makes or is, gets."""
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    if isinstance(node, ast.Starred):
        return _items_of(node.value)
    return [ast.Starred(node)] if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else []


def _joined_with(frame, display):
    """The syntax of the items that a display meets in its statement: those of `s` in `s | {x}`, in `s.union({x})`."""
    if not isinstance(display, ast.Set | ast.List):
        return []
    named = ast.dump(display)
    found = []
    for node in ast.walk(_statement(frame) or ast.Module([], [])):
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            sides = [node.left, node.right]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, _OPERATORS):
            sides = [node.target, node.value]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in _JOINS:
            sides = [node.func.value, *node.args]
        else:
            continue
        if named in map(ast.dump, sides):
            found += [part for side in sides if ast.dump(side) != named for part in _items_of(side)]
    return found


def _written(node):
    """Whether syntax is a number that is written out."""
    try:
        return isinstance(ast.literal_eval(node), (int, float, complex))
    except (ValueError, SyntaxError, TypeError):
        return False


def _is_among(t, parts, frame):
    """Whether a plain number among those that syntax names is equal to `t`."""
    value = None
    for part in parts:
        if isinstance(part, ast.Starred):
            found = object_of(part.value, frame)
            numbers = found if isinstance(found, (set, frozenset, list, tuple, dict)) else ()
        elif _written(part):
            numbers = (ast.literal_eval(part),)
        else:
            numbers = (object_of(part, frame),)
        for number in numbers:
            if isinstance(number, _NUMBERS):
                value = _value(t) if value is None else value
                if number == value:
                    return True
    if frame.f_globals.get("__name__") == "collections":  # Counter
        items = frame.f_locals.get("iterable")
        if isinstance(items, (list, tuple, set)):
            return any(isinstance(item, _NUMBERS) and item == _value(t) for item in items)
    return False


_NUMBERS = (int, float, complex, numpy.generic)


def _names_and_operations(code):
    return frozenset(code.co_names), frozenset(step.opname + step.argrepr for step in steps_of(code))


def _reads_items(code):
    _, steps = _names_and_operations(code)
    return any(step.startswith("BINARY_SUBSCR") or step == "BINARY_OP[]" for step in steps)


def _stores_items(code):
    names, steps = _names_and_operations(code)
    return any(step.startswith("STORE_SUBSCR") for step in steps) or not names.isdisjoint(("setdefault", "update"))


def _adds_to_items(code):
    """Whether code counts or sums up in items, `d[v] += 1`, which a cache does not."""
    steps = [step for step in steps_of(code) if step.opname not in ("SWAP", "ROT_THREE", "ROT_TWO")]
    return any(
        before.opname == "BINARY_OP" and before.argrepr.endswith("=") and after.opname == "STORE_SUBSCR"
        for before, after in itertools.pairwise(steps)
    )


def _looks_for_keys(code):
    """Whether code asks a container for a key, or catches that it is not there, as one that fills a cache does."""
    names, steps = _names_and_operations(code)
    return bool(any(step.startswith("CONTAINS_OP") for step in steps) or names & _LOOKS or _catches(code))


def _catches(code):
    return "PUSH_EXC_INFO" in _names_and_operations(code)[1]


def _is_local(node, code):
    """Whether syntax is a local variable of code and none of its parameters."""
    n = code.co_argcount + code.co_kwonlyargcount
    return isinstance(node, ast.Name) and node.id in code.co_varnames[n:]


def _statement(frame):
    """The syntax of the line of a frame; None where it is no statement."""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
    try:
        return ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None


def _reads(frame, container):
    """Whether the statement of a frame's line stores into a container by what it reads of it."""
    statement = _statement(frame)
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


def _holds_tuple(container, node, frame):
    """Whether a key that is a tuple, by its name, is equal to one that is there, of other numbers."""
    key = object_of(node, frame) if node is not None else None
    if type(key) is not tuple:
        return False
    values = tuple(map(_value, key))
    return any(
        type(k) is tuple and len(k) == len(key) and any(a is not b for a, b in zip(k, key, strict=True))
        and tuple(map(_value, k)) == values
        for k in container
    )  # fmt: skip


def _value(key):
    """What a number is as a key."""
    if isinstance(key, Tensor):
        return key.array.item() if isinstance(key.array, numpy.ndarray) and key.ndim == 0 else key
    return key if isinstance(key, _NUMBERS) else None


def warn_of_key(frame):
    """Warn of a place where a key meets an equal one."""
    place = SourceLocation(frame)
    warn_at(
        place,
        f"{place}: a number that is being differentiated is an item or key beside an equal one. In a plain call they "
        "are one, by value; recorded numbers are two, by identity. Use numpy.unique(numpy.array([...])) for distinct "
        "values, a list (`if v not in found`), or the values, arraygrad.stop_gradient(x).item(), as keys.",
    )
