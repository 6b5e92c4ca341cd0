"""logsumexp where an element is infinite, has no weight, or has an exponential that is.

The class: elements that are -inf, inf or beyond the largest exponential x weights that are zero or not x one row or
several, with the axis kept or not. What has no weight adds nothing; infinite elements share by their weights; where all
elements are -inf the derivative is zero.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import special

INF = np.inf
CASES = [
    # a, b, gradient in a
    ([0.0, INF], [1.0, 0.0], [1.0, 0.0]),
    ([0.0, 2000.0], [1.0, 0.0], [1.0, 0.0]),
    ([0.0, np.nan], [1.0, 0.0], [1.0, 0.0]),
    ([0.0, -INF], [1.0, 2.0], [1.0, 0.0]),
    ([INF, 0.0], [1.0, 1.0], [1.0, 0.0]),
    ([INF, INF], [1.0, 3.0], [0.25, 0.75]),
    ([INF, -5.0, 2.0], [1.0, 0.0, 5.0], [1.0, 0.0, 0.0]),
    ([-INF, -INF], [1.0, 2.0], [0.0, 0.0]),
    ([1.0, 1.0], [1.0, 3.0], [0.25, 0.75]),
    ([-2000.0, -2000.0], [1.0, 1.0], [0.5, 0.5]),
]


@pytest.mark.parametrize(("a", "b", "expected"), CASES)
def test_gradient_in_the_elements(a, b, expected):
    a, b = np.array(a), np.array(b)
    np.testing.assert_allclose(ag.grad(lambda a: special.logsumexp(a, b=b))(a), expected, rtol=1e-12)
    rows = np.stack([a, np.zeros_like(a)])
    found = ag.grad(lambda a: np.sum(special.logsumexp(a, axis=1, b=b, keepdims=True)))(rows)
    np.testing.assert_allclose(found, [expected, b / np.sum(b)], rtol=1e-12)
    if np.all(b == 1):
        np.testing.assert_allclose(ag.grad(special.logsumexp)(a), expected, rtol=1e-12)


def test_gradient_in_a_weight_that_is_zero():
    a = np.array([0.0, 1.0])
    found = ag.grad(lambda b: special.logsumexp(a, b=b))(np.array([2.0, 0.0]))
    np.testing.assert_allclose(found, np.exp(a) / 2.0, rtol=1e-12)
    beyond = ag.grad(lambda b: special.logsumexp(np.array([0.0, 2000.0]), b=b))(np.array([2.0, 0.0]))
    assert beyond[0] == 0.5
    assert beyond[1] > 1e300


def test_hessian_beside_an_element_without_weight():
    a, b = np.array([0.0, INF, 0.0]), np.array([1.0, 0.0, 1.0])
    found = ag.hessian(lambda a: special.logsumexp(a, b=b))(a)
    np.testing.assert_allclose(found, [[0.25, 0.0, -0.25], [0.0, 0.0, 0.0], [-0.25, 0.0, 0.25]], atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_dtype_stays(dtype):
    a = ag.tensor(np.array([[0.5, 1.0, 0.2]], dtype), requires_grad=True)
    found, sign = special.logsumexp(a, axis=1, b=np.array([[1.0, -0.5, 0.3]], np.float32), return_sign=True)
    np.sum(ag.real(found) + ag.real(sign)).backward()
    assert a.grad.dtype == dtype
    assert np.all(np.isfinite(a.grad.numpy()))
