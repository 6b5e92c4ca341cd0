"""Functions of arrays as programs: captured while they run as ever, replayed without Python. Private as yet.

May import: backends.numpy.kernel_programs, core.apply, core.convert, core.exposed_memory, core.nodes,
core.constructors, core.tensor, numpy.

Note [Captured programs]
~~~~~~~~~~~~~~~~~~~~~~~~
`capture` runs a function as ever, and notes which kernels run on which memory, backward runs and rules included
(Note [Captured kernels] in backends/numpy/capture.hpp). A `Replay` copies arrays into the places of the inputs, runs
the kernels again, and copies the results out. Whatever can't be noted makes the function run as ever at each call: a
replay is never another program.
(1) The inputs are stated: the arrays that the function gets. Everything else that it reads is a constant, with the
    content that it had when it was captured. The function is captured twice, the second time with other values if
    examples are given, and both captures must have the same kernels on the same places, and equal constants.
    A number that the program reads elsewhere (a global, a random generator, a clock) is one of the constants.
(2) Values that leave into Python (bool, float, int, item, tolist) are guards: a replay compares them, and the function
    runs as ever where they differ. An array whose memory leaves (numpy, array) can't be recorded.
(3) Floating-point errors: where a replay raises any that `numpy.errstate` does not ignore, the function runs as ever,
    and warns or raises as it does.
(4) Results are new arrays; neither the inputs nor what the function closes over may be written.
(5) What the first capture gives must be the bits of a plain run.
What is not seen: a write in place by code without a note that leaves every byte as it was, in both captures.
Guarded by tests/program/test_replay.py.
"""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy

from arraygrad.backends.numpy.kernel_programs import KernelProgram, by_door
from arraygrad.core.apply import pop_op_hooks, push_op_hooks
from arraygrad.core.constructors import asarray
from arraygrad.core.convert import set_value_watch
from arraygrad.core.exposed_memory import set_read_watch
from arraygrad.core.nodes import set_rule_door
from arraygrad.core.tensor import Tensor, backend_of

__all__ = ["Replay", "capture"]

_NUMPY = backend_of(numpy.zeros(1))
_TRIES = 3
_capturing = threading.Lock()


class Replay:
    """A function of arrays, and its program if it has one. Called with arrays, it gives a list of new arrays.

    Attributes
    ----------
    failure : str or None
        Why there is no program, and each call runs the function; None: there is one.
    replayed, fallen_back : int
        How many calls ran the program, and how many the function.
    """

    def __init__(self, function: Callable, program: KernelProgram | None, failure: str | None) -> None:
        self.function, self.program, self.failure = function, program, failure
        self.replayed = self.fallen_back = 0
        self._replay = _nothing if program is None else program.replay

    def __call__(self, *arrays: Any) -> list[numpy.ndarray]:
        """The results for arrays.

        Arrays of other shapes, dtypes or orders in memory than those of the capture run the function.
        """
        results = self._replay(arrays)
        if results is not None:
            self.replayed += 1
            return results
        self.fallen_back += 1
        return plainly(self.function, arrays)

    @property
    def steps(self) -> list[str]:
        """What each step runs."""
        return [] if self.program is None else self.program.steps

    @property
    def counts(self) -> dict[str, int]:
        """How many steps run without Python, how many call it, and how many of the first are guards."""
        calls = 0 if self.program is None else len(self.program.calls)
        return {
            "compiled": len(self.steps) - calls,
            "calls": calls,
            "guards": 0 if self.program is None else self.program.guards,
        }

    def __repr__(self) -> str:
        if self.failure is not None:
            return f"<Replay without a program: {self.failure}>"
        return f"<Replay of {self.counts}: {dict(Counter(self.steps))}>"


def _nothing(arrays: Any) -> None:
    """The replay of what has no program."""


def _values(results: Any) -> list[Any]:
    """Raw arrays of what a function gave: a Tensor or an array, or several in a list or tuple."""
    if not isinstance(results, (list, tuple)):
        results = [results]
    found = []
    for one in results:
        raw = one.array if isinstance(one, Tensor) else one
        if type(raw) is not numpy.ndarray:
            raise TypeError(f"capture: expected a function that gives Tensors or arrays, but got {type(one).__name__}")
        found.append(raw)
    return found


def plainly(function: Callable, arrays: Any) -> list[numpy.ndarray]:
    """The results of the function as ever, as new arrays."""
    return [raw.copy(order="K") for raw in _values(function(*[asarray(a, copy=True) for a in arrays]))]


def _rule(rule: Callable, args: tuple) -> Any:
    """A rule of the table on raw arrays: a call, as what it computes on Tensors may round otherwise."""
    if any(arg is _NUMPY.graph_xp or isinstance(arg, Tensor) for arg in args):
        return rule(*args)  # with create_graph: its operations are noted
    return by_door(rule, args)


def _captured(function: Callable, arrays: list[numpy.ndarray]) -> tuple[KernelProgram, list[numpy.ndarray]]:
    """One capture of the function, and what it gave."""
    program = KernelProgram()
    inputs = program.begin(arrays)
    hooks = push_op_hooks((None, None))
    set_value_watch(program.watch)
    set_read_watch(program.watch)
    set_rule_door(_rule)
    try:
        results = function(*[asarray(a, copy=False) for a in inputs])
        set_value_watch(None)
        set_read_watch(None)
        raws = _values(results)
        program.keep(raws)
    finally:
        set_rule_door(None)
        set_read_watch(None)
        set_value_watch(None)
        pop_op_hooks(hooks)
        program.end()
    return program, [raw.copy(order="K") for raw in raws]


def capture(function: Callable, *examples: list[Any]) -> Replay:
    """A function of arrays, captured: Note [Captured programs].

    Parameters
    ----------
    function : callable
        Gets a Tensor for each array and gives a Tensor or array, or a list of them. It keeps nothing of what it makes.
    examples : list of numpy.ndarray
        Arrays to capture it with, each in rows or columns without gaps; of a second list others of the same shapes,
        dtypes and orders in memory.

    Returns
    -------
    Replay
        With `failure` set where there is something that can't be recorded.
    """
    if not examples:
        raise TypeError("capture: expected a list of arrays to capture the function with")
    for arrays in examples:
        for a in arrays:
            if type(a) is not numpy.ndarray or not (a.flags.c_contiguous or a.flags.f_contiguous):
                raise TypeError("capture: expected numpy.ndarrays in rows or columns without gaps; pass a copy")
    with _capturing:
        expected = plainly(function, examples[0])
        try:
            first, made = _captured(function, examples[0])
            for k in range(1, _TRIES):
                second, _ = _captured(function, examples[k % len(examples)])
                if first.failure or second.failure or first.same_as(second):
                    break
                if k + 1 < _TRIES:  # what is found out at the first use of an operation may have been noted
                    first, made = _captured(function, examples[0])
        except Exception as error:
            # What a recording alone runs into (another thread records, an operation that looks on hooks) is no error
            # of the function: that ran above.
            return Replay(function, None, f"{type(error).__name__}: {error}")
    failure = first.failure or second.failure
    if failure is None and not all(map(_same_bits, made, expected)):
        failure = "what was recorded differs from a plain run"
    if failure is None and not first.same_as(second):
        failure = "two recordings differ: it reads what changes"
    if failure is None and not all(one.flags.writeable for _, _, found in first.calls for one in found):
        failure = "a call gives a read-only array, which can't be filled again"
    del second, made
    if failure is None and first.held():
        gc.collect()
        if first.held():
            failure = "it keeps an array that it made"
    if failure is not None:
        return Replay(function, None, failure)
    first.settle()
    return Replay(function, first, None)


def _same_bits(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()
