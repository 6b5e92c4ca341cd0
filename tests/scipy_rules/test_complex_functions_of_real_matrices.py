"""Roots and logarithms of real matrices with negative eigenvalues: complex results on the branch cut."""

import numpy as np
import pytest

import arraygrad as ag

linalg = pytest.importorskip("scipy.linalg")

from arraygrad.scipy import linalg as ours
from arraygrad.scipy.linalg._functions import _check_blocks

RNG = np.random.default_rng(12)
BASIS = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
ORTHOGONAL = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
MATRICES = {
    "symmetric": ORTHOGONAL @ np.diag([-3.0, -0.7, 1.6]) @ ORTHOGONAL.T,
    "negative": ORTHOGONAL @ np.diag([-3.0, -1.1, -0.4]) @ ORTHOGONAL.T,
    "general": BASIS @ np.diag([-2.0, 0.5, 1.5]) @ np.linalg.inv(BASIS),
    "positive": BASIS @ np.diag([2.0, 0.5, 1.5]) @ np.linalg.inv(BASIS),
    "pair": np.array([[0.5, 2.0, 0.1], [-2.0, 0.5, 0.3], [0.0, 0.2, -1.5]]),
    "complex": BASIS @ np.diag([2.0 + 1j, -0.5 + 0.3j, 1.5 - 1j]) @ np.linalg.inv(BASIS),
}
FUNCTIONS = {
    "sqrtm": lambda module, a: module.sqrtm(a),
    "logm": lambda module, a: module.logm(a),
    "fractional_matrix_power": lambda module, a: module.fractional_matrix_power(a, 0.3),
    "expm": lambda module, a: module.expm(a),
}
WEIGHTS = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))


def slope(f, a, direction, step=1e-6):
    return (f(a + step * direction) - f(a - step * direction)) / (2 * step)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_differences(name, matrix):
    a = MATRICES[matrix]

    def loss(a, module=ours):
        return np.real(np.sum(np.conj(WEIGHTS) * FUNCTIONS[name](module, a)))

    found = ag.grad(loss)(a)
    assert found.dtype == a.dtype
    for _ in range(3):
        direction = RNG.normal(size=a.shape)
        if a.dtype.kind == "c":
            direction = direction + 1j * RNG.normal(size=a.shape)
        expected = slope(lambda a: loss(a, linalg), a, direction)
        np.testing.assert_allclose(np.sum(np.real(np.conj(found) * direction)), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore:Matrix is ill-conditioned")  # SciPy, of the blocks of blocks
@pytest.mark.parametrize("matrix", ["symmetric", "general"])
@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_second_derivatives_agree_with_differences(name, matrix):
    a = MATRICES[matrix]

    def loss(a):
        return np.real(np.sum(np.conj(WEIGHTS) * FUNCTIONS[name](ours, a)))

    direction = RNG.normal(size=a.shape)
    expected = slope(ag.grad(loss), a, direction)
    try:
        found = ag.hvp(loss)(a, direction)
    except RuntimeWarning as warning:
        if "inaccurate" not in str(warning):
            raise
        pytest.skip("SciPy says that its logarithm of the blocks is inaccurate on this processor")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_eigenvalues_on_both_sides_of_the_cut_are_refused():
    root = linalg.sqrtm(MATRICES["negative"]).T
    blocks = np.block([[root, np.ones((3, 3))], [np.zeros((3, 3)), root]])
    _check_blocks("logm", blocks, root.T)
    blocks[3:, 3:] = root.conj()
    with pytest.raises(np.linalg.LinAlgError, match=r"linalg\.logm: the derivative can't be computed"):
        _check_blocks("logm", blocks, root.T)
