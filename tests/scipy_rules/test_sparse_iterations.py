"""Iterative solvers of sparse systems that stop early: SciPy's value, and no gradient of another."""

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse", reason="SciPy, which is optional, is not installed")
linalg = pytest.importorskip("scipy.sparse.linalg")

import arraygrad as ag
from arraygrad.scipy.sparse import linalg as recorded

A = sparse.csc_array(np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]]))
B = np.array([1.0, 2.0, 0.3])
EARLY = [
    ("lsmr", {"maxiter": 1}),
    ("lsmr", {"atol": 0.1, "btol": 0.1}),
    ("lsqr", {"iter_lim": 1}),
    ("cg", {"rtol": 0.3}),
]


@pytest.mark.parametrize(("name", "options"), EARLY, ids=str)
def test_solver_that_stops_early_has_scipys_value_and_no_gradient(name, options):
    found = getattr(recorded, name)(A, ag.asarray(B), **options)[0]
    np.testing.assert_array_equal(np.asarray(found), getattr(linalg, name)(A, B, **options)[0])
    with pytest.raises(RuntimeError, match=f"{name}: the result .* the gradient is that of the solution: pass"):
        ag.grad(lambda b: ag.sum(getattr(recorded, name)(A, b, **options)[0]))(B)


@pytest.mark.parametrize("name", ["lsmr", "lsqr", "cg", "gmres"])
def test_solver_that_converges_has_the_gradient_of_the_solution(name):
    found = ag.grad(lambda b: ag.sum(getattr(recorded, name)(A, b)[0]))(B)
    np.testing.assert_allclose(found, np.linalg.solve(A.toarray().T, np.ones(3)), rtol=1e-4)


def test_operator_without_its_transpose():
    operator = linalg.LinearOperator((3, 3), matvec=lambda v: A @ v, dtype=float)
    found = ag.grad(lambda b: ag.sum(recorded.cg(operator, b)[0]))(B)
    np.testing.assert_allclose(found, np.linalg.solve(A.toarray(), np.ones(3)), rtol=1e-4)
    found = ag.grad(lambda b: ag.sum(recorded.gmres(operator, b)[0]))(B)
    np.testing.assert_allclose(found, np.linalg.solve(A.toarray().T, np.ones(3)), rtol=1e-4)
