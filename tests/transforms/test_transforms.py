"""grad, value_and_grad, elementwise_grad, vjp, jvp, linearize, hvp: values and forms of results."""

import dataclasses
import inspect
from collections import namedtuple

import numpy as np
import pytest
from scipy import optimize

import arraygrad as ag

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    name: str = "layer"


def loss(w, X, y):
    return np.mean((np.tanh(X @ w) - y) ** 2)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal(4), rng.standard_normal((7, 4)), rng.standard_normal(7)


# Values


def test_gradient_of_numpy_code_agrees_with_finite_differences(data):
    w, X, y = data
    numeric = optimize.approx_fprime(w, lambda v: loss(v, X, y), 1e-7)
    np.testing.assert_allclose(ag.grad(loss)(w, X, y), numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", [optimize.rosen, lambda x: np.sum(np.sin(x) * np.exp(-(x**2)))], ids=["rosen", "waves"])
def test_gradient_agrees_with_scipy_or_an_independent_library(f):
    x = np.array([0.3, -0.2, 1.1])
    if f is optimize.rosen:
        expected = optimize.rosen_der(x)

        def f(x):
            return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    else:
        autograd = pytest.importorskip("autograd", reason="the autograd package, an independent reference, is missing")
        anp = pytest.importorskip("autograd.numpy")
        expected = autograd.grad(lambda x: anp.sum(anp.sin(x) * anp.exp(-(x**2))))(x)
    np.testing.assert_allclose(ag.grad(f)(x), expected, rtol=1e-12)


def test_value_and_gradient_come_together(data):
    w, X, y = data
    value, gradient = ag.value_and_grad(loss)(w, X, y)
    np.testing.assert_allclose(value, loss(w, X, y), rtol=1e-15)
    np.testing.assert_allclose(gradient, ag.grad(loss)(w, X, y), rtol=1e-15)


def test_argnums_choose_the_arguments(data):
    w, X, y = data
    residual = 2 * (np.tanh(X @ w) - y) / len(y)
    np.testing.assert_allclose(ag.grad(loss, argnums=2)(w, X, y), -residual, rtol=1e-13)
    by_w, by_y = ag.grad(loss, argnums=(0, -1))(w, X, y)
    np.testing.assert_allclose(by_w, ag.grad(loss)(w, X, y), rtol=1e-15)
    np.testing.assert_allclose(by_y, -residual, rtol=1e-13)


def test_keyword_arguments_are_passed_on():
    assert ag.grad(lambda x, *, power: x**power)(3.0, power=2.0) == 6.0


def test_argument_that_is_not_used_has_a_zero_gradient():
    by_x, by_y = ag.grad(lambda x, y: x.sum(), argnums=(0, 1))(np.ones(2), np.ones((3, 1), dtype=np.float32))
    assert by_x.tolist() == [1.0, 1.0]
    assert (by_y.dtype, by_y.tolist()) == (np.float32, [[0.0]] * 3)


@pytest.mark.parametrize("result", [1.0, 0, np.float32(2.0), np.ones(())], ids=repr)
def test_constant_result_has_a_zero_gradient_and_a_warning(result):
    with pytest.warns(UserWarning, match="the result of '<lambda>' does not depend on the arguments"):
        assert ag.grad(lambda x: result)(np.ones(2)).tolist() == [0.0, 0.0]


def test_result_of_one_element_counts_as_scalar():
    assert ag.grad(lambda x: x.sum(keepdims=True))(np.ones((2, 2))).tolist() == [[1.0, 1.0]] * 2


def test_auxiliary_data_come_back_raw():
    def f(x):
        y = x * 2.0
        return y.sum(), {"y": y, "note": "kept"}

    gradient, aux = ag.grad(f, has_aux=True)(np.ones(2))
    assert gradient.tolist() == [2.0, 2.0]
    assert type(aux["y"]) is np.ndarray
    assert aux["note"] == "kept"
    (value, aux), gradient = ag.value_and_grad(f, has_aux=True)(np.ones(2))
    assert (value.item(), aux["y"].tolist(), gradient.tolist()) == (4.0, [2.0, 2.0], [2.0, 2.0])


def test_gradient_of_a_complex_argument_follows_pytorch():
    z = np.array([3.0 + 4.0j, 1.0 - 2.0j])
    # |z|**2 = x**2 + y**2: df/dx + i df/dy = 2x + 2iy
    np.testing.assert_allclose(ag.grad(lambda z: ag.sum(ag.abs(z) ** 2))(z), 2 * z, rtol=1e-14)


def test_elementwise_gradient():
    x = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_allclose(ag.elementwise_grad(np.tanh)(x), 1 - np.tanh(x) ** 2, rtol=1e-14)


def test_elementwise_gradients_nest():
    x = np.linspace(-1.0, 1.0, 5)
    third = ag.elementwise_grad(ag.elementwise_grad(ag.elementwise_grad(np.sin)))
    np.testing.assert_allclose(third(x), -np.cos(x), rtol=1e-13)


# Forms: raw in gives raw out


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_raw_arrays_give_raw_arrays_of_their_dtype(dtype):
    value, gradient = ag.value_and_grad(lambda x: ag.sum(ag.real(x * x)))(np.ones(2, dtype=dtype))
    assert type(gradient) is np.ndarray
    assert type(value) is np.ones(1, dtype=dtype).real.dtype.type
    assert gradient.dtype == dtype


def test_python_floats_give_python_floats():
    value, gradient = ag.value_and_grad(lambda x: x * x)(3.0)
    assert (type(value), value, type(gradient), gradient) == (float, 9.0, float, 6.0)


def test_python_complex_gives_python_complex():
    gradient = ag.grad(lambda z: ag.real(z * z))(1.0 + 2.0j)
    assert (type(gradient), gradient) == (complex, 2.0 - 4.0j)


def test_numpy_scalars_give_numpy_scalars():
    gradient = ag.grad(lambda x: x * x)(np.float32(3.0))
    assert (type(gradient), gradient) == (np.float32, 6.0)


def test_python_float_takes_the_precision_of_the_arrays_beside_it():
    x = np.ones(3, dtype=np.float32)
    value, gradient = ag.value_and_grad(lambda s, x: (s * x).sum())(2.0, x)
    assert (value.dtype if hasattr(value, "dtype") else type(value)) in (np.float32, float)
    assert ag.grad(lambda s, x: (s * x).sum(), argnums=1)(2.0, x).dtype == np.float32
    seen = []
    ag.grad(lambda s, x: seen.append((s * x).dtype) or (s * x).sum())(2.0, x)
    assert seen == [np.float32]
    assert gradient == 3.0


def test_tensors_give_tensors():
    value, gradient = ag.value_and_grad(lambda x: (x * x).sum())(ag.tensor([1.0, 2.0]))
    assert type(value) is type(gradient) is ag.Tensor
    assert not value.requires_grad
    assert not gradient.requires_grad
    assert gradient.tolist() == [2.0, 4.0]


def test_gradient_attribute_of_tensor_arguments_is_not_touched():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.grad(lambda x: (x * x).sum())(x)
    assert x.grad is None


def test_arrays_of_another_library_stay_with_it():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    x = strict.asarray([1.0, 2.0], dtype=strict.float32)
    value, gradient = ag.value_and_grad(lambda x: ag.sum(ag.exp(x) * 2.0))(x)
    assert type(gradient) is type(x)
    assert type(value) is type(x)
    assert gradient.dtype == strict.float32


def test_python_float_beside_another_library_goes_there():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    x = strict.asarray([1.0, 2.0], dtype=strict.float32)
    assert ag.grad(lambda s, x: ag.sum(s * x))(2.0, x) == 3.0


def test_containers_give_containers():
    params = {"layers": [Layer(np.ones(2), 0.5), Layer(np.zeros(2), 1.5)], "point": Point(2.0, (3.0,)), "none": None}

    def f(p):
        total = sum((layer.weight * 2.0).sum() * layer.bias for layer in p["layers"])
        return total + p["point"].x * p["point"].y[0]

    gradient = ag.grad(f)(params)
    assert gradient["layers"][0].weight.tolist() == [1.0, 1.0]
    assert gradient["layers"][1].weight.tolist() == [3.0, 3.0]
    assert gradient["layers"][0].bias == 4.0
    assert gradient["layers"][1].name == "layer"
    assert gradient["point"] == Point(3.0, (2.0,))
    assert gradient["none"] is None


def test_other_arguments_are_passed_as_they_are():
    seen = []

    def f(x, *others, **more):
        seen.extend((others, more))
        return x.sum()

    array = np.arange(3)
    ag.grad(f)(np.ones(2), array, "text", key=array)
    assert seen[0][0] is array
    assert seen[0][1] == "text"
    assert seen[1]["key"] is array


def test_signature_name_and_docstring_are_forwarded():
    def f(x, scale=1.0):
        """What f does."""
        return (x * scale).sum()

    for transform in (ag.grad, ag.value_and_grad, ag.elementwise_grad, ag.jacobian, ag.hessian, ag.hvp, ag.jacfwd):
        g = transform(f)
        assert (g.__name__, g.__doc__) == ("f", "What f does.")
        assert inspect.signature(g) == inspect.signature(f)


def test_bound_methods_and_callable_objects_are_functions():
    class Model:
        scale = 3.0

        def energy(self, x):
            return (x * self.scale).sum()

        __call__ = energy

    assert ag.grad(Model().energy)(np.ones(2)).tolist() == [3.0, 3.0]
    assert ag.grad(Model())(np.ones(2)).tolist() == [3.0, 3.0]


def test_gradient_is_recorded_under_no_grad_too():
    with ag.no_grad():
        assert ag.grad(lambda x: x * x)(3.0) == 6.0
        assert not ag.is_grad_enabled()


def test_grad_mode_is_restored_after_an_error():
    def fail(x):
        raise KeyError

    with ag.no_grad():
        with pytest.raises(KeyError):
            ag.grad(fail)(1.0)
        assert not ag.is_grad_enabled()


def test_argument_written_in_place_changes_the_callers_array():
    x = np.array([1.0, 2.0])

    def f(x):
        x *= 3.0
        return (x * x).sum()

    gradient = ag.grad(f)(x)
    assert gradient.tolist() == [18.0, 36.0]  # at the original x: d/dx (3x)**2 = 18x
    assert x.tolist() == [3.0, 6.0]


# vjp


def test_vjp_multiplies_by_the_jacobian_from_the_left():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    value, pull = ag.vjp(lambda x, y: x * y, x, y)
    assert value.tolist() == [3.0, 8.0]
    by_x, by_y = pull(np.array([1.0, 10.0]))
    assert (by_x.tolist(), by_y.tolist()) == ([3.0, 40.0], [1.0, 20.0])


def test_pulling_back_works_any_number_of_times():
    _, pull = ag.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    assert [pull(np.array(v))[0].tolist() for v in ([1.0, 0.0], [0.0, 1.0])] == [[2.0, 0.0], [0.0, 4.0]]


def test_vjp_of_a_container_takes_one():
    value, pull = ag.vjp(lambda x: {"a": x * 2.0, "b": [x.sum(), 1.0]}, np.ones(2))
    assert value["b"][1] == 1.0
    (g,) = pull({"b": [10.0, 0.0], "a": np.array([1.0, 2.0])})
    assert g.tolist() == [12.0, 14.0]


def test_vjp_with_auxiliary_data():
    value, pull, aux = ag.vjp(lambda x: (x * x, "aux"), 3.0, has_aux=True)
    assert (value, aux, pull(1.0)) == (9.0, "aux", (6.0,))


def test_cotangent_is_cast_to_the_dtype_of_the_result():
    _, pull = ag.vjp(lambda x: x * x, np.ones(2, dtype=np.float32))
    assert pull(np.ones(2))[0].dtype == np.float32


def test_vjp_is_differentiable_in_the_cotangent():
    _, pull = ag.vjp(lambda x: x**3, np.array([1.0, 2.0]))
    gradient = ag.grad(lambda c: pull(c)[0].sum())(np.array([1.0, 1.0]))
    np.testing.assert_allclose(gradient, [3.0, 12.0])


# jvp, linearize


def test_jvp_is_the_derivative_along_the_tangent():
    A = np.arange(6.0).reshape(2, 3)
    x, t = np.array([0.1, 0.2, 0.3]), np.array([1.0, -1.0, 2.0])
    value, tangent = ag.jvp(lambda x: np.sin(A @ x), (x,), (t,))
    np.testing.assert_allclose(value, np.sin(A @ x), rtol=1e-15)
    np.testing.assert_allclose(tangent, np.cos(A @ x) * (A @ t), rtol=1e-13)


def test_jvp_of_several_arguments_adds_up():
    _, tangent = ag.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 10.0))
    assert (type(tangent), tangent) == (float, 23.0)


def test_jvp_of_what_does_not_depend_on_the_arguments_is_zero():
    value, tangent = ag.jvp(lambda x: {"x": x * 2.0, "c": 5.0, "a": np.ones(2)}, (np.ones(2),), (np.ones(2),))
    assert tangent["x"].tolist() == [2.0, 2.0]
    assert tangent["c"] == 0.0
    assert tangent["a"].tolist() == [0.0, 0.0]
    assert value["c"] == 5.0


def test_jvp_and_vjp_are_adjoint_for_complex_functions():
    rng = np.random.default_rng(1)
    z, t, c = (rng.standard_normal(3) + 1j * rng.standard_normal(3) for _ in range(3))

    def f(z):
        return ag.conj(z) * z * z + ag.sin(z)

    _, tangent = ag.jvp(f, (z,), (t,))
    _, pull = ag.vjp(f, z)
    np.testing.assert_allclose(np.vdot(c, tangent).real, np.vdot(pull(c)[0], t).real, rtol=1e-12)


def test_linearize_gives_the_derivative_for_many_directions():
    value, push = ag.linearize(lambda x: x**2, np.array([1.0, 2.0]))
    assert value.tolist() == [1.0, 4.0]
    assert push(np.array([1.0, 0.0])).tolist() == [2.0, 0.0]
    assert push(np.array([0.0, 1.0])).tolist() == [0.0, 4.0]


# hvp


def test_hessian_vector_product_agrees_with_the_hessian():
    x, v = np.array([0.3, -0.2, 1.1]), np.array([1.0, 2.0, 3.0])

    def f(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    np.testing.assert_allclose(ag.hvp(f)(x, v), optimize.rosen_hess_prod(x, v), rtol=1e-12)


def test_hessian_vector_product_of_a_linear_function_is_zero():
    assert ag.hvp(lambda x: x.sum())(np.ones(2), np.ones(2)).tolist() == [0.0, 0.0]


def test_hessian_vector_product_with_containers_and_argnums():
    def f(p, s):
        return p["a"] ** 2 * p["b"] * s

    product = ag.hvp(f)({"a": 2.0, "b": 3.0}, 1.0, {"a": 1.0, "b": 0.0})
    assert product == {"a": 6.0, "b": 4.0}
    by_p, by_s = ag.hvp(f, argnums=(0, 1))({"a": 2.0, "b": 3.0}, 1.0, ({"a": 0.0, "b": 0.0}, 1.0))
    assert by_p == {"a": 12.0, "b": 4.0}
    assert by_s == 0.0
