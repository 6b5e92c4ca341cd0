"""A gradient that Python code still holds is never added to in place, however it holds it.

Python 3.14 lets its stack borrow references instead of counting them; the variables that it borrows from count theirs,
so a buffer with one reference is the engine's alone. Each test holds a gradient in one other way.
"""

import numpy as np
import pytest

import arraygrad as ag


def in_a_cell():
    kept = None

    def keep(g):
        nonlocal kept
        kept = g

    return keep, lambda: kept


def in_a_suspended_frame():
    def frame():
        value = yield
        while True:
            yield value

    suspended = frame()
    next(suspended)
    return suspended.send, lambda: next(suspended)


def in_a_default():
    def holder(value=None):
        return value

    def keep(g):
        holder.__defaults__ = (g,)

    return keep, holder


def in_a_raised_frame():
    errors = []

    def keep(g):
        try:
            raise KeyError
        except KeyError as error:
            errors.append(error)

    def held():
        return errors[0].__traceback__.tb_frame.f_locals["g"]

    return keep, held


WAYS = [in_a_cell, in_a_suspended_frame, in_a_default, in_a_raised_frame]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 3, 5000])
def test_a_rule_may_hold_what_it_returns(way, size):
    keep, held = way()

    class Hands(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            out = g * 2.0
            keep(out)
            return out

    x = ag.tensor(np.arange(float(size)), requires_grad=True)
    y = x * 1.0
    (Hands.apply(y) + y * 3.0 + y * 4.0).backward(np.ones(size))
    np.testing.assert_array_equal(held().numpy() if isinstance(held(), ag.Tensor) else held(), np.full(size, 2.0))
    np.testing.assert_array_equal(x.grad.numpy(), np.full(size, 9.0))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_may_hold_what_it_is_given_and_what_it_returns(way, create_graph):
    (keep, held), (keep_too, held_too) = way(), way()
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1.0

    def hook(g):
        keep(g)
        out = g * 2.0
        keep_too(out)
        return out

    y.register_hook(hook)
    z = y * 5.0
    for _ in range(2):
        z.backward(ag.tensor([1.0, 1.0, 1.0]), retain_graph=True, create_graph=create_graph)
    (x * 7.0).backward(ag.tensor([1.0, 1.0, 1.0]))
    assert x.grad.tolist() == [27.0, 27.0, 27.0]
    assert held().tolist() == [5.0, 5.0, 5.0]
    assert held_too().tolist() == [10.0, 10.0, 10.0]


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_of_a_leaf_may_be_held_while_more_is_added(way):
    keep, held = way()
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    given = ag.tensor([1.0, 1.0])
    keep(given)
    (x * 1.0).backward(given)
    x.backward(given)
    x.backward(given)
    assert held().tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [3.0, 3.0]
