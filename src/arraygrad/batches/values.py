"""What stands for several arrays of one shape.

May import: numpy. Functions come from the namespace, which `namespace.py` hands in.

Note [Batches]
~~~~~~~~~~~~~~
(1) A `Batched` stands for an array in each of n rows: its `values` have an axis of n in front, and its shape, ndim and
    dtype are those of one row. With rows=None it is one array that is the same in all rows, as plain arrays beside it
    are. So a function or rule that is written over the standard runs as it does for one row.
(2) What an operation does to it follows from the operation's entry: its signature of core axes says which axes are
    loops, and rows are one loop more (`derive`). Nothing knows one operation by name, but for the lists in `derive`.
(3) A value that leaves (a branch, float(), an index) is given where it is the same in all rows: it is that of each row
    then. Otherwise it is refused by `NoBatch`, and the caller does its rows one by one.
(4) What is done with arrays depends on shapes, dtypes and static parameters alone. A `Tape` notes it, to do it again
    with other values of the same kind: all arrays that a rule gets are Batched while it is noted, so nothing of them
    becomes a constant of the tape. A value that leaves ends it.
Guarded by tests/batches.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["Batched", "NoBatch", "Tape", "mapped", "run", "serve", "served", "shared"]


class NoBatch(Exception):
    """Something has no form for all rows at once: they are to be done one by one."""


class _Read(NoBatch, TypeError):
    """A value left that is not the same in all rows, or while a tape was made."""


class Tape:
    """The calls of array functions that a computation makes: `replay(arrays)` makes them again.

    `template` has the constants at their places, `steps` (function, places of its arguments, place of its result).
    """

    def __init__(self) -> None:
        self.template: list[Any] = []
        self.steps: list[tuple[Callable, tuple[int, ...], int]] = []

    def place(self, value: Any) -> int:
        """A place that holds `value`."""
        self.template.append(value)
        return len(self.template) - 1

    def replay(self, arrays: list[Any], results: list[int]) -> list[Any]:
        """What stands at the places `results` if the first places hold `arrays`; None for a place of -1."""
        found = self.template.copy()
        found[: len(arrays)] = arrays
        for function, at, out in self.steps:
            found[out] = function(*[found[i] for i in at])
        return [found[place] if place >= 0 else None for place in results]


class Batched:
    """An array in each of `rows` rows, or the same one in all of them (None): Note [Batches]."""

    __slots__ = ("rows", "slot", "tape", "values")
    device = "cpu"

    def __init__(self, values: Any, rows: int | None, tape: Tape | None = None, slot: int = -1) -> None:
        self.values = values
        self.rows = rows
        self.tape = tape
        self.slot = slot

    @property
    def shape(self):
        return self.values.shape if self.rows is None else self.values.shape[1:]

    @property
    def ndim(self):
        return self.values.ndim - (self.rows is not None)

    size = property(lambda self: math.prod(self.shape))
    dtype = property(lambda self: self.values.dtype)
    T = property(lambda self: _call("permute_dims", self, tuple(range(self.ndim))[::-1]))
    mT = property(lambda self: _call("matrix_transpose", self))

    def __array_namespace__(self, api_version=None):
        return served()

    def __getitem__(self, key):
        return _call("_getitem", self, key)

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __matmul__(self, other):
        return _call("matmul", self, other)

    def __rmatmul__(self, other):
        return _call("matmul", other, self)

    def one(self) -> Any:
        """The value that is the same in all rows. NoBatch if there is none."""
        if self.tape is not None:
            raise _Read("a value is read")
        if self.rows is None:
            return self.values
        if self.rows and numpy.array_equal(self.values, numpy.broadcast_to(self.values[:1], self.values.shape)):
            return self.values[0]
        raise _Read("a value is read that is not the same in all rows")

    def __bool__(self):
        return bool(self.one())

    def __float__(self):
        return float(self.one())

    def __int__(self):
        return int(self.one())

    def __complex__(self):
        return complex(self.one())

    def __index__(self):
        return operator.index(self.one())

    def __array__(self, *args, **kwargs):
        raise NoBatch("an array of several rows is no array of NumPy's")

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __repr__(self):
        return f"Batched({self.values!r}, rows={self.rows})"


def mapped(arg: Any, change: Callable[[Any], Any]) -> Any:
    """A list, tuple or slice with `change(part)` in the place of each part; anything else as it is."""
    if isinstance(arg, (list, tuple)):
        made = [change(one) for one in arg]
        return type(arg)(*made) if hasattr(arg, "_fields") else type(arg)(made)
    if type(arg) is slice:
        return slice(*[change(one) for one in (arg.start, arg.stop, arg.step)])
    return arg


def shared(value: Any) -> Any:
    """`value` with its arrays of NumPy, in lists and tuples too, as Batched that are the same in all rows."""
    return Batched(value, None) if isinstance(value, numpy.ndarray) else mapped(value, shared)


def _call(name, *args):
    return getattr(served(), name)(*args)


_served: list[Any] = []  # the namespace, which stands on this module


def serve(space: Any) -> None:
    """Give all Batched their namespace."""
    _served[:] = [space]


def served() -> Any:
    """The namespace of all Batched."""
    return _served[0]


def _operators() -> None:
    """Gives Batched the operators that are functions of the table."""
    binary = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow", "mod": "remainder",
              "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
              "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}  # fmt: skip
    compared = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
                "ne": "not_equal"}  # fmt: skip

    def of_two(name, reverse):
        if reverse:
            return lambda self, other: _call(name, other, self)
        return lambda self, other: _call(name, self, other)

    for short, name in binary.items():
        setattr(Batched, f"__{short}__", of_two(name, False))
        setattr(Batched, f"__r{short}__", of_two(name, True))
    for short, name in compared.items():
        setattr(Batched, f"__{short}__", of_two(name, False))
    for short, name in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}.items():
        setattr(Batched, f"__{short}__", lambda self, name=name: _call(name, self))


_operators()


def run(function: Callable, args: list[Any], rows: int | None, several: bool = False) -> Any:
    """`function` of the arrays inside `args`: a Batched of `rows`, or a list of them where it gives `several` arrays.

    A tape that one of them is noted on notes the call.
    """
    tape = None
    plain = []
    for arg in args:
        if type(arg) is Batched:
            tape = arg.tape or tape
            plain.append(arg.values)
        else:
            plain.append(arg)
    made = function(*plain)
    if tape is None:
        return [_wrapped(one, rows) for one in made] if several else _wrapped(made, rows)
    at = tuple([arg.slot if type(arg) is Batched and arg.tape is tape else tape.place(_plain(arg)) for arg in args])
    out = tape.place(None)
    if not several:
        tape.steps.append((function, at, out))
        return _wrapped(made, rows, tape, out)
    tape.steps.append((_as_list(function), at, out))
    found = []
    for i, one in enumerate(made):
        place = tape.place(None)
        tape.steps.append((operator.itemgetter(i), (out,), place))
        found.append(_wrapped(one, rows, tape, place))
    return found


def _wrapped(made, rows, tape=None, slot=-1):
    return Batched(made if isinstance(made, numpy.ndarray) else numpy.asarray(made), rows, tape, slot)


def _plain(arg):
    return arg.values if type(arg) is Batched else arg


def _as_list(function):
    return lambda *args: list(function(*args))
