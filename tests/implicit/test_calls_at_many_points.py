"""Right sides that are called at many points at once give what calls at one point give, or are called point by point.

The class: how a right side is written (operators, functions, lists, writes, reductions, products, branches, aliases) x
adopted or not x what it is differentiated by. Each is called at random points; the reference are calls at one point.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

import arraygrad as ag
from arraygrad.implicit import many_steps
from arraygrad.implicit.columns import NoForm
from arraygrad.implicit.common import array_function
from arraygrad.program.values import Batched
from arraygrad.scipy import integrate as recorded

T = np.random.default_rng(1).uniform(0.0, 1.0, 7)
Y = np.random.default_rng(2).uniform(0.2, 1.5, (7, 3))
A, B = np.asarray(1.9), np.asarray([0.3, 0.7, 1.1])


def listed(t, y, a, b):
    return [y[1], -(a**2) * np.sin(y[0]) - b[0] * y[1], 2.0 - y[2]]


def array_of(t, y, a, b):
    return np.array([y[1] * np.cos(t), -a * y[0], b[1] * y[2] - y[0]])


def whole(t, y, a, b):
    return -a * y**3 + b * np.exp(-t) - np.pi * np.tanh(y)


def unpacked(t, y, a, b):
    u, v, w = y
    return v, w - a * u, b @ y


def selected(t, y, a, b):
    return np.where(y > 0.8, a * y, b - y)


def written(t, y, a, b):
    d = np.zeros_like(y)
    d[0] = a * y[1]
    d[1:] = b[1:] * y[:2] * y[0]
    return d


def reduced(t, y, a, b):
    return -a * y / np.sum(y) + b * np.mean(y**2) - y.max()


def joined(t, y, a, b):
    return np.concatenate([a * y[1:], -b[:1] * y[:1]])


def stacked(t, y, a, b):
    return np.stack([a * (y @ b), y[::-1][0], np.dot(y, y)])


def comprehended(t, y, a, b):
    return np.array([-a * v * np.exp(-t * c) for v, c in zip(y, b, strict=True)])


def by_roots(t, y, a, b):
    return np.sqrt(np.abs(y)) * np.sign(y + 3.0) * a + np.maximum(y, b) + np.hypot(y, a)


def with_plain_arrays(t, y, a, b):
    m = np.asarray([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return m @ y * a + np.dot(m, y) * b - m[0] * y + np.maximum(y, m[1]) + y @ m


AT_ONCE = [with_plain_arrays, listed, whole, unpacked, selected, written, reduced, joined, stacked, by_roots]
ADOPTED = [array_of, comprehended]


def in_two_cases(t, y, a, b):
    return a * y if t > 0.5 else b * y


def by_value(t, y, a, b):
    return [max(y[0], 0.5), a * y[1], b[0]]


def by_math(t, y, a, b):
    return a * y * math.exp(-t)


def by_table(t, y, a, b):
    return np.interp(t, [0.0, 0.5, 1.0], [1.0, 2.0, 0.0]) * a * y


def by_index(t, y, a, b):
    return np.asarray([1.0, 2.0, 3.0])[int(3.0 * t)] * a * y


def in_einsum(t, y, a, b):
    return np.einsum("ij,j->i", np.asarray([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), y) * a


def with_two_names(t, y, a, b):
    d = np.zeros_like(y)
    e = d
    e += a * (y - 0.5)
    return d + b * y


POINT_BY_POINT = [in_two_cases, by_value, by_math, by_table, by_index, in_einsum, with_two_names]


def calls_of(f):
    f = array_function(f)
    return many_steps.Calls(lambda t, y, a, b: f(t, y, a, b), [A, B])


def assert_equal_calls(f):
    cotangents = np.random.default_rng(3).standard_normal(Y.shape)
    calls = calls_of(f)
    values, pull = calls.at_once(T, Y)
    expected, one_by_one = calls.one_by_one(T, Y)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    for found, by_points in zip(pull(cotangents), one_by_one(cotangents), strict=True):
        if found is None:
            assert by_points is None or not np.any(by_points)
        else:
            np.testing.assert_allclose(found, by_points, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", AT_ONCE, ids=lambda f: f.__name__)
def test_calls_at_once_are_calls_at_each_point(f):
    assert_equal_calls(f)


@pytest.mark.parametrize("f", [*AT_ONCE, *ADOPTED], ids=lambda f: f.__name__)
def test_they_are_in_adopted_calls(f):
    assert_equal_calls(ag.adopt(f))


@pytest.mark.parametrize("f", POINT_BY_POINT, ids=lambda f: f.__name__)
def test_what_has_no_form_for_many_points_says_so(f):
    with pytest.raises(NoForm):
        calls_of(f).at_once(T, Y)


def nested(t, y, a, b):
    if y[0] > 0.8:
        return a * y if y[1] > 0.9 else y - a
    return [b[0] * y[2], y[0] ** 2, y[1] * max(t, 0.4)]


def counted(f):
    """f, and a list that gets what each call is given."""
    calls = []

    def g(t, y, a, b):
        calls.append(y)
        return f(t, y, a, b)

    return g, calls


@pytest.mark.parametrize("f", [listed, whole, in_two_cases, by_value, by_index, nested], ids=lambda f: f.__name__)
def test_branches_are_called_once_for_the_points_of_each(f):
    t, y = np.tile(T, 3), np.random.default_rng(4).uniform(0.2, 1.5, (21, 3))
    g, given = counted(f)
    calls = calls_of(g)
    values, jac, by_parameters = calls.linear(t, y)
    assert len(given) < 20  # one call at all points, two for each branch: the points, and one to compare with
    expected, pull = calls.one_by_one(t, y)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    np.testing.assert_allclose(jac, many_steps.jacobians(pull, *y.shape), rtol=1e-12, atol=1e-14)
    cotangents = np.random.default_rng(3).standard_normal(y.shape)
    for found, by_points in zip(by_parameters(cotangents), pull(cotangents)[1:], strict=True):
        if found is None:
            assert by_points is None or not np.any(by_points)
        else:
            np.testing.assert_allclose(found, by_points, rtol=1e-12, atol=1e-14)


def with_two_names_in_a_branch(t, y, a, b):
    return with_two_names(t, y, a, b) if y[0] > 0.8 else a * y


@pytest.mark.parametrize("f", [by_math, in_einsum, with_two_names, with_two_names_in_a_branch])
def test_what_has_no_form_for_the_points_of_a_branch_says_so(f):
    random = np.random.default_rng(4)
    with pytest.raises(NoForm):
        calls_of(f).linear(random.uniform(0.0, 1.0, 40), random.uniform(0.2, 1.5, (40, 3)))


class Working:
    """A right side that fills an array of its own."""

    def __init__(self):
        self.d, self.calls = np.zeros(2), 0

    def slope(self, t, y, k):
        self.calls += 1
        self.d[0] = y[1]
        self.d[1] = -(k**2) * np.sin(y[0]) if y[0] > 0.0 else -k * y[0]
        return self.d


@pytest.mark.parametrize("method", ["RK45", "DOP853", "LSODA"])
def test_right_sides_that_work_in_arrays_are_called_together(method, monkeypatch):
    def refuse(*_):
        raise AssertionError("the right side is called point by point")

    monkeypatch.setattr(many_steps.Calls, "one_by_one", refuse)
    monkeypatch.setattr("arraygrad.implicit.runge_kutta._Backwards._one_by_one", refuse)
    model = Working()
    # SciPy keeps the array that the right side returned while it tries steps: none is rejected here.
    how = {"rtol": 1e-8, "atol": 1e-8} if method == "LSODA" else {"rtol": 1e6, "max_step": 0.1, "first_step": 0.1}

    def loss(k):
        return integrate.solve_ivp(model.slope, (0.0, 3.0), [1.2, 0.0], method, args=(k,), **how).y[0, -1] ** 2

    with ag.number_policy("off"):
        found = ag.grad(loss)(1.3)
    assert found == pytest.approx((loss(1.3 + 1e-4) - loss(1.3 - 1e-4)) / 2e-4, rel=1e-5)


@pytest.mark.parametrize(
    ("method", "f"),
    [*itertools.product(["RK45"], AT_ONCE), *itertools.product(["LSODA"], ADOPTED), ("DOP853", whole), ("BDF", listed)],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_gradients_are_the_same_either_way(f, method, monkeypatch):
    def loss(y0, a, b):
        y = integrate.solve_ivp(f, (0.0, 0.4), y0, method, [0.1, 0.33, 0.4], args=(a, b), rtol=1e-7, atol=1e-8).y
        return np.sum(y * np.asarray([[1.0], [0.5], [-0.3]]))

    found = ag.grad(loss, argnums=(0, 1, 2))(Y[0], 1.9, B)

    def none(*args, **kwargs):
        raise NoForm

    monkeypatch.setattr(many_steps, "at_once", none)
    for one, other in zip(found, ag.grad(loss, argnums=(0, 1, 2))(Y[0], 1.9, B), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_at_rest_a_function_that_does_something_else_at_once_is_not_believed():
    def f(t, y, k):  # zero along the solution, whatever is added
        d = np.zeros_like(y)
        same = d
        same += k * (y - 1.0)
        return d

    for method in ("RK45", "LSODA"):
        solve = lambda y0, m=method: integrate.solve_ivp(f, (0.0, 1.0), y0, m, args=(0.5,), rtol=1e-8, atol=1e-9).y
        found = ag.grad(lambda y0, solve=solve: solve(y0)[:, -1].sum())(np.ones(2))
        np.testing.assert_allclose(found, np.exp(0.5), rtol=1e-4)


def test_nothing_of_many_points_is_left_in_what_a_function_stores():
    seen = []

    def f(t, y, k):
        seen.append(y)
        return -k * y

    with pytest.warns(UserWarning, match="stored numbers"):
        ag.grad(lambda k: integrate.solve_ivp(f, (0.0, 1.0), np.ones(2), args=(k,)).y[:, -1].sum())(0.5)
    assert not any(isinstance(getattr(y, "array", None), Batched) for y in seen)


def test_an_error_is_that_of_a_call_at_one_point():
    def f(t, y, k):
        if isinstance(y, ag.Tensor):
            raise ValueError("my own")
        return -k * y

    with pytest.raises(ValueError, match="my own"):
        ag.grad(lambda k: recorded.solve_ivp(f, (0.0, 1.0), np.ones(2), args=(k,)).y[:, -1].sum(), adopt=False)(0.5)


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_arrays_among_the_arguments_are_the_same_at_all_points(method, monkeypatch):
    def f(t, y, model, k):
        return k * (model["matrix"] @ y) - model["rates"] * y

    model = {"matrix": np.asarray([[0.0, 1.0], [-1.0, 0.2]]), "rates": np.asarray([0.1, 0.3])}
    refused = []

    def at_once(*args, **kwargs):
        try:
            return many_steps.__dict__["_at_once"](*args, **kwargs)
        except NoForm:
            refused.append(args)
            raise

    monkeypatch.setattr(many_steps, "_at_once", many_steps.at_once, raising=False)
    monkeypatch.setattr(many_steps, "at_once", at_once)

    def loss(k, library=integrate):
        return library.solve_ivp(f, (0.0, 1.0), np.ones(2), method, [1.0], args=(model, k), rtol=1e-9, atol=1e-10).y[
            0, 0
        ]

    found = ag.grad(loss)(0.7)
    assert not refused
    assert found == pytest.approx((loss(0.701) - loss(0.699)) / 0.002, rel=1e-5)
