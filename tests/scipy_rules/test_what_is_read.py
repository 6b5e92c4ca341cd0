"""Elements of a matrix that SciPy does not read have no gradient, and those that it copies have one."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import linalg

import arraygrad as ag
from arraygrad.scipy import NotDifferentiable

A = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
C = np.array([[1.0, 0.4, -0.3], [0.2, -0.7, 0.5], [0.9, 0.6, 0.8]])
ASSUMED = ("sym", "pos", "her", "gen", "upper triangular", "lower triangular", "diagonal", None)


@pytest.mark.parametrize("assume_a", ASSUMED)
@pytest.mark.parametrize("lower", [False, True])
def test_inv_has_the_gradient_of_the_elements_that_it_reads(assume_a, lower):
    holds(lambda a: np.sum(C * linalg.inv(a, assume_a=assume_a, lower=lower)), A)


@pytest.mark.parametrize("assume_a", ["sym", "her", "pos"])
def test_inv_of_a_complex_matrix(assume_a):
    def f(s):
        a = A + 1j * s
        return np.sum(C * (linalg.inv(a, assume_a=assume_a).real + 2.0 * linalg.inv(a, assume_a=assume_a).imag))

    at = np.array([[0.0, 0.2, -0.1], [0.4, 0.0, 0.3], [0.5, 0.1, 0.0]])
    holds(f, at)
    holds(lambda s: np.sum(C * linalg.solve(A + 1j * s, C, assume_a=assume_a).imag), at)


@pytest.mark.parametrize("lower", [False, True])
def test_the_corner_that_cholesky_banded_copies(lower):
    ab = np.array([[0.5, 0.7, 0.2, 0.1], [0.6, 0.3, 0.2, 0.25], [2.0, 2.0, 2.0, 2.0]])
    weights = np.cos(np.arange(12.0)).reshape(3, 4)
    holds(lambda ab: np.sum(weights * linalg.cholesky_banded(ab, lower=lower)), ab[::-1] if lower else ab)


DEFICIENT = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]])
RANKS = {
    "economic": lambda a: linalg.qr(a, mode="economic")[1],
    "r": lambda a: linalg.qr(a, mode="r")[0],
    "pivoting": lambda a: linalg.qr(a, pivoting=True)[1],
    "wide": lambda a: linalg.qr(a[:2])[1],
    "zero column": lambda a: linalg.qr(a * np.array([1.0, 1.0, 0.0]))[1],
}


@pytest.mark.parametrize("f", RANKS.values(), ids=RANKS)
def test_qr_of_a_matrix_without_full_rank_refuses_its_gradient(f):
    with pytest.raises(np.linalg.LinAlgError, match="expected a matrix of full rank"):
        ag.grad(lambda a: np.sum(np.abs(f(a))), adopt=True)(DEFICIENT)


def test_qr_raw_is_refused_where_a_gradient_is_wanted():
    with pytest.raises(NotDifferentiable, match="got 'raw', whose vectors and tau have no rule"):
        ag.grad(lambda a: linalg.qr(a, mode="raw")[0][0][0, 0] + a[0, 0], adopt=True)(A)
    (vectors, _), _ = ag.scipy.linalg.qr(ag.asarray(A), mode="raw")
    np.testing.assert_array_equal(vectors, linalg.qr(A, mode="raw")[0][0])
