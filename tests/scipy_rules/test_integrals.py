"""Gradients of integrals that are singular, jump or do not exist: right, or nan with a warning."""

import math
import warnings

import numpy as np
import pytest

integrate = pytest.importorskip("scipy.integrate", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import integrate as recorded
from arraygrad.scipy.integrate import _adaptive

quad, quad_vec, dblquad = recorded.quad, recorded.quad_vec, recorded.dblquad
R = 0.7

SINGULAR = {
    "the area of a disc": (lambda r: 4 * quad(lambda t: np.sqrt(r * r - t * t), 0, r)[0], 2 * math.pi * R),
    "the same by quad_vec": (lambda r: 4 * quad_vec(lambda t: np.sqrt(r * r - t * t), 0, r)[0], 2 * math.pi * R),
    "the same by dblquad": (
        lambda r: dblquad(lambda y, x: 1.0 + 0.0 * x, -r, r, lambda x: -np.sqrt(r * r - x * x),
                          lambda x: np.sqrt(r * r - x * x))[0], 2 * math.pi * R),
    "a square root": (lambda a: quad(lambda t: np.sqrt(a - t), 0, a)[0], math.sqrt(R)),
    "an arc cosine": (lambda a: quad(lambda t: np.arccos(t / a), 0, a)[0], 1.0),
    "a constant end": (lambda a: quad(lambda t: np.exp(a) / np.sqrt(1 - t), 0, 1)[0], 2 * math.exp(R)),
    "within the interval": (
        lambda a: quad(lambda t: np.sqrt(np.abs(a - t)), 0, 2)[0], math.sqrt(R) - math.sqrt(2 - R)),
    "just at a node": (
        lambda a: quad(lambda t: np.sqrt((a * (t - 1)) ** 2), 0, 2)[0], 1.0),
    "nquad": (
        lambda a: recorded.nquad(lambda x, y: np.sqrt(np.abs(a - x)), [(0, 2), (0, 1)])[0],
        math.sqrt(R) - math.sqrt(2 - R)),
    "a known point": (
        lambda a: quad(lambda x: a * np.abs(x - 0.3) ** -0.6, 0, 1, points=[0.3])[0], (0.3**0.4 + 0.7**0.4) / 0.4),
}  # fmt: skip


# An integral of integrals: ten seconds, and a minute where each inner one looks for a place that is not smooth.
MARKS = {"nquad": pytest.mark.slow, "an inner integral": pytest.mark.long, "the same by dblquad": pytest.mark.long}


def cases(table):
    """Its keys, the long ones marked."""
    return [pytest.param(key, marks=MARKS[key]) if key in MARKS else key for key in table]


def gradient_of(f, at=R):
    """The gradient, and whether it was said to be none."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        g = ag.grad(f)(at)
    return float(g), [str(w.message) for w in seen if "the gradient is nan" in str(w.message)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", cases(SINGULAR))
def test_singular_gradient_of_an_integral_is_right(what):
    f, expected = SINGULAR[what]
    found, said = gradient_of(f)
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    assert not said


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("upper", [None, 1.0])
@pytest.mark.parametrize("form", ["maximum", "branch"])
def test_power_that_ends_at_a_parameter_has_a_right_gradient(p, upper, form):
    def power(a, x):
        if form == "maximum":
            return np.maximum(a - x, 0.0) ** p
        return (a - x) ** p if x < a else 0.0

    found, said = gradient_of(lambda a: quad(lambda x: power(a, x), 0, a if upper is None else upper)[0])
    np.testing.assert_allclose(found, R**p, rtol=1e-7)
    assert not said


DIVERGENT = {
    "1 / sqrt": lambda a: quad(lambda x: 1 / np.sqrt(a - x) if x < a else 0.0, 0, a)[0],
    "1 / sqrt, unguarded": lambda a: quad(lambda x: (a - x) ** -0.5, 0, a)[0],
    "log": lambda a: quad(lambda x: np.log(a - x) if x < a else 0.0, 0, a)[0],
    "x / sqrt": lambda a: quad(lambda x: x / np.sqrt(a * a - x * x) if x < a else 0.0, 0, a)[0],
    "second": lambda r: ag.grad(lambda r: quad(lambda t: np.sqrt(r * r - t * t), 0, r)[0])(r),
    "an error": lambda a: quad(lambda x: reciprocal(a - x), 0, a)[0],
    "tanhsinh": lambda r: recorded.tanhsinh(lambda t, r: 1 / np.sqrt(r - t), 0.0, r, args=(r,)).integral,
}


def reciprocal(x):
    """As functions of numbers have it: an error at zero."""
    if x == 0.0:
        raise ZeroDivisionError("float division by zero")
    return x**-0.5


@pytest.mark.parametrize("what", DIVERGENT)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradient_that_cannot_be_integrated_is_nan_and_said_so(what):
    if what == "tanhsinh" and not hasattr(integrate, "tanhsinh"):
        pytest.skip("this SciPy has no tanhsinh")
    found, said = gradient_of(DIVERGENT[what])
    assert math.isnan(found)
    assert said
    assert any("constant limits" in text for text in said)


def test_substitution_that_the_warning_names_has_a_gradient():
    found, said = gradient_of(lambda a: quad(lambda u: a / np.sqrt(a - a * u) if u < 1 else 0.0, 0, 1)[0])
    np.testing.assert_allclose(found, R**-0.5, rtol=1e-7)
    assert not said


MOVING = {
    "a step": lambda a: quad(lambda x: np.where(x < a, 1.0, 0.0), 0, 1)[0],
    "a step and more": lambda a: quad(lambda x: np.where(x < a, x * a, 0.0), 0, 1)[0],
    "a step of two percent": lambda a: quad(lambda x: np.where(x < a, 1.0, 0.98) * np.exp(a * x), 0, 1)[0],
    "points": lambda a: quad(lambda x: np.where(x < a, x * a, 0.0), 0, 1, points=[R])[0],
    "an array": lambda a: quad_vec(lambda x: np.where(x < a, 1.0, 2.0) * np.array([1.0, 2.0]), 0, 1)[0].sum(),
    "halfway": lambda a: quad(lambda x: np.where(x < a, 1.0, 0.0), 0, 2 * R)[0],
    "coarse": lambda a: quad(lambda x: np.where(x < a, 1.0, 0.0), 0, 1, epsabs=1e-3, epsrel=1e-3)[0],
    "an inner integral": lambda a: dblquad(
        lambda y, x: np.where(x * y < a, 1.0, 0.0), 0, 1, 0, 1, epsabs=1e-2, epsrel=1e-2
    )[0],
    "the derivative": lambda a: ag.grad(lambda a: quad(lambda x: np.abs(x - a), 0, 1)[0])(a),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", cases(MOVING))
def test_jump_that_moves_with_a_parameter_is_no_gradient(what):
    found, said = gradient_of(MOVING[what])
    assert math.isnan(found)
    assert any("jumps" in text and "Divide the integral" in text for text in said)


@pytest.mark.parametrize("branch", [lambda x, a: x * a if x < a else 0.0, lambda x, a: x * a if x <= a else 0.0])
def test_jump_at_a_limit_counts_from_within(branch):
    below, above = (lambda a: quad(lambda x: branch(x, a), 0, a)[0]), (lambda a: quad(lambda x: branch(x, a), a, 1)[0])
    found, said = gradient_of(lambda a: below(a) + above(a))
    np.testing.assert_allclose(found, 1.5 * R * R, rtol=1e-9)
    assert not said


def test_kinks_and_constants_have_their_gradients_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ag.grad(lambda a: quad(lambda x: np.abs(x - a), 0, 1)[0])(R), 2 * R - 1, rtol=1e-8)
        np.testing.assert_allclose(ag.grad(lambda a: quad(lambda x: a * x if x < 0.5 else 0.0, 0, 1)[0])(R), 0.125)
        assert ag.grad(lambda a: quad(lambda x: np.maximum(a, 0.0) * x, 0, 1)[0])(0.0) == pytest.approx(0.25)
        assert ag.grad(lambda a: quad_vec(lambda x: np.sin(a * x), -1, 1)[0])(R) == pytest.approx(0.0, abs=1e-12)


def test_both_ways_of_integrating_a_gradient_agree():
    def f(x):
        return np.array([np.exp(-x), np.sin(3 * x) * 1j + x])

    for a, b in ((0.0, 2.0), (2.0, 0.5)):
        first = _adaptive.integral_of_a_gradient("f", f, a, b, {"epsabs": 1e-12, "epsrel": 1e-12})
        second = _adaptive._by_component("f", f, a, b, {"epsabs": 1e-12, "epsrel": 1e-12}, None)
        np.testing.assert_allclose(first, second, rtol=1e-12)
    np.testing.assert_allclose(
        _adaptive._by_component("f", lambda x: np.exp(-x * x), -np.inf, np.inf, {"epsabs": 0, "epsrel": 1e-9}, None),
        math.sqrt(math.pi),
    )


def test_errors_of_the_integrand_are_its_own():
    def f(x, a):
        if isinstance(a, ag.Tensor):
            raise ValueError("no such case")
        return a * x

    with pytest.raises(ValueError, match="no such case"):
        ag.grad(lambda a: quad(f, 0, 1, args=(a,))[0])(R)
