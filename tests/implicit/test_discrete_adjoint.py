"""Gradients of explicit Runge-Kutta solutions are those of the solver's own steps, to rounding.

The class: method x direction of time x where the solution is asked for (at the steps, within them, at their ends, many
times within one step, at the start alone) x what is differentiated x real, complex, float32 x order. Steps of one
length, which no tolerance changes, make SciPy's own solution a smooth function, and its differences the reference.
"""

import numpy as np
import pytest
from scipy import integrate as plain

import arraygrad as ag
from arraygrad.implicit import runge_kutta
from arraygrad.scipy import integrate

METHODS = ["RK23", "RK45", "DOP853"]
LOOSE = {"rtol": 1e6, "atol": 1e6, "max_step": 0.21, "first_step": 0.21}


def slope(t, y, k):
    return [-k[0] * y[0] * y[1] + np.sin(t), k[1] * y[0] - 0.3 * y[1] ** 2]


def stacked(t, y, k):
    return np.stack([-k[0] * y[0] * y[1] + np.sin(t), k[1] * y[0] - 0.3 * y[1] ** 2])


TIMES = {
    "its own steps": None,
    "within": np.linspace(0.05, 0.95, 7),
    "the ends of steps": np.asarray([0.21, 0.42, 0.63]),
    "many": np.linspace(0.0, 1.0, 60),
    "the start": np.asarray([0.0]),
    "one step alone": np.asarray([0.5, 0.51, 0.6]),
}
Y0, K = np.asarray([0.9, 0.4]), np.asarray([1.1, 0.7])


def along(f, x, direction, h=1e-3):
    weights = (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
    return sum(w * (f(x + (i + 1) * h * direction) - f(x - (i + 1) * h * direction)) for i, w in enumerate(weights)) / h


def loss_of(solve, weights):
    def loss(y0, k):
        y = solve(y0, k)
        return np.sum(y * weights[: y.shape[1]] * np.asarray([[1.0], [0.7]])) + y[0, -1] ** 2

    return loss


@pytest.mark.parametrize("way", [1.0, -1.0], ids=["forwards", "backwards"])
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_those_of_the_steps(method, times, way):
    at = None if TIMES[times] is None else way * TIMES[times]
    weights = np.random.default_rng(3).uniform(0.5, 1.0, 100)

    def solved(library):
        return lambda y0, k: library.solve_ivp(slope, (0.0, way * 1.0), y0, method, at, args=(k,), **LOOSE).y

    ours, theirs = loss_of(solved(integrate), weights), loss_of(solved(plain), weights)
    found = ag.grad(ours, argnums=(0, 1))(Y0, K)
    for i in range(2):
        for direction in np.eye(2):
            f = (lambda y0: theirs(y0, K)) if i == 0 else (lambda k: theirs(Y0, k))
            assert found[i] @ direction == pytest.approx(along(f, (Y0, K)[i], direction), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives_are_those_of_the_steps(method):
    at = TIMES["within"]
    weights = np.random.default_rng(3).uniform(0.5, 1.0, 100)

    def solved(library):
        return lambda y0, k: library.solve_ivp(slope, (0.0, 1.0), y0, method, at, args=(k,), **LOOSE).y

    ours, theirs = loss_of(solved(integrate), weights), loss_of(solved(plain), weights)
    hessian = ag.hessian(lambda v: ours(v[:2], v[2:]))(np.concatenate([Y0, K]))
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-10, atol=1e-12)
    whole = lambda v: theirs(v[:2], v[2:])
    for direction in np.eye(4):
        slope_of = lambda v, d=direction: along(whole, v, d, 1e-2)
        second = along(slope_of, np.concatenate([Y0, K]), direction, 1e-2)
        assert direction @ hessian @ direction == pytest.approx(second, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_public_solver_and_its_dense_solution(method):
    options = {"method": method, "rtol": 1e6, "atol": 1e6, "max_step": 0.3, "first_step": 0.3}

    def ours(k):
        return ag.implicit.solve_ivp(stacked, (0.0, 1.0), Y0, (k,), t_eval=np.asarray([0.4, 1.0]), **options).y.sum()

    def dense(k, library=integrate):
        sol = library.solve_ivp(slope, (0.0, 1.0), Y0, args=(k,), dense_output=True, **options).sol
        return sol(np.asarray([0.9, 0.2, 0.55])).sum() + sol(0.7)[1]

    for direction in np.eye(2):
        expected = along(
            lambda k: plain.solve_ivp(stacked, (0.0, 1.0), Y0, t_eval=[0.4, 1.0], args=(k,), **options).y.sum(),
            K, direction,
        )  # fmt: skip
        assert ag.grad(ours)(K) @ direction == pytest.approx(expected, rel=1e-9)
        expected = along(lambda k: dense(k, plain), K, direction)
        assert ag.grad(dense)(K) @ direction == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_states_that_are_not_kept_are_computed_again(method, monkeypatch):
    at = np.linspace(0.0, 1.0, 33)

    def f(k):
        return integrate.solve_ivp(
            slope, (0.0, 1.0), Y0, method, at, args=(k,), max_step=0.004, first_step=0.004
        ).y.sum()

    whole = ag.grad(f)(K)
    monkeypatch.setattr(runge_kutta, "_BYTES", 16 * 70)
    np.testing.assert_allclose(ag.grad(f)(K), whole, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_complex_states(method):
    def f(w, library=integrate):
        y = library.solve_ivp(lambda t, y: 1j * w * y - 0.1 * y, (0.0, 1.0), [1.0 + 0j], method, [0.3, 1.0], **LOOSE).y
        return (y.real**2 + 0.5 * y.imag).sum()

    assert ag.grad(f)(1.3) == pytest.approx(along(lambda w: f(w, plain), 1.3, 1.0), rel=1e-9)


def test_float32_stays_float32():
    def f(y0):
        return ag.implicit.solve_ivp(
            stacked, (0.0, 1.0), y0, (K.astype(np.float32),), method="RK45", rtol=1e-4, atol=1e-5
        ).y

    found = ag.grad(lambda y0: f(y0).sum())(Y0.astype(np.float32))
    assert found.dtype == np.float32
    exact = ag.grad(lambda y0: ag.implicit.solve_ivp(stacked, (0.0, 1.0), y0, (K,)).y.sum())(Y0)
    np.testing.assert_allclose(found, exact, rtol=2e-3)


def test_an_end_that_an_event_makes():
    def hit(t, y, k):
        return y[0] - 0.5

    hit.terminal = True

    def f(k):
        sol = integrate.solve_ivp(slope, (0.0, 5.0), Y0, args=(k,), events=hit, rtol=1e-9, atol=1e-10)
        return sol.t[-1] + sol.y[1, -1]

    def g(k):
        sol = plain.solve_ivp(slope, (0.0, 5.0), Y0, args=(k,), events=hit, rtol=1e-11, atol=1e-12)
        return sol.t[-1] + sol.y[1, -1]

    for direction in np.eye(2):
        assert ag.grad(f)(K) @ direction == pytest.approx(along(g, K, direction), rel=1e-5)


def test_a_right_side_that_makes_numbers_of_the_state_is_refused():
    def f(k):
        return integrate.solve_ivp(lambda t, y: [float(y[0]) * k], (0.0, 1.0), [1.0]).y[0, -1]

    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(f, adopt=False)(1.0)


def test_an_initial_value_alone_and_a_solution_that_depends_on_nothing():
    f = lambda y0: integrate.solve_ivp(lambda t, y: 0.0 * y + 1.0, (0.0, 1.0), y0).y[:, -1].sum()
    np.testing.assert_allclose(ag.grad(f)(Y0), [1.0, 1.0], rtol=1e-12)


MIXED = np.random.default_rng(5).standard_normal((30, 30)) / 30.0


def chain(t, y, k):
    """Thirty values, with a branch and a plain array: it is called at one point at a time."""
    pushed = k[0] * np.roll(y, 1) - k[1] * y**2 + MIXED @ y
    return pushed + np.sin(3.0 * t) if y[0] > 0.5 else pushed


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("method", METHODS)
def test_large_states_are_walked_back_by_products(method, times):
    start, at = np.random.default_rng(6).uniform(0.3, 0.9, 30), TIMES[times]
    weights = np.random.default_rng(3).uniform(0.5, 1.0, (30, 100))

    def loss_by(library):
        def loss(y0, k):
            y = library.solve_ivp(chain, (0.0, 1.0), y0, method, at, args=(k,), **LOOSE).y
            return np.sum(y * weights[:, : y.shape[1]]) + y[0, -1] ** 2

        return loss

    by_start, by_k = ag.grad(loss_by(integrate), argnums=(0, 1))(start, K)
    loss, random = loss_by(plain), np.random.default_rng(7)
    for found, f, x in ((by_start, lambda x: loss(x, K), start), (by_k, lambda x: loss(start, x), K)):
        move = random.uniform(-1.0, 1.0, x.shape)
        assert np.sum(found * move) == pytest.approx(along(f, x, move), rel=1e-8, abs=1e-10)
