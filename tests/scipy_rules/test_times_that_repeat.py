"""Times of odeint that are differentiated, and of which some are equal.

The class: times that rise and fall, of which one or more are the time before, at the front, inside and at the end. The
solution at a time has the right side as its derivative by that time, whatever the other times are, so the reference
needs no differences but for the first time. The values are those of the plain call.
"""

import numpy as np
import pytest
from scipy import integrate

import arraygrad as ag

START, PRECISE = np.array([0.8, 0.1]), {"rtol": 1e-11, "atol": 1e-11}
TIMES = [
    [0.0, 0.0, 1.0, 1.0, 1.0, 2.0], [0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [2.0, 2.0, 1.0, 1.0], [0.5],
    [0.0, 0.7, 0.7], [3.0, 3.0, 2.5, 1.0, 1.0, 1.0],
]  # fmt: skip


def slope(y, t, a):
    return [y[1], -a * np.sin(y[0]) + 0.1 * t * t]


def solution(t, y0=START, a=1.3):
    return integrate.odeint(slope, y0, t, args=(a,), **PRECISE)


def weighted(y):
    return np.sum(y * np.arange(1.0, 1.0 + y.size).reshape(y.shape))


def of_first_time(times, moved):
    """The weighted solution where only the first time is another."""
    rows = [START]
    for t in times[1:]:
        rows.append(solution(np.array([times[0] + moved, t]))[1] if times[0] + moved != t else START)
    return weighted(np.array(rows))


@pytest.mark.parametrize("times", TIMES, ids=str)
def test_gradients_by_times(times):
    times = np.array(times)
    value, found = ag.value_and_grad(lambda t: weighted(solution(t)))(times)
    plain = solution(times)
    assert value == pytest.approx(weighted(plain), rel=1e-12)
    weights = np.arange(1.0, 1.0 + plain.size).reshape(plain.shape)
    expected = np.array([w @ slope(y, t, 1.3) for w, y, t in zip(weights, plain, times, strict=True)])
    step = 1e-4
    expected[0] = (of_first_time(times, step) - of_first_time(times, -step)) / (2.0 * step) if times.size > 1 else 0.0
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(weights).max())


@pytest.mark.parametrize("times", [TIMES[4], TIMES[6]], ids=str)
def test_second_derivatives_by_times(times):
    times = np.array(times)
    found = ag.hessian(lambda t: weighted(solution(t)))(times)
    np.testing.assert_allclose(found, found.T, atol=1e-7)
    plain = solution(times)
    weights = np.arange(1.0, 1.0 + plain.size).reshape(plain.shape)
    for i in range(1, times.size):  # the slope along the solution, differentiated by time
        y, t = plain[i], times[i]
        rate = slope(y, t, 1.3)
        expected = weights[i] @ [rate[1], -1.3 * np.cos(y[0]) * rate[0] + 0.2 * t]
        assert found[i, i] == pytest.approx(expected, abs=1e-5 * np.abs(weights).max())


def test_other_arguments_and_full_output():
    times = np.array([0.0, 0.0, 1.0, 1.0])

    def function(t, y0, a):
        y, told = integrate.odeint(slope, y0, t, args=(a,), full_output=True, **PRECISE)
        assert "nfe" in told
        return weighted(y)

    found = ag.grad(function, argnums=(1, 2))(times, START, 1.3)
    expected = ag.grad(lambda y0, a: weighted(solution(times, y0, a)), argnums=(0, 1))(START, 1.3)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-8)
    assert found[1] == pytest.approx(expected[1], rel=1e-8)
