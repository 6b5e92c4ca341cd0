"""Factorisations of matrices of which some eigenvalues or singular values are equal: exactly, up to rounding, or zero.

The class: eigh, eigvalsh, eig, eigvals, svd, svdvals x other values equal exactly, up to rounding, apart x first and
second order x functions of vectors that stand alone (right), of vectors that do not (nan, never another number) x
stacks. The generated form is tests/fuzz/spellings/equal_values.py. Expected numbers are those of formulas: the top
eigenvector of q q^T is q / |q|, its eigenvalue |q|^2.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

Q = np.array([1.0, 2.0, 3.0])
TOP = int(np.argmax(np.abs(np.linalg.eigvals(np.outer(Q, Q)))))


def share(q):
    """The square of the first element of q / |q|."""
    return q[0] ** 2 / np.sum(q * q)


def of_eig(q):
    one = np.linalg.eig(np.outer(q, q))[1][0, TOP]
    return np.real(one * np.conj(one))


OF_AN_OUTER_PRODUCT = {
    "eigh": (lambda q: np.linalg.eigh(np.outer(q, q))[1][0, -1] ** 2, share),
    "eigh of the upper triangle": (lambda q: np.linalg.eigh(np.outer(q, q), "U")[1][0, -1] ** 2, share),
    "svd, left": (lambda q: np.linalg.svd(np.outer(q, q))[0][0, 0] ** 2, share),
    "svd, right": (lambda q: np.linalg.svd(np.outer(q, q))[2][0, 0] ** 2, share),
    "svd of more rows": (lambda q: np.linalg.svd(np.outer([1.0, 2.0, 1.0, 3.0], q), False)[2][0, 0] ** 2, share),
    "eig": (of_eig, share),
    "eigvalsh": (lambda q: np.linalg.eigvalsh(np.outer(q, q))[-1], lambda q: np.sum(q * q)),
    "eigvalsh squared": (lambda q: np.linalg.eigvalsh(np.outer(q, q))[-1] ** 2, lambda q: np.sum(q * q) ** 2),
    "svdvals": (lambda q: np.linalg.svdvals(np.outer(q, q))[0], lambda q: np.sum(q * q)),
    "eigvals": (lambda q: np.real(np.linalg.eigvals(np.outer(q, q))[TOP]), lambda q: np.sum(q * q)),
}


@pytest.mark.parametrize("name", OF_AN_OUTER_PRODUCT)
def test_a_simple_vector_has_its_second_derivative_where_others_are_equal(name):
    f, formula = OF_AN_OUTER_PRODUCT[name]
    found = ag.hessian(f)(Q)
    np.testing.assert_allclose(found, ag.hessian(formula)(Q), rtol=0.0, atol=1e-7 * np.max(np.abs(found)))
    np.testing.assert_allclose(found, np.transpose(found), rtol=0.0, atol=1e-7 * np.max(np.abs(found)))


def test_of_a_stack_every_matrix_has_its_own():
    other = np.array([0.5, -1.0, 2.0])

    def f(q):
        whole = np.stack([np.outer(q, q), np.outer(q, q) + np.diag([0.0, 1.0, 5.0]), np.outer(other, q * q)])
        whole = whole + np.matrix_transpose(whole)
        return np.sum(np.linalg.eigh(whole)[1][:, 0, -1] ** 2 * np.array([1.0, 2.0, 3.0]))

    found = ag.hessian(f)(Q)
    step = 1e-4
    expected = [(ag.grad(f)(Q + step * e) - ag.grad(f)(Q - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-5)


def top_of_eigh(x):
    return np.linalg.eigh(x)[1][:, -1]


def test_values_equal_to_the_last_bit():
    """d v v^T along E is the sum of its other projections over the gap."""
    x = np.diag([1.0, 1.0, 3.0])
    found = ag.grad(lambda x: np.outer(top_of_eigh(x), top_of_eigh(x))[0, 2])(x)
    np.testing.assert_allclose(found, [[0, 0, 0], [0, 0, 0], [0.5, 0, 0]], atol=1e-14)
    second = ag.hessian(lambda x: top_of_eigh(x)[0] ** 2)(x)  # ((x + x^T)_02 / 2 / 2)^2
    expected = np.zeros((3, 3, 3, 3))
    expected[2, 0, 2, 0] = 2 * 0.25
    np.testing.assert_allclose(second, expected, atol=1e-12)


def both(f):
    def apart(x):
        w, v = np.linalg.eigh(x)
        return f(w, v)

    return apart


def svd_again(x):
    u, s, vh = np.linalg.svd(x)
    return (u * s) @ vh


NOT_KNOWN = {
    "the matrix again": lambda x: np.sum(
        both(lambda w, v: (v * w) @ np.transpose(v))(x) * np.arange(9.0).reshape(3, 3)
    ),
    "one element of it": lambda x: both(lambda w, v: (v * w) @ np.transpose(v))(x)[1, 0],
    "a vector that has a partner": lambda x: np.linalg.eigh(x)[1][0, 0] ** 2 + np.linalg.eigh(x)[1][0, 2],
    "svd again": lambda x: svd_again(x)[1, 0],
}
EQUAL = {"exactly": np.diag([1.0, 1.0, 3.0]), "zeros": np.diag([0.0, 0.0, 2.0]), "all": np.eye(3)}


@pytest.mark.parametrize("which", EQUAL)
@pytest.mark.parametrize("name", NOT_KNOWN)
def test_vectors_of_equal_values_give_nan_and_no_other_number(name, which):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ag.grad(NOT_KNOWN[name])(EQUAL[which])
    assert np.isnan(found[1, 0])


def test_equal_up_to_rounding_is_equal():
    q = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.3, 1.0, 1.0], [0.7, 0.1, 2.0]]))[0]
    x = (q * [1.0, 1.0, 3.0]) @ q.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ag.grad(lambda x: both(lambda w, v: (v * w) @ np.transpose(v))(x)[1, 0])(x)
        second = ag.hessian(lambda x: np.sum(np.linalg.eigvalsh(x) ** 3))(x)
    assert np.all(np.isnan(found[np.tril_indices(3)]))
    assert np.any(np.isnan(second))


def test_a_derivative_through_zeros_is_not_dropped():
    """The squares of the other vectors' last elements: their gradient is zero here, its derivative is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        second = ag.hessian(lambda x: np.sum(np.linalg.eigh(x)[1][2, :2] ** 2))(np.diag([1.0, 1.0 + 1e-16, 3.0]))
        squares = ag.hessian(lambda x: np.sum(np.linalg.eigvalsh(x) ** 2))(np.diag([0.0, 0.0, 2.0]))
    assert not np.isfinite(second[2, 0, 2, 0])
    assert np.isnan(squares[1, 0, 1, 0])
