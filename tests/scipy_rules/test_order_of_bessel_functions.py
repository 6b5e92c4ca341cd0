"""Derivatives of the modified Bessel functions K in their order: kv and kve.

The class: orders of both signs, near zero, at halves and whole numbers, small and large; times arguments from 1e-12 to
1e6; times scalars, arrays that are broadcast, both precisions; first and second order; by name and in a program of
SciPy's own names.
"""

import itertools
import math

import numpy as np
import pytest

special = pytest.importorskip("scipy.special", reason="SciPy, which is optional, is not installed")
from scipy import integrate

import arraygrad as ag
from arraygrad.scipy import special as recorded
from arraygrad.scipy._guards import NotDifferentiable

ORDERS = [0.0, 1e-9, 0.3, -0.5, 1.0, 2.5, -7.0, 31.4, 120.0]
ARGUMENTS = [1e-12, 1e-3, 0.4, 2.0, 17.0, 300.0, 1e4, 1e6]
CASES = list(itertools.product(["kv", "kve"], ORDERS, ARGUMENTS))


def is_in_range(name, v, x):
    return 1e-280 < getattr(special, name)(v, x) < 1e280


@pytest.mark.parametrize(("name", "v", "x"), [case for case in CASES if is_in_range(*case)])
def test_slopes_are_those_of_a_logarithm_by_quadrature(name, v, x):
    """d log K(v, x) / dv is a mean of t tanh(v t) under the integrand of K: by quad, over pieces, in logarithms."""

    def exponent(t):
        return abs(v) * t - 2.0 * x * math.sinh(t / 2.0) ** 2 + math.log1p(math.exp(-2.0 * abs(v) * t))

    peak = math.asinh(abs(v) / x)
    largest, width = exponent(peak), 1.0 / math.sqrt(math.hypot(v, x))
    cuts = [peak + k * width for k in (-40, -12, -6, -3, -1, 0, 1, 3, 6, 12, 40)]
    end = peak + math.acosh(1.0 + 60.0 / math.hypot(v, x))
    cuts = sorted({0.0, *[c for c in cuts if 0.0 < c < end], end})

    def moment(weight):
        def integrand(t):
            return weight(t) * math.exp(max(exponent(t) - largest, -700.0))

        options = {"epsabs": 0.0, "epsrel": 1e-11, "limit": 200}
        return sum([integrate.quad(integrand, a, b, **options)[0] for a, b in itertools.pairwise(cuts)])

    mean = moment(lambda t: t * math.tanh(v * t)) / moment(lambda t: 1.0)
    value, slope = ag.value_and_grad(getattr(recorded, name))(v, x)
    assert value == getattr(special, name)(v, x)
    np.testing.assert_allclose(slope, value * mean, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("x", [1e-3, 0.7, 5.0, 40.0])
@pytest.mark.parametrize("v", [0.5, -0.5])
def test_slopes_at_one_half_are_an_exponential_integral(v, x):
    """DLMF 10.38.7."""
    expected = math.copysign(1.0, v) * math.sqrt(math.pi / (2.0 * x)) * special.exp1(2.0 * x)
    np.testing.assert_allclose(ag.grad(recorded.kve)(v, x), expected * math.exp(2.0 * x), rtol=1e-13)
    np.testing.assert_allclose(ag.grad(recorded.kv)(v, x), expected * math.exp(x), rtol=1e-13)


@pytest.mark.parametrize("name", ["kv", "kve"])
@pytest.mark.parametrize(("v", "x"), [(1.3, 0.8), (-0.4, 2.0), (12.0, 9.0), (0.0, 1.5)])
def test_both_gradients_and_the_hessian(name, v, x):
    function = getattr(recorded, name)
    gradient = lambda p: np.array(ag.grad(function, argnums=(0, 1))(*p))
    point, e = np.array([v, x]), 1e-5
    in_argument = ag.grad(function, argnums=1)(v, x)  # of a constant order: the recurrence
    np.testing.assert_allclose(gradient(point)[1], in_argument, rtol=1e-12)
    hessian = ag.hessian(lambda p: function(p[0], p[1]))(point)
    expected = np.stack([(gradient(point + d) - gradient(point - d)) / (2 * e) for d in np.eye(2) * e])
    np.testing.assert_allclose(hessian, expected, rtol=1e-6, atol=1e-9 * np.max(np.abs(expected)))
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)


@pytest.mark.parametrize("name", ["kv", "kve"])
@pytest.mark.parametrize("shapes", [((), (3,)), ((2, 1), (3,)), ((3,), ()), ((0,), ()), ((2, 3), (2, 3))])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arrays_are_broadcast(name, shapes, dtype):
    rng = np.random.default_rng(0)
    v, x = (rng.uniform(0.2, 2.0, shape).astype(dtype) for shape in shapes)
    plain = getattr(special, name)(v, x)
    value = getattr(recorded, name)(ag.tensor(v, requires_grad=True), x)
    assert value.dtype == plain.dtype
    np.testing.assert_array_equal(value.detach().numpy(), plain)
    found = ag.grad(lambda v, x: np.sum(getattr(recorded, name)(v, x)), argnums=(0, 1))(v, x)
    wide = [np.asarray(a, float) for a in (v, x)]
    expected = ag.grad(lambda v, x: np.sum(getattr(recorded, name)(v, x)), argnums=(0, 1))(*wide)
    for a, b, given in zip(found, expected, (v, x), strict=True):
        assert np.asarray(a).dtype == given.dtype
        assert np.shape(a) == np.shape(given)
        np.testing.assert_allclose(a, b, rtol=1e-5 if dtype == "float32" else 1e-13)


def test_a_covariance_of_matern_has_a_slope_in_its_smoothness():
    distance = np.array([0.3, 0.5, 1.2])

    def covariance(nu):
        scaled = np.sqrt(2.0 * nu) * distance
        return np.sum(2.0 ** (1.0 - nu) / special.gamma(nu) * scaled**nu * special.kv(nu, scaled))

    e = 1e-6
    expected = (covariance(1.3 + e) - covariance(1.3 - e)) / (2 * e)
    np.testing.assert_allclose(ag.grad(covariance)(1.3), expected, rtol=1e-7)


@pytest.mark.parametrize("name", ["kv", "kve"])
def test_what_has_no_slope_in_the_order_is_refused(name):
    function = getattr(recorded, name)
    for x in (0.0, -1.0, np.array([1.0, np.nan])):
        with pytest.raises(NotDifferentiable, match="x must be positive"):
            ag.grad(lambda v, x=x: np.sum(function(v, x)))(0.5)
    with pytest.raises(NotDifferentiable, match=r"exp\(-z \* cosh\(t\)\)"):
        ag.grad(lambda v: np.real(function(v, 1.0 + 1.0j)))(0.5)
    with pytest.raises(TypeError, match=rf"arraygrad\.scipy\.special\.{name} has one"):
        ag.grad(lambda v: getattr(ag.special, name)(v, 1.0))(0.5)
    # Both ways out.
    x = np.array([0.0, 0.7])
    safe = lambda v: np.sum(np.where(x > 0, function(v, np.where(x > 0, x, 1.0)), 0.0))
    np.testing.assert_allclose(ag.grad(safe)(0.5), ag.grad(function)(0.5, 0.7), rtol=1e-14)
    by_quad = lambda v: integrate.quad(lambda t: np.exp(-0.7 * np.cosh(t)) * np.cosh(v * t), 0.0, 9.0)[0]
    np.testing.assert_allclose(ag.grad(by_quad)(0.5), ag.grad(recorded.kv)(0.5, 0.7), rtol=1e-9)
