"""Gradients in many rows: a rule of the table run once on rows, and plans of what it did.

May import: batches.values, batches.derive, batches.namespace, numpy.

A rule gets what the table's plan of it says, arrays as Batched. What the engine does behind a rule is done here for all
rows: conjugation, the sum over broadcast axes, the real part, the cast. The calls that this made are kept on a tape for
the same kind of arguments, if no value was read: Note [Batches] (4).
"""

from __future__ import annotations

from typing import Any

import numpy

from arraygrad.batches.derive import _with_rows
from arraygrad.batches.namespace import namespace
from arraygrad.batches.values import Batched, NoBatch, Tape, run

__all__ = ["arguments", "pull"]

_MOST_PLANS = 512  # kept; each holds a few hundred bytes
_LARGEST_CONSTANTS = 1 << 16  # bytes of arrays that a plan may hold
_plans: dict[tuple, Any] = {}  # what a rule was given -> (Tape, where its result stands); False: values are read


class _NoKey(Exception):
    """An argument that no key can hold."""


def pull(op, k: int, args: list[Any], n: int, shape: tuple[int, ...], dtype: Any, conj: bool = False) -> Any:
    """The gradient of input k in n rows, an array (n, *shape) of `dtype`; None: zero. For the table's rule of input k.

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
    found: list[Batched] = []
    try:
        key = (op.index, k, n, shape, dtype, conj, *[_frozen(arg, found) for arg in args])
    except _NoKey:
        return _plain(_made(op, k, args, n, shape, dtype, conj))
    plan = _plans.get(key)
    if plan is None:
        plan = _planned(op, k, args, found, n, shape, dtype, conj, key)
        if plan:
            return plan[2]
    if plan is False:
        return _plain(_made(op, k, args, n, shape, dtype, conj))
    tape, place = plan
    return None if tape is None else tape.replay([one.values for one in found], place)


def _planned(op, k, args, found, n, shape, dtype, conj, key):
    """Runs the rule on a tape, and keeps it: (Tape, place of the result, the result). False where a value is read."""
    tape = Tape()
    taped = {id(one): Batched(one.values, one.rows, tape, tape.place(one.values)) for one in found}
    plan: Any = False
    result = None
    try:
        made = _made(op, k, [_replaced(arg, taped) for arg in args], n, shape, dtype, conj)
    except NoBatch:
        made = False
    if made is None:
        plan = (None, -1)
    elif made is not False:
        result = made.values
        plan = (tape, made.slot if made.tape is tape else tape.place(result))
        for i in range(len(found)):
            tape.template[i] = None
        held = sum([one.nbytes for one in tape.template if isinstance(one, numpy.ndarray)])
        if held > _LARGEST_CONSTANTS:
            return (*plan, result)
    if len(_plans) >= _MOST_PLANS:
        _plans.clear()
    _plans[key] = plan
    return plan and (*plan, result)


def _frozen(arg: Any, found: list[Batched]) -> Any:
    """What stands for an argument in a key; the Batched in it are added to `found`."""
    kind = type(arg)
    if kind is Batched:
        found.append(arg)
        return arg.rows is None, arg.values.shape, arg.values.dtype
    if kind is int or kind is str or arg is None or kind is bool:
        return kind, arg
    if kind is tuple or kind is list:
        return (kind, *[_frozen(one, found) for one in arg])
    if kind is slice:
        return (kind, *[_frozen(one, found) for one in (arg.start, arg.stop, arg.step)])
    if kind is float or kind is complex:
        return kind, repr(arg)
    if arg is namespace or arg is Ellipsis or isinstance(arg, numpy.dtype):
        return arg
    raise _NoKey


def _replaced(arg: Any, taped: dict[int, Batched]) -> Any:
    if type(arg) is Batched:
        return taped[id(arg)]
    if type(arg) in (list, tuple):
        return type(arg)([_replaced(one, taped) for one in arg])
    return arg


def _plain(made):
    return None if made is None else made.values


def _made(op, k, args, n, shape, dtype, conj):
    names = op.rules[k].__code__.co_varnames
    if conj:
        args = [_conjugated(arg) if name == "g" else arg for name, arg in zip(names, args, strict=False)]
    made = op.rules[k](*args)
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
    r = _with_rows(r, n)
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


