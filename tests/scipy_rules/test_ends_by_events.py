"""What an event of solve_ivp stops or finds: the last time and solution, the times of many; complex solutions."""

import numpy as np
import pytest

pytest.importorskip("scipy.integrate", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy.integrate import solve_ivp

G, H, V = 9.81, 1.0, 2.0
FINE = {"rtol": 1e-10, "atol": 1e-10}


def ground(t, y):
    return y[0]


ground.terminal, ground.direction = True, -1


def landing(v, **options):
    start = ag.stack([H + 0.0 * v, v])
    return solve_ivp(lambda t, y: ag.stack([y[1], 0.0 * y[1] - G]), (0.0, 9.0), start, events=ground, **FINE, **options)


def time(v):
    """When it lands, and the first and second derivative."""
    root = np.sqrt(v * v + 2.0 * G * H)
    return (v + root) / G, (1.0 + v / root) / G, 2.0 * H / root**3


SPEED = tuple(a - b * G for a, b in zip((V, 1.0, 0.0), time(V), strict=True))

READ = {
    "t[-1]": (lambda v: landing(v).t[-1], time(V)),
    "t_events": (lambda v: landing(v).t_events[0][0], time(V)),
    "y[1, -1]": (lambda v: landing(v).y[1, -1], SPEED),
    "y_events": (lambda v: landing(v).y_events[0][0, 1], SPEED),
    "y[0, -1]": (lambda v: landing(v).y[0, -1], (0.0, 0.0, 0.0)),
    "sol(t[-1])": (lambda v: (lambda r: r.sol(r.t[-1])[1])(landing(v, dense_output=True)),
                   SPEED),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_end_at_a_terminal_event_moves_with_it(what):
    f, (value, first, second) = READ[what]
    found, slope = ag.value_and_grad(f)(V)
    np.testing.assert_allclose(float(found), value, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(float(slope), first, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(float(ag.grad(ag.grad(f))(V)), second, rtol=1e-6, atol=1e-6)


def test_columns_before_the_event_are_at_constant_times():
    assert float(ag.grad(lambda v: landing(v).t[-2])(V)) == 0.0
    before = landing(V).t[-2]
    np.testing.assert_allclose(float(ag.grad(lambda v: landing(v).y[0, -2])(V)), float(before), rtol=1e-6)


def test_times_to_report_at_do_not_move_with_an_event():
    result = landing(ag.asarray(V), t_eval=[0.1, 0.2])
    assert isinstance(result.t, np.ndarray)
    np.testing.assert_allclose(float(ag.grad(lambda v: landing(v, t_eval=[0.1, 0.2]).y[0, -1])(V)), 0.2, rtol=1e-7)


def test_times_of_many_events_cost_one_backward_solution():
    calls = []

    def right(t, y, k):
        calls.append(1)
        return ag.stack([y[1], -k * y[0]])

    def weighted(k):
        found = solve_ivp(right, (0.0, 9.0), np.array([1.0, 0.0]), args=(k,), events=lambda t, y, k: y[0], **FINE)
        return ag.sum(found.t_events[0] * np.arange(6.0))

    value, slope = ag.value_and_grad(weighted)(4.0)
    times = (np.arange(6.0) + 0.5) * np.pi / 2.0
    np.testing.assert_allclose(float(value), np.sum(times * np.arange(6.0)), rtol=1e-8)
    np.testing.assert_allclose(float(slope), -np.sum(times * np.arange(6.0)) / 8.0, rtol=1e-7)
    forward = len(calls)
    calls.clear()
    weighted(4.0)
    assert forward < 6 * len(calls)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "BDF"])
def test_complex_solution_of_a_real_parameter(method):
    def part(k):
        found = solve_ivp(lambda t, y, k: 1j * k * y, (0.0, 1.0), np.array([1.0 + 0j]), method, args=(k,), **FINE)
        return ag.real(found.y[0, -1])

    np.testing.assert_allclose(float(ag.grad(part)(1.3)), -np.sin(1.3), rtol=1e-6)


def test_no_times_to_report_at():
    def at(y):
        options = {"t_eval": [], "dense_output": True}
        return solve_ivp(lambda t, y: -y, (0.0, 1.0), ag.reshape(y, (1,)), **options, **FINE).sol(0.4)[0]

    np.testing.assert_allclose(float(ag.grad(at)(1.0)), np.exp(-0.4), rtol=1e-7)
