"""Note [Nested transforms]: transforms of functions that use transforms, closures, and the user's own graph."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import autograd


def test_derivatives_of_derivatives():
    f = np.sin
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin):
        f = ag.grad(f)
        assert f(0.7) == pytest.approx(expected(0.7), rel=1e-14)


def test_inner_argument_is_kept_apart_from_the_same_value_in_a_closure():
    # d/dx (x * d/dy (x * y) at y=x) = d/dx (x * x) = 2x; confusing x and y would give d/dx (x * 2x) = 4x
    f = ag.grad(lambda x: x * ag.grad(lambda y: x * y)(x))
    assert f(3.0) == 6.0


def test_inner_raw_argument_with_a_closure_stays_in_the_outer_graph():
    # d/dx of d/dy (x**2 * y**3) at y=2: 2x * 3 * 4
    assert ag.grad(lambda x: ag.grad(lambda y: x**2 * y**3)(2.0))(5.0) == 120.0


def test_inner_raw_argument_without_a_closure_gives_raw_results():
    def f(x):
        inner = ag.grad(lambda y: y**2)(3.0)
        assert type(inner) is float
        return x * inner

    assert ag.grad(f)(2.0) == 6.0


def test_inner_value_and_auxiliary_data_stay_in_the_outer_graph():
    def f(x):
        (value, aux), gradient = ag.value_and_grad(lambda y: (x * y, x * 7.0), has_aux=True)(2.0)
        return value + 10.0 * gradient + 100.0 * aux

    assert ag.grad(f)(3.0) == 2.0 + 10.0 + 700.0


def test_inner_container_argument():
    def f(p):
        g = ag.grad(lambda q: q["a"] ** 2 * q["b"])(p)  # 2ab, a**2
        return g["a"] * g["b"]  # 2 a**3 b

    assert ag.grad(f)({"a": 2.0, "b": 3.0}) == {"a": 72.0, "b": 16.0}


def test_jacobian_within_grad():
    x = np.array([1.0, 2.0])
    g = ag.grad(lambda x: ag.jacobian(lambda y: y**3)(x).sum())(x)
    np.testing.assert_allclose(g, 6 * x)


def test_jvp_within_grad():
    x, t = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    g = ag.grad(lambda x: ag.jvp(lambda y: y**3, (x,), (t,))[1].sum())(x)
    np.testing.assert_allclose(g, 6 * x * t)


def test_jvp_of_jvp():
    def first(x):
        return ag.jvp(lambda y: y**3, (x,), (1.0,))[1]

    assert ag.jvp(first, (2.0,), (1.0,)) == (12.0, 12.0)


def test_vjp_within_grad():
    x = np.array([1.0, 2.0])

    def f(x):
        value, pull = ag.vjp(lambda y: y**3, x)
        return (pull(value)[0]).sum()  # 3 x**2 * x**3

    np.testing.assert_allclose(ag.grad(f)(x), 15 * x**4)


def test_linearize_within_grad():
    assert ag.grad(lambda x: ag.linearize(lambda y: y**3, x)[1](1.0))(2.0) == 12.0


def test_hvp_within_grad():
    x, v = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    g = ag.grad(lambda x: ag.hvp(lambda y: (y**3).sum())(x, v).sum())(x)
    np.testing.assert_allclose(g, [6.0, 6.0])


def test_hvp_is_differentiable_in_the_vector():
    x = np.array([1.0, 2.0])
    g = ag.grad(lambda v: ag.hvp(lambda y: (y**3).sum())(x, v).sum())(np.ones(2))
    np.testing.assert_allclose(g, 6 * x)


def test_elementwise_grad_within_grad():
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(ag.grad(lambda x: ag.elementwise_grad(lambda y: y**3)(x).sum())(x), 6 * x)


def test_gradient_step_inside_the_function_is_differentiated():
    # one step of gradient descent on (w - a)**2: w' = w - 0.1 * 2 (w - a)
    def after(a, w):
        return w - 0.1 * ag.grad(lambda w: (w - a) ** 2)(w)

    assert ag.grad(after)(1.0, 5.0) == pytest.approx(0.2)
    assert ag.grad(after, argnums=1)(1.0, 5.0) == pytest.approx(0.8)


# The user's own graph


def test_result_for_a_tensor_that_requires_grad_is_part_of_its_graph():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    value, gradient = ag.value_and_grad(lambda x: (x**3).sum())(x)
    assert gradient.requires_grad
    assert value.requires_grad
    (h,) = autograd.grad(gradient.sum(), x)
    np.testing.assert_allclose(h.numpy(), [6.0, 12.0])


def test_result_for_a_constant_tensor_is_part_of_the_graph_of_a_closure():
    w = ag.tensor(2.0, requires_grad=True)
    gradient = ag.grad(lambda x: w * x**2)(ag.tensor(3.0))
    (g,) = autograd.grad(gradient, w)
    assert g.item() == 6.0


def test_raw_argument_takes_a_closure_as_constant():
    w = ag.tensor(2.0, requires_grad=True)
    assert ag.grad(lambda x: w * x**2)(3.0) == 12.0
    assert w.grad is None


def test_under_no_grad_the_result_is_no_part_of_the_graph():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    with ag.no_grad():
        gradient = ag.grad(lambda x: (x**3).sum())(x)
    assert gradient.tolist() == [3.0, 12.0]
    assert not gradient.requires_grad


def test_inner_transform_under_no_grad_is_a_constant_for_the_outer():
    def f(x):
        with ag.no_grad():
            g = ag.grad(lambda y: y**2)(x)
        return x * g

    assert ag.grad(f)(3.0) == 6.0


def test_depth_is_restored_after_an_error():
    def fail(x):
        raise KeyError

    with pytest.raises(KeyError):
        ag.grad(fail)(1.0)
    w = ag.tensor(2.0, requires_grad=True)
    assert type(ag.grad(lambda x: w * x)(3.0)) is float


def test_transform_inside_a_hook_of_backward():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    y.register_hook(lambda g: ag.tensor(ag.grad(lambda v: (v**2).sum())(np.array([5.0, 6.0]))))
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 12.0]


def test_second_derivatives_of_a_function_that_writes_in_place():
    def f(x):
        x[0] = x[0] * x[1]
        x *= 2.0
        return (x**3).sum()

    def pure(x):
        return (x[0] * x[1] * 2.0) ** 3 + (x[1] * 2.0) ** 3

    x = np.array([1.5, 2.0])
    np.testing.assert_allclose(ag.hessian(f)(x.copy()), ag.hessian(pure)(x), rtol=1e-13)


@pytest.mark.parametrize(
    "held", [lambda t: t, lambda t: {"a": [t]}, lambda t: (t, 1.0)], ids=["itself", "dict", "tuple"]
)
def test_an_argument_that_is_not_differentiated_has_the_result_in_its_graph(held):
    w, scale = np.array([1.0, 2.0]), ag.tensor(3.0, requires_grad=True)
    beside = held(scale)
    number = lambda t: t if t is scale else t["a"][0] if isinstance(t, dict) else t[0]
    for found in (
        ag.grad(lambda w, s: np.sum(w**2) * number(s))(w, beside),
        ag.grad(lambda w, s: np.sum(w**2) * number(s))(w, s=beside),
        ag.value_and_grad(lambda s, w: np.sum(w**2) * number(s), argnums=1)(beside, w)[1],
        ag.jacobian(lambda w, s: w**2 * number(s))(w, beside).sum(axis=0),
    ):
        (gradient,) = ag.autograd.grad(ag.sum(found), [scale])
        assert float(gradient) == 6.0
    with ag.no_grad():
        assert type(ag.grad(lambda w, s: np.sum(w**2) * number(s))(w, beside)) is np.ndarray
    constant = held(ag.tensor(3.0))
    assert type(ag.grad(lambda w, s: np.sum(w**2))(w, constant)) is np.ndarray
