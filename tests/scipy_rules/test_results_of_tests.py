"""Results of scipy.stats beside their fields: recorded by formula, or absent in words."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import stats

import arraygrad as ag

X = np.arange(6.0)
Y = np.array([0.3, 1.2, -0.4, 0.8, 2.0, 1.1])
SIDES = ("two-sided", "less", "greater")

ATTRIBUTES = {
    "ttest_1samp df": lambda a: stats.ttest_1samp(a, 0.3).df,
    "ttest_ind df": lambda a: stats.ttest_ind(a, X[:5]).df,
    "ttest_ind df, unequal": lambda a: stats.ttest_ind(a, X, equal_var=False).df,
    "pearsonr correlation": lambda a: stats.pearsonr(a, X).correlation,
    "linregress, in y": lambda a: stats.linregress(X, a).intercept_stderr,
    "linregress, in x": lambda a: stats.linregress(a, X).intercept_stderr,
    "ks_1samp, place": lambda a: stats.ks_1samp(a, stats.norm.cdf).statistic_location,
    "ks_2samp, place": lambda a: stats.ks_2samp(a, X + 0.1).statistic_location,
    "kstest of two, place": lambda a: stats.kstest(X + 0.1, a).statistic_location,
    "along an axis": lambda a: np.sum(stats.ttest_1samp(np.reshape(a, (3, 2)), 0.3).df),
}


@pytest.mark.parametrize("f", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_an_attribute_of_a_result(f):
    holds(lambda a: f(a) + np.sum(a), Y)


INTERVALS = {
    "ttest_1samp": lambda a, side: stats.ttest_1samp(a, 0.3, alternative=side).confidence_interval(0.9),
    "ttest_rel": lambda a, side: stats.ttest_rel(a, X, alternative=side).confidence_interval(0.9),
    "ttest_ind": lambda a, side: stats.ttest_ind(a, X, alternative=side).confidence_interval(),
    "ttest_ind, unequal": lambda a, side: stats.ttest_ind(
        a, X[:5], equal_var=False, alternative=side
    ).confidence_interval(),
    "pearsonr": lambda a, side: stats.pearsonr(a, X, alternative=side).confidence_interval(0.9),
    "pearsonr of three": lambda a, side: stats.pearsonr(a[:3], X[:3], alternative=side).confidence_interval(0.9),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("f", INTERVALS.values(), ids=INTERVALS)
def test_a_confidence_interval(f, side):
    if side != "less":
        holds(lambda a: f(a, side).low + np.sum(a), Y)
    if side != "greater":
        holds(lambda a: f(a, side).high + np.sum(a), Y)
    plain, ours = f(Y, side), f_recorded(f, side)
    np.testing.assert_allclose(ours, [plain.low, plain.high], rtol=1e-12)


def f_recorded(f, side):
    found = []

    def call(a):
        interval = f(a, side)
        found.extend([ag.asarray(end).detach().item() for end in interval])
        return np.sum(a)

    ag.grad(call, adopt=True)(Y)
    return found[:2]


def test_what_a_recorded_result_lacks_it_says():
    with pytest.raises(AttributeError, match="ttest_ind: a recorded result has statistic, pvalue, df"):
        ag.grad(lambda a: stats.ttest_ind(a, X).estimate, adopt=True)(Y)
    statistic, pvalue = ag.scipy.stats.ttest_ind(ag.asarray(Y), X)
    assert statistic.shape == pvalue.shape == ()


@pytest.mark.parametrize(("n", "m"), [(1, 5), (5, 1), (2, 1), (1, 2)])
def test_a_sample_of_one_has_no_part_in_the_pooled_variance(n, m):
    rng = np.random.default_rng(n + 10 * m)
    a, b = rng.normal(size=n), rng.normal(size=m)
    found = ag.grad(lambda a, b: stats.ttest_ind(a, b).statistic, argnums=(0, 1))(a, b)
    for which, gradient in enumerate(found):
        for i in range(gradient.size):
            steps = [np.zeros(n), np.zeros(m)]
            steps[which][i] = 1e-5
            above, below = (stats.ttest_ind(a + s * steps[0], b + s * steps[1]).statistic for s in (1, -1))
            assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-8)
