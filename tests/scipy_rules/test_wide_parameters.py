"""Slopes of distribution functions by parameters that are far from one, or that rounding hides in the values.

The class: tails whose integrals reach further than the density at the point, powers of numbers that round to one,
limits of laws. References: mpmath's integrals and limits, and differences of SciPy's values.
"""

import numpy as np
import pytest
import scipy.special as theirs
import scipy.stats

import arraygrad as ag
import arraygrad.scipy.special as special
import arraygrad.scipy.stats as stats


def slope(function, x):
    t = ag.tensor(float(x), requires_grad=True)
    return ag.autograd.grad(function(t), t)[0].item()


def difference(function, x):
    h = 1e-4 * abs(x)
    return (8 * (function(x + h) - function(x - h)) - function(x + 2 * h) + function(x - 2 * h)) / (12 * h)


@pytest.mark.parametrize("seed", range(20))
def test_noncentral_t_by_all_parameters(seed):
    rng = np.random.default_rng(seed)
    df, nc = 10.0 ** rng.uniform(-0.5, 2.0), float(rng.uniform(-40.0, 40.0))
    at = [df, nc, float(scipy.stats.nct.ppf(rng.uniform(0.02, 0.98), df, nc))]
    for place in range(3):

        def of(function, x, place=place):
            return function(*[x if i == place else a for i, a in enumerate(at)])

        expected = difference(lambda x: of(theirs.nctdtr, x), at[place])
        np.testing.assert_allclose(slope(lambda x: of(special.nctdtr, x), at[place]), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("df", [2e6, 1e9, 1e14, 1e100])
@pytest.mark.parametrize("t", [-2.5, -0.3, 0.0, 1.0, 3.0])
def test_students_tail_by_great_degrees_of_freedom(df, t):
    # The first two terms by powers of 1 / df: Abramowitz and Stegun 26.7.
    density = np.exp(-t * t / 2.0) / np.sqrt(2.0 * np.pi)
    second = t * (3.0 * t**6 - 7.0 * t**4 - 5.0 * t**2 - 3.0) / 96.0
    expected = density * (t * (t * t + 1.0) / 4.0 / df + 2.0 * second / df / df) / df
    for function in (special.stdtr, lambda df, t: stats.t.cdf(t, df)):
        np.testing.assert_allclose(slope(lambda df: function(df, t), df), expected, rtol=1e-6)  # noqa: B023
        np.testing.assert_allclose(slope(lambda t: function(df, t), t), scipy.stats.t.pdf(t, df), rtol=1e-9)  # noqa: B023


@pytest.mark.parametrize(("n", "p"), [(2.5e22, 1e-21), (2.5e12, 1e-12), (50.0, 0.1)])
def test_binomial_tail_of_rare_events(n, p):
    expected = difference(lambda p: scipy.stats.binom.cdf(3, n, p), p)
    np.testing.assert_allclose(slope(lambda p: stats.binom.cdf(3, n, p), p), expected, rtol=1e-4)


@pytest.mark.parametrize("x", [-800.0, -745.1, -660.0, -640.0, -3.0])
@pytest.mark.parametrize("method", ["cdf", "sf"])
def test_loggamma_far_below(x, method):
    expected = difference(lambda c: getattr(scipy.stats.loggamma, method)(x, c), 1e-3)
    np.testing.assert_allclose(slope(lambda c: getattr(stats.loggamma, method)(x, c), 1e-3), expected, rtol=1e-6)


@pytest.mark.parametrize("function", [special.pro_cv, special.obl_cv])
def test_spheroidal_values_are_flat_where_scipys_are(function):
    assert slope(lambda c: function(1, 1, c), -10.0) == 0.0
    assert slope(lambda c: function(1, 1, c), 10.0) != 0.0


def test_damping_that_requires_grad_is_refused():
    linalg = pytest.importorskip("arraygrad.scipy.sparse.linalg")
    for solve in (linalg.lsqr, linalg.lsmr):
        with pytest.raises(TypeError, match="damp"):
            solve(np.eye(2), np.ones(2), damp=ag.tensor(1.5, requires_grad=True))


@pytest.mark.parametrize("lmb", [-0.5, 0.0, 0.7, 2.0])
def test_likelihood_of_a_power_at_data_that_are_zero(lmb):
    x = np.array([0.0, 1.0, -2.0, 3.0])
    expected = [difference(lambda v, i=i: scipy.stats.yeojohnson_llf(lmb, x + np.eye(4)[i] * (v - 1.0)), 1.0)
                for i in range(4)]  # fmt: skip
    # The second derivative jumps at zero.
    np.testing.assert_allclose(ag.grad(lambda x: stats.yeojohnson_llf(lmb, x))(x), expected, rtol=1e-3)
