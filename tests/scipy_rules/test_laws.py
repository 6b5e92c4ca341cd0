"""Distributions as objects, and objects as results: their values are SciPy's, gradients reach their parameters."""

import pickle

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy.stats

import arraygrad as ag
from arraygrad.scipy import stats

LAWS = {"Normal": {"mu": 0.4, "sigma": 1.3}, "Uniform": {"a": -0.5, "b": 2.1}, "Logistic": {}}
POINT = {"icdf": 0.3, "iccdf": 0.3}
METHODS = "pdf logpdf cdf logcdf ccdf logccdf icdf iccdf".split()
SUMMARIES = "mean variance standard_deviation median entropy".split()


def central(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2.0 * h)


def law(name):
    if not hasattr(scipy.stats, name):
        pytest.skip("this version of SciPy does not have the class")
    return getattr(stats, name), getattr(scipy.stats, name), LAWS[name]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LAWS)
def test_a_method_at_a_point_is_differentiated_in_the_point_and_the_parameters(name, method):
    ours, theirs, given = law(name)
    x = POINT.get(method, 0.7)
    np.testing.assert_array_equal(getattr(ours(**given), method)(x), getattr(theirs(**given), method)(x))
    found = ag.grad(lambda x: getattr(ours(**given), method)(x))(x)
    np.testing.assert_allclose(found, central(lambda x: getattr(theirs(**given), method)(x), x), rtol=1e-7, atol=1e-10)
    for key, value in given.items():
        found = ag.grad(lambda v: getattr(ours(**{**given, key: v}), method)(x))(value)  # noqa: B023
        expected = central(lambda v: getattr(theirs(**{**given, key: v}), method)(x), value)  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("method", SUMMARIES)
@pytest.mark.parametrize("name", ["Normal", "Uniform"])
def test_a_summary_is_differentiated_in_the_parameters(name, method):
    ours, theirs, given = law(name)
    for key, value in given.items():
        found = ag.grad(lambda v: getattr(ours(**{**given, key: v}), method)() + 0.0 * v)(value)  # noqa: B023
        expected = central(lambda v: getattr(theirs(**{**given, key: v}), method)(), value)  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


def test_what_scipys_object_would_hold_as_a_constant_is_refused():
    ours, theirs, given = law("Normal")
    with pytest.raises(TypeError, match="would hold it as a constant"):
        ag.grad(lambda mu: (ours(mu=mu, sigma=1.0) * 2.0).mean())(0.3)
    with pytest.raises(TypeError, match="one point and the default method"):
        ag.grad(lambda x: ours(**given).cdf(x, 2.0))(0.3)
    assert (ours(**given) * 2.0).mean() == (theirs(**given) * 2.0).mean()
    assert ours(**given).skewness() == theirs(**given).skewness()


@pytest.mark.parametrize("name", LAWS)
def test_with_plain_parameters_an_object_is_scipys_in_everything_but_its_points(name):
    ours, theirs, given = law(name)
    found, plain = ours(**given), theirs(**given)
    assert isinstance(found, theirs)
    assert isinstance(plain, ours)
    assert type(found).__name__ == type(plain).__name__
    assert repr(found) == repr(plain)
    assert (found + 1.0).mean() == (plain + 1.0).mean()
    assert scipy.stats.Mixture([found, found]).cdf(0.3) == scipy.stats.Mixture([plain, plain]).cdf(0.3)
    again = pickle.loads(pickle.dumps(found))
    assert again.cdf(0.3) == plain.cdf(0.3)
    assert ag.grad(again.cdf)(0.3) == pytest.approx(plain.pdf(0.3), rel=1e-12)


@pytest.mark.parametrize("n", [12, 1100])
def test_bayesian_summaries_are_differentiated_in_the_data(n):
    data = np.random.default_rng(3).gamma(2.0, size=n)
    direction = np.cos(np.arange(float(n)))

    def numbers(found):
        return [v for one in found for v in (one.statistic, *one.minmax)]

    plain = numbers(scipy.stats.bayes_mvs(data, 0.8))
    for i, value in enumerate(plain):
        found = ag.value_and_grad(lambda t: numbers(stats.bayes_mvs(data + t * direction, 0.8))[i])(0.0)  # noqa: B023
        expected = central(lambda t: numbers(scipy.stats.bayes_mvs(data + t * direction, 0.8))[i], 0.0)  # noqa: B023
        np.testing.assert_allclose(found, (value, expected), rtol=1e-6, atol=1e-9)


def test_tukeys_differences_and_probabilities_are_differentiated_in_the_samples():
    samples = [np.array([2.4, 2.9, 2.1, 3.3]), np.array([3.1, 3.8, 2.7]), np.array([2.2, 4.1, 3.0, 3.4, 2.5])]

    def moved(module, t):
        return module.tukey_hsd(samples[0] + t * np.array([0.3, -0.7, 0.4, 1.0]), *samples[1:])

    plain = moved(scipy.stats, 0.0)
    for part in ("statistic", "pvalue"):
        weights = np.arange(9.0).reshape(3, 3)
        value, slope = ag.value_and_grad(lambda t: (getattr(moved(stats, t), part) * weights).sum())(0.0)  # noqa: B023
        np.testing.assert_allclose(value, (getattr(plain, part) * weights).sum(), rtol=1e-10)
        expected = central(lambda t: (getattr(moved(scipy.stats, t), part) * weights).sum(), 0.0, 1e-3)  # noqa: B023
        np.testing.assert_allclose(slope, expected, rtol=1e-4)
    with pytest.raises(TypeError, match="equal_var=False"):
        ag.grad(lambda t: stats.tukey_hsd(samples[0] + t, *samples[1:], equal_var=False).statistic[0, 1])(0.0)
