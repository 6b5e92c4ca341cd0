"""Rules of cholesky and solve that use triangles: close to the table's rule, and with the same errors."""

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain

import arraygrad as ag
from arraygrad.backends.numpy import triangular
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.linalg import has_lapack, use_lapack
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

SIZES = [1, 2, 5, 32, 33, 70, 131]


@pytest.fixture(params=[True, False], ids=["LAPACK", "NumPy only"], autouse=True)
def routines(request):
    """Every test runs with LAPACK's own routines, where they are found, and without."""
    if request.param and not has_lapack():
        pytest.skip("the library behind numpy.linalg does not say the size of its integers")
    previous = use_lapack(request.param)
    yield request.param
    use_lapack(previous)


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
    assert rule(x, np.asfortranarray(np.arange(25.0).reshape(5, 5))) is not None
    assert rule(x.astype(complex), g.astype(complex)) is None
    for special in (np.nan, np.inf):
        g[1, 1] = special
        assert rule(x, g) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_of_a_triangle_is_its_inverse_and_a_triangle(n, dtype):
    lower = np.linalg.cholesky(positive(n, dtype))
    inverse = triangular.inverse_of_lower(lower)
    np.testing.assert_allclose(inverse @ lower, np.eye(n), atol=1e-4 if dtype == "float32" else 1e-12)
    assert not np.triu(inverse, 1).any()


def test_a_triangle_without_an_inverse_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        triangular.inverse_of_lower(np.diag([1.0, 0.0, 2.0]))


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


def test_the_routines_are_found_where_numpys_wheel_brings_them(routines):
    names = np.show_config(mode="dicts")["Build Dependencies"]["lapack"].get("name", "")
    if routines and names == "scipy-openblas":
        assert has_lapack()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_a_solution_is_numpys(columns, n, dtype, routines):
    rng = np.random.default_rng(n)
    b = rng.normal(size=(n,) if columns is None else (n, columns)).astype(dtype)
    for a in (rng.normal(size=(n, n)).astype(dtype), np.asfortranarray(rng.normal(size=(n, n)).astype(dtype))):
        found = try_call(OPS["solve"], (a, b))
        assert (found is not None) == (routines and dtype == "float64")  # NumPy decomposes the others in double
        got, expected = ag.linalg.solve(ag.tensor(a), b).numpy(), np.linalg.solve(a, b)
        assert got.flags.c_contiguous
        close(got, expected, dtype)
        np.testing.assert_allclose(a @ got, b, atol=2e-2 if dtype == "float32" else 1e-9)


def test_what_solve_does_not_serve_is_left_to_numpy():
    a, b = positive(3, "float64"), np.ones(3)
    for x1, x2 in [
        (np.stack([a, a]), np.ones((2, 3, 1))),
        (a.astype(complex), b),
        (a, b.astype("float32")),
        (a.astype("float32"), b),
        (a, np.ones((2, 3, 1))),
        (a, np.ones((3, 0))),
        (np.ones((0, 0)), np.ones(0)),
        (a[:2], b),
        (a, b[:2]),
        (a.astype(">f8"), b),
        (np.zeros((3, 3)), b),
    ]:
        assert try_call(OPS["solve"], (x1, x2)) is None
    with pytest.raises(np.linalg.LinAlgError):
        ag.linalg.solve(ag.tensor(np.zeros((3, 3)), requires_grad=True), b)


def test_what_has_no_gradient_keeps_no_factors():
    a = positive(4, "float64")
    assert ag.linalg.solve(ag.tensor(a), np.ones(4)).grad_fn is None
    with ag.no_grad():
        assert ag.linalg.solve(ag.tensor(a, requires_grad=True), np.ones(4)).grad_fn is None


def test_kept_factors_serve_twice_and_go_with_what_is_saved():
    a = ag.tensor(positive(4, "float64"), requires_grad=True)
    x = ag.linalg.solve(a, np.ones(4))
    (first,) = ag.autograd.grad(x.sum(), a, retain_graph=True)
    (second,) = ag.autograd.grad(x.sum(), a)
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    with pytest.raises(RuntimeError, match="second time"):
        ag.autograd.grad(x.sum(), a)


def test_factors_are_those_of_the_matrix_as_it_was():
    a = positive(4, "float64")
    t = ag.tensor(a.copy(), requires_grad=True)
    u = t * 1.0
    x = ag.linalg.solve(u, np.arange(4.0))
    u *= 2.0
    x.sum().backward()
    close(t.grad.numpy(), plain(solve_gradients, a, np.arange(4.0), np.ones(4), (True, False))[0], "float64")


def test_packed_values_are_used_instead_of_kept_factors():
    a, seen = positive(4, "float64"), []

    def gradient():
        t = ag.tensor(a, requires_grad=True)
        with ag.autograd.graph.saved_tensors_hooks(lambda v: v.numpy(), lambda v: (seen.append(1), ag.asarray(v))[1]):
            x = ag.linalg.solve(t, np.arange(4.0))
        x.sum().backward()
        return t.grad.numpy()

    close(gradient(), plain(gradient), "float64")
    assert seen


def test_values_and_gradients_of_one_call_agree_with_finite_differences_twice():
    a = ag.tensor(positive(4, "float64") + np.triu(np.ones((4, 4))), requires_grad=True)
    for b in (np.arange(4.0), np.arange(8.0).reshape(4, 2)):
        leaf = ag.tensor(b, requires_grad=True)
        assert gradcheck(ag.linalg.solve, (a, leaf))
        assert gradgradcheck(ag.linalg.solve, (a, leaf))
    s = ag.tensor(positive(3, "float64"), requires_grad=True)

    def factor(x):
        return ag.linalg.cholesky((x + x.T) / 2)

    assert gradcheck(factor, (s,))
    assert gradgradcheck(factor, (s,))
    assert gradcheck(lambda x: ag.sum(ag.log(ag.linalg.diagonal(factor(x)))), (s,))
