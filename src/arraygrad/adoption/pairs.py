"""What stands in for a value: things of the table, and what is made of them.

May import: adoption.table, numpy_api.rearranging, the standard library, numpy.
"""

import functools
import types

import numpy

from arraygrad.adoption.table import MAKERS, STAND_INS
from arraygrad.numpy_api.rearranging import Vectorize

__all__ = ["METHOD_CODE", "pair_of"]


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
