"""Gradients in many rows: a rule of the table run once on rows, and the programs that this leaves.

May import: batches.derive, batches.shapes, program, numpy.

The calls that a rule on rows makes, with what the engine does behind it, are replayed for arguments of the same kinds,
if no value was read: Note [Small programs] (3) in program/values.py.
"""

from __future__ import annotations

import contextlib
from typing import Any

from arraygrad.batches.derive import namespace
from arraygrad.batches.shapes import with_rows
from arraygrad.program.form import NoKind, Plans
from arraygrad.program.rules import gradients_of
from arraygrad.program.values import Batched, NoBatch, Tape, mapped, shared

__all__ = ["PLANS", "READ", "pull"]

# Operations whose rules read values, and what for. Those that differ by row have the rows done one by one.
READ: dict[str, str] = {
    "_add_at": "the places of a mask",
    "_cofactor": "whether a matrix of the stack is near singular",
    "_eigh_upper": "whether gradients reach vectors of equal eigenvalues",
    "_getitem": "the places of a mask",
    "_getitem_adjoint": "the places of a mask",
    "_segment_folds": "where segments begin",
    "_segment_sums": "where segments begin",
    "_setitem": "the places of a mask",
    "eig": "whether gradients depend on the vectors' phases",
    "eigh": "whether gradients reach vectors of equal eigenvalues",
    "eigvals": "whether there is a full set of vectors",
    "logsumexp": "whether there are infinite numbers",
    "matrix_norm": "whether a matrix of the stack is finite",
    "norm": "whether a matrix of the stack is finite",
    "pinv": "whether rtol leaves out singular values that are not zero",
    "qr": "whether a matrix of the stack is singular",
    "repeat": "how often each element is repeated",
    "slogdet": "whether a matrix of the stack is singular",
    "svd": "whether gradients reach vectors that are arbitrary",
    "svdvals": "whether a matrix of the stack is finite",
}
_LARGEST_CONSTANTS = 1 << 16  # bytes of arrays that a program may hold
PLANS = Plans(namespace)  # a plan without a program: values are read


def pull(op, k: int, args: list[Any], n: int, shape: tuple[int, ...], dtype: Any, conj: bool = False) -> Any:
    """The gradient of input k in n rows, an array (n, *shape) of `dtype`; None: zero. By the table's rule of input k.

    For a list of arrays `shape` and `dtype` are tuples with one for each, and so is the result.

    Parameters
    ----------
    args : list
        What the rule asks for in order. Arrays are Batched; those of NumPy's are the same in all rows.
    conj : bool
        Whether the function is holomorphic and an array complex: the rule is the one without conjugation.

    Raises
    ------
    NoBatch
        If it has no form for all rows at once.
    """
    extra = (n, shape, dtype, conj)
    arrays: list[Any] = []
    plan = PLANS.find(op, k, args, extra, arrays)
    if plan is not None and plan.program is not None:
        found = plan.program.replay(arrays)
    else:
        args = [shared(arg) for arg in args]
        made = _traced(op, k, args, extra) if plan is None else _made(op, k, args, *extra)
        found = [None if one is None else one.values for one in made]
    return found if op.sequence >= 0 else found[0]


def _made(op, k, args, n, shape, dtype, conj) -> list[Batched | None]:
    made = gradients_of(op, k, args, shape, dtype, conj)
    return [None if one is None else with_rows(one, n) for one in made]


def _traced(op, k, args, extra) -> list[Batched | None]:
    """The gradients; the program of what made them is kept, or that values are read."""
    tape = Tape()
    inputs: list[Batched] = []

    def taped(arg: Any) -> Any:
        # By order, not by identity: arguments that are one array here may be two in another call of this kind.
        if type(arg) is not Batched:
            return mapped(arg, taped)
        inputs.append(Batched(arg.values, arg.rows, tape))
        return inputs[-1]

    try:
        made = _made(op, k, [taped(arg) for arg in args], *extra)
    except NoBatch:
        _keep(op, k, args, extra, None)
        return _made(op, k, args, *extra)
    program = tape.program(inputs, made, _LARGEST_CONSTANTS)
    if program is not None:
        _keep(op, k, args, extra, program)
    return made


def _keep(op, k, args, extra, program) -> None:
    with contextlib.suppress(NoKind):
        PLANS.keep(op, k, args, extra, program)
