"""Calls that PyTorch's own tests make: each does what PyTorch's does.

The class: gradgradcheck of functions that are linear in their inputs, what a pull gives under no_grad, and what
checkpoint says where its function is not the same again.
"""

import numpy as np
import pytest

import arraygrad as ag

x = ag.tensor(np.array([1.5]), requires_grad=True)
CONSTANT = ag.tensor(np.ones(1))


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize("f", [lambda x: 2 * x, lambda x: x + 1.0, lambda x: x[::-1], lambda x: x * x], ids=range(4))
def test_gradgradcheck_of_linear_functions(f, wanted):
    g = ag.tensor(np.ones(1), requires_grad=wanted)
    assert ag.gradgradcheck(f, (x,), grad_outputs=(g,))


def test_gradgradcheck_finds_a_backward_that_is_not_recorded():
    class Square(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.array.copy()
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * (2 * ctx.x)

    with pytest.raises(ag.testing.GradcheckError):
        ag.gradgradcheck(Square.apply, (x,), grad_outputs=(CONSTANT,))


@pytest.mark.parametrize("transform", ["vjp", "hvp", "linearize"])
def test_what_a_pull_gives_under_no_grad_does_not_require_grad(transform):
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    ones = ag.tensor([1.0, 1.0])

    def cube(v):
        return v * v * v

    pull, push = ag.vjp(cube, t)[1], ag.linearize(cube, t)[1]
    calls = {
        "vjp": lambda: pull(ones)[0],
        "linearize": lambda: push(ones),
        "hvp": lambda: ag.hvp(lambda v: ag.sum(cube(v)))(t, ones),
    }
    call = calls[transform]
    recorded = call()
    with ag.no_grad():
        found = call()
    assert not found.requires_grad
    np.testing.assert_array_equal(found.numpy(), recorded.detach().numpy())
    if transform == "vjp":
        assert recorded.requires_grad


def test_checkpoint_with_debug_lists_the_operations_of_both_calls():
    calls = []

    def f(x):
        calls.append(1)
        return ag.exp(x) if len(calls) == 1 else ag.sin(ag.cos(x))

    t = ag.tensor([1.0, 2.0], requires_grad=True)
    y = ag.checkpoint(f, debug=True)(t).sum()
    with pytest.raises(
        RuntimeError, match=r"(?s)not the same.*first call:\nexp\(float64\[2\]\)\n.*cos\(float64\[2\]\)"
    ):
        y.backward()
    calls.clear()
    y = ag.checkpoint(f)(t).sum()
    with pytest.raises(RuntimeError, match="debug=True lists"):
        y.backward()
    np.testing.assert_allclose(ag.grad(lambda x: ag.sum(ag.checkpoint(ag.exp, debug=True)(x)))(1.0), np.e)
