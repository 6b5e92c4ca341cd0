"""Numbers that are items of sets and keys of dicts: whether equal ones are one key, as in a plain call, or two.

May import: autograd.instructions, autograd.source_locations, the standard library.

Note [Keys that are equal]
~~~~~~~~~~~~~~~~~~~~~~~~~~
Floats are keys by value. So is a Tensor without axes that is hashed in an adopted call (`Tensor.__hash__`), and
`{x, x * 1.0, 0.7}` has one item where the plain call has one. A cache is another thing:
`if k not in known: known[k] = f(k)` has to compute anew what is equal. An equal key would give the value of another
variable, or of an earlier call: the right value, and another one's gradient. So `Tensor.__eq__` asks here where two
numbers are equal and one of them was hashed, and the instruction that compares them tells (`_kind`):
(1) Operators, `==` of any containers, displays, comprehensions, operations of sets, what makes sets and dicts out of
    items, Counter and defaultdict, `x in s` of what is no dict: one key.
(2) `d[x]`, `d[x] = ...`, `d.get(x)`, `x in d` of a dict: one key where the code counts or sums up (`d[x] += 1`), fills
    a dict of its own and asks it for no key, or reads a table that it does not fill; two in code that asks and fills,
    which is a cache.
(3) functools.lru_cache, functools.cache: two keys.
(4) Where it cannot be told: two, with a warning.
Guarded by tests/adoption/test_equal_keys.py.
"""

import ast
import collections
import dis
import functools
import itertools
import linecache
import types

from arraygrad.autograd.instructions import steps_of
from arraygrad.autograd.source_locations import SourceLocation, object_of, own_frame, parsed, source_of, warn_at

__all__ = ["are_one_key", "warn_of_keys"]

# Functions that make a container of items: equal ones are one item of it.
_MAKERS = frozenset("Counter OrderedDict defaultdict dict frozenset fromkeys set _count_elements".split())
# Methods of sets, and of sequences, which compare by value.
_METHODS = frozenset(
    """
    add count difference difference_update discard index intersection intersection_update isdisjoint issubset issuperset
    pop remove symmetric_difference symmetric_difference_update union
    """.split()
)
_SEQUENCES = frozenset("list sorted tuple values".split())
_DISPLAYS = frozenset(
    "BUILD_SET SET_ADD SET_UPDATE BUILD_MAP MAP_ADD BUILD_CONST_KEY_MAP DICT_UPDATE DICT_MERGE".split()
)
_OPERATORS = frozenset(("COMPARE_OP", "BINARY_OP"))
_LOOKS = frozenset(("get", "setdefault", "pop", "keys", "has_key"))
_COUNTERS = (collections.Counter, collections.defaultdict)
_CACHED = type(functools.lru_cache(len))
_MANY = 1024

_kinds: dict = {}  # (code, offset) -> (the syntax of a container or None, whether the keys of a dict are one)


def are_one_key(frame):
    """Whether equal numbers are one key where they are compared; None: that cannot be told.

    Parameters
    ----------
    frame : frame
        The innermost one of Python code.
    """
    while frame.f_code.co_name == "__eq__" and frame.f_back is not None:
        frame = frame.f_back  # of an object that has numbers: where that is compared
    if frame.f_lasti >= 0 and frame.f_globals.get("__name__") == "collections":
        return True  # Counter's methods
    if frame.f_lasti >= 0 and _operation(frame.f_code, frame.f_lasti) == "COMPARE_OP":
        return True
    frame = own_frame(frame)  # a library's function, called there, has the container
    if frame.f_lasti < 0:
        return None
    key = (frame.f_code, frame.f_lasti)
    kind = _kinds.get(key)
    if kind is None:
        if len(_kinds) > _MANY:
            _kinds.clear()
        kind = _kinds[key] = _kind(frame)
    node, of_dict = kind
    if node is None:
        return of_dict
    container = object_of(node, frame)
    while isinstance(container, functools.partial | types.MethodType):
        container = container.func if isinstance(container, functools.partial) else container.__func__
    if isinstance(container, _COUNTERS):
        return True
    if isinstance(container, dict) and hasattr(type(container), "__missing__"):
        return False  # it fills itself
    if isinstance(container, dict) or (container is None and of_dict is not None):
        return of_dict
    return False if isinstance(container, _CACHED) else None if container is None else True


@functools.lru_cache(maxsize=_MANY)
def _operation(code, at):
    """The name of the instruction of code at an offset, or before it: a call is at an offset within its cache."""
    found = "NOP"
    for step in dis.get_instructions(code):
        if step.offset > at:
            break
        # From Python 3.14 on, an item is taken by an operator of two operands.
        found = "BINARY_SUBSCR" if step.opname == "BINARY_OP" and step.argrepr == "[]" else step.opname
    return found


def _kind(frame):
    """The syntax of the container, None where it does not matter, and whether keys of a dict are one there."""
    code = frame.f_code
    operation = _operation(code, frame.f_lasti)
    if operation in _DISPLAYS or operation in _OPERATORS:
        return None, True
    node = parsed(source_of(code, frame.f_lasti, frame.f_globals))
    if isinstance(node, ast.Call):
        return _kind_of_call(node, frame)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return _kind_of_in(node.comparators[0], code)
    if isinstance(node, ast.Subscript):
        return _kind_of_item(node, operation, frame)
    if operation == "DELETE_SUBSCR":
        return None, True
    return None, None


def _name_of(call):
    """The name of the function or method that the syntax of a call calls."""
    return getattr(call.func, "attr", getattr(call.func, "id", None))


def _kind_of_call(node, frame):
    code = frame.f_code
    name = _name_of(node)
    if name in _MAKERS:
        return None, True
    if not isinstance(node.func, ast.Attribute):
        return node.func, None
    if name in _METHODS:
        return None, True
    if name == "update":
        return node.func.value, None
    if name == "setdefault" and len(node.args) == 2:
        return node.func.value, True if _is_written(node.args[1]) else None
    if name == "get":
        counts = _sums_up(frame, node.func.value)
        table = len(node.args) == 2 and _is_written(node.args[1]) and not _stores_items(code)
        return node.func.value, True if counts or table else False if _stores_items(code) else None
    if name == "__contains__":
        return _kind_of_in(node.func.value, code)
    return node.func, None


def _kind_of_in(container, code):
    """`x in container`."""
    if isinstance(container, ast.Set | ast.Dict | ast.List | ast.Tuple):
        return None, True
    if isinstance(container, ast.Call):
        name = _name_of(container)
        if name in _MAKERS or name in _SEQUENCES:
            return None, True
        if name == "keys" and isinstance(container.func, ast.Attribute):
            container = container.func.value
    if _stores_items(code) and not _adds_to_items(code):
        return container, False
    return container, True if _reads_items(code) else None


def _kind_of_item(node, operation, frame):
    """`d[x]`, read, stored or deleted."""
    code = frame.f_code
    made = isinstance(node.value, ast.Dict) or (isinstance(node.value, ast.Call) and _name_of(node.value) in _MAKERS)
    if made or operation == "DELETE_SUBSCR":
        return None, True
    if operation == "STORE_SUBSCR":
        fills = _is_local(node.value, code) and not _looks_for_keys(code)
        return node.value, fills or _sums_up(frame, node.value)
    return node.value, _adds_to_items(code) or (_catches(code) and not _stores_items(code))


def _is_written(node):
    """Whether syntax is a number or an empty container that is written out."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        return _name_of(node) in _MAKERS or _name_of(node) in _SEQUENCES
    try:
        return isinstance(ast.literal_eval(node), (int, float, complex, str, list, dict, set, tuple))
    except (ValueError, SyntaxError, TypeError):
        return False


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


def _sums_up(frame, container):
    """Whether the statement of a frame's line stores into a container by what it reads of it."""
    statement = _statement(frame)
    if isinstance(statement, ast.AugAssign):
        return True
    named = ast.dump(container)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
        return False
    stored = ast.dump(statement.targets[0].value)
    return stored == named and any(ast.dump(node) == named for node in ast.walk(statement.value))


def warn_of_keys(frame):
    """Warn of a place where equal keys are taken for two."""
    place = SourceLocation(frame)
    warn_at(
        place,
        f"{place}: a number that is being differentiated meets an equal key. In a plain call they are one; here they "
        "are taken for two, as in a cache, where another one's value would have another gradient. Use "
        "numpy.unique(numpy.array([...])) for distinct values, a list (`if v not in found`), or the values, "
        "float(arraygrad.stop_gradient(x)), as keys.",
    )
