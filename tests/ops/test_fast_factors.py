"""Rules of cholesky and solve that use triangles: close to the table's rule, and with the same errors."""

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain

import arraygrad as ag
from arraygrad.backends import _triangular
from arraygrad.backends.numpy_rules import try_rule

SIZES = [1, 2, 5, 32, 33, 70, 131]


def positive(n, dtype, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def close(got, expected, dtype):
    assert got.dtype == expected.dtype == np.dtype(dtype)
    assert got.shape == expected.shape
    scale = np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(got / scale, expected / scale, atol=2e-5 if dtype == "float32" else 1e-12)


def cholesky_gradient(x, g, upper):
    t = ag.tensor(x, requires_grad=True)
    ag.linalg.cholesky(t, upper=upper).backward(g)
    return t.grad.numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("upper", [False, True])
def test_the_gradient_of_cholesky_is_the_tables(upper, n, dtype):
    g = np.random.default_rng(1).normal(size=(n, n)).astype(dtype)
    for given in (g, np.tril(g), np.diag(g.diagonal()), np.diag(np.abs(g.diagonal())), np.zeros_like(g), g[::-1]):
        x = positive(n, dtype)
        close(cholesky_gradient(x, given, upper), plain(cholesky_gradient, x, given, upper), dtype)


def test_the_rule_of_cholesky_serves_one_real_matrix_and_leaves_the_rest():
    def rule(x, g):
        return try_rule(ag.linalg.cholesky(ag.tensor(x, requires_grad=True)).grad_fn, g)

    x, g = positive(5, "float64"), np.ones((5, 5))
    assert rule(x, g) is not None
    assert rule(np.stack([x, x]), np.stack([g, g])) is None
    assert rule(x.astype(complex), g.astype(complex)) is None
    for special in (np.nan, np.inf):
        g[1, 1] = special
        assert rule(x, g) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_of_a_triangle_is_its_inverse_and_a_triangle(n, dtype):
    lower = np.linalg.cholesky(positive(n, dtype))
    inverse = _triangular.inverse_of_lower(lower)
    np.testing.assert_allclose(inverse @ lower, np.eye(n), atol=1e-4 if dtype == "float32" else 1e-12)
    assert not np.triu(inverse, 1).any()


def test_a_triangle_without_an_inverse_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        _triangular.inverse_of_lower(np.diag([1.0, 0.0, 2.0]))


def solve_gradients(a, b, g, wanted):
    leaves = [ag.tensor(v, requires_grad=w) for v, w in zip((a, b), wanted, strict=True)]
    ag.linalg.solve(*leaves).backward(g)
    return [leaf.grad.numpy() for leaf in leaves if leaf.requires_grad]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("n", [1, 2, 5, 33])
@pytest.mark.parametrize("columns", [None, 1, 4, 0])
def test_the_gradients_of_solve_are_the_tables(columns, n, wanted, dtype):
    rng = np.random.default_rng(2)
    a = (rng.normal(size=(n, n)) + n * np.eye(n)).astype(dtype)
    shape = (n,) if columns is None else (n, columns)
    b, g = (rng.normal(size=shape).astype(dtype) for _ in range(2))
    got, expected = solve_gradients(a, b, g, wanted), plain(solve_gradients, a, b, g, wanted)
    assert len(got) == len(expected) == sum(wanted)
    for one, other in zip(got, expected, strict=True):
        close(one, other, dtype)


def test_the_gradients_of_solve_spread_nan_and_infinities_as_the_tables():
    a, g = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([np.nan, np.inf])
    with np.errstate(all="ignore"):
        got = solve_gradients(a, np.ones(2), g, (True, True))
        expected = plain(solve_gradients, a, np.ones(2), g, (True, True))
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_matrix_on_both_sides():
    a = positive(4, "float64")

    def gradient(a):
        t = ag.tensor(a, requires_grad=True)
        ag.linalg.solve(t, t * t).backward(np.ones((4, 4)))
        return t.grad.numpy()

    close(gradient(a), plain(gradient, a), "float64")
