"""scipy.integrate.cubature: gradients whose integrand is not where the function's is, and boxes without width.

Imports of arraygrad: the public face.
"""

import math

import numpy as np
import pytest
from scipy import integrate

import arraygrad as ag

WIDTH, PLACE = 0.02, 0.3137
CASES = [(d, rule) for d in (1, 2) for rule in ("gk21", "genz-malik") if (d, rule) != (1, "genz-malik")]


def peak(x, p):
    return np.exp(-np.sum(((x - p) / WIDTH) ** 2, axis=-1))


def integral(factor, a, d, rule, closure):
    """The integral over the unit cube of factor(a) times a peak."""
    if closure:
        function, args = lambda x: factor(a) * peak(x, PLACE), ()
    else:
        function, args = lambda x, a: factor(a) * peak(x, PLACE), (a,)
    return integrate.cubature(function, np.zeros(d), np.ones(d), rule=rule, args=args).estimate


@pytest.mark.parametrize("closure", [False, True])
@pytest.mark.parametrize(("d", "rule"), CASES)
@pytest.mark.parametrize(("power", "at"), [(1, 0.0), (1, 0.7), (2, 0.0), (3, 0.0)])
def test_derivatives_are_resolved_where_the_function_is_none(d, rule, closure, power, at):
    of = lambda a: integral(lambda a: a**power, a, d, rule, closure)
    whole = (WIDTH * math.sqrt(math.pi)) ** d
    for order in range(1, power + 1):
        of = ag.grad(of)
        exact = whole * math.prod(range(power - order + 1, power + 1)) * at ** (power - order)
        assert of(at) == pytest.approx(exact, rel=2e-7, abs=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_vector_of_parameters_and_values(dtype):
    def of(w):
        f = lambda x, w: np.sin(x @ w)[:, None] * np.asarray([1.0, 2.0], dtype)
        low, high = np.asarray([0, 0.1], dtype), np.asarray([1, 0.7], dtype)
        return integrate.cubature(f, low, high, args=(w,), rtol=1e-5).estimate

    w = np.asarray([0.4, -0.8], dtype)
    value, pull = ag.vjp(of, w)
    plain = of(w)
    assert value.dtype == plain.dtype
    assert np.array_equal(value, plain)
    direction, slope = np.asarray([0.3, 0.9]), pull(np.asarray([1.0, -0.25], dtype))[0]
    assert slope.dtype == w.dtype
    step = 1e-4
    wide = [np.asarray(of(w.astype(float) + s * step * direction), float) @ [1.0, -0.25] for s in (1, -1)]
    if dtype == "float32":  # by hand: the integral of cos(x @ w) x, by Gauss' rule
        t, weights = np.polynomial.legendre.leggauss(20)
        x, y = np.meshgrid(0.5 + 0.5 * t, 0.4 + 0.3 * t, indexing="ij")
        share = np.outer(weights, weights) * 0.15 * np.cos(0.4 * x - 0.8 * y) * 0.5
        assert np.allclose(slope, [np.sum(share * x), np.sum(share * y)], rtol=1e-4)
    else:
        assert slope @ direction == pytest.approx((wide[0] - wide[1]) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("closure", [False, True])
def test_complex_parameters(closure):
    def of(c):
        f = (lambda x: np.exp(1j * c * x[:, 0]).real) if closure else (lambda x, c: np.exp(1j * c * x[:, 0]).real)
        return integrate.cubature(f, [0.0], [2.0], args=() if closure else (c,)).estimate

    exact = lambda c: (np.exp(2j * c) - 1) / (1j * c)
    c, step = 0.8 + 0.3j, 1e-5
    slope = (exact(c + step) - exact(c - step)) / (2 * step)  # of a holomorphic function, whose real part is taken
    assert np.allclose(ag.vjp(of, np.asarray(c))[1](np.asarray(1.0))[0], np.conj(slope), rtol=1e-7)


@pytest.mark.parametrize("empty", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("d", [1, 2])
def test_a_box_without_width_has_the_integral_zero(d, empty):
    empty = [i for i in empty if i < d]
    low = np.array([0.2, -0.4][:d])
    high = np.array([1.1, 0.5][:d])
    high[empty] = low[empty]
    f = lambda x: np.exp(0.5 * np.sum(x, axis=-1))
    of = lambda a, b: integrate.cubature(f, a, b).estimate
    line = lambda a, b: 2 * (np.exp(0.5 * b) - np.exp(0.5 * a))
    exact = lambda a, b: np.prod([line(x, y) for x, y in zip(a, b, strict=True)])
    assert of(low, high) == pytest.approx(exact(low, high), abs=1e-15)
    value, (by_low, by_high) = ag.value_and_grad(of, argnums=(0, 1))(low, high)
    assert value == pytest.approx(exact(low, high), abs=1e-15)
    step = 1e-5 * np.eye(d)
    for i in range(d):
        assert by_low[i] == pytest.approx(
            (exact(low + step[i], high) - exact(low - step[i], high)) / 2e-5, abs=1e-8)  # fmt: skip
        assert by_high[i] == pytest.approx(
            (exact(low, high + step[i]) - exact(low, high - step[i])) / 2e-5, abs=1e-8)  # fmt: skip


def test_break_points_and_limits_of_lists():
    f = lambda x, p: np.abs(x[:, 0] - p)
    of = lambda p, b: integrate.cubature(f, [0.0], [b], args=(p,), points=[np.array([0.4])]).estimate
    assert np.allclose(ag.grad(of, argnums=(0, 1))(0.4, 1.5), (0.4 - 1.1, 1.1), rtol=1e-8)


def test_a_gradient_that_does_not_converge_is_told():
    f = lambda x, p: np.where(x[:, 0] * x[:, 1] > 0.3, x[:, 0] * p, x[:, 1] * p**2)
    of = lambda p: integrate.cubature(f, [0.0, 0.0], [1.0, 1.0], args=(p,), rule="gk15", max_subdivisions=20).estimate
    with pytest.warns(integrate.IntegrationWarning, match="error of about"):
        ag.grad(of)(0.8)
