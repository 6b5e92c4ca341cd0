"""Derivatives along tangents, of the table's rules: each traced on its gradient `g`, and transposed.

May import: program, numpy.

Note [Forward rules]
~~~~~~~~~~~~~~~~~~~~
(1) A rule with what the engine does behind it is linear in g: as a real-linear map it is the adjoint of the operation's
    derivative, by the inner product Re(conj(v) . w). So its transpose is the derivative itself, of functions that are
    not holomorphic too.
(2) The rule is traced as steps of the table's operations. The transpose goes through the steps that depend on g
    backwards: each by its own operation's rule, which the same tape notes. Steps that do not depend on g stay as they
    are; those that do are not part of the result, and what still needs one of them was not linear (`NotLinear`).
(3) While it is traced, g has some numbers, none of which is near zero. A rule that looks at them (whether a gradient
    reaches vectors that are arbitrary), or makes masks of them, sees those: a linear map is known by what it does to
    almost every g, and what is refused for these is refused here. What it found holds for these arguments alone: such
    a program is not kept.
Guarded by tests/program/test_forward_rules.py.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy

from arraygrad.program.calls import apply, filled, wrapped
from arraygrad.program.form import NoKind, Plans, Program
from arraygrad.program.namespace import namespace
from arraygrad.program.rules import arguments, gradients_of, with_arrays
from arraygrad.program.values import Batched, Guard, GuardFailed, NotLinear, Tape, mapped

__all__ = ["NOT_DERIVED", "PLANS", "forward", "run_steps", "transposed"]

# Operations whose forward rule is not the transpose of their rules, and why.
NOT_DERIVED: dict[str, str] = {
    "_implicit": "its problem says what it computes, and how it is differentiated",
    "_to_backend": "its result belongs to another library, of which Batched holds no array",
    "_zero_unknown": "its derivative is not known: nan, whatever the gradient is",
}
PLANS = Plans(namespace)


def forward(op, bound: tuple, ans: Any, tangents: list) -> list[Any]:
    """The tangents of the results of a call, arrays, or None where a result has none.

    Parameters
    ----------
    bound : tuple
        The arguments of the call. Arrays are Batched without rows.
    ans : Batched or tuple of Batched
    tangents : list
        For each input that has a rule (`op.inputs`) a Batched of its shape and dtype, or None for zero; for a list of
        arrays a list of such.

    Raises
    ------
    NotLinear
        If a rule can't be transposed.
    """
    if op.name in NOT_DERIVED:
        raise NotLinear(f"{op.name}: {NOT_DERIVED[op.name]}")
    given = [with_arrays(op, bound, ans), ans, tangents]
    with contextlib.suppress(GuardFailed):
        found = PLANS.replayed(op, 0, given, ())
        if found is not None:
            return found
    program, values, kept = trace_forward(op, given)
    if kept:
        with contextlib.suppress(NoKind):
            PLANS.keep(op, 0, given, (), program)
    return program.replay(values)


def trace_forward(op, given: list) -> tuple[Program, list[Any], bool]:
    """The program of a forward rule, what it gets for `given`, and whether it serves others of such kinds.

    `given` is what `forward` gets: the arguments with arrays for numbers, the result, tangents.
    """
    tape = Tape(guarded=True)
    inputs: list[Batched] = []

    def taped(arg: Any) -> Any:
        if type(arg) is not Batched:
            return mapped(arg, taped)
        inputs.append(Batched(arg.values, None, tape))
        return inputs[-1]

    bound, ans, tangents = [taped(arg) for arg in given]
    several = isinstance(ans, tuple)
    total: list[Batched | None] = [None] * (len(ans) if several else 1)
    conj = is_conjugated(op, bound, ans)
    gone: set[int] = set()
    fixed: set[int] = set()
    alive: list[Any] = []  # so that an id stays an id
    for k, tangent in enumerate(tangents):
        along = list(tangent) if k == 0 and op.sequence >= 0 else [tangent]
        if all(one is None for one in along):
            continue
        x = bound[op.inputs[k]]
        g = [_some_gradient(one, tape) for one in (ans if several else (ans,))]
        alive += g
        start = len(tape.steps)
        args = arguments(op, k, tuple(g) if op.multi else g[0], bound, ans)
        if op.sequence >= 0:
            shape, dtype = tuple([one.shape for one in x]), tuple([one.dtype for one in x])
        else:
            shape, dtype = x.shape, x.dtype
        made = gradients_of(op, k, args, shape, dtype, conj)
        parts, depending, masks = transposed(tape, start, made, along, [one for one in g if one is not None])
        gone |= depending
        fixed |= masks
        parts_of = iter(parts)
        for i, one in enumerate(g):
            if one is not None:
                total[i] = added(total[i], next(parts_of))
    looked = any(type(step.function) is Guard and id(step.args[0]) in gone | fixed for step in tape.steps)
    program = tape.program(inputs, total, gone=frozenset(gone), fixed=frozenset(fixed))
    assert program is not None
    return program, [one.values for one in inputs], not looked and not fixed


def transposed(
    tape: Tape, start: int, results: list, cotangents: list, inputs: list
) -> tuple[list, set[int], set[int]]:
    """The transpose of the steps from `start` on, between inputs and results, applied to cotangents of the results.

    Returns
    -------
    list of (Batched or None), set, set
        Per input what reaches it; ids of the values that depend on the inputs; of those that do and are no floats.
    """
    steps = tape.steps[start:]
    depending = {id(one) for one in inputs}
    masks: set[int] = set()
    for step in steps:
        used = step.args
        if step.op is not None and step.op.entry.kind == "creation":  # of a shape and dtype: an array may say which
            used = [step.bound[at] for at in step.op.inputs]
        if any(id(arg) in depending for arg in used):
            for one in step.made:
                (depending if one.dtype.kind in "fc" else masks).add(id(one))
    waiting: dict[int, Batched] = {}

    def add(value: Batched, gradient: Batched | None) -> None:
        if gradient is not None:
            found = added(waiting.get(id(value)), gradient)
            assert found is not None
            waiting[id(value)] = found

    for one, cotangent in zip(results, cotangents, strict=True):
        if one is not None and id(one) in depending:
            add(one, cotangent)
        elif one is not None and cotangent is not None and numpy.any(one.values):
            raise NotLinear("a gradient that is not zero, whatever g is")
    for step in reversed(steps):
        if not any(id(one) in depending and id(one) in waiting for one in step.made):
            continue
        op = step.op
        if op is None:
            raise NotLinear("an array function that is no operation of the table")
        if op.zero or not op.inputs:
            raise NotLinear(f"{op.name} of what the program is transposed by")
        ans = wrapped(op, step.made if step.several else step.made[0])
        bound = with_arrays(op, tuple(step.bound), ans)
        g = tuple([waiting.get(id(one)) for one in step.made]) if op.multi else waiting[id(step.made[0])]
        conj = is_conjugated(op, bound, ans)
        for k, at in enumerate(op.inputs):
            x = bound[at]
            if op.sequence >= 0:
                if not any(id(one) in depending for one in x):
                    continue
                each = [one if isinstance(one, Batched) else Batched(numpy.asarray(one), None) for one in x]
                shapes = tuple([one.shape if id(one) in depending else None for one in each])
                made = gradients_of(
                    op, k, arguments(op, k, g, bound, ans), shapes, tuple([one.dtype for one in each]), conj
                )
                for one, gradient in zip(x, made, strict=True):
                    if id(one) in depending:
                        add(one, gradient)
            elif id(x) in depending:
                (gradient,) = gradients_of(op, k, arguments(op, k, g, bound, ans), x.shape, x.dtype, conj)
                add(x, gradient)
        covered = [bound[at] for at in op.inputs] if op.sequence < 0 else list(bound[op.sequence])
        shaped = op.entry.kind == "creation"
        if not shaped and any(id(arg) in depending and not any(arg is one for one in covered) for arg in step.args):
            raise NotLinear(f"{op.name} has no rule for what the program is transposed by")
    return [waiting.get(id(one)) for one in inputs], depending, masks


def added(a: Batched | None, b: Batched | None) -> Batched | None:
    return b if a is None else a if b is None else namespace.add(a, b)


def is_conjugated(op, bound: Any, ans: Any) -> bool:
    """Whether the engine conjugates around a rule: the function is holomorphic, and an array complex."""
    return op.holomorphic and _is_complex([bound, ans])


def _is_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_complex, value))
    return isinstance(value, Batched) and value.dtype.kind == "c"


def _some_gradient(part: Batched, tape: Tape) -> Batched | None:
    """Numbers far from zero in the place of the gradient of a result; None where it has none."""
    if part.dtype.kind not in "fc":
        return None
    size = part.size
    values: Any = numpy.cos(numpy.arange(size) + 0.7) + 1.5
    if part.dtype.kind == "c":
        values = values + 1j * numpy.sin(numpy.arange(size) * 1.3 + 0.4)
    return Batched(values.reshape(part.shape).astype(part.dtype), None, tape)


def run_steps(program: Program, values: list[Batched]) -> list[Any]:
    """The results of a program of the table's operations, on arrays that may have rows (where `batches` is there).

    Raises
    ------
    NotLinear
        For a step that is no operation of the table.
    GuardFailed
        If a value that decided what the program does is another one, in any row.
    """
    found: dict[int, Any] = dict(enumerate(values))
    for i, constant in enumerate(program.constants[program.n_inputs :], program.n_inputs):
        found[i] = Batched(constant, None) if isinstance(constant, numpy.ndarray) else constant
    for op, bound, function, outs in program.steps:
        given = tuple([filled(arg, found) for arg in bound])
        if isinstance(function, Guard):
            function(given[0].one())
            continue
        if op is None:
            raise NotLinear("a step that is no operation of the table")
        made = apply(op, given)
        for place, one in zip(outs, made if isinstance(made, tuple) else (made,), strict=True):
            found[place] = one
    return [None if place < 0 else found[place] for place in program.results]
