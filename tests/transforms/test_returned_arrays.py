"""What transforms return is the caller's to write: no two gradients share memory, nor one with what was given."""

import itertools

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.transforms.tracked_call_base import set_compiled_calls

FUNCTIONS = {
    "x + y": lambda x, y: ((x + y) ** 2).sum(),
    "x - y": lambda x, y: ((x - y) ** 2).sum(),
    "x + y.T": lambda x, y: ((x + y.T) ** 2).sum(),
    "x + a view of y": lambda x, y: ((x + y.reshape(-1).reshape(3, 3)) ** 2).sum(),
    "concatenated": lambda x, y: (np.concatenate([x, y]) ** 2).sum(),
    "sums": lambda x, y: x.sum() + y.sum(),
}


@pytest.fixture(params=[True, False], ids=["compiled", "plain"])
def way(request):
    previous = set_compiled_calls(request.param)
    yield
    set_compiled_calls(previous)


def values():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 3)), rng.normal(size=(3, 3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_several_arguments_are_apart(name, way):
    f, (x, y) = FUNCTIONS[name], values()
    results = [
        ag.grad(f, argnums=(0, 1))(x, y),
        ag.value_and_grad(f, argnums=(0, 1))(x, y)[1],
        tuple(ag.grad(lambda p: f(p["a"], p["b"]))({"a": x, "b": y}).values()),
        ag.vjp(f, x, y)[1](np.array(1.0)),
        ag.hvp(f, argnums=(0, 1))(x, y, (x, y)),
    ]
    for found in results:
        expected = [g.copy() for g in found]
        for one, other in itertools.combinations(found, 2):
            assert not np.shares_memory(one, other)
        for g in found:
            g *= 3.0  # clipping, a learning rate
        for g, before in zip(found, expected, strict=True):
            np.testing.assert_array_equal(g, 3.0 * before)


def test_three_uses_of_one_sum():
    arrays = [np.ones(4) for _ in range(3)]
    found = ag.grad(lambda xs: (sum(xs) ** 2).sum())(arrays)
    for k, g in enumerate(found):
        g *= k
    np.testing.assert_array_equal(found, [np.zeros(4), np.full(4, 6.0), np.full(4, 12.0)])


@pytest.mark.parametrize("f", [lambda a: a + 1.0, lambda a: a.reshape(2, 2), lambda a: a.reshape(2, 2).T])
def test_cotangents_and_tangents_stay_the_callers(f):
    x = np.arange(4.0)
    value, pull = ag.vjp(f, x)
    cotangent = np.arange(4.0).reshape(value.shape)
    before = cotangent.copy()
    for _ in range(2):
        (found,) = pull(cotangent)
        assert not np.shares_memory(found, cotangent)
        found *= 5.0
        np.testing.assert_array_equal(cotangent, before)
    tangent = np.arange(4.0)
    for found in (ag.jvp(f, (x,), (tangent,))[1], ag.linearize(f, x)[1](tangent)):
        assert not np.shares_memory(found, tangent)
        found *= 5.0
        np.testing.assert_array_equal(tangent, np.arange(4.0))


def test_a_cotangent_in_a_tensor_stays_the_callers():
    _, pull = ag.vjp(lambda a: a + 1.0, np.arange(3.0))
    cotangent = ag.tensor(np.arange(3.0))
    (found,) = pull(cotangent)
    assert not np.shares_memory(np.asarray(found), cotangent.array)


def test_one_gradient_is_not_copied():
    x = np.ones(100_000)
    found = ag.grad(lambda x: (x * x).sum())(x)
    assert found.base is None
    assert not np.shares_memory(found, x)
