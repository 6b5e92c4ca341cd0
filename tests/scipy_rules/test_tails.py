"""The integrals behind derivatives in shape parameters, held to mpmath's functions at forty digits."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")

import arraygrad as ag
from arraygrad.scipy._incomplete import beta_tail, gamma_tail


def slopes(f, a):
    """First and second derivative at a, by differences at forty digits."""
    with mpmath.workdps(40):
        a = mpmath.mpf(a)
        h = a * mpmath.mpf(10) ** -10
        low, middle, high = f(a - h), f(a), f(a + h)
        return float((high - low) / (2 * h)), float((high - 2 * middle + low) / h**2)


@pytest.mark.parametrize("share", [1e-3, 0.3, 0.9, 1.0, 1.3, 3.0])
@pytest.mark.parametrize("a", [0.001, 0.05, 1.0, 3.0, 150.0, 3000.0])
def test_log_of_a_gamma_tail_has_right_derivatives_in_the_shape(a, share):
    x = a * share
    lower = bool(gamma_tail(a, x)[0])

    def reference(a):
        ends = (0, mpmath.mpf(x)) if lower else (mpmath.mpf(x), mpmath.inf)
        return mpmath.log(mpmath.gammainc(a, *ends, regularized=True))

    first, second = slopes(reference, a)
    found = ag.grad(lambda a: gamma_tail(a, x)[1])
    np.testing.assert_allclose(found(a), first, rtol=1e-9)
    np.testing.assert_allclose(ag.grad(found)(a), second, rtol=1e-7)


@pytest.mark.parametrize("x", [1e-3, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("b", [0.02, 1.2, 40.0])
@pytest.mark.parametrize("a", [0.01, 2.5, 30.0])
def test_log_of_a_beta_tail_has_right_derivatives_in_the_first_shape(a, b, x):
    lower = bool(beta_tail(a, b, x)[0])

    def reference(a):
        p = mpmath.mpf(x)
        pair = (a, b, 0, p) if lower else (b, a, 0, 1 - p)
        return mpmath.log(mpmath.betainc(*pair, regularized=True))

    first, second = slopes(reference, a)
    found = ag.grad(lambda a: beta_tail(a, b, x)[1])
    np.testing.assert_allclose(found(a), first, rtol=1e-8)
    np.testing.assert_allclose(ag.grad(found)(a), second, rtol=1e-6)
