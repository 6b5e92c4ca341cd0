"""Factors of a sparse matrix that serve many solutions: every side, dtype and right side; the factors are made once."""

import importlib

import numpy as np
import pytest

sp = pytest.importorskip("scipy.sparse", reason="SciPy, which is optional, is not installed")
theirs = importlib.import_module("scipy.sparse.linalg")

from scipy_differences import check

import arraygrad as ag
from arraygrad.scipy import sparse
from arraygrad.scipy.sparse import linalg as ours

ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 3, 3, 1]), np.array([0, 2, 1, 2, 0, 3, 1, 3])
VALUES = np.array([3.0, 0.4, 2.5, 4.0, -0.7, 3.5, 0.6, 0.3])
B = np.array([0.5, 1.5, -0.3, 0.8])
SEVERAL = np.stack([B, B[::-1], 2.0 * B], axis=1)


def rooms(v):
    return (sparse, ours) if isinstance(v, ag.Tensor) else (sp, theirs)


def matrix(v, kind="csc_array"):
    return getattr(rooms(v)[0], kind)((v, (ROWS, COLUMNS)), shape=(4, 4))


@pytest.mark.parametrize("trans", ["N", "T", "H"])
@pytest.mark.parametrize("phase", [1.0, 1.0 + 0.3j], ids=["real", "complex"])
@pytest.mark.parametrize("right", [B, SEVERAL], ids=["vector", "columns"])
def test_sides(trans, phase, right):
    def solved(v, b):
        return rooms(v)[1].splu(matrix(v)).solve(b, trans)

    check(solved, solved, [VALUES * phase, right * phase], rtol=1e-7)


def test_a_real_matrix_with_a_complex_right_side_is_scipys_error():
    v = ag.tensor(VALUES, requires_grad=True)
    with pytest.raises((TypeError, ValueError)) as ours_error:
        ours.splu(matrix(v)).solve(B * 1j)
    with pytest.raises((TypeError, ValueError)) as their_error:
        theirs.splu(matrix(VALUES)).solve(B * 1j)
    assert type(ours_error.value) is type(their_error.value)


def test_a_loop_of_time_steps_factorizes_once(monkeypatch):
    made = []
    real = theirs.splu
    monkeypatch.setattr(ours._linalg, "splu", lambda *args, **kwargs: made.append(1) or real(*args, **kwargs))
    refuse = lambda *args, **kwargs: pytest.fail("a solution without the factors")
    monkeypatch.setattr(ours._linalg, "spsolve", refuse)

    def loop(v, u):
        step = ours.splu(sparse.identity(4, format="csc") + 0.1 * matrix(v, "csc_matrix")).solve
        for _ in range(20):
            u = step(u)
        return ag.sum(u * u)

    value, (of_v, of_u) = ag.value_and_grad(loop, argnums=(0, 1))(VALUES, B)
    assert len(made) == 1
    ag.grad(lambda v: ag.sum(ag.grad(loop)(v, B)[0] ** 2))(VALUES)
    assert len(made) == 2  # a new matrix, and no more for the second derivative

    def dense(v, u):
        full = np.eye(4)
        full = full + 0.1 * matrix(v).toarray()
        for _ in range(20):
            u = np.linalg.solve(full, u)
        return (u * u).sum()

    np.testing.assert_allclose(value, dense(VALUES, B), rtol=1e-12)
    h = 1e-6
    steps = [(dense(VALUES + h * e, B) - dense(VALUES - h * e, B)) / (2 * h) for e in np.eye(VALUES.size)]
    np.testing.assert_allclose(of_v, steps, rtol=1e-6, atol=1e-9)
    steps = [(dense(VALUES, B + h * e) - dense(VALUES, B - h * e)) / (2 * h) for e in np.eye(B.size)]
    np.testing.assert_allclose(of_u, steps, rtol=1e-6, atol=1e-9)


def test_what_is_written_afterwards_changes_no_gradient():
    v, b = ag.tensor(VALUES, requires_grad=True), ag.tensor(B, requires_grad=True)
    a, u = matrix(v) + sp.csc_array((4, 4)), b * 1.0
    solve = ours.factorized(a)
    x = solve(u)
    kept = x * x
    a.data[...] = 0.0
    u[...] = 7.0
    x[...] = 0.0
    kept.sum().backward()
    full = sp.csc_array((VALUES, (ROWS, COLUMNS)), shape=(4, 4)).toarray()
    plain = np.linalg.solve(full, B)
    w = np.linalg.solve(full.T, 2.0 * plain)
    np.testing.assert_allclose(b.grad.numpy(), w, rtol=1e-12)
    np.testing.assert_allclose(v.grad.numpy(), -w[ROWS] * plain[COLUMNS], rtol=1e-12)


@pytest.mark.parametrize("which", ["values", "right side", "neither"])
def test_constant_parts(which):
    v = ag.tensor(VALUES, requires_grad=which == "values")
    b = ag.tensor(B, requires_grad=which == "right side")
    x = ours.splu(matrix(v) if which == "values" else matrix(VALUES)).solve(b)
    np.testing.assert_allclose(np.asarray(x.detach()), theirs.splu(matrix(VALUES)).solve(B), rtol=1e-15)
    assert x.requires_grad == (which != "neither")
    with ag.no_grad():
        assert not ours.splu(matrix(v)).solve(b).requires_grad


def test_single_precision():
    v = ag.tensor(VALUES.astype(np.float32), requires_grad=True)
    x = ours.splu(matrix(v)).solve(B.astype(np.float32))
    assert x.dtype == np.float32
    x.sum().backward()
    assert v.grad.dtype == np.float32


def test_integers_of_the_factors_are_handed_out_and_numbers_refused():
    factors, plain = ours.splu(matrix(ag.tensor(VALUES, requires_grad=True))), theirs.splu(matrix(VALUES))
    assert factors.shape == plain.shape
    assert factors.nnz == plain.nnz
    np.testing.assert_array_equal(factors.perm_r, plain.perm_r)
    for name in ("L", "U"):
        with pytest.raises(TypeError, match="slogdet"):
            getattr(factors, name)
    # The way out that the error names.
    found = ag.grad(lambda v: np.linalg.slogdet(matrix(v).toarray())[1])(VALUES)
    inverse = np.linalg.inv(matrix(VALUES).toarray())
    np.testing.assert_allclose(found, inverse.T[ROWS, COLUMNS], rtol=1e-10)
