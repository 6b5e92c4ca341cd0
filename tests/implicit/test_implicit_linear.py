"""implicit.linear_solve: dense, sparse and matrix-free systems against known formulas and finite differences."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import implicit

sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(4, 4)) + 3.0 * np.eye(4)
SPARSE = (sparse.random_array((5, 5), density=0.3, rng=RNG) + 3.0 * sparse.eye_array(5)).tocsr()
b4, b5 = RNG.normal(size=4), RNG.normal(size=5)


def test_dense_system_with_any_solver_to_second_order():
    solve = lambda A, b: implicit.linear_solve(A, b, np.linalg.solve)
    assert ag.gradcheck(solve, [DENSE, b4], order=2)
    assert ag.gradcheck(solve, [DENSE, np.stack([b4, b4**2], axis=1)], order=2)


def test_dense_gradients_have_their_known_formulas():
    by_A, by_b = ag.grad(lambda A, b: implicit.linear_solve(A, b)[0], argnums=(0, 1))(DENSE, b4)
    inverse = np.linalg.inv(DENSE)
    np.testing.assert_allclose(by_b, inverse[0])
    np.testing.assert_allclose(by_A, -np.outer(inverse[0], inverse @ b4))


def test_complex_dense_system():
    assert ag.gradcheck(implicit.linear_solve, [DENSE + 1j * DENSE.T, np.stack([b4, b4 * 1j], axis=1)], order=2)


def test_iterative_solver_gets_the_transposed_system_too():
    seen = []

    def solver(A, b):
        seen.append(A)
        return linalg.gmres(A, b, rtol=1e-13)

    ag.grad(lambda b: implicit.linear_solve(DENSE, b, solver)[0])(b4)
    np.testing.assert_array_equal(seen[1], DENSE.T)


@pytest.mark.parametrize("columns", [(), (2,)], ids=["vector", "columns"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_entries_of_a_sparse_matrix_to_second_order(kind, columns):
    pattern = SPARSE.asformat(kind)
    b = RNG.normal(size=(5, *columns))
    assert ag.gradcheck(lambda d, b: implicit.linear_solve(pattern, b, data=d), [pattern.data, b], order=2)


def test_sparse_gradients_are_those_of_the_dense_matrix():
    rows, columns = SPARSE.tocoo().coords
    found = ag.grad(lambda d: (implicit.linear_solve(SPARSE, b5, data=d) ** 2).sum())(SPARSE.data)
    dense = ag.grad(lambda A: (implicit.linear_solve(A, b5) ** 2).sum())(SPARSE.toarray())
    np.testing.assert_allclose(found, dense[rows, columns])


def test_entries_given_twice_have_the_same_gradient():
    pattern = sparse.coo_array((np.array([1.0, 1.5, 3.0]), ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    gradient = ag.grad(lambda d: implicit.linear_solve(pattern, np.ones(2), data=d).sum())(pattern.data)
    np.testing.assert_allclose(gradient, [-1 / 2.5**2, -1 / 2.5**2, -1 / 9.0])


def test_complex_entries_of_a_sparse_matrix():
    pattern = (SPARSE * (1 + 0.5j)).tocsc()
    assert ag.gradcheck(lambda d, b: implicit.linear_solve(pattern, b, data=d), [pattern.data, b5 * 1j], order=2)


@pytest.mark.parametrize("kind", ["csr", "dia", "lil", "bsr"])
def test_constant_sparse_matrix_of_any_format(kind):
    assert ag.gradcheck(lambda b: implicit.linear_solve(SPARSE.asformat(kind), b), [b5])


def test_sparse_matrix_with_an_iterative_solver():
    solver = lambda A, b: linalg.gmres(A, b, rtol=1e-13)
    found = ag.grad(lambda d: implicit.linear_solve(SPARSE, b5, solver, data=d).sum())(SPARSE.data)
    expected = ag.grad(lambda d: implicit.linear_solve(SPARSE, b5, data=d).sum())(SPARSE.data)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def stencil(x, d, c):
    return d * x + c * np.roll(x, 1) + 0.2 * np.roll(x, -1)


def test_matrix_free_system_to_second_order():
    solve = lambda b, d, c: implicit.linear_solve(stencil, b, args=(d, c))
    assert ag.gradcheck(solve, [b5, np.arange(2.0, 7.0), np.array(0.3)], order=2)


def test_matrix_free_system_of_two_axes():
    solve = lambda b, d: implicit.linear_solve(lambda x, d: d * x + 0.1 * x.T, b, args=(d,))
    assert ag.gradcheck(solve, [RNG.normal(size=(3, 3)), np.arange(9.0).reshape(3, 3) + 2.0], order=2)


def test_matrix_free_system_with_constant_right_side():
    gradient = ag.grad(lambda d: implicit.linear_solve(lambda x, d: d * x, np.ones(2), args=(d,)).sum())(
        np.array([2.0, 4.0])
    )
    np.testing.assert_allclose(gradient, [-1 / 4, -1 / 16])


def test_results_are_raw_where_arguments_are_and_keep_float32():
    A, b = DENSE.astype(np.float32), b4.astype(np.float32)
    x = implicit.linear_solve(A, b)
    assert (type(x), x.dtype) == (np.ndarray, np.float32)
    by_A, by_b = ag.grad(lambda A, b: implicit.linear_solve(A, b).sum(), argnums=(0, 1))(A, b)
    assert (by_A.dtype, by_b.dtype) == (np.float32, np.float32)


# Refusals


def test_singular_dense_matrix():
    with pytest.raises(np.linalg.LinAlgError, match=r"implicit.linear_solve: A is singular"):
        implicit.linear_solve(np.ones((2, 2)), np.array([1.0, 2.0]))


def test_singular_sparse_matrix():
    with pytest.raises(np.linalg.LinAlgError, match=r"implicit.linear_solve: A is singular"):
        implicit.linear_solve(sparse.csr_array(np.ones((2, 2))), np.array([1.0, 2.0]))


def test_flag_of_an_iterative_solver():
    with pytest.raises(implicit.ConvergenceError, match="returned the flag 1"):
        implicit.linear_solve(DENSE, b4, lambda A, b: linalg.gmres(A, b, rtol=1e-13, maxiter=1, restart=1))


def test_result_that_is_no_solution():
    with pytest.raises(implicit.ConvergenceError, match=r"max\|A x - b\| is"):
        implicit.linear_solve(DENSE, b4, lambda A, b: b)


def test_tensor_in_the_closure_of_a_callable():
    d = np.asarray([2.0, 4.0])
    found = ag.grad(lambda d: implicit.linear_solve(lambda x: d * x, np.ones(2)).sum())(d)
    np.testing.assert_allclose(found, -1.0 / d**2, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: implicit.linear_solve(DENSE, b5), ValueError, r"A must be \(n, n\) and b"),
        (lambda: implicit.linear_solve(SPARSE, b4), ValueError, r"A must be \(n, n\) and b"),
        (lambda: implicit.linear_solve(DENSE, b4, data=b4), TypeError, "values of a scipy.sparse matrix"),
        (lambda: implicit.linear_solve(SPARSE, b5, data=b5), ValueError, "must have the shape of A.data"),
        (lambda: implicit.linear_solve(SPARSE.todia(), b5, data=b5), TypeError, "must have format csr, csc, coo"),
        (lambda: implicit.linear_solve(DENSE, b4, args=(1,)), TypeError, "args are for a callable A"),
        (lambda: implicit.linear_solve(DENSE, "b"), TypeError, "b must be an array or a Tensor, got str"),
        (lambda: implicit.linear_solve(DENSE, np.arange(4)), TypeError, "b must be a floating-point array"),
        (lambda: implicit.linear_solve(DENSE, b4, "lu"), TypeError, "a solver must be callable"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
