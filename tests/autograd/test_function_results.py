"""Python numbers that forward returns, and raw arrays that apply and save_for_backward are given."""

import numpy as np
import pytest
from function_helpers import Cube
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function


class Norm(Function):
    """The squared norm, as a Python float."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return float(np.sum(np.abs(x.array) ** 2))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x


@pytest.mark.parametrize(
    ("f", "expected"),
    [(lambda x: Norm.apply(x), [2.0, 4.0]), (lambda x: Norm.apply(x) + x[0], [3.0, 4.0]),
     (lambda x: Norm.apply(x) * x[0], [7.0, 4.0])],
)  # fmt: skip
def test_a_float_that_forward_returns_has_a_gradient(f, expected):
    np.testing.assert_allclose(ag.grad(f)(np.array([1.0, 2.0])), expected)


def test_it_has_the_precision_of_the_first_floating_tensor():
    one = Norm.apply(ag.tensor([1.0, 2.0], dtype=ag.float32, requires_grad=True))
    assert one.dtype == np.float32
    assert one.requires_grad
    assert Norm.apply(ag.tensor([1.0 + 0.0j])).dtype == np.float64
    with ag.no_grad():
        assert isinstance(Norm.apply(leaf([1.0])), ag.Tensor)


def test_a_complex_number_that_forward_returns_has_a_gradient():
    class Turn(Function):
        @staticmethod
        def forward(ctx, x):
            return 1j * x.array.item()

        @staticmethod
        def backward(ctx, g):
            return ag.real(-1j * g)

    assert Turn.apply(ag.tensor(2.0, dtype=ag.float32)).dtype == np.complex64
    x = leaf(2.0)
    (Turn.apply(x) * (3.0 - 1.0j)).real.backward()
    same(x.grad, 1.0)


def test_floats_in_a_tuple_have_gradients_and_integers_pass():
    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return float(x.array.sum()), 7, True

        @staticmethod
        def backward(ctx, g, *none):
            assert none == (None, None)
            return g * ag.ones_like(ctx.saved_tensors[0])

    value, count, flag = Pair.apply(leaf([1.0, 2.0]))
    assert value.requires_grad
    assert (count, flag) == (7, True)
    assert type(count) is int


def test_a_raw_array_is_saved_as_a_constant():
    class Weighted(Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x**2 * weight

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            assert isinstance(weight, ag.Tensor)
            assert not weight.requires_grad
            return 2 * g * x * weight, None

    w = np.array([2.0, 3.0])
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(ag.grad(lambda x: ag.sum(Weighted.apply(x, w)))(x), 2 * x * w)
    np.testing.assert_allclose(Weighted.apply(x, w), x**2 * w)
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(Weighted.apply(x, w)))(x), np.diag(2 * w))


def test_a_raw_array_that_was_saved_and_changed_since_is_refused():
    class Weighted(Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(weight)
            return x * weight

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    w = np.array([2.0, 3.0])
    y = Weighted.apply(leaf([1.0, 2.0]), w).sum()
    w[0] = 5.0
    with pytest.raises(RuntimeError, match="save_for_backward"):
        y.backward()


def test_a_function_on_raw_arrays_alone_gives_a_raw_array():
    out = Cube.apply(np.array([1.0, 2.0]))
    assert type(out) is np.ndarray
    same(out, [1.0, 8.0])


def test_forward_that_wants_a_tensor_and_was_given_an_array_says_what_to_give():
    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            return np.sin(x.array)

    with pytest.raises(AttributeError, match=r"Sine\.forward: .* give it arraygrad\.asarray\(x\)"):
        Sine.apply(np.array([1.0]))


def test_another_missing_attribute_is_reported_as_it_is():
    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sine

    with pytest.raises(AttributeError, match=r"^'numpy\.ndarray' object has no attribute 'sine'$"):
        Odd.apply(np.array([1.0]))
