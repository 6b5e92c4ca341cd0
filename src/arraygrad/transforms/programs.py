"""A function with its gradient as one small program. Private: a first form of what compiled programs need.

May import: program, transforms.tracked_call, core.constructors, core.tensor, numpy.

The function runs once with Tensors over `Batched` that a tape notes, and so does its backward run: rules, sums of
gradients and what the engine does behind rules are steps of the table's operations. A replay makes the same calls of
array functions; what it gives may share memory with what it got. Values that are read on the way (a branch, a loop's
end) become guards; a write in place is a step that makes a new array. Guarded by
tests/transforms/test_gradient_programs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from arraygrad.core.constructors import wrap_raw
from arraygrad.core.tensor import Tensor
from arraygrad.program import library  # noqa: F401  Batched as an array library
from arraygrad.program.form import Program
from arraygrad.program.values import Batched, Tape
from arraygrad.transforms.tracked_call import TrackedCall

__all__ = ["gradient_program"]


def gradient_program(function: Callable, arrays: list[Any], n: int) -> Program:
    """The program of [value, gradient by each of the first n arrays].

    Parameters
    ----------
    function : callable
        Of as many arrays. It gets all of them as Tensors, and makes or reaches no other: an array of NumPy's is one of
        another library than these. Its result is one real number.
    arrays : list of numpy.ndarray
        What it is traced with. The program serves arrays of the same shapes and dtypes, as far as its guards hold.

    Raises
    ------
    TypeError
        If the result is no Tensor, or no real number.
    """
    tape = Tape(guarded=True)
    inputs = [Batched(numpy.asarray(a), None, tape) for a in arrays]

    def followed(*given):
        return function(*given)

    followed.differentiates = True  # type: ignore[attr-defined]
    tracked = TrackedCall("vjp", followed, (*inputs[:n], *map(wrap_raw, inputs[n:])), tuple(range(n))).call()
    (value,) = tracked.outputs
    if not isinstance(value, Tensor) or value.shape != () or value.dtype.kind != "f":
        raise TypeError("expected a function whose result is one real number that depends on the first arguments")
    one = Batched(numpy.ones((), value.dtype), None, tape)
    gradients = tracked.pull((0,), (one,), create_graph=False, keep_graph=False)
    program = tape.program(inputs, [value.array, *gradients])
    assert program is not None
    return program
