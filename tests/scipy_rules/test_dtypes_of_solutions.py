"""Solvers of scipy.optimize given single precision: values and gradients have the dtypes of the plain call.

The value's reference is SciPy's own, the gradient's is the gradient in double precision.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy import optimize

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
