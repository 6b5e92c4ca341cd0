"""The class of special.comb(n, k, repetition=True): whole, broken, zero and negative arguments.

The reference is mpmath's binomial coefficient of n + k - 1 and k, which SciPy's function is at all arguments.
"""

import itertools

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath, the reference, is not installed")
from scipy import special

import arraygrad as ag

PAIRS = [
    (n, k)
    for n, k in itertools.product((0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.0), (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0))
    if (n, k) not in ((0.0, 0.0), (0.5, -0.5))  # no value, a pole
]


def slopes(n, k):
    with mpmath.workdps(40):
        h = mpmath.mpf(10) ** -15
        of = lambda n, k: mpmath.binomial(n + k - 1, k)
        by_n = (of(n + h, k + h / 7) - of(n - h, k + h / 7)) / (2 * h)
        by_k = (of(n + h / 7, k + h) - of(n + h / 7, k - h)) / (2 * h)
        return float(by_n), float(by_k)


@pytest.mark.parametrize(("n", "k"), PAIRS)
def test_its_slopes_are_those_of_the_coefficient(n, k):
    value, gradient = ag.value_and_grad(lambda a: special.comb(a[0], a[1], repetition=True))(np.array([n, k]))
    np.testing.assert_allclose(value, special.comb(n, k, repetition=True), rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes(n, k), rtol=1e-8, atol=1e-8)


def test_one_choice_of_nothing_stays_one_for_every_number():
    gradient = ag.grad(lambda n: special.comb(n, 0.0, repetition=True))
    assert gradient(0.0) == 0.0
    assert np.isnan(ag.grad(lambda k: special.comb(0.0, k, repetition=True))(0.0))  # zero for every other k
