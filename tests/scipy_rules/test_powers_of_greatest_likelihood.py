"""The class of power transformations that find their power: boxcox and yeojohnson without lmbda, of arrays and lists.

The reference is the root of the likelihood's slope in closed form, found to the last digits, and differences of it.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy import optimize, stats

import arraygrad as ag

DATA = {
    "a few": np.array([1.0, 2.5, 3.0, 4.7, 2.2, 1.1]),
    "skewed": np.exp(np.linspace(-1.0, 2.0, 9) ** 3 / 4.0),
}


def transformed(x, power):
    return np.expm1(power * np.log(x)) / power


def best(x):
    """The power of greatest likelihood of positive data, where the likelihood has no slope."""

    def slope(power):
        y = transformed(x, power)
        by_power = (np.exp(power * np.log(x)) * np.log(x) - y) / power
        return np.sum(np.log(x)) - x.size * np.mean((y - y.mean()) * by_power) / np.var(y)

    near = stats.boxcox_normmax(x, method="mle")
    return optimize.brentq(slope, near - 1e-3, near + 1e-3, xtol=1e-15, rtol=1e-14)


def expected(f, x):
    step = 1e-5
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size)])


# Of positive data the transformation of Yeo and Johnson is that of Box and Cox of one more.
SHIFTS = {"boxcox": 0.0, "yeojohnson": 1.0}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", SHIFTS)
def test_the_power_and_what_it_makes(name, data):
    x, shift = DATA[data], SHIFTS[name]
    weights = np.linspace(0.5, 1.5, x.size)
    function = getattr(stats, name)
    by_power = ag.grad(lambda x: function(x)[1])(x)
    np.testing.assert_allclose(by_power, expected(lambda x: best(x + shift), x), rtol=2e-4, atol=1e-5)
    made = ag.grad(lambda x: np.sum(weights * function(x)[0]))(x)
    plain = expected(lambda x: np.sum(weights * transformed(x + shift, best(x + shift))), x)
    np.testing.assert_allclose(made, plain, rtol=2e-4, atol=1e-5 * np.max(np.abs(plain)))


@pytest.mark.parametrize("name", SHIFTS)
def test_values_are_scipys(name):
    x = DATA["a few"]
    value, power = ag.vjp(lambda x: getattr(stats, name)(x), x)[0]
    plain = getattr(stats, name)(x)
    np.testing.assert_array_equal(value, plain[0])
    assert power == plain[1]


def test_a_list_of_numbers():
    x = DATA["a few"]
    found = ag.grad(lambda x: stats.boxcox([x[0], x[1], 3.0, 4.7, 2.2, 1.1])[1])(x)
    np.testing.assert_allclose(found[:2], ag.grad(lambda x: stats.boxcox(x)[1])(x)[:2], rtol=1e-9)
