"""The class of sparse matrices that SciPy's solvers take outside of scipy.sparse: as the matrix of a linear problem,
recorded or constant, and as a Jacobian or its pattern, which helps the solver alone.

The reference is the same call of SciPy, and differences of it.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import integrate, optimize, sparse

import arraygrad as ag
from arraygrad.scipy import NotDifferentiable

DENSE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.5]])
PATTERN = sparse.csr_array(DENSE)
VALUES = PATTERN.data
RIGHT = np.array([1.0, 2.0, 3.2])
POINT = np.array([0.5, 1.2])
CLOSE = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
KINDS = ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "dia_array", "bsr_array")


def matrix(values, kind="csr_array"):
    whole = sparse.csr_array((values, PATTERN.indices, PATTERN.indptr), shape=PATTERN.shape)
    if kind.endswith("matrix"):
        whole = sparse.csr_matrix((values, PATTERN.indices, PATTERN.indptr), shape=PATTERN.shape)
    return whole.asformat(kind.partition("_")[0])


LINEAR = {
    "lsq_linear": lambda A, b: optimize.lsq_linear(A, b).x,
    "lsq_linear, fun": lambda A, b: optimize.lsq_linear(A, b).fun,
    "lsq_linear, cost": lambda A, b: optimize.lsq_linear(A, b).cost,
    "lsq_linear at a bound": lambda A, b: optimize.lsq_linear(A, b, bounds=(0.0, 0.3), tol=1e-13).x,
    "linprog": lambda A, b: optimize.linprog([-1.0, -2.5], A_ub=A, b_ub=b).x,
    "linprog, fun": lambda A, b: optimize.linprog([-1.0, -2.5], A_ub=A, b_ub=b).fun,
    "linprog, slack": lambda A, b: optimize.linprog([-1.0, -2.5], A_ub=A, b_ub=b).slack,
    "linprog of equations": lambda A, b: optimize.linprog([1.0, 2.5], A_eq=A[:1], b_eq=b[:1]).x,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LINEAR)
def test_a_recorded_matrix_of_a_linear_problem(name, kind):
    if "equations" in name and kind.partition("_")[0] not in ("csr", "csc"):
        pytest.skip("SciPy's other formats have no rows by index")
    holds(lambda v: np.sum(LINEAR[name](matrix(v, kind), RIGHT) * 1.5), VALUES, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", LINEAR)
def test_a_constant_matrix_beside_a_recorded_right_side(name):
    holds(lambda b: np.sum(LINEAR[name](PATTERN, b) * 1.5), RIGHT, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", LINEAR)
def test_a_sparse_matrix_has_the_gradient_of_the_dense_one(name):
    sparse_one = ag.grad(lambda v: np.sum(LINEAR[name](matrix(v), RIGHT)))(VALUES)
    dense = ag.grad(lambda A: np.sum(LINEAR[name](A, RIGHT)))(DENSE)
    np.testing.assert_allclose(sparse_one, dense.ravel(), rtol=1e-6, atol=1e-9)


def test_the_elements_of_an_operator_are_asked_for_in_words():
    operator = sparse.linalg.aslinearoperator(DENSE)
    with pytest.raises(NotDifferentiable, match="LinearOperator"):
        ag.grad(lambda b: optimize.lsq_linear(operator, b).x[0])(RIGHT)


def equations(z):
    return lambda x: np.stack([x[0] - z[0], x[0] * x[1] - z[1]])


def slopes(x):
    return sparse.csr_array(np.array([[1.0, 0.0], [x[1], x[0]]]))


def decay(z):
    return lambda t, y: -z * y


STIFF = {"rtol": 1e-10, "atol": 1e-10}
HELPING = {
    "least_squares, jac": lambda z: optimize.least_squares(equations(z), np.ones(2), jac=slopes, **CLOSE).x,
    "least_squares, recorded jac": lambda z: (
        optimize.least_squares(equations(z), np.ones(2), jac=lambda x: slopes(x) * (z[0] / z[0]), **CLOSE).x
    ),
    "least_squares, pattern": lambda z: (
        optimize.least_squares(equations(z), np.ones(2), jac_sparsity=sparse.csr_array(np.ones((2, 2))), **CLOSE).x
    ),
    "BDF, jac": lambda z: integrate.solve_ivp(
        decay(z), (0, 1), np.ones(2), method="BDF", jac=lambda t, y: sparse.csr_array(np.diag([-0.5, -1.2])), **STIFF
    ).y[:, -1],
    "BDF, recorded jac": lambda z: integrate.solve_ivp(
        decay(z), (0, 1), np.ones(2), method="BDF", jac=lambda t, y: sparse.diags(-z), **STIFF
    ).y[:, -1],
    "BDF, constant jac": lambda z: integrate.solve_ivp(
        decay(z), (0, 1), np.ones(2), method="BDF", jac=sparse.csr_array(np.diag([-0.5, -1.2])), **STIFF
    ).y[:, -1],
    "Radau, pattern": lambda z: integrate.solve_ivp(
        decay(z), (0, 1), np.ones(2), method="Radau", jac_sparsity=sparse.eye_array(2), **STIFF
    ).y[:, -1],
}


@pytest.mark.parametrize("name", HELPING)
def test_a_jacobian_that_helps_the_solver(name):
    holds(lambda z: np.sum(HELPING[name](z) * np.array([1.0, 2.0])), POINT, rtol=1e-5, atol=1e-7)
