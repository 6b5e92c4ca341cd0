"""What code compares, so that it has no stand-in: Note [What adoption reaches], 5.

Note [Files of adoption] in __init__.py names the files beside it.

May import: adoption.bindings, adoption.code, adoption.stand_ins, adoption.table, the standard library, numpy.
"""

import builtins
import functools
import sys
import types

import numpy

from arraygrad.adoption.bindings import attributes_of, is_plain
from arraygrad.adoption.code import IS_OP, SEARCHES, beside_comparisons, compared_globals, unknown_comparison
from arraygrad.adoption.stand_ins import pair_of
from arraygrad.adoption.table import SCALAR_TYPES

__all__ = [
    "ITEMS", "attribute", "codes_of", "compared_at", "compared_in", "held", "items_compared_in", "keys_in", "parts",
]  # fmt: skip

# Functions of libraries that compare a module to choose between two ways of computing the same: (module, name).
_EITHER_WAY = frozenset((("sklearn.utils.validation", "_assert_all_finite_element_wise"),))
ITEMS = 256  # how many items of a container are looked at


def codes_of(namespace):
    """The code of all functions that a namespace holds and that look names up there, methods of its classes too."""
    found = []
    seen = set()
    waiting = list(namespace.values())
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in _DATA or id(value) in seen:
            continue
        seen.add(id(value))
        if kind is types.FunctionType:
            if value.__globals__ is namespace:
                found.append(value.__code__)
            waiting += [item for _, item in held(value)]
        elif isinstance(value, type):
            if value.__module__ == namespace.get("__name__"):
                waiting += vars(value).values()
        elif kind is property:
            waiting += [value.fget, value.fset, value.fdel]
        elif kind is functools.partial:
            waiting.append(value.func)
        elif kind in (dict, list, tuple) and len(value) <= ITEMS:
            waiting += value.values() if kind is dict and "__name__" not in value else value
        elif kind in (classmethod, staticmethod, functools.cached_property) or attribute(value, "__wrapped__"):
            waiting.append(value.func if kind is functools.cached_property else value.__wrapped__)
    return found


_DATA = frozenset((types.NoneType, bool, int, float, complex, str, bytes, types.ModuleType, numpy.ndarray))


def keys_in(namespace, named=None):
    """Ids of the real things that are keys of dicts, or items of sets, that a namespace holds under these names."""
    found = frozenset()
    for name, value in namespace.items():
        if named is not None and name not in named:
            continue
        if type(value) in (dict, set, frozenset) and len(value) <= ITEMS and not name.startswith("__"):
            for key in list(value):
                for part in parts(key):
                    found |= _identities(part, False)
    return found


def parts(key):
    """What the hash of a key may depend on: itself, its items and attributes."""
    if type(key) is tuple:
        return (key, *key)
    return (key,) if is_plain(key) or isinstance(key, type) else (key, *(attributes_of(key) or {}).values())


def _identities(value, by_is):
    """Ids of what must have no stand-in where code compares a value: Note [What adoption reaches], 5."""
    pair = pair_of(value)
    if pair is None or (isinstance(value, type) and not by_is):  # its stand-in is equal to it
        return frozenset()
    if id(value) in SCALAR_TYPES:  # numpy itself has another stand-in then: Note [Types of scalars that stay], 3
        return frozenset(SCALAR_TYPES)
    return frozenset((id(value),))


def compared_in(namespace, code):
    """Ids of the real things with stand-ins that code compares (5)."""
    if (namespace.get("__name__"), code.co_name) in _EITHER_WAY:
        return frozenset()
    found = frozenset().union(*[compared_in(namespace, c) for c in code.co_consts if isinstance(c, types.CodeType)])
    if unknown_comparison(code, namespace):  # what is a type in the plain call may be its stand-in
        found |= SCALAR_TYPES
    return found.union(*[ids for _, ids in compared_at(namespace, code)])


def compared_at(namespace, code):
    """(a comparison, ids of the real things with stand-ins that it compares) of code; functions in it are left out."""
    for step, steps, at in compared_globals(code):
        if step.argval in SEARCHES:
            value, others, by_is = namespace.get(steps[at].argval), (), True
        else:
            value, by_is = _loaded(namespace, steps, at), step.opcode == IS_OP
            others = (value,)
        things = functions_in(value) if type(value) in _HOLDERS else others
        yield step, frozenset().union(*[_identities(one, by_is) for one in things])


def items_compared_in(namespace, code):
    """Ids of the real things in lists that code loads in an expression which compares something: FS[0] == found()."""
    found = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= items_compared_in(namespace, constant)
    holders = {name: functions_in(namespace[name]) for name in code.co_names if type(namespace.get(name)) in _HOLDERS}
    for name in beside_comparisons(code, [name for name, things in holders.items() if things]):
        found.update([id(one) for one in holders[name]])
    return found


def functions_in(container):
    """The functions with stand-ins in a list: no types and modules, which code compares in more ways."""
    return [
        one
        for one in list(container)[:ITEMS]
        if pair_of(one) is not None and not isinstance(one, type | types.ModuleType)
    ]


_HOLDERS = frozenset((list, tuple, set, frozenset))


def _loaded(namespace, steps, at):
    """What a global that is loaded there is, or the attribute of a module that is taken of it; None if it is called."""
    value = namespace.get(steps[at].argval, vars(builtins).get(steps[at].argval))
    if steps[at].opname == "LOAD_GLOBAL" and steps[at].arg & 1:
        return None
    for step in steps[at + 1 :]:
        if step.opname != "LOAD_ATTR":
            return None if step.opname == "LOAD_METHOD" else value
        if type(value) is not types.ModuleType or (sys.version_info >= (3, 12) and step.arg & 1):
            return None
        value = vars(value).get(step.argval)
    return value


def attribute(obj, name):
    """An attribute that an object stores itself; None where there is none, or where asking runs the program's code."""
    try:
        return object.__getattribute__(obj, name)
    except (AttributeError, TypeError, ValueError):
        return None


def held(function):
    """((holder, key), value) of what a function closes over and of its default arguments."""
    for cell in function.__closure__ or ():
        try:
            yield (cell, None), cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for value in function.__defaults__ or ():
        yield (function, None), value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield (function.__kwdefaults__, name), value
    if "__wrapped__" in vars(function):
        yield (vars(function), "__wrapped__"), vars(function)["__wrapped__"]
