"""What the transforms refuse: the message names the transform, the argument, what was found and what to do."""

import numpy as np
import pytest

import arraygrad as ag


def square(x, scale=1.0):
    return (x * x * scale).sum()


def test_integer_argument_is_named():
    with pytest.raises(TypeError, match=r"grad: argument 0 \(x\) is an integer or boolean \(int\).*floating-point"):
        ag.grad(square)(3)


@pytest.mark.parametrize("value", [np.arange(3), np.array([True]), np.int64(3)], ids=repr)
def test_integer_array_is_refused(value):
    with pytest.raises(TypeError, match=r"grad: argument 0 \(x\) is an integer or boolean \(of dtype"):
        ag.grad(square)(value)


def test_integer_tensor_is_refused():
    with pytest.raises(TypeError, match=r"argument 0 \(x\) is an integer or boolean \(of dtype int64\)"):
        ag.grad(square)(ag.tensor([1, 2]))


def test_integer_inside_a_container_is_named():
    with pytest.raises(TypeError, match=r"grad: argument 1 \(p\['w'\]\[1\]\) is an integer"):
        ag.grad(lambda x, p: x, argnums=1)(1.0, {"w": [1.0, 2]})


@pytest.mark.parametrize("value", [None, "text", True], ids=repr)
def test_argument_without_derivative_is_refused(value):
    with pytest.raises(TypeError, match=r"grad: argument 0 \(x\) is .*, which has no derivative: choose"):
        ag.grad(square)(value)


def test_object_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"grad: argument 0 \(x\) can't be differentiated"):
        ag.grad(square)(object())


def test_masked_array_is_refused():
    with pytest.raises(TypeError, match=r"argument 0 \(x\) can't be differentiated.*Masked"):
        ag.grad(square)(np.ma.array([1.0, 2.0]))


@pytest.mark.parametrize("transform", [ag.grad, ag.value_and_grad])
def test_result_that_is_no_scalar(transform):
    def f(x):
        return x * 2.0

    with pytest.raises(
        ValueError,
        match=r"'f' returned an array of shape \(3,\), but \w+ needs a scalar: use "
        r"elementwise_grad for an elementwise function, jacobian",
    ):
        transform(f)(np.ones(3))


def test_complex_result():
    def f(x):
        return ag.sum(x * 1j)

    with pytest.raises(TypeError, match=r"grad: 'f' returned complex values \(complex128\)"):
        ag.grad(f)(np.ones(3))


def test_integer_result():
    with pytest.raises(TypeError, match="returned values of dtype int64, but grad needs floating-point ones"):
        ag.grad(lambda x: ag.argmax(x))(np.ones(3))


def test_result_that_is_no_array():
    with pytest.raises(TypeError, match="grad: '<lambda>' returned NoneType, but grad needs an array"):
        ag.grad(lambda x: None)(1.0)


def test_several_results():
    with pytest.raises(TypeError, match=r"returned a tuple, but grad needs one array; .*has_aux=True"):
        ag.grad(lambda x: (x, x))(1.0)


def test_has_aux_without_auxiliary_data():
    with pytest.raises(TypeError, match=r"has_aux=True 'square' must return a pair"):
        ag.grad(square, has_aux=True)(1.0)


def test_argnums_beyond_the_arguments():
    with pytest.raises(TypeError, match=r"grad: argnums has 1, but 'square' was called with 1 positional argument: "):
        ag.grad(square, argnums=1)(1.0)


def test_argument_passed_by_keyword():
    with pytest.raises(TypeError, match="by position, or choose them by name, argnames="):
        ag.grad(square)(x=1.0)


def test_argnums_that_name_an_argument_twice():
    with pytest.raises(ValueError, match="names an argument twice"):
        ag.grad(square, argnums=(0, -2))(1.0, 2.0)


@pytest.mark.parametrize("argnums", ["x", 1.5, True, (0, "x")], ids=repr)
def test_argnums_of_another_type(argnums):
    with pytest.raises(TypeError, match="argnums must be an int or a tuple of ints"):
        ag.grad(square, argnums=argnums)


@pytest.mark.parametrize(
    "transform",
    [ag.grad, ag.value_and_grad, ag.elementwise_grad, ag.jacobian, ag.jacfwd, ag.hessian, ag.hvp, ag.vjp, ag.linearize],
)
def test_something_that_is_no_function(transform):
    with pytest.raises(TypeError, match=f"{transform.__name__}: f must be callable, got int"):
        transform(3)


def test_cotangent_of_another_shape():
    _, pull = ag.vjp(lambda x: x * 2.0, np.ones(3))
    with pytest.raises(ValueError, match=r"vjp: cotangent must have shape \(3,\), got \(2,\)"):
        pull(np.ones(2))


def test_cotangent_of_another_structure():
    _, pull = ag.vjp(lambda x: {"a": x}, np.ones(3))
    with pytest.raises(TypeError, match=r"vjp: cotangent must be nested as \{'a': \*\}, got \*"):
        pull(np.ones(3))


def test_complex_cotangent_of_a_real_result():
    _, pull = ag.vjp(lambda x: x * 2.0, 1.0)
    with pytest.raises(TypeError, match="cotangent is complex"):
        pull(1j)


def test_cotangent_that_is_no_array():
    _, pull = ag.vjp(lambda x: x * 2.0, 1.0)
    with pytest.raises(TypeError, match="cotangent must be an array or a Tensor of shape"):
        pull("one")


def test_tangents_are_named():
    with pytest.raises(ValueError, match=r"jvp: tangents\[1\] must have shape \(2,\), got \(3,\)"):
        ag.jvp(lambda x, y: x, (1.0, np.ones(2)), (1.0, np.ones(3)))


def test_missing_tangents():
    with pytest.raises(TypeError, match=r"jvp: tangents must be nested as \(\*, \*\), got \(\*,\)"):
        ag.jvp(lambda x, y: x, (1.0, 2.0), (1.0,))


def test_primals_that_are_no_tuple():
    with pytest.raises(TypeError, match="primals must be a tuple of the arguments, got float"):
        ag.jvp(lambda x: x, 1.0, 1.0)


def test_vector_of_another_library():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    with pytest.raises(TypeError, match=r"vector is an array of .*, but it must be one of"):
        ag.hvp(square)(np.ones(2), strict.ones(2))


def test_hvp_without_arguments():
    with pytest.raises(TypeError, match="takes its arguments and then the vector"):
        ag.hvp(square)()


@pytest.mark.parametrize("transform", [ag.grad, ag.value_and_grad, ag.elementwise_grad])
@pytest.mark.parametrize("f", [lambda x: np.allclose(x, 1.0), lambda x: bool(x[0] > 0), lambda x: np.bool_(False)])
def test_a_truth_value_as_result_is_refused(transform, f):
    with pytest.raises(TypeError, match="returned a truth value, which has no derivative"):
        transform(f)(np.ones(2))
