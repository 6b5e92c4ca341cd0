"""Where a derivative does not exist, or only for some results: what raises, what is nan, what ends the graph."""

import numpy as np
import pytest
from samples._case import cplx, real

import arraygrad as ag
import arraygrad.numpy as xp


def leaf(array):
    return ag.tensor(array, requires_grad=True)


def test_gradient_of_completing_columns_of_u_is_refused():
    u = xp.linalg.svd(leaf(real(4, 2))).U
    with pytest.raises(RuntimeError, match=r"svd: a gradient reaches the last 2 vectors of U.*full_matrices=False"):
        xp.sum(u**2 * 1.5).backward()


def test_gradient_of_completing_rows_of_vh_is_refused():
    vh = xp.linalg.svd(leaf(real(2, 5))).Vh
    with pytest.raises(RuntimeError, match=r"svd: a gradient reaches the last 3 vectors of Vh"):
        xp.sum(vh[3, :]).backward()


def test_gradient_of_completing_columns_of_q_is_refused():
    q = xp.linalg.qr(leaf(real(4, 2)), mode="complete").Q
    with pytest.raises(RuntimeError, match=r"qr: a gradient reaches the last 2 vectors of Q.*mode='reduced'"):
        xp.sum(q).backward()


@pytest.mark.parametrize(
    ("name", "vectors"),
    [
        ("svd", lambda x: xp.linalg.svd(x, full_matrices=False).U),
        ("eigh", lambda x: xp.linalg.eigh(x + xp.conj(x.T)).eigenvectors),
        ("eig", lambda x: xp.linalg.eig(x).eigenvectors),
    ],
)
def test_gradient_that_depends_on_a_phase_is_refused(name, vectors):
    loss = xp.sum(xp.real(vectors(leaf(cplx(3, 3))) * (1.0 + 2.0j)))
    with pytest.raises(RuntimeError, match=rf"{name}: the gradient depends on the phase of the vectors"):
        loss.backward()


def test_vectors_of_equal_eigenvalues_have_nan_gradients_and_values_finite_ones():
    x = leaf(np.eye(2))
    values, vectors = xp.linalg.eigh(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        (through_vectors,) = ag.autograd.grad(xp.sum(vectors[0, :]), [x], retain_graph=True)
    (through_values,) = ag.autograd.grad(xp.sum(values), [x])
    assert np.isnan(through_vectors.numpy()).any()
    np.testing.assert_allclose(through_values.numpy(), np.eye(2))


def test_cast_to_integer_ends_the_graph():
    assert not xp.astype(leaf(real(3)), xp.int64).requires_grad


def test_sorted_positions_and_counts_do_not_require_grad():
    counted = xp.unique_counts(leaf([2.0, 1.0, 2.0]))
    assert counted.values.requires_grad
    assert not counted.counts.requires_grad


def test_rounding_keeps_a_path_of_zero_gradients():
    x = leaf([0.4, 1.6])
    xp.sum(xp.round(x) * x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 2.0])


def test_poles_give_infinite_gradients():
    x = leaf([0.0])
    with np.errstate(divide="ignore"):
        xp.sqrt(x).backward(ag.asarray([1.0]))
    assert x.grad.numpy()[0] == np.inf


def test_branch_not_taken_gets_no_nan_from_an_infinite_gradient():
    x = leaf([1.0, 2.0])
    y = xp.where(xp.asarray([True, False]), x, 0.0)
    y.backward(ag.asarray([3.0, np.inf]))
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 0.0])
