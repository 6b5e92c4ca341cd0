"""Gradients of Radau, BDF, LSODA and odeint solutions are those of the equation, whatever steps the solver took.

The class: method x problem (stiff, oscillating, at rest, with a right side that jumps at a time) x times (few, many,
backwards, the start alone, within one step) x what is differentiated x options (`jac`, `first_step`, `max_step`,
`dense_output`, events, a whole Jacobian). The reference are differences of solutions to tight tolerances.
"""

import numpy as np
import pytest
from scipy import integrate as plain
from solved_equations import solved

import arraygrad as ag
from arraygrad.implicit import collocation
from arraygrad.scipy import integrate

METHODS = ["Radau", "BDF", "LSODA", "odeint"]
Y0, K = np.asarray([1.2, 0.3]), np.asarray([1.9, 0.4])
EXACT = {"rtol": 1e-12, "atol": 1e-13}


def pendulum(t, y, k):
    return [y[1], -(k[0] ** 2) * np.sin(y[0]) - k[1] * y[1] + 0.1 * np.cos(t)]


def stiff(t, y, k):
    return [-k[0] * y[0], 900.0 * (np.cos(k[1] * t) * y[0] - y[1])]


def branching(t, y, k):
    return [-k[0] * y[0] if t < 0.5 else -k[1] * y[0] ** 2, y[0] - y[1]]


TIMES = {
    "few": np.asarray([0.4, 1.0]),
    "many": np.linspace(0.0, 1.0, 60),
    "within one step": 0.5 + 1e-4 * np.arange(5),
    "the start": np.asarray([0.0]),
}


def loss_of(solve):
    def loss(y0, k):
        y = solve(y0, k)
        return np.sum(np.sin(y + np.arange(y.shape[1]) / y.shape[1]) * np.asarray([[1.0], [0.7]]))

    return loss


def differences(f, x, h):
    moves = h * np.eye(x.size)
    return np.asarray([(8.0 * (f(x + d) - f(x - d)) - f(x + 2 * d) + f(x - 2 * d)) / (12.0 * h) for d in moves])


def assert_exact(method, f, at, y0=Y0, k=K, close=2e-6, end=1.0, **options):
    found = ag.grad(loss_of(solved(integrate, method, f, at, end, **options)), argnums=(0, 1))(y0, k)
    exact = loss_of(solved(plain, "DOP853" if f is not stiff else "LSODA", f, at, end, **EXACT))
    scale = max(np.max(np.abs(one)) for one in found)
    for i in range(2):
        expected = differences((lambda x: exact(x, k)) if i == 0 else (lambda x: exact(y0, x)), (y0, k)[i], 1e-3)
        np.testing.assert_allclose(found[i], expected, rtol=close, atol=close * scale)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize(
    ("method", "times"),
    [(method, times) for method in METHODS for times in TIMES if (method, times) != ("odeint", "the start")],
)
def test_gradients_are_those_of_the_equation(method, times):
    assert_exact(method, pendulum, TIMES[times], close=1e-6, rtol=1e-8, atol=1e-9)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", METHODS)
def test_stiff_equations(method):
    assert_exact(method, stiff, np.asarray([0.2, 0.6, 1.0]), close=1e-5, rtol=1e-8, atol=1e-10)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
@pytest.mark.parametrize(
    "options", [{"first_step": 1e-3}, {"max_step": 0.05}, {"jac": lambda t, y, k: [[0.0, 1.0], [-3.0, -k[1]]]}],
    ids=["first_step", "max_step", "jac"],
)  # fmt: skip
def test_options_of_the_solver(method, options):
    if method == "LSODA":
        options = {key: value for key, value in options.items() if key != "jac"}
    assert_exact(method, pendulum, TIMES["few"], close=2e-6, rtol=1e-8, atol=1e-9, **options)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_backwards_in_time(method):
    assert_exact(method, pendulum, np.asarray([-0.3, -1.0]), end=-1.0, close=1e-6, rtol=1e-8, atol=1e-9)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", METHODS)
def test_a_right_side_with_branches_is_called_point_by_point(method):
    assert_exact(method, branching, TIMES["few"], close=1e-5, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_solution_at_rest_whose_derivative_moves(method):
    still = lambda t, y, k: [y[1], -(k[0] ** 2) * np.sin(y[0]) - k[1] * y[1]]
    at = np.asarray([1.0, 6.0])
    found = ag.grad(lambda y0: solved(integrate, method, still, at, 6.0, rtol=1e-7, atol=1e-8)(y0, K)[0].sum())(
        np.zeros(2)
    )
    exact = solved(plain, "DOP853", still, at, 6.0, **EXACT)
    np.testing.assert_allclose(found, differences(lambda y0: exact(y0, K)[0].sum(), np.zeros(2), 1e-3), rtol=1e-5)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_dense_output_and_an_end_by_an_event(method):
    def hit(t, y, k):
        return y[0] - 0.6

    hit.terminal = True

    def f(k, library=integrate, method=method, options=None):
        sol = library.solve_ivp(
            pendulum, (0.0, 3.0), Y0, method, args=(k,), events=hit, dense_output=True,
            **(options or {"rtol": 1e-8, "atol": 1e-9}),
        )  # fmt: skip
        return sol.t[-1] + sol.sol(0.3)[0] + sol.y[1, -1]

    expected = differences(lambda k: f(k, plain, "DOP853", EXACT), K, 1e-3)
    np.testing.assert_allclose(ag.grad(f)(K), expected, rtol=1e-5)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", ["BDF", "LSODA"])
def test_many_steps_go_in_pieces(method, monkeypatch):
    at, options = np.linspace(0.1, 1.0, 9), {"rtol": 1e-8, "atol": 1e-9}
    loss = loss_of(solved(integrate, method, pendulum, at, **options))
    whole = ag.grad(loss, argnums=(0, 1))(Y0, K)
    monkeypatch.setattr(collocation, "room", lambda *_: 7)
    for one, other in zip(whole, ag.grad(loss, argnums=(0, 1))(Y0, K), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_where_nothing_is_kept_the_adjoint_equation_is_integrated(monkeypatch):
    monkeypatch.setattr(collocation, "_BYTES", 100)
    assert_exact("LSODA", pendulum, TIMES["few"], close=1e-4, rtol=1e-6, atol=1e-7)


def test_a_method_reads_what_its_object_holds():
    class Model:
        def __init__(self, k):
            self.k = k

        def slope(self, t, y):
            return [y[1], -(self.k[0] ** 2) * np.sin(y[0]) - self.k[1] * y[1]]

    at = np.linspace(0.2, 1.0, 5)
    held = lambda k: integrate.solve_ivp(Model(k).slope, (0.0, 1.0), Y0, "LSODA", at, rtol=1e-8, atol=1e-9).y.sum()
    given = lambda k: integrate.solve_ivp(
        lambda t, y, k: Model(k).slope(t, y), (0.0, 1.0), Y0, "LSODA", at, args=(k,), rtol=1e-8, atol=1e-9
    ).y.sum()
    np.testing.assert_allclose(ag.grad(held)(K), ag.grad(given)(K), rtol=1e-12)


def test_float32_stays_float32():
    y0, k = Y0.astype(np.float32), K.astype(np.float32)
    stacked = lambda t, y, k: np.stack(pendulum(t, y, k))
    f = lambda y0, k: ag.implicit.solve_ivp(stacked, (0.0, 1.0), y0, (k,), method="LSODA", rtol=1e-5, atol=1e-6).y.sum()
    found = ag.grad(f, argnums=(0, 1))(y0, k)
    assert [one.dtype for one in found] == [np.float32] * 2
    for one, exact in zip(found, ag.grad(f, argnums=(0, 1))(Y0, K), strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-2, atol=1e-3)
