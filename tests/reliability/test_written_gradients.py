"""Gradients that rules of the user's own return and go on writing, or are given and write into."""

import numpy as np
import pytest

import arraygrad as ag


def leaf(*values):
    return ag.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


WORK = np.zeros(3)  # one buffer for all calls
TENSOR = ag.asarray(WORK)

RETURNS = {
    "the array": lambda: WORK,
    "a view of it": lambda: WORK[:],
    "its transpose": lambda: WORK.T,
    "a Tensor over it": lambda: TENSOR,
    "a Tensor made for it": lambda: ag.asarray(WORK),
}


class Reuses(ag.autograd.Function):
    """x * factor; backward computes in a buffer that all calls share."""

    @staticmethod
    def forward(ctx, x, factor, give):
        ctx.factor, ctx.give = factor, give
        return x * factor

    @staticmethod
    def backward(ctx, g):
        np.multiply(g.array, ctx.factor, out=WORK)
        return ctx.give(), None, None


@pytest.mark.parametrize("give", RETURNS.values(), ids=RETURNS)
def test_a_buffer_that_backward_returns_again_and_again_gives_right_gradients(give):
    x, z = leaf(), leaf()
    u = x * 1.0  # what arrives here first waits for the rest
    (Reuses.apply(u, 2.0, give) + Reuses.apply(z, 3.0, give) + Reuses.apply(u, 5.0, give)).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [7.0, 7.0, 7.0])
    np.testing.assert_array_equal(z.grad.array, [3.0, 3.0, 3.0])
    WORK[:] = -1.0
    np.testing.assert_array_equal(x.grad.array, [7.0, 7.0, 7.0])


def test_a_buffer_that_backward_returns_for_two_arguments_is_right_for_both():
    class Twice(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = leaf(), leaf()
    z = Twice.apply(x, y)
    (z * z).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [4.0, 8.0, 12.0])
    x.grad.array[:] = 0.0
    np.testing.assert_array_equal(y.grad.array, [4.0, 8.0, 12.0])
    Twice.apply(x, x).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [2.0, 2.0, 2.0])


@ag.primitive
def doubled(x, y):
    return 2 * x + 3 * y


def in_buffer(factor):
    def rule(ans, x, y):
        def pull(g):
            np.multiply(g, factor, out=WORK)
            return WORK

        return pull

    return rule


doubled.defvjp(in_buffer(2.0), in_buffer(3.0))


def test_a_buffer_that_the_rules_of_a_primitive_share_gives_right_gradients():
    x, y = leaf(), leaf()
    doubled(x, doubled(x, y)).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [8.0, 8.0, 8.0])
    np.testing.assert_array_equal(y.grad.array, [9.0, 9.0, 9.0])


class WritesThroughTensor(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        g *= 0.0
        return g


class WritesArray(WritesThroughTensor):
    @staticmethod
    def backward(ctx, g):
        g.array[:] = 0.0
        return g


def test_a_backward_that_writes_into_a_gradient_of_others_is_refused():
    x, y, given = leaf(), leaf(), np.ones(3)
    with pytest.raises(RuntimeError, match=r"WritesThroughTensor.backward wrote into the gradient.*copy"):
        (WritesThroughTensor.apply(x) + y).backward(ag.asarray(given))


def test_a_backward_that_writes_into_the_array_of_a_gradient_is_refused_in_anomaly_mode():
    x, y, given = leaf(), leaf(), np.ones(3)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        mode = ag.autograd.detect_anomaly()
    with mode, pytest.raises(RuntimeError, match=r"WritesArray\.backward wrote into the gradient"):
        (WritesArray.apply(x) + y).backward(ag.asarray(given))


def test_a_backward_may_write_into_a_gradient_that_nobody_else_holds():
    x = leaf()
    y = WritesThroughTensor.apply(x)
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [0.0, 0.0, 0.0])


def returns_buffer(factor, give):
    def hook(g):
        np.multiply(g.array, factor, out=WORK)
        return give()

    return hook


@pytest.mark.parametrize("give", RETURNS.values(), ids=RETURNS)
def test_a_buffer_that_hooks_return_again_and_again_gives_right_gradients(give):
    x, z = leaf(), leaf()
    u, total = x * 1.0, 0.0
    for source, factor in ((u, 2.0), (z, 3.0), (u, 5.0)):
        y = source + 0.0
        y.register_hook(returns_buffer(factor, give))
        total = total + y
    total.sum().backward()
    np.testing.assert_array_equal(x.grad.array, [7.0, 7.0, 7.0])
    np.testing.assert_array_equal(z.grad.array, [3.0, 3.0, 3.0])


@pytest.mark.parametrize("kind", ["register_prehook", "register_hook"])
def test_a_buffer_that_hooks_of_nodes_return_gives_right_gradients(kind):
    x = leaf()
    u, total = x * 1.0, 0.0
    for factor in (2.0, 3.0):
        y = u + 0.0

        def hook(first, second=None, factor=factor):
            np.multiply(first[0].array, factor, out=WORK)
            return (ag.asarray(WORK), *[None] * (len(first) - 1))

        getattr(y.grad_fn, kind)(hook)
        total = total + y
    total.sum().backward()
    np.testing.assert_array_equal(x.grad.array, [5.0, 5.0, 5.0])


def test_a_hook_that_writes_into_a_gradient_of_others_is_refused():
    x, y, given = leaf(), leaf(), np.ones(3)
    z = x * 1.0
    z.register_hook(lambda g: g.__imul__(2.0))
    with pytest.raises(RuntimeError, match="wrote into the gradient that it was shown"):
        (z + y).backward(ag.asarray(given))
    assert x.grad is None


def test_a_hook_that_writes_into_a_gradient_that_nobody_else_holds_takes_effect():
    x = leaf()
    z = x * 1.0
    z.register_hook(lambda g: g.__imul__(2.0))
    (z * z).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [4.0, 8.0, 12.0])
