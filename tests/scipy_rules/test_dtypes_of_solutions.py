"""Solvers of scipy.optimize given single precision: values and gradients have the dtypes of the plain call.

The value's reference is SciPy's own, the gradient's is the gradient in double precision.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy import integrate, optimize, stats

import arraygrad as ag


def squares(a):
    return lambda x: x * x - a


def bowl(a):
    return lambda x: ((x - a) ** 2).sum() * 0.5


# Each takes the data, a start, and both in one dtype.
SOLVERS = {
    "newton": lambda a, o: optimize.newton(squares(a[0]), o[0]),
    "newton, report": lambda a, o: optimize.newton(squares(a[0]), o[0], full_output=True)[0],
    "newton, secants": lambda a, o: optimize.newton(squares(a[0]), o[0], x1=2 * o[0]),
    "newton of several": lambda a, o: optimize.newton(squares(a), o),
    "newton, slope": lambda a, o: optimize.newton(squares(a), o, fprime=lambda x: 2 * x),
    "newton of an integer start": lambda a, o: optimize.newton(squares(a[0]), 1),
    "fixed_point": lambda a, o: optimize.fixed_point(lambda x: np.sqrt(a * x) / 2 + o, o),
    "root": lambda a, o: optimize.root(squares(a), o).x,
    "root lm": lambda a, o: optimize.root(squares(a), o, method="lm").x,
    "fsolve": lambda a, o: optimize.fsolve(squares(a), o),
    "minimize": lambda a, o: optimize.minimize(bowl(a), o, method="L-BFGS-B").x,
    "minimize, fun": lambda a, o: optimize.minimize(lambda x: bowl(a)(x) + a[0], o, method="L-BFGS-B").fun,
    "least_squares": lambda a, o: optimize.least_squares(squares(a), o).x,
    "leastsq": lambda a, o: optimize.leastsq(squares(a), o)[0],
    "lsq_linear": lambda a, o: optimize.lsq_linear(np.outer(o, o) + np.diag(o), a).x,
    "lsq_linear, fun": lambda a, o: optimize.lsq_linear(o[:, None], a).fun,
    "isotonic_regression": lambda a, o: optimize.isotonic_regression(a).x,
    "rosen": lambda a, o: optimize.rosen(a * o),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_keeps_the_dtypes_of_the_plain_call(name, dtype):
    solve = SOLVERS[name]
    data, start = np.array([2.0, 3.0], dtype), np.ones(2, dtype)
    plain = solve(data, start)
    value, pull = ag.vjp(lambda a: solve(a, start), data)
    assert np.asarray(value).dtype == np.asarray(plain).dtype
    np.testing.assert_allclose(value, plain, rtol=1e-3, atol=1e-4)
    ones = np.ones_like(np.asarray(value))
    (gradient,) = pull(ones) if isinstance(pull(ones), tuple) else (pull(ones),)
    assert gradient.dtype == dtype
    wide = ag.grad(lambda a: np.sum(solve(a, np.ones(2))))(np.array([2.0, 3.0]))
    np.testing.assert_allclose(gradient, wide, rtol=2e-3, atol=2e-3)


CDF = stats.norm.cdf
RESULTS = {
    "ks_1samp": lambda a: stats.ks_1samp(a, CDF),
    "ks_1samp, less": lambda a: stats.ks_1samp(a, CDF, alternative="less", method="asymp"),
    "kstest": lambda a: stats.kstest(a, CDF, method="approx"),
    "qmc_quad": lambda a: integrate.qmc_quad(
        lambda x: np.exp(-x[0] * x[1]), a, a + 1, n_points=16, n_estimates=3, qrng=stats.qmc.Halton(2, rng=3)),
    "qmc_quad of a wide function": lambda a: integrate.qmc_quad(
        lambda x: np.exp(-x[0] * np.float64(0.3)), a[:1], a[1:], n_points=16, qrng=stats.qmc.Halton(1, rng=3)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RESULTS)
def test_each_part_of_a_result_keeps_the_dtype_of_the_plain_call(name, dtype):
    a = np.array([0.3, 0.8], dtype)
    expected = RESULTS[name](a)[:2]
    found = ag.adopt(RESULTS[name])(ag.tensor(a, requires_grad=True))[:2]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)
    parts = [ag.grad(lambda a, i=i: RESULTS[name](a)[i], adopt=True) for i in range(2)]
    for part in parts:
        low, high = part(a), part(a.astype(np.float64))
        assert low.dtype == dtype
        np.testing.assert_allclose(low, high, rtol=1e-4, atol=1e-5)
