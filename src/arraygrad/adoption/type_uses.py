"""Whether code does nothing with NumPy's types of scalars that could show which object they are.

May import: adoption.table, autograd.instructions, the standard library, numpy.

`np.float64(x)`, `np.zeros(3, dtype=np.float64)`, `y.astype(np.float64)`, `isinstance(x, np.float64)` and
`x.dtype == np.float64` use a type up: nobody gets it who could compare it by `is`. `kind = np.float64`,
`make(dtype=np.float64)` and `return np.float64` hand it over. Python notes for each instruction which part of a line it
computes; so the smallest expression around a type is known. Where that is not noted (`-X no_debug_ranges`), nothing is
said to be used up.
"""

import builtins
import dis
import functools
import types

import numpy

from arraygrad.adoption.table import REALS, SCALAR_TYPES
from arraygrad.autograd.instructions import steps_of

__all__ = ["names_of_types", "uses_types_up"]

_MANY = 1 << 15  # so many code objects are kept
_known: dict = {}  # id of a code object -> (it, whether it uses types up)
# Builtins that ask or call what they are given, and methods of arrays that take a dtype.
_ASKING = frozenset(("isinstance", "issubclass", "map"))
_CASTING = frozenset(("astype",))
_EQUAL = ("==", "!=", "bool(==)", "bool(!=)")
_LOADING = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME")


@functools.cache
def names_of_types():
    """The names that numpy has for its types of scalars with stand-ins."""
    return frozenset(name for name, value in vars(numpy).items() if id(value) in SCALAR_TYPES)


def uses_types_up(code, namespace):
    """Whether code, and code of functions in it, uses up all types of scalars that it names."""
    if names_of_types().isdisjoint(code.co_names):
        own = True
    else:
        known = _known.get(id(code))
        if known is None or known[0] is not code:
            if len(_known) > _MANY:
                _known.clear()
            known = _known[id(code)] = (code, _own(code, namespace))
        own = known[1]
    return own and all(
        uses_types_up(constant, namespace) for constant in code.co_consts if isinstance(constant, types.CodeType)
    )


def _own(code, namespace):
    steps = steps_of(code)
    for i, step in enumerate(steps):
        if step.opname == "IMPORT_FROM" and step.argval in names_of_types():
            return False
        if step.opcode in dis.hasname and step.argval in names_of_types():
            if step.opname not in _LOADING or not _is_used_up(steps, i, namespace):
                return False
    return True


def _is_used_up(steps, at, namespace):
    """Whether the type that an instruction loads is used up by the expression around it."""
    if _span(steps[at]) is None:
        return False
    inner = _span(steps[at])
    around = [step for step in steps[at + 1 :] if _holds(_span(step), inner)]
    for step in around:
        name = step.opname
        if name in ("BUILD_TUPLE", "BUILD_LIST", "PUSH_NULL"):
            continue
        if name in ("LOAD_ATTR", "LOAD_METHOD"):  # np.float64.fromhex
            return True
        if name.startswith("CALL") and name != "CALL_FUNCTION_EX":
            start = _span(step)[0]
            callee = [one for one in steps if _span(one) is not None and _span(one)[0] == start]
            callee = [one for one in callee if one.opname in _LOADING and _span(one)[1] < _span(step)[1]]
            return bool(callee) and _takes_types(callee, inner, namespace)
        return name == "CONTAINS_OP" or (name == "COMPARE_OP" and step.argval in _EQUAL)
    return False


def _takes_types(callee, inner, namespace):
    """Whether what is called, by the instructions that load it, is a type itself, NumPy's, or asks for classes."""
    last = max(callee, key=lambda step: _span(step)[1])
    if _span(last) == inner:
        return True
    if last.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return last.argval in _ASKING and _is_builtin(last.argval, namespace)
    first = min(callee, key=lambda step: _span(step)[1])
    of_numpy = first.opname == "LOAD_GLOBAL" and _is_numpy(namespace.get(first.argval))
    return last.argval in _CASTING or (of_numpy and all(one.argval != "vectorize" for one in callee))


def _is_builtin(name, namespace):
    """Whether a name is a builtin's, or that of what stands in for it."""
    real = getattr(builtins, name)
    value = namespace.get(name, real)
    return value is real or REALS.get(id(value), (None, None))[1] is real


def _is_numpy(value):
    """Whether a value is numpy, or stands in for it."""
    return isinstance(value, types.ModuleType) and value.__name__ == "numpy"


def _span(step):
    """((line, column) where what an instruction computes begins, the same of its end); None: not noted."""
    p = step.positions
    if p is None or None in p:
        return None
    return (p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)


def _holds(outer, inner):
    """Whether a part of the source holds another, and is more."""
    return outer is not None and outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]
