"""Random orders of Tensors: right, or refused with what to write, and never rows that are there twice."""

import operator
import random

import numpy as np
import pytest

import arraygrad as ag

X = np.arange(1.0, 7.0)

SHUFFLES = {
    "generator": lambda y: np.random.default_rng(0).shuffle(y),
    "legacy": lambda y: np.random.RandomState(1).shuffle(y),
    "a name of its own": lambda y: (lambda shuffle: shuffle(y))(np.random.default_rng(0).shuffle),
}


@pytest.mark.parametrize("name", SHUFFLES)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.filterwarnings("ignore:you are shuffling a 'Tensor' object")
def test_rows_are_not_shuffled_by_views_of_them(name, requires_grad):
    rows = ag.tensor(X.reshape(3, 2), requires_grad=requires_grad) * 1.0
    with pytest.raises(TypeError, match=r"y = y\[rng.permutation\(len\(y\)\)\], which is recorded"):
        SHUFFLES[name](rows)
    np.testing.assert_array_equal(rows.detach(), X.reshape(3, 2))


@pytest.mark.parametrize("name", SHUFFLES)
@pytest.mark.filterwarnings("ignore:you are shuffling a 'Tensor' object")
def test_numbers_are_shuffled_as_numpy_does(name):
    plain = X.copy()
    SHUFFLES[name](plain)
    weights = np.cos(X)

    def loss(x):
        y = x * x
        SHUFFLES[name](y)
        return (y * weights).sum()

    expected = np.empty(6)
    expected[plain.astype(int) - 1] = weights
    value, gradient = ag.value_and_grad(loss)(X)
    assert value == (plain**2 * weights).sum()
    np.testing.assert_allclose(gradient, 2 * X * expected)


def test_what_is_said_to_be_recorded_is():
    rng = np.random.default_rng
    weights = np.cos(X)
    for order in (
        lambda x: x.reshape(3, 2)[rng(0).permutation(3)],
        lambda x: x[rng(0).choice(len(x), 6)],
        lambda x: np.take_along_axis(x.reshape(2, 3), rng(0).permuted(np.indices((2, 3))[1], axis=1), 1),
    ):
        ag.gradcheck(lambda x, order=order: (order(x) * weights.reshape(order(X).shape)).sum(), (X,))


def test_rows_that_a_program_exchanges_itself_are_those_of_arrays():
    def shuffled(y):
        random.Random(3).shuffle(y)
        return y

    def exchanged(y):
        y[0], y[1] = y[1], y[0]
        operator.setitem(y, 2, y[1])
        return y

    for function in (shuffled, exchanged):
        found = function(ag.tensor(X.reshape(3, 2), requires_grad=True) * 1.0)
        np.testing.assert_array_equal(found.detach(), function(X.reshape(3, 2).copy()))


@pytest.mark.parametrize(
    ("draw", "way"),
    [
        (lambda x: np.random.default_rng(0).permutation(x), r"x\[rng.permutation\(len\(x\)\)\]"),
        (lambda x: np.random.default_rng(0).choice(x, 2), r"x\[rng.choice\(len\(x\), ...\)\]"),
        (lambda x: np.random.default_rng(0).exponential(x), r"scale \* rng.exponential\(size=...\)"),
        (lambda x: np.random.normal(x, 1.0), r"mu \+ sigma \* rng.normal"),
        (lambda x: np.random.default_rng(0).uniform(x, 1.0), r"a \+ \(b - a\) \* rng.uniform"),
    ],
)
def test_a_generator_that_is_given_a_tensor_says_what_to_write(draw, way):
    with pytest.raises(TypeError, match=way):
        ag.grad(lambda x: draw(x).sum(), adopt=False)(X)
