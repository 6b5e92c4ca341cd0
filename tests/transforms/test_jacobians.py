"""jacobian, jacfwd, hessian: values, shapes, structures, complex conventions."""

import numpy as np
import pytest
from scipy import optimize

import arraygrad as ag

both = pytest.mark.parametrize("jac", [ag.jacobian, ag.jacfwd], ids=["jacobian", "jacfwd"])


@both
def test_matrix_product_gives_the_matrix(jac):
    A = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jac(lambda x: A @ x)(np.ones(3)), A)


@both
def test_shape_is_the_results_then_the_arguments(jac):
    x = np.arange(6.0).reshape(2, 3) + 1.0
    J = jac(lambda x: ag.sum(x * x, axis=0))(x)
    assert J.shape == (3, 2, 3)
    expected = np.zeros((3, 2, 3))
    for j in range(3):
        expected[j, :, j] = 2 * x[:, j]
    np.testing.assert_allclose(J, expected)


@both
def test_scalar_function_of_a_float_gives_a_float(jac):
    J = jac(lambda x: x * x)(3.0)
    assert (type(J), J) == (float, 6.0)


@both
def test_vector_function_of_a_float_gives_a_vector(jac):
    c = np.array([1.0, 2.0])
    np.testing.assert_array_equal(jac(lambda x: c * x)(3.0), c)


@both
def test_dtype_is_that_of_the_argument(jac):
    assert jac(lambda x: x * x)(np.ones(2, dtype=np.float32)).dtype == np.float32


@both
def test_containers_nest_result_over_argument(jac):
    J = jac(lambda p: {"s": p["a"] * p["b"], "t": [p["b"] * 2.0]})({"a": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_array_equal(J["s"]["a"], 3.0 * np.eye(2))
    np.testing.assert_array_equal(J["s"]["b"], [1.0, 2.0])
    np.testing.assert_array_equal(J["t"][0]["a"], [0.0, 0.0])
    assert J["t"][0]["b"] == 2.0


@both
def test_tuple_of_argnums_gives_a_tuple(jac):
    by_x, by_y = jac(lambda x, y: x * y, argnums=(0, 1))(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert (by_x.tolist(), by_y.tolist()) == ([[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]])


@both
def test_constant_result_has_a_zero_jacobian(jac):
    with pytest.warns(UserWarning, match="does not depend on the arguments"):
        J = jac(lambda x: np.ones(3), adopt=False)(np.ones(2, dtype=np.float32))
    assert (J.shape, J.dtype) == ((3, 2), np.float32)
    assert not J.any()


@both
@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_empty_argument_or_result_gives_an_empty_jacobian(jac, shape):
    assert jac(lambda x: x * 2.0)(np.ones(shape)).shape == shape + shape
    assert jac(lambda x: ag.sum(x))(np.ones(shape)).shape == shape


@both
def test_real_function_of_complex_argument_has_gradients_as_rows(jac):
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    np.testing.assert_allclose(jac(lambda z: ag.abs(z) ** 2)(z), np.diag(2 * z), rtol=1e-13)


@both
def test_complex_function_of_real_argument_keeps_both_parts(jac):
    x = np.array([0.5, 1.0])
    J = jac(lambda x: ag.exp(x * (1.0 + 2.0j)))(x)
    np.testing.assert_allclose(J, np.diag((1 + 2j) * np.exp((1 + 2j) * x)), rtol=1e-13)


@both
def test_holomorphic_function_has_its_complex_derivatives(jac):
    z = np.array([0.5 + 1.0j, 1.0 - 0.3j])
    np.testing.assert_allclose(jac(lambda z: z**3)(z), np.diag(3 * z**2), rtol=1e-13)


@both
def test_complex_function_that_is_not_holomorphic_raises(jac):
    with pytest.raises(ValueError, match="not holomorphic"):
        jac(lambda z: ag.conj(z) * 2.0)(np.array([1.0 + 2.0j]))


@pytest.mark.parametrize("chunk_size", [1, 2, 100, None])
def test_chunk_size_does_not_change_the_result(chunk_size):
    J = ag.jacobian(lambda x: x**2, chunk_size=chunk_size)(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(J, np.diag([2.0, 4.0, 6.0]))


@pytest.mark.parametrize("chunk_size", [0, -1, 1.5, True])
def test_wrong_chunk_size_raises(chunk_size):
    with pytest.raises(ValueError, match="chunk_size must be a positive int"):
        ag.jacobian(lambda x: x, chunk_size=chunk_size)


def test_jacrev_is_jacobian():
    assert ag.jacrev is ag.jacobian


@both
def test_tensor_arguments_give_tensors(jac):
    J = jac(lambda x: x * x)(ag.tensor([1.0, 2.0]))
    assert type(J) is ag.Tensor
    assert J.tolist() == [[2.0, 0.0], [0.0, 4.0]]


@both
def test_other_library_stays(jac):
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    J = jac(lambda x: x * x)(strict.asarray([1.0, 2.0]))
    assert type(J) is type(strict.ones(1))


# Hessians


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_hessian_agrees_with_scipy():
    x = np.array([0.3, -0.2, 1.1, 0.7])
    np.testing.assert_allclose(ag.hessian(rosen)(x), optimize.rosen_hess(x), rtol=1e-11, atol=1e-11)


def test_jacobian_of_gradient_forward_over_reverse_is_the_hessian():
    x = np.array([0.3, -0.2, 1.1])
    np.testing.assert_allclose(ag.jacfwd(ag.grad(rosen))(x), optimize.rosen_hess(x), rtol=1e-11, atol=1e-11)


def test_hessian_of_a_linear_function_is_zero():
    assert ag.hessian(lambda x: x.sum())(np.ones(3)).tolist() == np.zeros((3, 3)).tolist()


def test_hessian_of_a_float_is_a_float():
    assert ag.hessian(lambda x: x**3)(2.0) == 12.0


def test_hessian_of_containers_has_blocks():
    H = ag.hessian(lambda p: (p["a"] ** 2).sum() * p["b"])({"a": np.array([1.0, 2.0]), "b": 3.0})
    np.testing.assert_allclose(H["a"]["a"], 6.0 * np.eye(2))
    np.testing.assert_allclose(H["a"]["b"], [2.0, 4.0])
    np.testing.assert_allclose(H["b"]["a"], [2.0, 4.0])
    assert H["b"]["b"] == 0.0


def test_hessian_of_several_arguments_has_blocks():
    (xx, xy), (yx, yy) = ag.hessian(lambda x, y: x**2 * y, argnums=(0, 1))(2.0, 3.0)
    assert (xx, xy, yx, yy) == (6.0, 4.0, 4.0, 0.0)


def test_hessian_keeps_float32():
    assert ag.hessian(lambda x: (x**3).sum())(np.ones(2, dtype=np.float32)).dtype == np.float32
