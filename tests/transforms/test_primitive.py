"""`primitive` and `defvjp`: functions on raw arrays with rules of their own.

Imports the public names of arraygrad.
"""

import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import arraygrad as ag


@ag.primitive
def product(x, y, scale=1.0):
    """x * y * scale."""
    assert not isinstance(x, ag.Tensor)
    assert not isinstance(y, ag.Tensor)
    return x * y * scale


ag.defvjp(
    product,
    lambda ans, x, y, scale=1.0: lambda g: g * y * scale,
    lambda ans, x, y, scale=1.0: lambda g: g * x * scale,
)


@ag.primitive
def exponential(x):
    return np.exp(x)


exponential.defvjp(lambda ans, x: lambda g: g * ans)


def leaf(*values):
    return ag.tensor(values, requires_grad=True)


def test_raw_arrays_go_through_the_function_itself():
    result = product(np.array([1.0, 2.0]), 3.0)
    assert type(result) is np.ndarray
    assert result.tolist() == [3.0, 6.0]


def test_gradient_comes_from_the_rules():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product(x, y, scale=2.0).sum().backward()
    assert x.grad.tolist() == [6.0, 8.0]
    assert y.grad.tolist() == [2.0, 4.0]


def test_node_bears_the_functions_name():
    assert product(leaf(1.0), leaf(1.0)).grad_fn.name() == "ProductBackward"


def test_second_derivatives_where_the_rule_uses_the_namespace():
    assert ag.gradgradcheck(lambda x, y: product(product(x, y), x, scale=3.0), (leaf(0.5, 2.0), leaf(3.0, -1.0)))


def test_second_derivatives_through_the_result():
    np.testing.assert_allclose(
        ag.hessian(lambda x: exponential(x).sum())(np.array([1.0, 2.0])), np.diag(np.exp([1, 2]))
    )


def test_rule_that_leaves_the_graph_is_refused_under_create_graph():
    @ag.primitive
    def half(x):
        return x / 2

    half.defvjp(lambda ans, x: lambda g: np.full(2, 0.5))
    x = leaf(1.0, 2.0)
    half(x).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match=r"half: in a run with create_graph the rule of argument 0.*ndarray"):
        ag.autograd.grad(half(x).sum(), x, create_graph=True)


def test_rules_of_chosen_arguments():
    @ag.primitive
    def power(n, x):
        return x**n

    power.defvjp(lambda ans, n, x: lambda g: g * n * x ** (n - 1), argnums=[1])
    x = leaf(1.0, 2.0)
    power(3, x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    with pytest.raises(TypeError, match=r"power: argument 0 requires grad, but power.defvjp gave no rule"):
        power(leaf(3.0), x)


def test_none_is_a_zero_gradient():
    @ag.primitive
    def first(x, y):
        return x * 1.0

    first.defvjp(lambda ans, x, y: lambda g: g, None)
    x, y = leaf(1.0), leaf(2.0)
    found = ag.grad(lambda x, y: first(x, y).sum(), argnums=(0, 1))(x.numpy(), y.numpy())
    assert [g.tolist() for g in found] == [[1.0], [0.0]]
    assert not first(1.0, y).requires_grad


def test_keyword_argument_that_requires_grad_is_refused():
    with pytest.raises(TypeError, match="'scale' requires grad, but only positional arguments have rules"):
        product(leaf(1.0), 2.0, scale=leaf(3.0))


def test_function_without_rules_is_refused_before_it_runs():
    calls = []
    f = ag.primitive(lambda x: calls.append(1))
    with pytest.raises(TypeError, match="gave no rule"):
        f(leaf(1.0))
    assert calls == []


class Pair(NamedTuple):
    total: object
    double: object


@ag.primitive
def pair(x):
    return Pair(x.sum(), x * 2)


pair.defvjp(lambda ans, x: lambda g: g[0] + g[1] * 2)


def test_several_results_have_a_tuple_of_gradients():
    x = leaf(1.0, 2.0)
    result = pair(x)
    assert type(result) is Pair
    (g,) = ag.autograd.grad(result.double.sum(), x)  # nothing arrived at `total`: zeros
    assert g.tolist() == [2.0, 2.0]
    x.grad = None
    again = pair(x)
    (again.total * 3.0 + again.double.sum()).backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_integer_result_beside_a_float_one():
    @ag.primitive
    def extreme(x):
        return x.max(), np.argmax(x)

    extreme.defvjp(lambda ans, x: lambda g: g[0] * (x == ans[0]))
    x = leaf(1.0, 5.0)
    top, where = extreme(x)
    assert not where.requires_grad
    top.backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_overwritten_argument_gives_the_gradient_of_what_it_was():
    x = leaf(1.0, 2.0)
    z = x * 1.0
    y = exponential(z) + product(z, z)
    z[0] = 50.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]) + np.array([2.0, 4.0]))


def test_overwritten_argument_is_an_error_in_error_mode():
    previous = ag.set_saved_mutation("error")
    try:
        z = leaf(1.0, 2.0) * 1.0
        y = product(z, 2.0).sum()
        z[0] = 50.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
    finally:
        ag.set_saved_mutation(previous)


def test_result_that_shares_memory_shows_what_is_written_as_in_numpy():
    same = ag.primitive(lambda x: x[:1])
    same.defvjp(lambda ans, x: lambda g: np.concatenate([g, [0.0]]))
    x = leaf(1.0, 2.0) * 1.0
    y = same(x)
    with ag.no_grad():
        y[0] = 9.0
    assert x.tolist() == [9.0, 2.0]


def test_second_backward_through_a_freed_graph_raises():
    y = exponential(leaf(1.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_graph_is_freed_without_the_collector():
    x = leaf(1.0, 2.0)
    gc.collect()
    gc.disable()
    try:
        node = weakref.ref(exponential(x).grad_fn)
        assert node() is None
    finally:
        gc.enable()


def test_no_grad_records_nothing():
    with ag.no_grad():
        assert not exponential(leaf(1.0)).requires_grad


def test_method_can_be_a_primitive():
    class Model:
        scale = 3.0

        @ag.primitive
        def __call__(self, x):
            return x * self.scale

        __call__.defvjp(lambda ans, self, x: lambda g: g * self.scale, argnums=[1])

    x = leaf(1.0)
    Model()(x).sum().backward()
    assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ag.primitive(3), TypeError, "expected a function, got int"),
        (lambda: ag.defvjp(abs, None), TypeError, "expected a function made by arraygrad.primitive"),
        (lambda: ag.primitive(abs).defvjp(3), TypeError, "a rule is a function or None, got int"),
        (lambda: ag.primitive(abs).defvjp(None, None, argnums=[0]), ValueError, "one position for each of 2 rules"),
        (lambda: ag.primitive(abs).defvjp(None, None, argnums=[0, 0]), ValueError, "one position for each of 2 rules"),
        (lambda: ag.primitive(abs).defvjp(None, argnums=[-1]), ValueError, "one position for each of 1 rules"),
    ],
)
def test_bad_arguments_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            lambda g, ans, x: g,
            r"rule\(ans, x\) and returns a function of g, but .*missing 1 required positional argument",
        ),
        (lambda ans, x: ans * 2.0, r"a function of g, the gradient of the result, but returned ndarray"),
    ],
)
def test_a_rule_of_another_form_is_told_its_form(rule, text):
    wrong = ag.primitive(lambda x: x * 2.0)
    wrong.__name__ = wrong._name = "doubled"
    wrong.defvjp(rule)
    with pytest.raises(
        TypeError, match=r"doubled\.defvjp: the rule of argument 0 \(.*test_primitive\.py:\d+\).*" + text
    ):
        ag.grad(lambda x: wrong(x).sum())(np.ones(2))


def test_a_type_error_within_a_rule_stays_as_it_is():
    broken = ag.primitive(lambda x: x * 2.0)
    broken.defvjp(lambda ans, x: lambda g: g + "text")
    with pytest.raises(TypeError) as error:
        ag.grad(lambda x: broken(x).sum())(np.ones(2))
    assert "defvjp" not in str(error.value)
