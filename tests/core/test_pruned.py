"""What branches that a run does not need have saved: freed where no later run can reach them (WK10), else kept."""

import gc
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import grad


def test_WK10_a_branch_behind_a_freed_node_is_freed():
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    b = ag.tensor([3.0, 4.0], requires_grad=True)
    y = ((a * a) * ag.exp(b)).sum()
    pruned = weakref.ref(y.grad_fn.next_functions[0][0].next_functions[1][0])
    assert pruned().name() == "ExpBackward"
    (g,) = grad(y, [a])
    np.testing.assert_allclose(g.numpy(), 2 * np.array([1.0, 2.0]) * np.exp([3.0, 4.0]))
    with pytest.raises(RuntimeError, match="second time"):
        pruned().saved  # noqa: B018


def test_WK10_not_while_its_result_is_held():
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([3.0], requires_grad=True)
    e = ag.exp(b)
    grad((a * e).sum(), [a])
    np.testing.assert_allclose(grad(e.sum(), [b])[0].numpy(), np.exp([3.0]))


def test_WK10_not_where_the_graph_can_be_run_again():
    # The sum saves nothing, so it may run again for the other input.
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([3.0], requires_grad=True)
    y = a * 2.0 + ag.exp(b)
    grad(y, [a])
    np.testing.assert_allclose(grad(y, [b])[0].numpy(), np.exp([3.0]))


def test_WK10_not_with_retain_graph():
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([3.0], requires_grad=True)
    y = (a * ag.exp(b)).sum()
    grad(y, [a], retain_graph=True)
    np.testing.assert_allclose(grad(y, [b])[0].numpy(), np.exp([3.0]))


def test_WK10_not_what_another_graph_uses():
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([3.0], requires_grad=True)
    e = ag.exp(b)
    other = (e * 5.0).sum()
    y = (a * e).sum()
    del e
    grad(y, [a])
    np.testing.assert_allclose(grad(other, [b])[0].numpy(), 5 * np.exp([3.0]))


def test_WK10_a_long_branch_is_freed_to_its_end():
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([3.0], requires_grad=True)
    t = b
    for _ in range(20_000):
        t = ag.sin(t)
    y = a * t
    node = y.grad_fn.next_functions[1][0]
    for _ in range(19_990):
        node = node.next_functions[0][0]
    watch = weakref.ref(node)
    del node, t
    loss = y.sum()
    del y
    grad(loss, [a])
    gc.collect()
    with pytest.raises(RuntimeError, match="second time"):
        watch().saved  # noqa: B018
