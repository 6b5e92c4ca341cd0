"""What stands for arrays while a rule or a function is traced, or runs on several rows at once.

May import: program.form, numpy. Functions come from the namespace, which `namespace.py` hands in.

Note [Small programs]
~~~~~~~~~~~~~~~~~~~~~
(1) A `Batched` stands for an array in each of n rows: its `values` have an axis of n in front, and its shape, ndim and
    dtype are those of one row. With rows=None it is one array, which is the same in all rows, as plain arrays beside it
    are. So a function or rule that is written over the standard runs as it does for one row.
(2) What an operation does without rows is one call of it, a step that names it. What it does to rows follows from its
    entry: the signature of core axes says which axes are loops, and rows are one loop more (`batches.derive`).
(3) What is done with arrays depends on shapes, dtypes and static parameters alone. A `Tape` notes it, and makes of it a
    `Program` that does it again with other values of the same kind: all arrays that a rule gets are Batched while it is
    noted, so nothing of them becomes a constant.
(4) A value that leaves (a branch, float(), an index) is given where it is the same in all rows: it is that of each row
    then. Otherwise it is refused by `NoBatch`, and the caller does its rows one by one. While a tape notes, a value
    that leaves ends it, or becomes a step that compares (`Guard`): a replay with another value stops there.
Guarded by tests/program and tests/batches.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from arraygrad.program.form import Array, Program, ValueRef

__all__ = [
    "Batched",
    "Guard",
    "GuardFailed",
    "NoBatch",
    "NotLinear",
    "Step",
    "Tape",
    "mapped",
    "run",
    "serve",
    "served",
    "shared",
]


class NoBatch(Exception):
    """Something has no form for all rows at once: they are to be done one by one."""


class _Read(NoBatch, TypeError):
    """A value left that is not the same in all rows, or while a tape was made. `values`: one for each row, or None."""

    values = None


class NotLinear(Exception):
    """A program does not depend linearly on a value, so it has no transpose."""


_NONE: frozenset = frozenset()


class Step:
    """One thing that was done: `function` of `args` made `made` (Batched), which is what `op` makes of `bound`.

    `op` is None for an array function that is no operation of the table, and for a guard.
    """

    __slots__ = ("args", "bound", "function", "made", "op", "several")

    def __init__(self, op: Any, bound: Any, function: Callable, args: list, made: list[Batched], several: bool) -> None:
        self.op, self.bound, self.function = op, bound, function
        self.args, self.made, self.several = args, made, several


class GuardFailed(Exception):
    """A value that decided what a program does is another one in this replay."""


class Guard:
    """A step that holds a value to what it was when it was read."""

    def __init__(self, values: Any) -> None:
        self.values = numpy.array(values)

    def __call__(self, values: Any) -> None:
        if not numpy.array_equal(values, self.values, equal_nan=self.values.dtype.kind in "fc"):
            raise GuardFailed

    def __repr__(self) -> str:
        return f"Guard({self.values!r})"


class Tape:
    """Notes what is done with arrays: Note [Small programs]. `guarded`: a value may be read, and becomes a guard.

    `operations` lists (operation of the table, bound arguments, result) on rows as well, where the caller sets it.
    """

    operations: list[tuple] | None = None

    def __init__(self, guarded: bool = False) -> None:
        self.guarded = guarded
        self.steps: list[Step] = []

    def read(self, x: Batched) -> None:
        if not self.guarded or x.rows is not None:
            raise _Read("a value is read")
        self.steps.append(Step(None, (x,), Guard(x.values), [x], [], False))

    def program(
        self,
        inputs: list[Batched],
        results: list[Batched | None],
        largest: int | None = None,
        gone: frozenset = _NONE,
        fixed: frozenset = _NONE,
    ) -> Program | None:
        """The program of what was done between inputs and results; None where its constants have over `largest` bytes.

        Steps of which nothing is used are left out, but guards. `gone` are ids of values that no step may use (guards
        of them are left out too), `fixed` of those that are constants, of the value that they have here. NotLinear if
        a step uses one that is gone.
        """
        live = {id(one) for one in results}
        kept = []
        for step in reversed(self.steps):
            used = {id(arg) for arg in step.args if type(arg) is Batched} - fixed
            looks = type(step.function) is Guard and used and not used & gone
            if looks or any(id(one) in live for one in step.made):
                kept.append(step)
                live |= used
        if live & gone:
            raise NotLinear("a value that depends on what the program is transposed by is used")
        places = {id(one): i for i, one in enumerate(inputs)}
        template: list[Any] = [None] * len(inputs)

        def constant(value: Any) -> int:
            template.append(value)
            return len(template) - 1

        def place(arg: Any) -> int:
            if type(arg) is not Batched:
                return constant(arg)
            if id(arg) not in places:
                places[id(arg)] = constant(arg.values)
            return places[id(arg)]

        def numbered(arg: Any) -> Any:
            return ValueRef(place(arg)) if type(arg) is Batched else mapped(arg, numbered)

        steps = []
        for step in reversed(kept):
            at = [place(arg) for arg in step.args]
            bound = tuple([numbered(arg) for arg in step.bound])
            out = len(template) if step.made else -1
            for one in step.made:
                places[id(one)] = constant(None)
            steps.append((step.op, bound, step.function, at, out, len(step.made) if step.several else 0))
        at = [-1 if one is None else place(one) for one in results]
        size = sum([one.nbytes for one in template if isinstance(one, numpy.ndarray)])
        return None if largest is not None and size > largest else Program(len(inputs), template, steps, at)


class Batched(Array):
    """An array in each of `rows` rows, or the same one in all of them (None): Note [Small programs]."""

    __slots__ = ()
    device = "cpu"

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

    def one(self, change: Callable[[Any], Any] | None = None) -> Any:
        """The value that is the same in all rows, or what `change` makes of it. NoBatch if there is none."""
        if self.tape is not None:
            self.tape.read(self)
        values = self.values if change is None else change(self.values)
        if self.rows is None:
            return values
        if self.rows and numpy.array_equal(values, numpy.broadcast_to(values[:1], values.shape)):
            return values[0]
        error = _Read("a value is read that is not the same in all rows")
        error.values = values
        raise error

    def __bool__(self):
        return bool(self.one(None if self.size != 1 else lambda values: values != 0))

    def item(self):
        return numpy.asarray(self.one()).item()

    def numbers(self):
        """The number of each row, for what looks whether a function of numbers has a value there, and no more."""
        return self.values.ravel().tolist()

    def __float__(self):
        return float(self.one())

    def __int__(self):
        return int(self.one(numpy.trunc if self.dtype.kind == "f" else None))

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


def run(function: Callable, args: list[Any], rows: int | None, several: bool = False, op=None, bound=None) -> Any:
    """`function` of the arrays inside `args`: a Batched of `rows`, or a list of them where it gives `several` arrays.

    A tape that one of them is noted on notes the call, and that it is the operation `op` on `bound`.
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
    found = [
        Batched(one if isinstance(one, numpy.ndarray) else numpy.asarray(one), rows, tape)
        for one in (made if several else (made,))
    ]
    if tape is not None:
        tape.steps.append(Step(op, args if bound is None else bound, function, args, found, several))
    return found if several else found[0]
