"""The class of truncated normal distributions with an end at infinity, of either sign, in the middle and in the tails.

References are the slopes of the normal distribution's logarithms in closed form. An end at infinity has no part.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy import stats

import arraygrad as ag

ENDS = [(-np.inf, 2.0), (-np.inf, -3.0), (1.0, np.inf), (-2.0, np.inf), (30.0, np.inf), (-np.inf, np.inf)]


def points(low, high):
    if np.isinf(low) and np.isinf(high):
        return (-40.0, -1.0, 0.3, 20.0)
    return (high - 40.0, high - 5.0, high - 0.01) if np.isinf(low) else (low + 0.01, low + 3.0, low + 30.0)


def hazard(x):
    """The density over the lower tail at x."""
    return np.exp(stats.norm.logpdf(x) - stats.norm.logcdf(x))


def log_mass_by_ends(low, high):
    """Slopes of the log of the mass between the ends."""
    if np.isinf(low) and np.isinf(high):
        return 0.0, 0.0
    return (0.0, hazard(high)) if np.isinf(low) else (-hazard(-low), 0.0)


@pytest.mark.parametrize("ends", ENDS)
def test_the_log_density(ends):
    for x in points(*ends):
        found = ag.grad(lambda v: stats.truncnorm.logpdf(v[0], v[1], v[2]))(np.array([x, *ends]))
        by_low, by_high = log_mass_by_ends(*ends)
        np.testing.assert_allclose(found, [-x, -by_low, -by_high], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "pdf"])
@pytest.mark.parametrize("ends", ENDS)
def test_an_end_at_infinity_has_the_slope_zero(ends, method):
    for x in points(*ends):
        found = ag.grad(lambda v: getattr(stats.truncnorm, method)(v[0], v[1], v[2]))(np.array([x, *ends]))
        assert np.all(np.isfinite(found))
        assert not np.any(found[1:][np.isinf(ends)])


@pytest.mark.parametrize("ends", [pair for pair in ENDS if np.isinf(pair[0]) and np.isfinite(pair[1])])
def test_the_lower_tail(ends):
    for x in points(*ends):
        found = ag.grad(lambda v: stats.truncnorm.logcdf(v[0], v[1], v[2]))(np.array([x, *ends]))
        np.testing.assert_allclose(found, [hazard(x), 0.0, -hazard(ends[1])], rtol=1e-7)
