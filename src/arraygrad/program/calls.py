"""One operation of the table on Batched: a call of it where there are no rows, what `batches` says where there are.

May import: program.values, program.plain, numpy.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

from arraygrad.program.form import ValueRef
from arraygrad.program.plain import plain_call
from arraygrad.program.values import Batched, NoBatch, mapped, run

__all__ = ["apply", "batched_in", "filled", "hand_in", "rows_of", "template_of", "wrapped"]

_on_rows: list[Callable] = []  # apply(op, bound, rows), of the room of batches, which stands on this one


def hand_in(apply_on_rows: Callable) -> None:
    """Says what an operation does to arrays of which some have rows."""
    _on_rows[:] = [apply_on_rows]


def apply(op, bound: tuple) -> Any:
    """An operation of the table on bound arguments, of which some are Batched: its results, Batched.

    Raises
    ------
    NoBatch
        If its rows are to be done one by one and give arrays of several shapes or dtypes, or if a value is read.
    ValueError
        For arrays of several numbers of rows; and the errors of the operation itself.
    """
    found = batched_in(bound)
    if op.entry.kind == "query":
        return plain_call(op)(*[_dtype_of(arg) for arg in bound])
    n = rows_of(found)
    if n is None:
        return _as_one(op, bound)
    if not _on_rows:
        raise NoBatch("nothing says what operations do to rows")
    made = _on_rows[0](op, bound, n)
    for one in found:
        if one.tape is not None and one.tape.operations is not None:
            one.tape.operations.append((op, bound, made))
            break
    return made


def batched_in(value: Any) -> list[Batched]:
    """The Batched in an argument: itself, in a list, in a key."""
    if type(value) is Batched:
        return [value]
    if type(value) is slice:
        value = (value.start, value.stop, value.step)
    found: list[Batched] = []
    if type(value) in _PARTS:
        for one in value:
            kind = type(one)
            if kind is Batched:
                found.append(one)
            elif kind in _PARTS or kind is slice:
                found += batched_in(one)
    return found


_PARTS = (list, tuple)


def rows_of(arrays: list[Batched]) -> int | None:
    """How many rows arrays have together. ValueError where they differ."""
    rows = None
    for one in arrays:
        if one.rows is not None and one.rows != rows:
            if rows is not None:
                raise ValueError(f"arrays of {sorted({rows, one.rows})} rows in one operation")
            rows = one.rows
    return rows


def _dtype_of(arg: Any) -> Any:
    if type(arg) is Batched:
        return arg.dtype
    return [_dtype_of(one) for one in arg] if type(arg) in (list, tuple) and batched_in(arg) else arg


def _as_one(op, bound: tuple) -> Any:
    """The operation on arrays without rows: one call, one step."""
    call, several = plain_call(op), op.entry.results is not None
    if not any(type(arg) in (list, tuple, slice) for arg in bound):
        return wrapped(op, run(call, list(bound), None, several, op, bound))
    template, found = template_of(bound)

    def function(*values):
        return call(*[filled(arg, values) for arg in template])

    return wrapped(op, run(function, list(found), None, several, op, bound))


def template_of(bound: tuple) -> tuple[list, list[Batched]]:
    """Arguments with a ValueRef for each Batched in them, and these."""
    found: list[Batched] = []

    def numbered(arg):
        if type(arg) is Batched:
            found.append(arg)
            return ValueRef(len(found) - 1)
        return mapped(arg, numbered)

    return [numbered(arg) for arg in bound], found


def filled(arg: Any, values: Any) -> Any:
    """An argument of `template_of` with the values in their places."""
    return values[arg] if type(arg) is ValueRef else mapped(arg, lambda one: filled(one, values))


def wrapped(op, made: Any) -> Any:
    """Results that are Batched in a tuple, named as the operation's, or the one result."""
    if not isinstance(made, (list, tuple)):
        return made
    if op.entry.results != ("*",):
        return _results(op)(*made)
    return tuple(made)


@functools.cache
def _results(op) -> Callable:
    return collections.namedtuple(op.name.strip("_"), op.entry.results)  # type: ignore[misc]
