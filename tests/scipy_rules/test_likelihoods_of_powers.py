"""scipy.stats.boxcox_llf where powers of the data vanish beside 1, or overflow.

Imports of arraygrad: the public face.
"""

import mpmath
import numpy as np
import pytest
from scipy import stats

import arraygrad as ag

DATA = np.array([198.0, 233.0, 234.0, 392.0])


def likelihood(power, data):
    with mpmath.workdps(80):
        powers = [mpmath.log(x) if power == 0 else mpmath.power(x, power) / power for x in data]
        mean = mpmath.fsum(powers) / len(powers)
        spread = mpmath.fsum((p - mean) ** 2 for p in powers) / len(powers)
        return (power - 1) * mpmath.fsum(map(mpmath.log, data)) - mpmath.mpf(len(data)) / 2 * mpmath.log(spread)


def slopes(power, data):
    """By differences in 80 digits."""
    with mpmath.workdps(80):
        h = mpmath.mpf(10) ** -25
        data = [mpmath.mpf(float(x)) for x in data]
        power = mpmath.mpf(float(power))
        moved = lambda i, s: [x + s if j == i else x for j, x in enumerate(data)]
        by_power = (likelihood(power + h, data) - likelihood(power - h, data)) / (2 * h)
        by_data = [
            (likelihood(power, moved(i, h)) - likelihood(power, moved(i, -h))) / (2 * h) for i in range(len(data))
        ]
        return float(by_power), np.array([float(v) for v in by_data])


@pytest.mark.parametrize("power", [-200.0, -8.0, -1.0, 0.0, 1e-9, 0.5, 8.0, 300.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
def test_gradients_are_those_in_eighty_digits(power, scale):
    by_power, by_data = ag.grad(stats.boxcox_llf, argnums=(0, 1))(power, DATA * scale)
    expected = slopes(power, DATA * scale)
    assert by_power == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(by_data, expected[1], rtol=1e-7, atol=1e-9 * np.max(np.abs(expected[1])))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("power", [-8.0, 0.4])
def test_along_an_axis(axis, power):
    data = np.stack([DATA, 2.0 * DATA[::-1] + 7.0, 0.1 * DATA])
    moved = np.moveaxis(data, axis, -1)
    found = ag.jacobian(lambda x: stats.boxcox_llf(power, x, axis=axis))(data)
    for i, row in enumerate(moved):
        np.testing.assert_allclose(np.moveaxis(found[i], axis, -1)[i], slopes(power, row)[1], rtol=1e-7)


@pytest.mark.parametrize("power", [-8.0, 0.7])
def test_second_derivatives(power):
    slope = ag.grad(lambda p: stats.boxcox_llf(p, DATA))
    expected = (slope(power + 1e-4) - slope(power - 1e-4)) / 2e-4
    assert ag.grad(slope)(power) == pytest.approx(expected, rel=1e-5)
