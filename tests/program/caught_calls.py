"""Calls of one operation that a sample of tests/ops makes, with Batched in the place of arrays."""

import importlib

from arraygrad.program.calls import apply
from arraygrad.program.values import Batched

namespaces = importlib.import_module("arraygrad.program.namespace")


def calls_of(name, case, arrays):
    """(op, bound) of each call of the operation `name` that a sample makes of `arrays`."""
    found = []

    def noted(op, bound):
        if op.name == name:
            found.append((op, bound))
        return apply(op, bound)

    original, namespaces.apply = namespaces.apply, noted
    try:
        case.call(namespaces.namespace, *arrays)
    finally:
        namespaces.apply = original
    return found


def is_complex(value):
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    return isinstance(value, Batched) and value.dtype.kind == "c"
