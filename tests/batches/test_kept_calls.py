"""What operations on rows call is kept and replayed: for other values of the same kinds it gives what it gave anew.

The class: operation x static parameters x which arrays have rows x dtypes x numbers of rows, each drawn several times
with other values, in an order that mixes them. The reference is `derived`, which keeps nothing.
"""

import itertools

import numpy as np
import pytest

from arraygrad.batches import derive
from arraygrad.batches.derive import namespace as xp
from arraygrad.program.values import Batched, NoBatch, Tape

CALLS = {
    "add": lambda a, b: xp.add(a, b),
    "power of a number": lambda a, b: a**2,
    "power of another number": lambda a, b: a**2.0,
    "negative zero": lambda a, b: xp.multiply(a, -0.0),
    "zero": lambda a, b: xp.multiply(a, 0.0),
    "sum": lambda a, b: xp.sum(a, axis=0),
    "sum of all": lambda a, b: xp.sum(a * b),
    "kept axis": lambda a, b: xp.sum(a, axis=-1, keepdims=True),
    "stack": lambda a, b: xp.stack([a, b], axis=-1),
    "concat": lambda a, b: xp.concat([a[:1], b]),
    "where": lambda a, b: xp.where(a > 0.5, a, b),
    "taken": lambda a, b: xp.take(a, xp.asarray(np.asarray([2, 0])), axis=0),
    "reshaped": lambda a, b: xp.reshape(a, (1, 3)),
    "product": lambda a, b: xp.matmul(xp.reshape(a, (1, 3)), xp.reshape(b, (3, 1))),
    "slices": lambda a, b: a[::-1][1:] + b[:2],
    "a number beside": lambda a, b: a + 1.5,
    "zeros": lambda a, b: xp.zeros_like(a) + b,
    "extrema": lambda a, b: xp.maximum(xp.max(a), b),
}
ROWS = {"both": (True, True), "the first": (True, False), "the second": (False, True)}


def drawn(random, rows, n, dtype):
    values = random.uniform(0.1, 1.0, (n, 3) if rows else 3).astype(dtype)
    return Batched(values, n if rows else None)


@pytest.mark.parametrize("name", CALLS)
def test_kept_calls_give_what_calls_anew_give(name, monkeypatch):
    random, anew = np.random.default_rng(2), derive.derived
    cases = [*itertools.product(ROWS, (2, 5), ("float64", "float32"))] * 3
    for rows, n, dtype in cases:
        a, b = (drawn(random, has, n, dtype) for has in ROWS[rows])
        found = CALLS[name](a, b)
        with monkeypatch.context() as patched:
            patched.setattr("arraygrad.program.calls._on_rows", [anew])
            expected = CALLS[name](a, b)
        assert found.rows == expected.rows
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(np.signbit(found.values), np.signbit(expected.values))


def test_calls_are_kept():
    a = Batched(np.ones((4, 3)), 4)
    xp.add(a, a)
    before = len(derive.CALLS)
    xp.add(a, Batched(np.zeros((4, 3)), 4))
    assert len(derive.CALLS) == before


def test_a_tape_gets_the_calls_of_an_operation_that_is_kept():
    a = Batched(np.ones((4, 3)), 4)
    xp.sum(a, axis=0)
    tape = Tape()
    xp.sum(Batched(np.ones((4, 3)), 4, tape), axis=0)
    assert tape.steps


def test_an_error_is_raised_again_and_nothing_is_kept_of_it():
    a = Batched(np.ones((2, 3)), 2)
    for _ in range(2):
        with pytest.raises((ValueError, NoBatch)):
            xp.matmul(a, Batched(np.ones((2, 4)), 2))
