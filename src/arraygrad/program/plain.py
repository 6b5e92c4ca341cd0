"""The table's operations on NumPy's arrays, with all parameters in order.

May import: core.op (as ops.OPS), core.tensor (NumPy's backend), numpy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from arraygrad.core.tensor import backend_of

__all__ = ["PLAIN", "call_in", "plain_call"]

PLAIN = backend_of(numpy.zeros(1)).rule_xp


def call_in(space: Any, op) -> Callable:
    """The operation in a namespace: a function of all its parameters in order."""
    entry = op.entry
    owner = getattr(space, entry.extension) if entry.extension else space
    function = getattr(owner, op.name)
    n, listed, names, defaults = op.n_positional, op.var_positional, op.params, op.defaults
    if n == len(names) and listed < 0:
        return function

    def call(*bound):
        positional = bound[:n] if listed < 0 else (*bound[:listed], *bound[listed])
        named = {
            names[i]: bound[i]
            for i in range(n + (listed >= 0), len(names))
            if listed >= 0 or bound[i] is not defaults[i]
        }
        return function(*positional, **named)

    return call


@functools.cache
def plain_call(op) -> Callable:
    """The operation on NumPy's arrays: a function of all its parameters in order."""
    return call_in(PLAIN, op)
