"""Comparisons of numbers that stand in an array beside what is differentiated, and have no slope themselves.

The class: how a program asks (!=, ==, numpy.equal, array_equal, isclose) x what it compares with (list, array, whole
numbers) x how the rest is followed (an item, a column, a row). Such a value is no key of a cache: nothing is told. One
with a slope that is found equal to a constant is.
"""

import itertools
import warnings

import numpy as np
import pytest

import arraygrad as ag

ASKED = {
    "!=": lambda a, b: np.any(a != b),
    "==": lambda a, b: np.all(a == b),
    "equal": lambda a, b: np.all(np.equal(a, b)),
    "array_equal": lambda a, b: np.array_equal(a, b),
    "isclose": lambda a, b: np.all(np.isclose(a, b)),
}

WITH = {
    "list": lambda n: [k + 2 for k in range(n)],
    "array": lambda n: np.arange(n) + 2.0,
    "whole numbers": lambda n: np.arange(2, n + 2),
}

FOLLOWED = {
    "item": lambda table, x: table.__setitem__((1, 1), x),
    "column": lambda table, x: table.__setitem__((slice(None), 2), x * np.arange(1.0, 5.0)),
    "row": lambda table, x: table.__setitem__(2, np.array([4.0, x, x * x])),
}


def told(program):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = ag.grad(program)(0.77)
    return gradient, [str(w.message) for w in found if "is compared with one that is not" in str(w.message)]


CASES = list(itertools.product(ASKED, WITH, FOLLOWED))


@pytest.mark.parametrize(("asked", "other", "followed"), CASES)
def test_numbers_without_a_slope_are_no_keys(asked, other, followed):
    def program(x):
        table = np.array([[k + 2.0, 0.5 * k, 1.0] for k in range(4)])
        FOLLOWED[followed](table, x)
        same = ASKED[asked](table[:, 0], WITH[other](4))
        return np.sum(table[:, 1:] ** 2) + (1.0 if same else 2.0)

    gradient, found = told(program)
    assert not found
    assert gradient == pytest.approx((program(0.77 + 1e-6) - program(0.77 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("asked", ["!=", "==", "equal", "array_equal"])
def test_numbers_with_a_slope_are(asked):
    last = np.array([0.77, 1.54])

    def program(x):
        table = np.array([[x, 2.0, 1.0], [2.0 * x, 3.0, 1.0]])
        same = ASKED[asked](table[:, 0], last)
        return np.sum(table**2) + (1.0 if same else 2.0)

    assert told(program)[1]
