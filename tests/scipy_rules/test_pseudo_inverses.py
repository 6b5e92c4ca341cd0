"""Pseudo-inverses and least squares that leave out singular values: their rule holds for zeros alone."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import linalg

M = np.array([[1.0, 0.2, 0.3], [0.2, 0.9, 0.4], [1.2, 1.1, 0.75]])  # singular values 2.2, 0.75, 0.026

CUTS = {
    "pinv, rtol": lambda m: linalg.pinv(m, rtol=0.1),
    "pinv, atol": lambda m: linalg.pinv(m, atol=0.2),
    "pinvh": lambda m: linalg.pinvh(m + m.T, atol=0.4),
    "lstsq": lambda m: linalg.lstsq(m, np.eye(3), cond=0.1)[0],
}


@pytest.mark.parametrize("f", CUTS.values(), ids=CUTS)
def test_what_leaves_out_more_than_rounding_errors_refuses_its_gradient(f):
    with pytest.raises(RuntimeError, match="leaves out singular values that are not zero"):
        ag.grad(lambda m: np.sum(f(m)))(M)


@pytest.mark.parametrize("options", [{"atol": 1e-9}, {"atol": 1e-9, "rtol": 1e-9}, {"rtol": 1e-9}])
def test_what_leaves_out_rounding_errors_has_the_gradient_without_a_limit(options):
    a = M[:, :2]

    def total(a, **options):
        return np.sum(linalg.pinv(a @ a.T, **options) * np.arange(9.0).reshape(3, 3))

    np.testing.assert_allclose(ag.grad(lambda a: total(a, **options))(a), ag.grad(total)(a), rtol=1e-6)
