"""Circular statistics of single observations: their spread is zero, whatever the observation is.

The class: functions x axes x keepdims x nan policies, at observations where SciPy's own resultant is 1 but for
rounding.
"""

import itertools

import numpy as np
import pytest
import scipy.stats

import arraygrad as ag
import arraygrad.scipy.stats as st

MEMBERS = list(itertools.product(("circstd", "circvar"), (0, 1, (1,)), (False, True), ("propagate", "omit")))


@pytest.mark.parametrize(("name", "axis", "keepdims", "policy"), MEMBERS)
def test_spread_of_one_observation_has_no_slope(name, axis, keepdims, policy):
    x = np.random.default_rng(4).uniform(0.3, 6.0, (40, 1) if axis else (1, 40))
    options = {"axis": axis, "keepdims": keepdims, "nan_policy": policy}
    value, gradient = ag.value_and_grad(lambda t: np.sum(getattr(st, name)(t, **options)))(x)
    assert value == np.sum(getattr(scipy.stats, name)(x, **options))
    np.testing.assert_allclose(gradient, np.zeros_like(x), atol=1e-14)


def test_spread_of_two_observations_has_the_slope_of_differences():
    x, step = np.array([0.4, 1.9]), 1e-6
    wanted = [(scipy.stats.circstd(x + step * e) - scipy.stats.circstd(x - step * e)) / (2.0 * step) for e in np.eye(2)]
    np.testing.assert_allclose(ag.grad(st.circstd)(x), wanted, rtol=1e-8)
