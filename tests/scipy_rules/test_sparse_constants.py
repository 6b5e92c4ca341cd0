"""Sparse matrices of constants are SciPy's own in every respect but that a product with a Tensor is recorded.

May import: arraygrad, numpy, pytest, SciPy.
"""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import arraygrad as ag
from arraygrad.scipy import sparse

DENSE = np.array([[2.0, 0.0, 1.0], [0.0, -3.0, 0.0], [0.5, 0.0, 4.0]])
B = np.array([1.0, 2.0, 3.0])
KINDS = [f"{f}_{kind}" for f in ("csr", "csc", "coo", "dia", "bsr") for kind in ("array", "matrix")]


def dense(a):
    return np.asarray(a.todense()) if scipy.sparse.issparse(a) else np.asarray(a)


@pytest.mark.parametrize("name", KINDS)
def test_operators_of_constants_are_scipys(name):
    ours, theirs = getattr(sparse, name)(DENSE), getattr(scipy.sparse, name)(DENSE)
    assert isinstance(ours, getattr(sparse, name))
    assert isinstance(ours, getattr(scipy.sparse, name))
    for operation in (
        lambda a: abs(a), lambda a: a**2, lambda a: a != 0, lambda a: a < -1.0, lambda a: a > 1.0, lambda a: a + a,
        lambda a: theirs + a, lambda a: a - theirs, lambda a: 2.0 * a, lambda a: a / 2.0, lambda a: -a, lambda a: a.T,
        lambda a: a @ a, lambda a: a @ B, lambda a: B @ a, lambda a: a * 2.0, lambda a: a.multiply(DENSE),
        lambda a: a.tocsr()[0, 2], lambda a: a.tocsr()[:2], lambda a: a.sum(axis=0), lambda a: a.maximum(a.T),
        lambda a: np.sqrt(abs(a)), lambda a: DENSE @ a, lambda a: DENSE + a, lambda a: a + DENSE,
    ):  # fmt: skip
        np.testing.assert_array_equal(dense(operation(ours)), dense(operation(theirs)))


def test_rows_are_iterated_and_copies_made():
    a = sparse.csr_array(DENSE)
    assert len(list(a)) == 3
    for made in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.copy(), a.tocsc(), a.T):
        assert isinstance(made, (sparse.csr_array, sparse.csc_array))


def test_graph_algorithms_take_them():
    count, labels = scipy.sparse.csgraph.connected_components(sparse.csr_array(DENSE))
    assert count == 2
    np.testing.assert_array_equal(labels, [0, 1, 0])


def test_what_is_made_of_a_constant_takes_a_tensor():
    a = sparse.csr_array(DENSE)
    for made in (a, a.T, a.tocsc(), a[:2], sparse.vstack([a, a]), sparse.hstack([a, a]), 2.0 * a, a.tocoo(),
                 sparse.block_array([[a, None], [None, a]]), sparse.diags_array([1.0, 2.0, 3.0]), sparse.eye_array(3),
                 sparse.kron(a, np.eye(2)), abs(a), a + a):  # fmt: skip
        x = np.arange(1.0, made.shape[1] + 1.0)
        found = ag.jacobian(lambda x: made @ x)(x)  # noqa: B023
        np.testing.assert_allclose(found, dense(made))
        y = np.arange(1.0, made.shape[0] + 1.0)
        np.testing.assert_allclose(ag.jacobian(lambda y: y @ made)(y), dense(made).T)  # noqa: B023


@pytest.mark.parametrize("name", KINDS)
def test_a_tensor_of_values_makes_a_matrix_that_meets_constants(name):
    kind, constant = getattr(sparse, name), getattr(sparse, name)(DENSE)

    def f(x):
        a = kind(x)
        return ((a + constant) @ B).sum() + ((constant + a) @ B).sum() + ((constant - a) @ B).sum()

    np.testing.assert_allclose(ag.grad(f)(DENSE), (DENSE != 0) * B)


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, t: a[0, 0], lambda a, t: a[:2], lambda a, t: abs(a), lambda a, t: a**2, lambda a, t: list(a),
        lambda a, t: sparse.vstack([a, a]), lambda a, t: sparse.block_array([[a]]),
        lambda a, t: sparse.kron(np.eye(2), t), lambda a, t: sparse.csr_array(DENSE).multiply(t),
        lambda a, t: sparse.csr_array(DENSE) + t, lambda a, t: sparse.csr_array(DENSE) - t,
        lambda a, t: t + sparse.csr_array(DENSE), lambda a, t: sparse.csr_array(DENSE).maximum(t),
        lambda a, t: a.multiply(t), lambda a, t: a.multiply(DENSE),
    ],
)  # fmt: skip
def test_where_a_gradient_would_be_lost_it_is_refused(operation):
    t = ag.tensor(DENSE, requires_grad=True)
    with pytest.raises(TypeError, match=r"grad|sparse matrices"):
        operation(sparse.csr_array(t), t)


def test_comparisons_compare_values():
    a = sparse.csr_array(ag.tensor(DENSE, requires_grad=True))
    np.testing.assert_array_equal((a != 0).toarray(), DENSE != 0)
    np.testing.assert_array_equal((a > 1.0).toarray(), DENSE > 1.0)
    assert (a != sparse.csr_array(DENSE)).nnz == 0


def test_spsolve_of_constants_is_scipys_and_of_values_alone_recorded():
    a = sparse.csc_array(DENSE)
    np.testing.assert_array_equal(
        sparse.linalg.spsolve(a, B), scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(DENSE), B)
    )
    found = ag.jacobian(lambda x: sparse.linalg.spsolve(sparse.csc_array(x), B))(DENSE)
    inverse = np.linalg.inv(DENSE)
    np.testing.assert_allclose(found, -np.einsum("ij,k->ijk", inverse, inverse @ B) * (DENSE != 0), atol=1e-14)
