"""Arguments to differentiate chosen by name."""

import numpy as np
import pytest

import arraygrad as ag


def f(x, y=3.0, *rest, scale=1.0, **options):
    return x * x * y * scale + sum(rest) + options.get("shift", 0.0) * x


CALLS = [((2.0, 3.0), {}), ((2.0,), {"y": 3.0}), ((), {"x": 2.0, "y": 3.0})]


@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_a_name_is_found_by_position_and_by_keyword(args, kwargs):
    assert ag.grad(f, argnames="x")(*args, **kwargs) == 12.0
    assert ag.grad(f, argnames="y")(*args, **kwargs) == 4.0


def test_a_tuple_of_names_gives_a_tuple():
    assert ag.grad(f, argnames=("scale", "x"))(2.0, scale=5.0) == (12.0, 60.0)
    assert ag.grad(f, argnames=["y"])(2.0) == (4.0,)


def test_a_parameter_that_is_left_out_is_differentiated_at_its_default():
    assert ag.grad(f, argnames="y")(2.0) == 4.0
    assert ag.grad(f, argnames="scale")(2.0) == 12.0


def test_a_name_among_any_keywords_is_found():
    assert ag.grad(f, argnames="shift")(2.0, shift=0.5) == 2.0


def test_other_arguments_are_passed_as_they_are():
    def g(x, *rest, flag, **options):
        assert (rest, flag, options) == ((1, "a"), None, {"k": [1]})
        return x * x

    assert ag.grad(g, argnames="x")(3.0, 1, "a", flag=None, k=[1]) == 6.0


def test_value_and_gradient_agree_with_those_by_position():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])

    def g(x, y):
        return np.sum(np.sin(x) * y), {"n": len(x)}

    by_name = ag.value_and_grad(g, has_aux=True, argnames=("y", "x"))(x=x, y=y)
    by_position = ag.value_and_grad(g, (1, 0), has_aux=True)(x, y)
    assert by_name[0][1] == {"n": 2}
    np.testing.assert_array_equal(by_name[0][0], by_position[0][0])
    np.testing.assert_array_equal(by_name[1], by_position[1])


def test_elementwise_derivatives_and_jacobians_take_names():
    x, a = np.array([0.5, 1.0]), np.array([2.0, 3.0])

    def g(x, a):
        return np.sin(x) * a

    np.testing.assert_allclose(ag.elementwise_grad(g, argnames="x")(a=a, x=x), np.cos(x) * a)
    for transform in (ag.jacobian, ag.jacfwd):
        np.testing.assert_allclose(transform(g, argnames="a")(x, a), np.diag(np.sin(x)))


def test_second_derivatives_take_names():
    def g(x, a):
        return np.sum(x**3) * a

    x, v = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    np.testing.assert_allclose(ag.hessian(g, argnames="x")(a=2.0, x=x), np.diag(12 * x))
    np.testing.assert_allclose(ag.hvp(g, argnames="x")(x, 2.0, v), 12 * x * v)
    assert ag.hessian(g, argnames=("a",))(x, 2.0) == ((0.0,),)


def test_transforms_by_name_nest():
    def g(x, a):
        return a * x**3

    assert ag.grad(ag.grad(g, argnames="x"), argnames="a")(x=2.0, a=1.0) == 12.0


def test_methods_and_callable_objects_take_names():
    class Model:
        def __init__(self, k):
            self.k = k

        def loss(self, w):
            return self.k * w * w

        def __call__(self, w):
            return self.loss(w)

    assert ag.grad(Model(3.0).loss, argnames="w")(2.0) == 12.0
    assert ag.grad(Model(3.0), argnames="w")(w=2.0) == 12.0


def test_a_name_in_an_adopted_call_is_found():
    def g(x, n=3):
        out = np.zeros(n)
        out[1] = x
        return np.sum(out**2)

    assert ag.grad(g, argnames="x", adopt=True)(n=2, x=3.0) == 6.0


def test_a_parameter_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(TypeError, match=r"grad: 'g' has no parameter 'z'; its parameters are 'x', 'y'"):
        ag.grad(lambda_named("g"), argnames="z")(1.0, 2.0)


def lambda_named(name):
    def function(x, y):
        return x * y

    function.__name__ = name
    return function


def test_a_parameter_without_a_value_is_refused():
    with pytest.raises(TypeError, match="was called without 'y'"):
        ag.grad(lambda_named("g"), argnames="y")(1.0)


def test_parameters_for_any_number_of_arguments_are_refused():
    with pytest.raises(TypeError, match="'rest' of 'f' stands for any number of arguments"):
        ag.grad(f, argnames="rest")(1.0)


def test_an_integer_is_refused_by_its_name():
    with pytest.raises(TypeError, match=r"argument 0 \(y\) is an integer"):
        ag.grad(f, argnames="y")(1.0, 2)


def test_names_and_positions_together_are_refused():
    with pytest.raises(TypeError, match="by argnums or by argnames, not by both"):
        ag.grad(f, 1, argnames="x")


@pytest.mark.parametrize("bad", [1, ("x", 2), {"x": 1}])
def test_names_are_text(bad):
    with pytest.raises(TypeError, match="argnames must be a name or a tuple of names"):
        ag.grad(f, argnames=bad)


def test_a_name_twice_is_refused():
    with pytest.raises(ValueError, match="names an argument twice"):
        ag.grad(f, argnames=("x", "x"))
