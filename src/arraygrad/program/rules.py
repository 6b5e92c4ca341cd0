"""One rule of the table with all that the engine does behind it, on Batched.

May import: program.values, program.namespace, numpy.

A rule gets what the table's plan of it says. What the engine does with what it returns is done here of operations of
the table: conjugation, the sum over broadcast axes, the real part, the cast. So a program of both is linear in `g`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from arraygrad.program.namespace import namespace
from arraygrad.program.values import Batched, NoBatch

__all__ = ["arguments", "gradients_of", "with_arrays"]


def gradients_of(op, k: int, args: list[Any], shape: tuple, dtype: Any, conj: bool = False) -> list[Batched | None]:
    """What the rule of input k gives, as gradients of arrays of a shape and dtype: one, or one for each of a list.

    Parameters
    ----------
    args : list
        What the rule asks for, in order (`arguments`).
    shape, dtype : tuple
        Of the array; for a list of arrays one for each of them, None where no gradient is wanted.
    conj : bool
        Whether the function is holomorphic and an array complex: the rule is the one without conjugation.

    Raises
    ------
    NoBatch
        For a gradient whose shape can't be that of the array.
    """
    names = op.rules[k].__code__.co_varnames
    if conj:
        args = [_conjugated(arg) if name == "g" else arg for name, arg in zip(names, args, strict=False)]
    made = op.rules[k](*args)
    if op.sequence < 0:
        return [_of_array(made, shape, dtype, conj)]
    return [
        None if own is None else _of_array(one, own, kind, conj)
        for one, own, kind in zip(made, shape, dtype, strict=True)
    ]


def _conjugated(g):
    if isinstance(g, tuple):
        return tuple([_conjugated(one) for one in g])
    return None if g is None else namespace.conj(g)


def _of_array(r: Any, shape: tuple[int, ...], dtype: Any, conj: bool) -> Batched | None:
    if r is None:
        return None
    if not isinstance(r, Batched):
        r = Batched(numpy.asarray(r), None)
    if conj:
        r = namespace.conj(r)
    if r.shape != shape:
        more = r.ndim - len(shape)
        if more < 0 or any(own not in (1, given) for own, given in zip(shape, r.shape[more:], strict=True)):
            raise NoBatch(f"a gradient of shape {r.shape} for an array of shape {shape}")
        axes = [i - r.ndim for i, length in enumerate(r.shape) if i < more or shape[i - more] != length]
        if math.prod(r.shape) != math.prod(shape):
            r = namespace.sum(r, axis=tuple(axes), keepdims=True)
        r = namespace.reshape(r, shape)
    if r.dtype.kind == "c" and dtype.kind != "c":
        r = namespace.real(r)
    return r if r.dtype == dtype else namespace.astype(r, dtype)


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


def with_arrays(op, bound: tuple, ans: Any) -> tuple:
    """Arguments as a node keeps them: a number beside arrays is an array of the result's dtype."""
    first = ans if not isinstance(ans, tuple) else ans[0] if ans else None
    return tuple(
        [
            Batched(numpy.asarray(arg, getattr(first, "dtype", None)), None)
            if param in op.entry.rules and isinstance(arg, (int, float, complex)) and not isinstance(arg, bool)
            else arg
            for param, arg in zip(op.params, bound, strict=True)
        ]
    )
