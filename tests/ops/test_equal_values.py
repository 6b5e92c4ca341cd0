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
import arraygrad.scipy.linalg as scipy_linalg

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


# -- zeros in the gradient of a vector, of a product with values that are zero ----------------------------------------


def by_eigh(module):
    def again(x):
        v = module.eigh(x)[1]
        return (v * module.eigvalsh(x)) @ np.conj(v).T

    return again


def by_eig(module):
    def again(x):
        v = module.eig(x)[1]
        return np.real((v * module.eigvals(x)) @ np.linalg.inv(v))

    return again


def by_svd(module):
    def again(x):
        u, _, vh = module.svd(x, full_matrices=False)
        return (u * np.linalg.svdvals(x)) @ vh

    return again


def once(name):
    def again(x):
        found = getattr(np.linalg, name)(x)
        if name == "svd":
            return (found[0] * found[1]) @ found[2]
        return np.real((found[1] * found[0]) @ np.linalg.inv(found[1]))

    return again


# The function gives its argument again: the gradient of sum(W f(x)) is W, as that of the elements which are read.
AGAIN = {
    "eigh and eigvalsh": (by_eigh(np.linalg), True), "scipy's eigh and eigvalsh": (by_eigh(scipy_linalg), True),
    "eig and eigvals": (by_eig(np.linalg), False), "svd and svdvals": (by_svd(np.linalg), False),
    "eigh": (once("eigh"), True), "eig": (once("eig"), False), "svd": (once("svd"), False),
}  # fmt: skip
ZEROS = {"all": [0.0, 0.0], "a pair": [0.0, 0.0, 2.0], "between": [-1.0, 0.0, 0.0, 1.0], "two pairs": [0, 0, 2, 2.0]}
WEIGHTS = {"general": lambda w: w, "off the diagonal": lambda w: w - np.diag(np.diag(w)),
           "two elements": lambda w: np.eye(len(w))[[1, 0, *range(2, len(w))]]}  # fmt: skip


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("values", ZEROS)
@pytest.mark.parametrize("name", AGAIN)
def test_the_part_within_a_group_of_zeros_is_not_lost(name, values, weights):
    again, hermitian = AGAIN[name]
    w = WEIGHTS[weights](np.random.default_rng(0).normal(size=(len(ZEROS[values]),) * 2))
    x = ag.tensor(np.diag(np.array(ZEROS[values], dtype=float)), requires_grad=True)
    expected = np.tril(w) + np.tril(w.T, -1) if hermitian else w
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        first = ag.autograd.grad([np.sum(again(x) * w)], [x], create_graph=True)[0]
        known = ~np.isnan(first.numpy())
        np.testing.assert_allclose(first.numpy()[known], expected[known], atol=1e-12)
        assert np.isnan(first.numpy()[1, 0]) or known.all()
        second = ag.autograd.grad([np.sum(first * (w + 1.0))], [x], allow_unused=True)[0]
    second = np.zeros(w.shape) if second is None else second.numpy()
    np.testing.assert_allclose(second[~np.isnan(second)], 0.0, atol=1e-12)


def test_a_vector_without_its_value_has_no_number_at_zeros():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ag.grad(lambda x: top_of_eigh(x)[0] * top_of_eigh(x)[2])(np.diag([0.0, 0.0, 3.0]))
    assert np.isnan(found[1, 0])


@pytest.mark.parametrize("name", ["eigvalsh", "eigh", "svdvals", "svd"])
def test_values_alone_have_second_derivatives_where_others_are_zero(name):
    """Of the largest of diag(0, 0, 2) along E_20 + E_02 it is 2 / 2; a singular value's along E_20 is 1 / 2."""

    def largest(x):
        found = getattr(np.linalg, name)(x)
        found = found if name in ("eigvalsh", "svdvals") else found[0] if name == "eigh" else found[1]
        return found[-1] if name.startswith("eig") else found[0]

    found = ag.hessian(largest)(np.diag([0.0, 0.0, 2.0]))
    expected = np.zeros((3, 3, 3, 3))
    for k in (0, 1):
        if name.startswith("eig"):
            expected[2, k, 2, k] = 1.0
        else:
            expected[2, k, 2, k] = expected[k, 2, k, 2] = 0.5
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_matrix_of_a_stack_does_not_depend_on_the_others():
    """Values of one matrix are close, of the other apart, and those of a third equal to the last bit."""
    stack = np.stack([np.diag([1.0, 1.0 + 1e-13, 3.0]), np.diag([1.0, 2.0, 4.0]), np.diag([1.0, 1.0, 4.0])])

    def of_eigh(x):
        v = np.linalg.eigh(x)[1]
        return np.sum(v[..., 0, -1] * v[..., 2, -1])

    def of_svd(x):
        u, s, vh = np.linalg.svd(x)
        return np.sum(s[..., 0] + u[..., 0, 0] * vh[..., 0, 1])

    for f in (of_eigh, of_svd):
        found = ag.hessian(f)(stack)
        for i, one in enumerate(stack):
            assert np.all(np.isfinite(found[i, :, :, i]))
            np.testing.assert_allclose(found[i, :, :, i], ag.hessian(f)(one), atol=1e-9)
