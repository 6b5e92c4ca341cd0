"""Right sides that jump at a place that moves: the gradient is nan, with a warning; without such a jump it is right."""

import warnings

import numpy as np
import pytest

integrate = pytest.importorskip("scipy.integrate", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import integrate as recorded

FINE = {"rtol": 1e-9, "atol": 1e-9}
END = {"t_eval": [2.0]}


def gradient_of(f, at):
    """The gradient, and what was said of it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        g = ag.grad(f)(at)
    return float(g), [str(w.message) for w in seen if "the gradient is nan" in str(w.message)]


def solved(f, y0=(0.0,), end=2.0, **options):
    """The last value of the first component as a function of the parameter."""
    return lambda k: recorded.solve_ivp(f, (0.0, end), np.array(y0), args=(k,), **options).y[0, -1]


def by_time(t, y, k):
    return np.where(t < k, 1.0, 3.0) * np.ones(1)


def by_state(t, y, k):
    return -y * np.where(y < k, 0.1, 3.0)


MOVING = {
    "time": (solved(by_time, **END, max_step=0.01, **FINE), 0.73),
    "time, default tolerances": (solved(by_time), 0.73),
    "state": (solved(by_state, (2.0,), **END, max_step=0.01, **FINE), 0.73),
    "state, default tolerances": (solved(by_state, (2.0,)), 0.73),
    "RK23": (solved(by_state, (2.0,), method="RK23"), 0.73),
    "DOP853": (solved(by_state, (2.0,), method="DOP853", **FINE), 0.73),
    "Radau": (solved(by_state, (2.0,), method="Radau"), 0.73),
    "BDF": (solved(by_state, (2.0,), method="BDF"), 0.73),
    "LSODA": (solved(by_state, (2.0,), method="LSODA"), 0.73),
    "floor": (solved(lambda t, y, k: np.floor(k * t) - y, end=5.0), 0.73),
    "square wave": (solved(lambda t, y, k: np.sign(np.sin(k * t)) - y, end=5.0), 3.3),
    "dose": (solved(lambda t, y, k: np.where((t > k) & (t < k + 0.05), 10.0, 0.0) - y, (0.5,), max_step=0.02), 0.73),
    "many components": (solved(lambda t, y, k: -y * np.where(y < k, 0.1, 3.0), tuple(np.linspace(1.0, 2.0, 12))), 0.73),
    "backwards": (lambda k: recorded.solve_ivp(by_time, (2.0, 0.0), np.zeros(1), args=(k,), **FINE).y[0, -1], 0.73),
    "dense": (lambda k: recorded.solve_ivp(
        by_time, (0.0, 2.0), np.zeros(1), args=(k,), dense_output=True, **FINE).sol(1.9)[0], 0.73),
    "odeint": (lambda k: recorded.odeint(by_state, np.array([2.0]), [0.0, 2.0], (k,), tfirst=True)[-1, 0], 0.73),
    "odeint, time": (lambda k: recorded.odeint(by_time, np.array([2.0]), [0.0, 2.0], (k,), tfirst=True)[-1, 0], 0.73),
    "initial value": (lambda y: recorded.solve_ivp(
        lambda t, y: -y * np.where(y < 0.7, 0.1, 3.0), (0.0, 2.0), ag.reshape(y, (1,)), **FINE).y[0, -1], 2.0),
}  # fmt: skip


@pytest.mark.parametrize("what", MOVING)
def test_jump_that_moves_makes_the_gradient_nan_and_says_so(what):
    found, said = gradient_of(*MOVING[what])
    assert np.isnan(found)
    assert len(said) == 1
    assert "the right side jumps near t = " in said[0]
    assert "Split the integration at the jump" in said[0]


def test_warning_names_the_place():
    _, said = gradient_of(*MOVING["time"])
    assert "near t = 0.73 " in said[0]


def pushed(t, y, k):
    return np.stack([y[1], -k * y[0] + np.sin(2.0 * t)])


SMOOTH = {
    "oscillator": (pushed, (1.0, 0.0), 2.0),
    "steep": (lambda t, y, k: np.tanh(200.0 * (t - k)) - y, (0.3,), 0.73),
    "pulse": (lambda t, y, k: np.exp(-(((t - k) / 0.1) ** 2)) - y, (0.5,), 0.73),
    "steep in the state": (lambda t, y, k: -y * (1.0 + np.tanh(300.0 * (y - k))), (2.0,), 0.73),
    "abs": (lambda t, y, k: np.abs(t - k) - y, (0.5,), 0.73),
    "maximum": (lambda t, y, k: -np.maximum(y - k, 0.0) - 0.1 * y, (2.0,), 0.73),
    "jump at a constant time": (lambda t, y, k: np.where(t < 0.73, 1.0, 3.0) * k - k * y, (0.2,), 1.3),
    "jumps at constant times": (lambda t, y, k: np.sign(np.sin(9.0 * t)) * k - k * y, (0.2,), 1.3),
}


@pytest.mark.parametrize("options", [{}, FINE, {"method": "LSODA"}, {"method": "BDF"}], ids=str)
@pytest.mark.parametrize("what", SMOOTH)
def test_gradient_without_a_moving_jump_is_right(what, options):
    f, y0, at = SMOOTH[what]
    found, said = gradient_of(solved(f, y0, **options), at)
    assert not said
    if options is not FINE:  # right to the tolerance, which is not much
        return

    def plain(k):
        tight = {"rtol": 1e-12, "atol": 1e-12, "max_step": 0.01}
        return integrate.solve_ivp(f, (0.0, 2.0), np.array(y0), "DOP853", args=(k,), **tight).y[0, -1]

    h = 1e-4
    wide, narrow = ((plain(at + s) - plain(at - s)) / (2.0 * s) for s in (2.0 * h, h))
    # The steps are differentiated: that of a step over a kink is as good as its length allows.
    rtol = 5e-4 if what == "abs" else 1e-5
    np.testing.assert_allclose(found, (4.0 * narrow - wide) / 3.0, rtol=rtol, atol=1e-6)
