"""SciPy's functions of several arrays count `axis` as SciPy does.

The class: operands of different ndim x axes of both signs x stacks x axes of length one. Where a formula with its own
way to count gave another result than SciPy's, its gradient was that of another function; now a formula whose result
is not SciPy's is refused. tests/fuzz/spellings/axes_of_scipy.py draws further members.
"""

import importlib

import numpy as np
import pytest
from scipy_differences import check

scipy = pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
for _chapter in ("integrate", "interpolate", "signal", "spatial.distance", "special", "stats"):
    importlib.import_module(f"scipy.{_chapter}")

import arraygrad as ag
import arraygrad.scipy as ours
from arraygrad.scipy._declare import REGISTRY, composed
from arraygrad.scipy._guards import NotDifferentiable


def a(*shape):
    return np.arange(1.0, np.prod(shape) + 1.0).reshape(shape)


def squares(*shape):
    return a(*shape) ** 2


CASES = {
    "freqz": (lambda s, b, c: s.signal.freqz(b, c, worN=3)[1], a(2), a(2, 3)),
    "freqz of three axes": (lambda s, b, c: s.signal.freqz(b, c, worN=3)[1], a(2, 2, 1), a(3)),
    "freqs": (lambda s, b, c: s.signal.freqs(b, c, worN=np.array([0.3, 0.7]))[1], a(2, 2), a(3)),
    "entropy": (lambda s, p, q: s.stats.entropy(p, q), a(2), a(3, 2)),
    "f_oneway": (lambda s, p, q: s.stats.f_oneway(p, q)[0], a(3), squares(2, 3)),
    "quantile": (lambda s, x: s.stats.quantile(x, np.array([[0.1, 0.5], [0.2, 0.9]]), axis=0), np.array([1.0, 4.0])),
    "quantile by p": (lambda s, x, p: s.stats.quantile(x, p, axis=-1), squares(4), np.array([[0.1, 0.5], [0.2, 0.7]])),
    "trapezoid": (lambda s, y, x: s.integrate.trapezoid(y, x), a(2, 2, 3), squares(2, 3)),
    "trapezoid by dx": (lambda s, y, d: s.integrate.trapezoid(y, dx=d, axis=0), squares(3, 2), a(2, 1)),
    "cumulative_simpson by dx": (lambda s, y, d: s.integrate.cumulative_simpson(y, dx=d, axis=0), squares(4, 2),
                                 a(1, 2)),
    "cumulative_simpson of two": (lambda s, y, x: s.integrate.cumulative_simpson(y, x=x, axis=0), a(2, 3),
                                  squares(2, 3)),
    "cumulative_simpson of two by dx": (lambda s, y, d: s.integrate.cumulative_simpson(y, dx=d, axis=0), a(2, 1),
                                        a(1, 3)),
    "cumulative_simpson of two by a stack of dx": (lambda s, y, d: s.integrate.cumulative_simpson(y, dx=d),
                                                   squares(3, 1, 2), a(3, 2, 1)),
    "fftconvolve": (lambda s, y, x: s.signal.fftconvolve(y, x, mode="same", axes=1), a(1, 3), squares(2, 2)),
    "gmean": (lambda s, y, w: s.stats.gmean(y, weights=w, axis=0), a(2, 3), a(2, 1)),
    "gmean of all": (lambda s, y, w: s.stats.gmean(y, weights=w, axis=None), a(2, 3), a(3, 2)),
    "pearsonr": (lambda s, y, x: s.stats.pearsonr(y, x, axis=1)[0], squares(2, 4), a(4) ** 3),
    "chisquare": (lambda s, o, e: s.stats.chisquare(o, e, axis=1, sum_check=False)[0], squares(2, 3), a(3) + 1.0),
    "chisquare of a row": (lambda s, o, e: s.stats.chisquare(o, e, axis=1, sum_check=False)[0], squares(3), a(2, 3)),
    "ttest_ind": (lambda s, p, q: s.stats.ttest_ind(p, q, axis=1)[0], squares(3, 1), squares(2, 4, 2)),
    "ttest_1samp": (lambda s, p, m: s.stats.ttest_1samp(p, m, axis=1)[0], squares(2, 3), a(2, 1)),
    "linregress": (lambda s, x, y: s.stats.linregress(x, y, axis=-1)[0], a(4), squares(2, 4)),
    "logsumexp": (lambda s, x, b: s.special.logsumexp(x, b=b, axis=1), a(3), a(2, 3)),
    "BSpline": (lambda s, c: s.interpolate.BSpline(np.arange(7.0), c, 2, axis=-1)(np.array([[2.1, 2.2], [2.3, 2.4]])),
                squares(2, 4)),
    "make_interp_spline": (lambda s, y: s.interpolate.make_interp_spline(a(4), y, k=2, axis=-1)(
        np.array([[1.1, 2.2], [2.3, 3.4]])), squares(2, 4)),
    "CubicSpline": (lambda s, y: s.interpolate.CubicSpline(a(4), y, axis=1)(1.5), squares(4)),
    "jensenshannon": (lambda s, p, q: s.spatial.distance.jensenshannon(p, q, axis=-1, keepdims=True), a(3),
                      squares(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case_is_scipys_function_with_its_derivatives(name):
    call, *arrays = CASES[name]
    expected = call(scipy, *arrays)
    found = call(ours, *[ag.tensor(x, requires_grad=True) for x in arrays])
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)
    check(lambda *given: call(ours, *given), lambda *given: call(scipy, *given), arrays, rtol=1e-6)


def test_jensenshannon_squared_is_smooth_where_the_points_are_equal():
    def square(p):
        return ours.spatial.distance.jensenshannon(p, np.array([0.5, 0.5])) ** 2

    np.testing.assert_array_equal(ag.grad(square)(np.array([0.5, 0.5])), [0.0, 0.0])


# -- the rule that no formula can break --------------------------------------------------------------------------------


def rule_of(formula, values=np.cumsum):
    composed("stats.of_this_test", lambda a, **options: values(a, **options), "a", "definition")(formula)
    return REGISTRY.pop("stats.of_this_test").function


def test_a_formula_with_another_result_than_scipys_is_refused():
    x = ag.tensor(squares(2, 3), requires_grad=True)
    right = rule_of(lambda a, axis=None: ag.cumulative_sum(a, axis=axis))
    np.testing.assert_array_equal(ag.grad(lambda x: np.sum(right(x, axis=1)))(x.detach().numpy()), [[3, 2, 1]] * 2)
    wrong = rule_of(lambda a, axis=None: ag.cumulative_sum(a, axis=1 - axis))
    with pytest.raises(NotDifferentiable, match=r"of_this_test.*another result than SciPy's function"):
        np.sum(wrong(x, axis=1)).backward()
    transposed = rule_of(lambda a, axis=None: ag.matrix_transpose(ag.cumulative_sum(a, axis=axis)))
    with pytest.raises(NotDifferentiable, match=r"shape is \(2, 3\), of the formula \(3, 2\)"):
        np.sum(transposed(x, axis=1)).backward()


def test_where_scipy_has_nan_the_derivative_is_nan():
    x = ag.tensor(np.array([2.0, -2.0]), requires_grad=True)
    with np.errstate(invalid="ignore"):
        np.sum(rule_of(lambda a: 0.5 * ag.log(a * a), np.log)(x)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.5, np.nan])


def test_ks_1samp_takes_one_sample():
    x = ag.tensor(np.random.default_rng(2).uniform(0.1, 0.9, (4, 2)), requires_grad=True)
    cdf = ours.stats.norm.cdf
    expected = scipy.stats.ks_1samp(x.detach().numpy(), scipy.stats.norm.cdf, axis=None).statistic
    assert float(ours.stats.ks_1samp(x, cdf, axis=None).statistic.detach()) == pytest.approx(expected, rel=1e-14)
    for options in ({}, {"axis": 1}, {"axis": None, "keepdims": True}):
        with pytest.raises(NotDifferentiable, match="one sample without nan"):
            ours.stats.ks_1samp(x, cdf, **options)


# -- samples -----------------------------------------------------------------------------------------------------------

ONE_SAMPLE = ("gmean", "hmean", "sem", "skew", "kurtosis", "variation", "tmean", "tvar", "tstd", "tsem", "iqr",
              "circmean", "circvar", "circstd", "kstat", "kstatvar", "entropy", "median_abs_deviation")  # fmt: skip


@pytest.mark.parametrize("name", ONE_SAMPLE)
def test_statistics_have_scipys_axis_nan_policy_and_keepdims(name):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 2.0, (5, 2, 5))
    gaps = x.copy()
    gaps[1, 1, 0] = np.nan
    for axis, keepdims in ((0, True), (-1, False), ((-1, 0), False), ((0, 1), True), (None, True)):
        for values, policy in ((x, "propagate"), (gaps, "omit")):
            options = {"axis": axis, "keepdims": keepdims, "nan_policy": policy}
            expected = getattr(scipy.stats, name)(values, **options)
            t = ag.tensor(values, requires_grad=True)
            found = getattr(ours.stats, name)(t, **options)
            np.testing.assert_array_equal(found.numpy(), expected)
            w = rng.uniform(0.5, 1.0, np.shape(expected))
            np.sum(found * w).backward()
            d = rng.uniform(-1.0, 1.0, x.shape)
            ends = [np.sum(getattr(scipy.stats, name)(values + h * d, **options) * w) for h in (1e-6, -1e-6)]
            slope = (ends[0] - ends[1]) / 2e-6
            grad = t.grad.numpy()
            assert np.array_equal(grad[np.isnan(values)], np.zeros(np.isnan(values).sum()))
            np.testing.assert_allclose(np.sum(grad * d), slope, rtol=1e-5, atol=1e-6)
