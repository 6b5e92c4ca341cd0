"""Elements that were not taken, behind an infinite slope: nan or zero by default, and zero under `zero_annihilates`.

The class: what takes a part (an index, a slice, a list of places, a mask, take, where, split, a write that overwrites)
x what has an infinite slope at the other elements (a product, a quotient, log, sqrt, a power) x one or two such steps.
A slope that was computed to be zero is another thing: it stays nan by default.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.0, 3.0])  # the first element is not taken


def overwritten(y):
    y = y * 1.0
    y[:1] = 5.0
    return y[1] + 0.0 * y[0].detach()


PARTS = {
    "index": lambda y: y[1],
    "slice": lambda y: y[1:],
    "places": lambda y: y[[1, 1]],
    "mask": lambda y: y[np.array([False, True])],
    "take": lambda y: np.take(y, [1]),
    "where": lambda y: np.where(np.array([False, True]), y, 0.0),
    "split": lambda y: np.split(y, 2)[1],
    "part of a concatenation": lambda y: np.concatenate([y, y])[1::2],
    "part of a stack": lambda y: np.stack([y, y])[:, 1],
    "overwritten": overwritten,
}
STEPS = {
    "product": lambda x: x * np.array([np.inf, 2.0]),
    "quotient": lambda x: 1.0 / x,
    "log": np.log,
    "sqrt": np.sqrt,
    "power": lambda x: x**-0.5,
}


def found(part, step, twice):
    def f(x):
        y = STEPS[step](x)
        return np.sum(PARTS[part](y * 2.0 if twice else y))

    with np.errstate(all="ignore"):
        return ag.grad(f)(X)


def expected(part, step, twice):
    h = 1e-6
    slope = (STEPS[step](X + h) - STEPS[step](X - h))[1] / (2 * h)
    taken = 2 if part in ("places", "part of a concatenation", "part of a stack") else 1
    return slope * taken * (2 if twice else 1)


@pytest.mark.parametrize(("part", "step", "twice"), list(itertools.product(PARTS, STEPS, (False, True))))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_part_that_was_not_taken(part, step, twice):
    right = expected(part, step, twice)
    first, second = found(part, step, twice)
    assert np.isnan(first) or first == 0.0
    np.testing.assert_allclose(second, right, rtol=1e-8)
    with ag.zero_annihilates():
        np.testing.assert_allclose(found(part, step, twice), [0.0, right], rtol=1e-8)


def test_a_slope_that_was_computed_to_be_zero_is_not_taken_for_a_part():
    with np.errstate(all="ignore"):
        assert np.isnan(ag.grad(lambda x: np.sqrt(x) ** 2)(0.0))
