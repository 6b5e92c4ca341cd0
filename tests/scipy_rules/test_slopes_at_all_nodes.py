"""Gradients under an integral that are computed at all nodes at once are those of one call for each node.

The class: integrands (smooth, with branches, with state, with values that leave) times intervals (finite, reversed,
infinite, divided) times parameters (numbers, arrays, float32, read by a closure) times the functions that integrate.
Guards Note [Slopes at all nodes] in scipy/integrate/_at_nodes.py.
"""

import functools
import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import dblquad, quad, quad_vec

import arraygrad as ag
from arraygrad.implicit.columns import NoForm
from arraygrad.scipy.integrate import _at_nodes

P = np.array([0.8, 1.3])

INTEGRANDS = {
    "products": lambda x, a, b: a * x * x + b * x,
    "functions of numpy": lambda x, a, b: np.exp(-a * x * x) * np.cos(b * x),
    "functions of math": lambda x, a, b: math.exp(-a * x * x) * math.cos(b * x),
    "one parameter at some numbers": lambda x, a, b: np.where(x < 0.4, a * x * x, b * x * x),
    "a branch at a number": lambda x, a, b: a * x if x < 0.5 else a * x + b * (x - 0.5) ** 2,
    "branches": lambda x, a, b: a * x if x < 0.3 else b * (x - 0.3) + 0.3 * a if x < 0.6 else b * 0.3 + 0.3 * a,
    "a loop": lambda x, a, b: sum((a * x) ** k / math.factorial(k) for k in range(6)) * b,
    "a while": lambda x, a, b: folded(x, a) * b,
    "an array inside": lambda x, a, b: np.array([a, b * x, 1.0]) @ np.array([x, 2.0, a]),
    "written inside": lambda x, a, b: written(x, a, b),
    "written under two names": lambda x, a, b: written_twice(x, a, b),
    "steps of a number": lambda x, a, b: a * x + b * x * x + 0.0 * int(3 * x),
    "float": lambda x, a, b: a * float(x) ** 2 + b * math.sqrt(float(x) + 2.0),
    "hypot": lambda x, a, b: np.hypot(a * x, b) + abs(x - 0.2) * a,
}


def folded(x, a):
    x = a * x * 3.0
    while x > 1.0:
        x = 2.0 - x if x < 2.0 else x - 2.0
    return x


def written(x, a, b):
    y = np.zeros(3)
    y[0] = a * x
    y[1:] += b * x * x
    y *= 2.0
    return y.sum()


def written_twice(x, a, b):
    y = np.zeros(4)
    z = y[1:3]
    z[...] = a * x
    y[2] += b
    return np.sum(z * y[:2])


INTERVALS = {
    "finite": {"limits": (0.05, 0.95)},
    "reversed": {"limits": (0.9, -0.2)},
    "divided": {"limits": (0.0, 1.0), "points": [0.3, 0.5]},
    "divided, reversed": {"limits": (1.0, 0.0), "points": [0.5]},
}
INFINITE = {
    "to infinity": {"limits": (0.5, np.inf)},
    "from infinity": {"limits": (-np.inf, 0.5)},
    "all": {"limits": (-np.inf, np.inf)},
    "back from infinity": {"limits": (np.inf, 0.5)},
}
DECAYING = {
    "a product": lambda x, a, b: np.exp(-a * x * x) * (1.0 + np.sin(b * x)),
    "a branch": lambda x, a, b: np.exp(-a * x * x) * b if x < 1.0 else math.exp(-1.5 * x * x + 1.5 - a) * b,
    "a quotient": lambda x, a, b: 1.0 / (a + b * x * x) ** 2,
}


def integral_by(name, f, interval):
    """The integral of f(x, a, b) as a function of [a, b]."""
    low, high = interval["limits"]
    points = interval.get("points")
    if name == "quad":
        return lambda p: quad(f, low, high, args=(p[0], p[1]), points=points)[0]
    if name == "quad, a closure":
        return lambda p: quad(lambda x: f(x, p[0], p[1]), low, high, points=points)[0]
    return lambda p: quad_vec(lambda x: f(x, *p) * np.array([1.0, 0.5]), low, high, epsabs=1e-9, points=points)[0].sum()


class At:
    """Counts in which of the calls of `Slopes.at` slopes were given; with `off` there are none."""

    def __init__(self, monkeypatch, off=False):
        self.given, self.refused = 0, 0
        at = _at_nodes.Slopes.at

        def counted(slopes, x):
            try:
                if off:
                    raise NoForm
                found = at(slopes, x)
            except NoForm:
                self.refused += 1
                raise
            self.given += 1
            return found

        monkeypatch.setattr(_at_nodes.Slopes, "at", counted)


def alone(f, *args):
    """The gradient, one call for each node."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        off = At(patch, off=True)
        found = ag.grad(f)(*args)
        assert not off.given
    return found


def differences(f, p, e=1e-5):
    return np.array([(f(p + s) - f(p - s)) / (2 * e) for s in np.eye(len(p)) * e])


# They write to an array, which later calls may find, or read a number of each node.
NOT_AT_ONCE = frozenset(("float", "written inside", "written under two names", "steps of a number"))


FEW = ("functions of math", "one parameter at some numbers", "a branch at a number")
CASES = [
    *itertools.product(INTEGRANDS, ["finite"], ["quad", "quad, a closure"]),
    *itertools.product(FEW, [one for one in INTERVALS if one != "finite"], ["quad"]),
    *itertools.product(["products", "a branch at a number"], ["finite", "divided"], ["quad_vec"]),
]


@pytest.mark.parametrize(("integrand", "interval", "by"), CASES)
def test_gradients_are_those_of_one_call_for_each_node(integrand, interval, by, monkeypatch):
    f = integral_by(by, INTEGRANDS[integrand], INTERVALS[interval])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bent = integrand in ("a while", "branches")  # QUADPACK knows the integral to 1e-8 alone
        expected = differences(f, P, 1e-3 if bent else 1e-5)
        seen = At(monkeypatch)
        found = ag.grad(f)(P)
        np.testing.assert_allclose(found, expected, rtol=1e-4 if bent else 3e-6, atol=1e-8)
        np.testing.assert_allclose(found, alone(f, P), rtol=1e-7, atol=1e-9)
    if integrand not in NOT_AT_ONCE and by != "quad_vec":
        assert seen.given > 0


@pytest.mark.parametrize(
    ("integrand", "interval", "by"),
    [*itertools.product(DECAYING, INFINITE, ["quad"]), ("a product", "to infinity", "quad_vec")],
)
def test_infinite_intervals(integrand, interval, by, monkeypatch):
    f = integral_by(by, DECAYING[integrand], INFINITE[interval])
    seen = At(monkeypatch)
    found = ag.grad(f)(P)
    np.testing.assert_allclose(found, differences(f, P), rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(found, alone(f, P), rtol=1e-7, atol=1e-9)
    assert seen.given > 0 or by == "quad_vec"


def test_few_calls_of_the_function_serve_all_nodes():
    calls = []

    def f(p):
        def integrand(x, a, b):
            calls.append(None)
            return np.exp(-a * x) * b

        return quad(integrand, 0.0, 2.0, args=tuple(p))[0]

    f(P)
    plain = len(calls)
    calls.clear()
    ag.grad(f)(P)
    assert len(calls) <= plain + 63 + 4  # the solution, each node by a number; a call at all nodes, one at a node


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_of_arrays_stay(dtype, monkeypatch):
    w = np.linspace(0.2, 1.1, 5).astype(dtype)

    def f(w):
        return quad(lambda x: np.sum(np.sin(w * x)), 0.0, 1.0)[0]

    seen = At(monkeypatch)
    found = ag.grad(f)(w)
    assert found.dtype == dtype
    assert seen.given > 0
    exact = [quad(lambda x, c=float(c): x * math.cos(c * x), 0.0, 1.0)[0] for c in w]
    np.testing.assert_allclose(found, exact, rtol=5e-6 if dtype is np.float32 else 1e-10)


def test_large_arrays_are_done_alone(monkeypatch):
    w = np.linspace(0.2, 1.1, 20_000)
    seen = At(monkeypatch)
    found = ag.grad(lambda w: quad(lambda x: np.sum(w * x), 0.0, 1.0)[0])(w)
    np.testing.assert_allclose(found, np.full(w.shape, 0.5), rtol=1e-12)
    assert not seen.given


def test_second_derivatives_are_those_of_one_call_for_each_node(monkeypatch):
    def f(p):
        return quad(lambda x: np.exp(-p[0] * x * x) * np.cos(p[1] * x), 0.0, 1.0)[0]

    At(monkeypatch)
    found = ag.hessian(f)(P)
    expected = differences(ag.grad(f), P)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_slopes_that_are_infinite_at_a_node_are_taken_alone(monkeypatch):
    # x**a has no slope at 0 by x, and log(0) * 0 is nan in the middle of [-1, 1].
    def f(p):
        return quad(lambda x: np.abs(x) ** p[0] * p[1], -1.0, 1.0)[0]

    seen = At(monkeypatch)
    found = ag.grad(f)(P)
    np.testing.assert_allclose(found, [-2.0 * P[1] / (P[0] + 1.0) ** 2, 2.0 / (P[0] + 1.0)], rtol=1e-7)
    assert seen.given > 0


STATES = ("a list", "a dict", "a counter", "an attribute", "a global array", "a cache")


@pytest.mark.parametrize("state", STATES)
def test_functions_that_store_what_they_are_given_find_numbers_alone(state):
    log, known, work, seen = [], {}, np.zeros(2), []

    class Counted:
        n, last = 0, 0.0

    counted = Counted()

    @functools.cache
    def cached(x):
        seen.append(x)
        return x * x

    def integrand(x, a, b):
        if state == "a list":
            log.append(x)
        elif state == "a dict":
            known[x] = x * x
        elif state == "a counter":
            counted.n += 1
        elif state == "an attribute":
            counted.last = x
        elif state == "a global array":
            work[0] = x
        else:
            return a * cached(x) + b * x
        return a * x * x + b * x

    def f(p):
        return quad(integrand, 0.0, 1.0, args=(p[0], p[1]))[0]

    f(P)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ag.grad(f)(P)
    np.testing.assert_allclose(found, [1 / 3, 1 / 2], rtol=1e-12)
    assert all(type(x) is float for x in (*log, *known, *seen, counted.last))
    assert work.dtype == np.float64


def test_jumps_and_divergence_are_told_as_ever():
    def jump(p):
        return quad(lambda x: np.where(x < p[0], p[1], 0.0), 0.0, 1.0)[0]

    def diverges(p):
        return quad(lambda x: np.sqrt(np.abs(p[0] - x)) / (p[1] + 0.0 * x), 0.8, 1.0)[0]

    with pytest.warns(integrate.IntegrationWarning, match="jumps"):
        assert np.isnan(ag.grad(jump)(P)[0])
    assert np.isfinite(alone(diverges, P)).all()
    np.testing.assert_allclose(ag.grad(diverges)(P), alone(diverges, P), rtol=1e-7)


def test_wrong_slopes_at_once_are_found_out(monkeypatch):
    """Were the slopes at all nodes others than those of a call, or the values others than SciPy's, none is used."""
    f = integral_by("quad", INTEGRANDS["products"], INTERVALS["finite"])
    right = alone(f, P)
    made = _at_nodes.slopes_at
    for wrong in (
        lambda values, parts: (values, [part * (1.0 + 1e-6) for part in parts]),
        lambda values, parts: (values * (1.0 + 1e-6), parts),
    ):
        monkeypatch.setattr(_at_nodes, "slopes_at", lambda *args, wrong=wrong: wrong(*made(*args)))
        np.testing.assert_allclose(ag.grad(f)(P), right, rtol=1e-12)


def caught(x, a, b):
    try:
        return a * math.sqrt(x - 0.3) + b
    except ValueError:
        return b


def caught_late(x, a, b):
    """Needs many intervals near 0.5, of which few nodes have no logarithm."""
    try:
        return a * math.sqrt(abs(x - 0.5)) + b * math.log(abs(x - 0.5) - 1e-4)
    except ValueError:
        return a * 0.5 + b * math.log(1e-4)


def read_or_not(x, a, b):
    try:
        return a * float(x) ** 2 + b
    except TypeError:
        return a * 2.0 + b * 3.0


@pytest.mark.parametrize("f", [caught, caught_late, read_or_not])
def test_errors_that_the_function_catches_itself_change_nothing(f):
    integral = integral_by("quad", f, {"limits": (0.0, 1.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ag.grad(integral)(P)
        np.testing.assert_allclose(found, alone(integral, P), rtol=1e-7)
        np.testing.assert_allclose(found, differences(integral, P, 1e-2), rtol=1e-4)  # linear in both


def test_numbers_that_are_no_nodes_are_asked_for_alone(monkeypatch):
    monkeypatch.setattr(_at_nodes, "_places", lambda rule: np.linspace(-0.9, 0.9, 21))
    f = integral_by("quad", INTEGRANDS["functions of numpy"], INTERVALS["finite"])
    np.testing.assert_allclose(ag.grad(f)(P), alone(f, P), rtol=1e-12)


@pytest.mark.parametrize("inner", ["numbers", "functions"])
def test_inner_integrals_are_done_at_once(inner, monkeypatch):
    def f(p):
        a, b = p
        limits = (0.0, 1.0) if inner == "numbers" else (lambda x: a * x, lambda x: b + x)
        return dblquad(lambda y, x: np.exp(-a * x * y) * b, 0.1, 0.9, *limits)[0]

    seen = At(monkeypatch)
    np.testing.assert_allclose(ag.grad(f)(P), differences(f, P), rtol=3e-6)
    assert seen.given > seen.refused
