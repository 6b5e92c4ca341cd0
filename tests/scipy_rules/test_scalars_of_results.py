"""Results without axes: scalars or arrays as SciPy's are, for programs that keep a value and change its other name.

Imports arraygrad, SciPy.
"""

import numpy as np
import pytest

import arraygrad as ag

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import integrate, interpolate, optimize, sparse

A, STEP = 0.7, 1e-6
# a -> a number without axes, by one of SciPy's functions.
RESULTS = {
    "item of a matrix": lambda a: sparse.csr_matrix(np.diag([a, 2.0]))[0, 0],
    "item of an array": lambda a: sparse.csr_array(np.diag([a, 2.0]))[0, 0],
    "max": lambda a: sparse.csr_array(np.diag([a, 0.2])).max(),
    "min": lambda a: sparse.csc_array(np.diag([-a, 0.2])).min(),
    "sum": lambda a: sparse.csr_array(np.diag([a, 0.2])).sum(),
    "trace": lambda a: sparse.csr_array(np.diag([a, 0.2])).trace(),
    "quad": lambda a: integrate.quad(lambda t: a * t, 0, 1)[0],
    "dblquad": lambda a: integrate.dblquad(lambda y, t: a * t, 0, 1, 0, 1)[0],
    "tplquad": lambda a: integrate.tplquad(lambda z, y, t: a * t, 0, 1, 0, 1, 0, 1)[0],
    "nquad": lambda a: integrate.nquad(lambda t: a * t, [[0, 1]])[0],
    "trapezoid": lambda a: integrate.trapezoid(np.array([a, 1.0])),
    "brentq": lambda a: optimize.brentq(lambda x: x * x - a, 0, 3.0),
    "root_scalar": lambda a: optimize.root_scalar(lambda x: x * x - a, bracket=(0, 3.0)).root,
    "fun of minimize_scalar": lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2 + a).fun,
    "integral of a cubic spline": lambda a: interpolate.CubicSpline([0, 1, 2], [a, 2 * a, 0.3]).integrate(0, 1),
    "integral of a polynomial": lambda a: interpolate.PPoly(np.array([[a], [1.0]]), [0, 1.0]).integrate(0, 1),
    "integral of a B-spline": lambda a: interpolate.make_interp_spline(
        [0, 1, 2, 3], np.array([a, 2 * a, 0.3, 1.0])).integrate(0, 1),
}  # fmt: skip


def renamed(make, change):
    """A function that keeps a value, changes its other name, and uses both."""

    def f(a):
        kept = now = make(a)
        if change == "add":
            now += 1.0
        else:
            now *= 2.0
        return kept * kept + 0.5 * now

    return f


@pytest.mark.parametrize("change", ["add", "scale"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_kept_value_is_what_it_is_with_plain_numbers(name, change):
    f = renamed(RESULTS[name], change)
    value, gradient = ag.value_and_grad(f, adopt=True)(A)
    assert value == pytest.approx(f(A), rel=1e-9)
    assert gradient == pytest.approx((f(A + STEP) - f(A - STEP)) / (2.0 * STEP), rel=1e-5)


@pytest.mark.parametrize("name", ["quad", "dblquad", "tplquad", "nquad", "brentq"])
def test_python_floats_are_no_scalars_of_numpy(name):
    def f(a):
        found = RESULTS[name](a)
        return a * (5.0 if isinstance(found, np.floating) else 1.0)

    assert ag.grad(f, adopt=True)(A) == pytest.approx(1.0) == f(1.0)


def test_an_integral_of_zero_divides_as_a_python_float():
    def f(a):
        return a / integrate.quad(lambda t: a * 0.0, 0, 1)[0]

    with pytest.raises(ZeroDivisionError):
        ag.grad(f, adopt=True)(A)
    with pytest.raises(ZeroDivisionError):
        f(A)
