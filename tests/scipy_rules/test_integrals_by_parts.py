"""Integrals with break points and inner limits that a gradient reaches, and integrands whose slope is 0 * inf far out.

The references are closed forms, or mpmath's integrals.
"""

import warnings

import mpmath
import numpy as np
import pytest
from scipy import integrate

import arraygrad as ag
from arraygrad.scipy import integrate as ours

A = 0.3

# Name, the integral as a function of a, its derivative at A.
POINTS = {
    "kink": (lambda quad, a: quad(lambda x: np.abs(x - a), 0.0, 1.0, points=[a]), 2 * A - 1),
    "jump": (lambda quad, a: quad(lambda x: np.where(x < a, 1.0, 3.0), 0.0, 1.0, points=[a]), -2.0),
    "jump, an array": (lambda quad, a: quad(lambda x: np.where(x < a, x, 3.0), 0.0, 1.0, points=np.array([a])),
                       A - 3.0),
    "jump, by args": (lambda quad, a: quad(lambda x, a: np.where(x < a, a, 3.0), 0.0, 1.0, (a,), points=(a,)),
                      2 * A - 3),
    "backwards": (lambda quad, a: quad(lambda x: np.where(x < a, 1.0, 3.0), 1.0, 0.0, points=[a]), 2.0),
    "two": (lambda quad, a: quad(lambda x: np.where(x < a, 1.0, np.where(x < 2 * a, 3.0, 0.0)), 0.0, 1.0,
                                 points=[2 * a, a]), 4.0),
    "one is constant": (lambda quad, a: quad(lambda x: np.abs(x - a) + np.abs(x - 0.5), 0.0, 1.0, points=[0.5, a]),
                        2 * A - 1),
    "outside": (lambda quad, a: quad(lambda x: a * x, 0.0, 1.0, points=[a, a + 4.0]), 0.5),
    "and limits": (lambda quad, a: quad(lambda x: np.where(x < a, 1.0, 3.0), -a, 2.0 * a, points=[a]),
                   1.0 - 3.0 + 6.0 + 1.0),
    "twice the same": (lambda quad, a: quad(lambda x: np.abs(x - a), 0.0, 1.0, points=[a, a]), 2 * A - 1),
}  # fmt: skip


@pytest.mark.parametrize("how", ["adopted", "ours"])
@pytest.mark.parametrize("name", POINTS)
def test_break_points_that_depend_on_the_argument(name, how):
    f, expected = POINTS[name]
    quad = integrate.quad if how == "adopted" else ours.quad

    def value(a):
        return f(integrate.quad if how == "adopted" else quad, a)[0]

    found, gradient = ag.value_and_grad(value)(A)
    plain = f(integrate.quad, A)
    assert found == pytest.approx(plain[0], abs=1e-9)
    assert gradient == pytest.approx(expected, abs=1e-7)


def test_break_points_keep_the_estimate_of_the_error():
    def value(a):
        found, error, info = integrate.quad(lambda x: np.abs(x - a), 0.0, 1.0, points=[a], full_output=1)
        assert set(info) >= {"neval", "last"}
        assert error < 1e-12
        return found

    assert ag.grad(value)(A) == pytest.approx(2 * A - 1, abs=1e-12)


def test_break_points_of_quad_vec_are_places_only():
    def value(a):
        return integrate.quad_vec(lambda x: np.abs(x - a), 0.0, 1.0, points=[a])[0]

    assert ag.grad(value)(A) == pytest.approx(2 * A - 1, abs=1e-7)


# Integrands that decay, whose derivative in T is a product of 0 and an overflow far out.
DECAYING = {
    "Planck": (lambda np, x, T: x**3 / (np.exp(x / T) - 1.0), 0.0),
    "Planck by expm1": (lambda np, x, T: x**3 / np.expm1(x / T), 0.0),
    "Fermi": (lambda np, x, T: x**2 / (np.exp(x / T) + 1.0), 0.0),
    "Fermi, shifted": (lambda np, x, T: x / (np.exp((x - 2.0) / T) + 1.0), 0.0),
    "cosh": (lambda np, x, T: x**2 / np.cosh(x / T), 0.0),
    "sinh": (lambda np, x, T: x / np.sinh(x / T), 1e-6),
    "hyperbolic": (lambda np, x, T: 1.0 / (1.0 + np.exp(x / T)) ** 2, 0.0),
}


@pytest.mark.parametrize("name", DECAYING)
@pytest.mark.parametrize("T", [0.7, 1.3])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_slopes_of_zero_times_infinity_are_zero_far_out(name, T):
    f, low = DECAYING[name]

    def value(T):
        return integrate.quad(lambda x: f(np, x, T), low, np.inf)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error", integrate.IntegrationWarning)
        found = ag.grad(value)(T)
    expected = float(mpmath.diff(lambda t: mpmath.quad(lambda x: f(mpmath, x, t), [low, 1, 10, 100, 400]), T))
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_jump_without_break_points_stays_nan_with_a_warning():
    def value(a):
        return integrate.quad(lambda x: np.where(x < a, 1.0, 2.0) * np.sqrt(x), 0.0, 1.0)[0]

    with pytest.warns(integrate.IntegrationWarning, match="so the gradient is nan"):
        assert np.isnan(ag.grad(value)(A))


TRIPLE = {
    "all": (lambda t, a: t(lambda z, y, x: a * z, 0.0, a, 0.0, lambda x: a * x, 0.0, lambda x, y: a * x * y),
            lambda a: a**11 / 3),
    "numbers": (lambda t, a: t(lambda z, y, x: a * z * y, 0.0, a, 0.0, a, 0.0, 1.0), lambda a: a**3),
    "the innermost": (lambda t, a: t(lambda z, y, x: x + y, 0.0, 1.0, 0.0, 1.0, 0.0, a), lambda a: 1.0),
    "lower": (lambda t, a: t(lambda z, y, x: z, 0.0, 1.0, lambda x: a * x, 2.0, a, lambda x, y: 3.0),
              lambda a: -2.0 * a - 0.5 * (4.5 - 1.5 * a**2)),
    "args": (lambda t, a: t(lambda z, y, x, k: k * z, 0.0, 1.0, 0.0, lambda x: x * a, 0.0, 1.0, args=(a,)),
             lambda a: 0.5 * a),
}  # fmt: skip


@pytest.mark.parametrize("how", ["adopted", "ours"])
@pytest.mark.parametrize("name", TRIPLE)
def test_inner_limits_of_tplquad_that_depend_on_the_argument(name, how):
    f, derivative = TRIPLE[name]
    a = 0.8
    value, gradient = ag.value_and_grad(lambda a: f(integrate.tplquad if how == "adopted" else ours.tplquad, a)[0])(a)
    assert value == pytest.approx(f(integrate.tplquad, a)[0], rel=1e-9)
    assert gradient == pytest.approx(derivative(a), rel=1e-7)


def test_inner_limits_of_nquad_are_refused_with_what_to_write():
    with pytest.raises(TypeError, match=r"inner limits require grad: use dblquad or tplquad, or write the inner"):
        ag.grad(lambda a: integrate.nquad(lambda x, y: x * y, [(0.0, a), (0.0, 1.0)])[0])(A)
    found = ag.grad(lambda a: integrate.dblquad(lambda x, y: x * y, 0.0, 1.0, 0.0, a)[0])(A)
    assert found == pytest.approx(0.5 * A, rel=1e-9)
