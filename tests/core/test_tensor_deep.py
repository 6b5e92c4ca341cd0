"""Deep graphs of recorded operations (DG): built, run, partly run, failed and freed without recursion."""

import weakref

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import grad

DEPTH = 150_000


def deep(x, depth=DEPTH):
    y = x
    for _ in range(depth):
        y = y + 1.0
    return y


def test_DG1_forward_backward_and_free():
    x = leaf(1.0)
    y = deep(x)
    node = weakref.ref(y.grad_fn)
    assert y.grad_fn.topological_nr == DEPTH
    y.backward()
    same(x.grad, 1.0)
    del y
    assert node() is None


def test_DG1_a_graph_that_was_never_run_is_freed():
    x = leaf(1.0)
    y = deep(x)
    alive = weakref.ref(x)
    del x
    assert alive() is not None
    del y
    assert alive() is None


def test_DG1_saved_values_of_a_deep_graph_are_freed():
    x = leaf(1.0)
    y = x
    for _ in range(DEPTH // 2):
        y = ag.tanh(y)
    first = weakref.ref(y.array)
    y.backward()
    del y
    assert first() is None
    assert 0 <= x.grad.item() <= 1


def test_DG1_a_partly_executed_graph_is_freed():
    x = leaf(1.0)
    middle = deep(x, DEPTH // 2)
    y = deep(middle, DEPTH // 2)
    (g,) = grad(y, middle)
    same(g, 1.0)
    alive = weakref.ref(x)
    del x, middle, y
    assert alive() is None


@pytest.mark.parametrize("branches", [2, 3])
def test_DG1_a_complicated_deep_graph(branches):
    # Each value is a weighted mean of the last ones, so the derivative of the last with respect to the first is one.
    x = leaf(np.zeros(2))
    last, share = [x] * branches, 1.0 / (1.0 + 0.5 * (branches - 1))
    for _ in range(DEPTH // (3 * branches)):
        new = last[0] * share
        for other in last[1:]:
            new = new + other * (0.5 * share)
        last = [*last[1:], new]
    top = last[-1].sum()
    del last, new, other
    top.backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1.0], rtol=1e-9)
    alive = weakref.ref(x)
    del x, top
    assert alive() is None


def test_DG1_a_deep_graph_of_a_recorded_backward():
    x = leaf(1.0)
    y = x
    for _ in range(5000):
        y = y * 1.0
    (g,) = grad(y, x, create_graph=True)
    same(g, 1.0)
    node = weakref.ref(y.grad_fn)
    del y, g
    assert node() is None


def test_DG1_a_deep_chain_of_inplace_operations():
    x = leaf(1.0)
    y = x * 1.0
    for _ in range(DEPTH // 5):
        y += 1.0
    y.backward()
    same(x.grad, 1.0)


def test_DG2_a_deep_graph_with_requested_inputs():
    x, w = leaf(1.0), leaf(2.0)
    y = deep(x) * w
    gw, gx = grad(y, [w, x])
    same(gw, 1.0 + DEPTH)
    same(gx, 2.0)


def test_DG3_a_wide_graph_is_freed_at_once():
    x = leaf(np.ones(20_000))
    parts = [x[i] for i in range(20_000)]
    total = ag.stack(parts).sum()
    total.backward()
    same(x.grad, np.ones(20_000))
    node = weakref.ref(total.grad_fn)
    del parts, total
    assert node() is None
