"""What is no proper Function is refused (FN11); nodes that raise or stop gradients (ND13); forbidden writes (FN13)."""

import numpy as np
import pytest
from tensor_helpers import leaf, same

import arraygrad as ag
from arraygrad.autograd import Function, grad
from arraygrad.core.barriers import delayed_error, identity, undefined_grad


class Doubles(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0


def test_FN11_a_missing_forward():
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match=r"You must implement the forward function for custom autograd\.Fun"):
        Empty.apply(leaf([1.0]))


def test_FN11_a_missing_backward():
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        Doubles.apply(leaf([1.0])).backward()


def test_FN11_vjp_is_another_name_of_backward():
    class Named(Doubles):
        @staticmethod
        def vjp(ctx, g):
            return g * 2.0

    x = leaf([1.0])
    Named.apply(x).backward()
    same(x.grad, [2.0])


def test_FN11_but_both_are_refused():
    class Both(Doubles):
        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allow"):
        Both.apply(leaf([1.0])).backward()


def test_FN11_an_instance_warns_and_cannot_be_called():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Doubles()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        instance(leaf([1.0]))


def test_FN11_setup_context_of_the_base_is_not_implemented():
    with pytest.raises(NotImplementedError, match="setup_context is not implemented"):
        Function.setup_context(None, (), None)


# FN13: views that forward returns


class Half(Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1]

    @staticmethod
    def backward(ctx, g):
        return ag.concat([g * 100.0, ag.zeros(1)])


INSIDE = "This view was created inside a custom Function"


def test_FN13_a_view_that_forward_returns_has_the_functions_history():
    x = leaf([1.0, 2.0])
    Half.apply(x * 1).backward()
    same(x.grad, [100.0, 0.0])


def test_FN13_it_cannot_be_written_in_place():
    y = Half.apply(leaf([1.0, 2.0]) * 1)
    with pytest.raises(RuntimeError, match=INSIDE):
        y *= 2.0
    with pytest.raises(RuntimeError, match=INSIDE):
        y[0] = 1.0


def test_FN13_nor_used_after_its_base_was_written():
    b = leaf([1.0, 2.0]) * 1
    y = Half.apply(b)
    b *= 2.0
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        y * 1.0
    with ag.no_grad():
        same(y * 1.0, [2.0])


def test_FN13_an_input_returned_as_it_is_cannot_be_written_either():
    class Same(Half):
        @staticmethod
        def forward(ctx, x):
            return x

    y = Same.apply(leaf([1.0, 2.0]) * 1)
    with pytest.raises(RuntimeError, match=r"because an input was returned as-is"):
        y *= 2.0


def test_FN13_of_several_outputs_views_count_as_multiple_views():
    class Halves(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, a, b):
            return ag.concat([a, b])

    a, _ = Halves.apply(leaf([1.0, 2.0]) * 1)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        a *= 2.0


# ND13: helper nodes


def test_ND13_delayed_error_raises_when_it_is_differentiated():
    x = leaf([1.0, 2.0])
    y, nothing = delayed_error("not here", x * 1, None)
    assert nothing is None
    same(y, [1.0, 2.0])
    assert y.grad_fn.name() == "Error"
    with pytest.raises(RuntimeError, match="not here"):
        y.sum().backward()


def test_ND13_error_nodes_run_before_everything_else_that_is_ready():
    ran = []
    x = leaf([1.0])
    (bad,) = delayed_error("first", x * 1)
    good = x * 2
    good.grad_fn.register_hook(lambda inputs, outputs: ran.append("good"))
    with pytest.raises(RuntimeError, match="first"):
        (bad + good).backward()
    assert ran == []
    assert bad.grad_fn.sequence_nr == 2**64 - 1


def test_ND13_undefined_grad_stops_gradients():
    x = leaf([1.0])
    (y,) = undefined_grad(x * 3)
    (y + x).backward()
    same(x.grad, [1.0])


def test_ND13_identity_hands_them_on():
    x = leaf([1.0])
    (y,) = identity(x)
    assert y.grad_fn.name() == "IdentityBackward"
    (g,) = grad(y, x, ag.tensor([4.0]), create_graph=True)
    same(g, [4.0])


def test_ND13_integers_stay_as_they_are():
    i = ag.tensor([1, 2])
    assert identity(i)[0] is i
    with pytest.raises(TypeError, match="expected Tensors or None, but got int"):
        identity(3)


def test_ND12_a_function_may_say_so_itself():
    class Never(Doubles):
        @staticmethod
        def backward(ctx, g):
            raise NotImplementedError("the derivative for 'never' is not implemented")

    y = Never.apply(leaf(np.ones(2)))  # no error yet
    with pytest.raises(NotImplementedError, match="the derivative for 'never' is not implemented"):
        y.sum().backward()
