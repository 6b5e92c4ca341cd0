"""What stands in for a value: things of the table, and what is made of them.

Note [Files of adoption] in __init__.py names the files beside it.

May import: adoption.table, numpy_api.rearranging, the standard library, numpy.
"""

import functools
import types

import numpy

from arraygrad.adoption.table import MAKERS, STAND_INS, stands_for
from arraygrad.numpy_api.rearranging import Vectorize

__all__ = ["METHOD_CODE", "pair_of", "showing", "shows"]


def pair_of(value):
    """(the real thing, its stand-in) for a value that has one, else None."""
    pair = STAND_INS.get(id(value))
    if pair is not None and pair[0] is value:
        return pair
    if type(value) is numpy.vectorize:
        return (value, Vectorize.of(value))
    if type(value) is types.MethodType:
        pair = STAND_INS.get(id(value.__self__))
        if pair is not None and pair[0] is value.__self__:
            return (value, _method_of(value, pair[1]))
    for make in MAKERS:
        pair = make(value)
        if pair is not None:
            return pair
    return None


def _method_of(method, other):
    """The method of what stands in for the object that a method is bound to: `logpdf = scipy.stats.norm.logpdf`."""

    @functools.wraps(method)
    def call(*args, **kwargs):
        return getattr(other, method.__name__)(*args, **kwargs)

    return call


# The code of all that `_method_of` makes.
METHOD_CODE = next(code for code in _method_of.__code__.co_consts if isinstance(code, types.CodeType))


def _shown(module):
    """{name: value} of what a module shows."""
    return vars(module) if type(module) is types.ModuleType else {}


def shows(module, real):
    """Whether a module with a stand-in, or one of its modules that has one, shows a thing with one of these ids."""
    return _shows(module, real, set())


def _shows(module, real, seen):
    seen.add(id(module))
    for value in list(_shown(module).values()):
        if id(value) in real:
            return True
        if type(value) is types.ModuleType and id(value) not in seen and id(value) in STAND_INS:
            if _shows(value, real, seen):
                return True
    return False


_showing: dict = {}  # (id of a module's stand-in, ids of real things) -> (it, another stand-in, which shows those)


def showing(module, other, real):
    """The stand-in `other` of a module, or one as it that shows the real things with these ids, in its modules too."""
    if not shows(module, real):
        return other
    known = _showing.get((id(other), real))
    if known is not None and known[0] is other:
        return known[1]
    if len(_showing) > 256:
        _showing.clear()
    made = types.ModuleType(other.__name__, other.__doc__)
    _showing[id(other), real] = other, made
    stands_for(made, module)
    vars(made).update(vars(other))
    for name, value in list(vars(module).items()):
        if id(value) in real:
            setattr(made, name, value)
        elif type(value) is types.ModuleType and id(value) in STAND_INS and name in vars(other):
            setattr(made, name, showing(value, vars(other)[name], real))

    def later(name):
        found = getattr(module, name)
        pair = pair_of(found)
        if pair is None or id(found) in real:
            return found
        return showing(found, pair[1], real) if type(found) is types.ModuleType else pair[1]

    made.__getattr__ = later
    return made
