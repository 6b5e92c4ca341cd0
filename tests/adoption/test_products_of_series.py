"""Stands for the class: series of numpy.polynomial times constants, and divided by series.

Every basis x constants with zeros in them x classes and functions. NumPy's recursions multiply by each coefficient of
the constant, and cut off the zeros that those that are zero give: nothing of a gradient is in them.
References: NumPy's plain call, and central differences of it.
Imports of arraygrad: the public face only.
"""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

import arraygrad as ag

CLASSES = (Polynomial, Chebyshev, Legendre, Laguerre, Hermite, HermiteE)
MULTIPLY = {
    "poly": np.polynomial.polynomial.polymul,
    "cheb": np.polynomial.chebyshev.chebmul,
    "leg": np.polynomial.legendre.legmul,
    "lag": np.polynomial.laguerre.lagmul,
    "herm": np.polynomial.hermite.hermmul,
    "herme": np.polynomial.hermite_e.hermemul,
}
CONSTANTS = ([0.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.5], [0.0, 3.0], [1.0, -2.0, 0.5, 0.0])
X = np.array([0.7, -1.2, 0.4, 2.1, -0.3, 1.6])


def differences(f, x, step=1e-5):
    return np.array([(f(x + d) - f(x - d)) / (2 * step) for d in step * np.eye(x.size)])


def agree(f):
    assert ag.value_and_grad(f)(X)[0] == pytest.approx(f(X), rel=1e-10)
    np.testing.assert_allclose(ag.grad(f)(X), differences(f, X), rtol=1e-6, atol=1e-7)


def weighted(series):
    coefficients = getattr(series, "coef", series)
    return np.sum(coefficients * np.cos(np.arange(len(coefficients))))


@pytest.mark.parametrize("basis", MULTIPLY)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_product_with_a_constant_series(basis, constant):
    agree(lambda x: weighted(MULTIPLY[basis](x, constant)))
    agree(lambda x: weighted(MULTIPLY[basis](constant, x[:3])))


@pytest.mark.parametrize("basis", MULTIPLY)
def test_a_product_with_zero_is_a_constant(basis):
    agree(lambda x: np.sum(MULTIPLY[basis](x, [0.0, 0.0])) + np.sum(x))


@pytest.mark.parametrize("of", CLASSES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_quotient_and_a_remainder(of, n):
    agree(lambda x: weighted(of(x) // of(x[:n])))
    agree(lambda x: weighted(divmod(of(x), of(x[-n:]))[0]))
    if n > 1:
        agree(lambda x: weighted(of(x) % of(x[:n])))


@pytest.mark.parametrize("of", CLASSES)
def test_a_quotient_by_a_constant_series(of):
    agree(lambda x: weighted(of(x) // of([1.0, 0.0, 2.0])))
    agree(lambda x: weighted(of([1.0, 0.0, 0.0, 0.0, 2.0]) // of(x[:2])))
