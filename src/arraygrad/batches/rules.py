"""Gradients in many rows: a rule of the table run once on rows, and plans of what it did.

May import: batches.values, batches.shapes, batches.namespace, numpy.

A rule gets what the table's plan of it says, arrays as Batched. What the engine does behind a rule is done here for all
rows: conjugation, the sum over broadcast axes, the real part, the cast. The calls that this made are kept on a tape for
the same kind of arguments, if no value was read: Note [Batches] (4).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from arraygrad.batches.namespace import namespace
from arraygrad.batches.shapes import with_rows
from arraygrad.batches.values import Batched, NoBatch, Tape, mapped, run

__all__ = ["READ", "arguments", "pull"]

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
    "pinv": "whether rtol leaves out singular values that are not zero",
    "repeat": "how often each element is repeated",
    "slogdet": "whether a matrix of the stack is singular",
    "svd": "whether gradients reach vectors that are arbitrary",
}
_MOST_PLANS = 512  # kept; each holds a few hundred bytes
_LARGEST_CONSTANTS = 1 << 16  # bytes of arrays that a plan may hold
_plans: dict[tuple, Any] = {}  # what a rule was given -> (Tape, where its result stands); False: values are read


class _NoKey(Exception):
    """An argument that no key can hold."""


def pull(op, k: int, args: list[Any], n: int, shape: tuple[int, ...], dtype: Any, conj: bool = False) -> Any:
    """The gradient of input k in n rows, an array (n, *shape) of `dtype`; None: zero. By the table's rule of input k.

    For a list of arrays `shape` and `dtype` are tuples with one for each, and so is the result.

    Parameters
    ----------
    args : list
        What the rule asks for in order. Arrays are Batched, with rows or without.
    conj : bool
        Whether the function is holomorphic and an array complex: the rule is the one without conjugation.

    Raises
    ------
    NoBatch
        If it has no form for all rows at once.
    """
    if op.multi:  # a node of one result hands on its gradient alone
        names = op.rules[k].__code__.co_varnames
        args = [(arg,) if names[i] == "g" and type(arg) is Batched else arg for i, arg in enumerate(args)]
    found: list[Batched] = []
    try:
        key = (op.index, k, n, shape, dtype, conj, *[_frozen(arg, found) for arg in args])
        plan = _plans.get(key)
    except _NoKey:
        plan = False
    if plan:
        gradients = plan[0].replay([one.values for one in found], plan[1])
    else:
        made = (
            _made(op, k, args, n, shape, dtype, conj)
            if plan is False
            else _planned(op, k, args, found, n, shape, dtype, conj, key)
        )
        gradients = [None if one is None else one.values for one in made]
    return gradients if op.sequence >= 0 else gradients[0]


def _planned(op, k, args, found, n, shape, dtype, conj, key):
    """The gradients; the tape of what made them is kept, or False where values are read."""
    tape = Tape()
    # By order, not by identity: arguments that are one array here may be two in another call of this kind.
    taped = iter([Batched(one.values, one.rows, tape, tape.place(one.values)) for one in found])
    plan = False
    try:
        made = _made(op, k, [_replaced(arg, taped) for arg in args], n, shape, dtype, conj)
    except NoBatch:
        made = None
    else:
        places = [-1 if one is None else one.slot if one.tape is tape else tape.place(one.values) for one in made]
        tape.template[: len(found)] = [None] * len(found)
        if sum([one.nbytes for one in tape.template if isinstance(one, numpy.ndarray)]) > _LARGEST_CONSTANTS:
            return made
        plan = (tape, places)
    if len(_plans) >= _MOST_PLANS:
        _plans.clear()
    _plans[key] = plan
    return _made(op, k, args, n, shape, dtype, conj) if made is None else made


def _frozen(arg: Any, found: list[Batched]) -> Any:
    """What stands for an argument in a key; the Batched in it are added to `found`."""
    kind = type(arg)
    if kind is Batched:
        found.append(arg)
        return arg.rows is None, arg.values.shape, arg.values.dtype
    if kind is int or kind is str or arg is None or kind is bool:
        return kind, arg
    if isinstance(arg, (list, tuple)):
        return (kind, *[_frozen(one, found) for one in arg])
    if kind is slice:
        return (kind, *[_frozen(one, found) for one in (arg.start, arg.stop, arg.step)])
    if kind is float or kind is complex:
        return kind, repr(arg)
    if arg is namespace or arg is Ellipsis or isinstance(arg, numpy.dtype):
        return arg
    raise _NoKey


def _replaced(arg: Any, taped: Iterator[Batched]) -> Any:
    """`arg` with its Batched, in the order of `_frozen`, replaced by the next ones of `taped`."""
    if type(arg) is Batched:
        return next(taped)
    return mapped(arg, lambda one: _replaced(one, taped))


def _made(op, k, args, n, shape, dtype, conj) -> list[Batched | None]:
    """The gradients that the rule gives, as those of the arrays: one, or one for each of a list."""
    names = op.rules[k].__code__.co_varnames
    if conj:
        args = [_conjugated(arg) if name == "g" else arg for name, arg in zip(names, args, strict=False)]
    made = op.rules[k](*args)
    if op.sequence < 0:
        return [_of_array(made, n, shape, dtype, conj)]
    return [
        None if own is None else _of_array(one, n, own, kind, conj)
        for one, own, kind in zip(made, shape, dtype, strict=True)
    ]


def _of_array(made, n, shape, dtype, conj) -> Batched | None:
    if made is None:
        return None
    if not isinstance(made, Batched):
        made = Batched(numpy.asarray(made), None)
    return _fitted(_conjugated(made) if conj else made, n, shape, dtype)


def _conjugated(g):
    if isinstance(g, tuple):
        return tuple([_conjugated(one) for one in g])
    return None if g is None else namespace.conj(g)


def _fitted(r: Batched, n: int, shape: tuple[int, ...], dtype: Any) -> Batched:
    """The gradient as that of an array of a shape and dtype, with rows."""
    r = with_rows(r, n)
    if r.shape != shape:
        more = r.ndim - len(shape)
        if more < 0 or any(own not in (1, given) for own, given in zip(shape, r.shape[more:], strict=True)):
            raise NoBatch(f"a gradient of shape {r.shape} for an array of shape {shape}")
        axes = tuple([i + 1 for i, length in enumerate(r.shape) if i < more or shape[i - more] != length])
        whole = (n, *shape)
        r = run(lambda a: numpy.add.reduce(a, axis=axes, dtype=a.dtype).reshape(whole), [r], n)
    if r.dtype.kind == "c" and dtype.kind != "c":
        r = run(numpy.real, [r], n)
    return r if r.dtype == dtype else run(lambda a: a.astype(dtype), [r], n)


def arguments(op, k: int, g: Any, bound: tuple, ans: Any) -> list[Any]:
    """What the rule of input k asks for, of a call with the arguments `bound` and the result `ans`."""
    code = op.rules[k].__code__
    known: dict[str, Any] = {"xp": namespace, "g": g, "ans": ans, **dict(zip(op.params, bound, strict=True))}
    given = []
    for name in code.co_varnames[: code.co_argcount]:
        if name not in known:
            stem, _, what = name.rpartition("_")
            known[name] = _metadata(known[stem], what)
        given.append(known[name])
    return given


def _metadata(value: Any, what: str) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple([_metadata(one, what) for one in value])
    missing = {"shape": (), "dtype": None, "device": "cpu"}
    return getattr(value, what, missing[what])
