"""backward(atomic=True): every .grad is updated, or none (WK6)."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd import backward

STRICT = pytest.importorskip("array_api_strict")


def failing(t, error):
    """`t` through a node whose hook raises."""
    out = t * 1.0

    def fail(g):
        raise error

    out.register_hook(fail)
    return out


def two_leaves():
    """Leaves `a`, whose gradient comes first, and `b`, whose branch fails."""
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    b = ag.tensor([3.0, 4.0], requires_grad=True)
    bad = failing(b, ValueError("in the second branch"))  # recorded first, so it runs last
    return a, b, (a * 2.0 + bad).sum()


def test_WK6_a_plain_backward_leaves_what_was_done_before_the_error():
    a, b, loss = two_leaves()
    with pytest.raises(ValueError, match="second branch"):
        backward(loss)
    assert a.grad is not None
    assert b.grad is None


def test_WK6_an_atomic_one_leaves_every_grad_as_it_was():
    a, b, loss = two_leaves()
    a.grad = ag.tensor([10.0, 20.0])
    held = a.grad
    with pytest.raises(ValueError, match="second branch"):
        backward(loss, atomic=True)
    assert a.grad is held
    np.testing.assert_array_equal(a.grad.numpy(), [10.0, 20.0])
    assert a.grad.version == 0
    assert b.grad is None


@pytest.mark.parametrize("xp", [np, STRICT], ids=["numpy", "strict"])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward.* with create_graph=True:UserWarning")
def test_WK6_without_errors_the_result_is_that_of_a_plain_one(xp, create_graph):
    grads = []
    for atomic in (False, True):
        a = ag.asarray(xp.asarray([1.0, 2.0]), requires_grad=True)
        b = ag.asarray(xp.asarray([3.0, 4.0]), requires_grad=True)
        for _ in range(2):
            backward((a * b + a).sum(), atomic=atomic, create_graph=create_graph)
        grads.append([t.grad.detach().numpy() for t in (a, b)])
        assert a.grad.requires_grad is create_graph
    np.testing.assert_array_equal(grads[0], grads[1])


def test_WK6_an_existing_grad_is_updated_in_its_memory():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    x.grad = ag.tensor([1.0, 1.0])
    held, raw = x.grad, x.grad.array
    backward((x * 3.0).sum(), atomic=True)
    assert x.grad is held
    assert x.grad.array is raw
    np.testing.assert_array_equal(raw, [4.0, 4.0])
    assert held.version == 1


def test_WK6_a_leaf_that_cannot_be_added_to_fails_the_run_before_any_update():
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([1.0], requires_grad=True)
    seen = []
    a.register_post_accumulate_grad_hook(lambda t: seen.append("a"))
    b.register_post_accumulate_grad_hook(lambda t: seen.append("b"))

    def stop(g):
        raise KeyboardInterrupt

    loss = (a + b).sum()
    loss.grad_fn.next_functions[0][0].register_hook(lambda gi, go: stop(gi))
    with pytest.raises(KeyboardInterrupt):
        backward(loss, atomic=True)
    assert seen == []
    assert a.grad is None
    assert b.grad is None


def test_WK6_post_accumulate_hooks_see_all_updates():
    a = ag.tensor([1.0], requires_grad=True)
    b = ag.tensor([1.0], requires_grad=True)
    seen = []
    for t in (a, b):
        t.register_post_accumulate_grad_hook(lambda _: seen.append(a.grad is not None and b.grad is not None))
    backward((a * b).sum(), atomic=True)
    assert seen == [True, True]


def test_WK6_a_final_callback_sees_the_updates():
    x = ag.tensor([1.0], requires_grad=True)
    y = x * 2.0
    seen = []
    y.register_hook(
        lambda g: ag.autograd.graph.queue_callback(lambda: seen.append(None if x.grad is None else x.grad.item()))
    )
    backward(y.sum(), atomic=True)
    assert seen == [2.0]


def test_WK6_what_the_user_passed_in_is_not_aliased():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    g = ag.tensor([5.0, 6.0])
    backward(x, g, atomic=True)
    assert x.grad is not g
    assert not np.shares_memory(x.grad.array, g.array)
