"""Times that initial value problems are solved over and reported at, where they are differentiated.

The class: method x which times depend on the argument (an end, both, the times asked for, also constant ones between)
x what else does (initial values, arguments, a closure) x what is read (values, times, the dense solution, events) x
order of the derivative. Compared with differences of fourth order, and with solutions in closed form.
"""

import itertools
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from scipy.integrate import odeint, solve_ivp

import arraygrad as ag

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
START = [1.0, 0.5]
X = 1.3


def check(f, x=X, rel=1e-6, h=1e-3):
    value, gradient = ag.value_and_grad(f)(x)
    assert value == pytest.approx(float(f(x)), rel=1e-14)
    differences = (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)
    assert gradient == pytest.approx(differences, rel=rel, abs=1e-8)


def swing(t, y):
    return [y[1] * t, -np.sin(y[0]) - 0.1 * y[1]]


def driven(t, y, k):
    return np.array([y[1] * t, -np.sin(k * y[0]) - 0.1 * y[1]])


SPANS = {
    "end": lambda x: (0.1, x),
    "start": lambda x: (x, 2.0),
    "both": lambda x: [x, 2.0 * x],
    "backwards": lambda x: (2.0 * x, x),
    "an array": lambda x: np.array([0.5 * x, x * x]),
}
RIGHT_SIDES = {
    "times alone": lambda span, x, **how: solve_ivp(swing, span, START, **how),
    "initial values": lambda span, x, **how: solve_ivp(swing, span, [x, x * x], **how),
    "args": lambda span, x, **how: solve_ivp(driven, span, START, args=(x,), **how),
    "a closure": lambda span, x, **how: solve_ivp(lambda t, y: driven(t, y, x), span, [1.0, x], **how),
}


@pytest.mark.parametrize(("span", "right_side"), list(itertools.product(SPANS, RIGHT_SIDES)))
def test_last_values(span, right_side):
    check(lambda x: np.sum(RIGHT_SIDES[right_side](SPANS[span](x), x, **TIGHT).y[:, -1]))


@pytest.mark.parametrize("method", ["RK23", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("span", ["end", "start", "both"])
def test_methods(method, span):
    how = {**TIGHT, "method": method} if method != "RK23" else {"rtol": 1e-7, "atol": 1e-9, "method": method}
    check(lambda x: RIGHT_SIDES["args"](SPANS[span](x), x, **how).y[0, -1], rel=1e-4, h=1e-2)


@pytest.mark.parametrize("span", SPANS)
def test_first_values_are_the_initial_ones(span):
    check(lambda x: RIGHT_SIDES["a closure"](SPANS[span](x), x, **TIGHT).y[:, 0].sum())


@pytest.mark.parametrize("span", SPANS)
def test_times_of_the_result(span):
    def f(x):
        found = RIGHT_SIDES["args"](SPANS[span](x), x, **TIGHT)
        return 3.0 * found.t[-1] + found.t[0]

    check(f)


ASKED = {
    "all move": (lambda x: (0.0, x), lambda x: np.linspace(0.0, x, 7)),
    "all move with the start": (lambda x: (x, 3.0), lambda x: np.linspace(x, 3.0, 7)),
    "constant, the end moves": (lambda x: (0.0, x), lambda x: [0.2, 0.5, 1.0]),
    "constant, the start moves": (lambda x: (x, 5.0), lambda x: np.array([2.0, 3.0, 4.0])),
    "one moves": (lambda x: (0.0, 4.0), lambda x: [0.5, x, 2.0]),
    "a list of both": (lambda x: (0.1 * x, 4.0), lambda x: [x, 1.5 * x, 4.0]),
    "backwards": (lambda x: (2.0 * x, 0.0), lambda x: [2.0 * x, x, 0.3]),
}


@pytest.mark.parametrize(("asked", "right_side"), list(itertools.product(ASKED, ["times alone", "a closure"])))
def test_times_that_are_asked_for(asked, right_side):
    span, times = ASKED[asked]

    def f(x):
        found = RIGHT_SIDES[right_side](span(x), x, t_eval=times(x), **TIGHT)
        return np.sum(found.y**2) + np.sum(found.t)

    if asked == "constant, the end moves" and right_side == "times alone":
        with pytest.warns(UserWarning, match="does not depend on the arguments"):
            assert ag.grad(f)(X) == 0.0
    else:
        check(f)


def falling(t, y, g):
    return [y[1], -g - 0.1 * t]


def event(terminal):
    def ground(t, y, g):
        return y[0] - 0.05 * g

    ground.terminal = terminal
    return ground


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("span", [lambda x: (x - 1.0, 9.0), lambda x: (0.0, 4.0 * x), lambda x: (x - 1.0, 4.0 * x)])
def test_events_and_the_end_that_they_set(terminal, span):
    def f(x):
        found = solve_ivp(falling, span(x), [3.0, x], args=(x + 3.0,), events=event(terminal), **TIGHT)
        return found.t_events[0][0] + found.y_events[0][0, 1] + found.t[-1] + found.y[1, -1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(f)


@pytest.mark.parametrize("span", ["end", "start", "both"])
def test_dense_solution(span):
    def f(x):
        found = RIGHT_SIDES["a closure"](SPANS[span](x), x, dense_output=True, **TIGHT)
        return found.sol(1.9 if span != "end" else 0.7)[0] + found.sol(0.5 * (found.t[0] + found.t[-1]))[1]

    check(f)


def test_second_call_goes_on_where_an_event_ended_the_first():
    def f(x):
        down = solve_ivp(falling, (0.0, 9.0), [3.0, x], args=(9.0,), events=event(True), **TIGHT)
        up = solve_ivp(falling, (down.t[-1], 2.0), [down.y[0, -1], -0.8 * down.y[1, -1]], args=(9.0,), **TIGHT)
        return up.y[0, -1]

    check(f)


@pytest.mark.parametrize(
    ("span", "right_side"),
    [("end", "times alone"), ("start", "times alone"), ("both", "args"), ("both", "a closure")],
)
def test_second_derivatives(span, right_side):
    how = {"method": "DOP853", "rtol": 1e-8, "atol": 1e-10}
    slope = ag.grad(lambda x: RIGHT_SIDES[right_side](SPANS[span](x), x, **how).y[0, -1])
    second, h = ag.grad(slope)(X), 1e-3
    differences = (slope(X - 2 * h) - 8 * slope(X - h) + 8 * slope(X + h) - slope(X + 2 * h)) / (12 * h)
    assert second == pytest.approx(differences, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("order", [1, 2])
def test_closed_form(order):
    """y' = 2 t y from (a, 1) to b: y = exp(b^2 - a^2)."""
    how = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11}
    found = lambda a, b: solve_ivp(lambda t, y: 2.0 * t * y, (a, b), [1.0], **how).y[0, -1]
    for i, sign in ((0, -1.0), (1, 1.0)):
        f = found
        for _ in range(order):
            f = ag.grad(f, argnums=i)
        a, b = 0.3, 0.9
        u = (a, b)[i]
        terms = {1: 2 * sign * u, 2: 4 * u * u + 2 * sign}[order]
        assert f(a, b) == pytest.approx(terms * np.exp(b * b - a * a), rel=1e-6)


def test_no_time_at_all():
    assert ag.grad(lambda x: solve_ivp(swing, (x, x), START).y[0, -1])(1.0) == 0.0


def test_complex_states():
    check(
        lambda x: abs(
            solve_ivp(lambda t, y: 1j * y * t - 0.1 * y, (x, 2 * x), np.array([1.0 + 1j]), **TIGHT).y[0, -1] + 0.3
        )
    )


def test_columns_for_a_vectorized_right_side():
    check(
        lambda x: solve_ivp(lambda t, y: -y * t, (0.1, x), START, vectorized=True, method="BDF", **TIGHT).y[0, -1],
        rel=1e-5,
    )


@pytest.mark.parametrize("times", [lambda x: [0.1, x], lambda x: [x, 2.0], lambda x: np.linspace(0.5 * x, 2 * x, 5)])
def test_times_of_odeint(times):
    check(lambda x: odeint(lambda y, t: -y * t * x, [1.0], times(x), rtol=1e-11, atol=1e-12)[-1, 0], rel=1e-5)


def test_float32_stays():
    def f(x):
        return solve_ivp(lambda t, y: -y, (np.float32(0.0), x), np.ones(2, np.float32), t_eval=[x]).y[0, 0]

    x = np.float32(1.0)
    assert ag.grad(f)(x).dtype == x.dtype
