"""Gradients through solutions with more than a dozen values, whatever structure the right side has.

The class: method x how a right side is written (neighbours, one matrix of the program's, all with all,
branches, writes, numbers of the state, what no batch can tell) x options (backwards, dense output, events, second
derivatives, float32, complex) x the ways that a gradient can take. References are differences of solutions, tight ones
or, where the steps have one length, SciPy's own, and the way that calls the right side point by point.
"""

import math

import numpy as np
import pytest
from scipy import integrate as plain
from solved_equations import solved

import arraygrad as ag
from arraygrad.implicit import collocation, large_states, many_steps, multistep, runge_kutta
from arraygrad.implicit.columns import NoForm
from arraygrad.implicit.common import array_function
from arraygrad.scipy import integrate

pytestmark = pytest.mark.filterwarnings("ignore:.*has stored numbers:UserWarning")
N = 16
RANDOM = np.random.default_rng(4)
MATRIX = RANDOM.standard_normal((N, N)) / 9.0 - np.eye(N)
Y0, K = RANDOM.uniform(0.3, 0.9, N), np.asarray([1.3, 0.4])
ALONG = RANDOM.uniform(-1.0, 1.0, N), np.asarray([0.7, -0.4])
AT = np.asarray([0.15, 0.4, 0.41, 1.0])
EXACT = {"rtol": 1e-12, "atol": 1e-13}
METHODS = ["RK45", "DOP853", "Radau", "BDF", "LSODA", "odeint"]
IMPLICIT = METHODS[2:]


def neighbours(t, y, k):
    return k[0] * (np.roll(y, 1) - 2.0 * y + np.roll(y, -1)) + k[1] * y * (1.0 - y)


def stiff(t, y, k):
    return 300.0 * k[0] * (np.roll(y, 1) - 2.0 * y + np.roll(y, -1)) + k[1] * np.cos(3.0 * t) - y**3


def matrix_of_the_program(t, y, k):
    return k[0] * (MATRIX @ y) - k[1] * y + np.sin(t)


def dot_of_the_program(t, y, k):
    return np.dot(MATRIX, y) * k[0] - k[1] * y**2


def all_with_all(t, y, k):
    return -k[0] * y * y.sum() / len(y) + k[1] * np.cos(y[::-1]) * np.mean(y**2)


def ends(t, y, k):
    d = np.empty_like(y)
    d[0], d[-1] = -k[0] * y[0] + y[..., -1], k[1] * (y[-2] - y[-1])
    d[1:-1] = k[0] * (y[2:] - y[:-2]) - y[1:-1]
    return d


def listed(t, y, k):
    return np.array([-k[0] * y[i] + k[1] * y[i - 1] * y[(i + 3) % N] for i in range(N)])


def branch_on_time(t, y, k):
    return -k[0] * y if t < 0.405 else -k[1] * y**2 + np.roll(y, 1)


def branch_on_a_value(t, y, k):
    slope = -k[0] * y + 0.3 * np.roll(y, 2)
    return slope * (1.0 + (y[0] - 0.4) ** 3) if y[0] > 0.4 else slope


def entries_that_come_and_go(t, y, k):
    return np.where(t > 0.6, (t - 0.6) ** 3, 0.0) * np.roll(y, 5) - k[0] * y + k[1] * np.roll(y, 1)


def numbers_of_the_state(t, y, k):
    return np.array([-k[0] * math.sin(v) + k[1] * math.cos(t) for v in y])


COUNT = [0]


def counting(t, y, k):
    COUNT[0] += 1
    return k[0] * (np.roll(y, 1) - y) - k[1] * y


class Working:
    """A right side that fills an array of its own."""

    def __init__(self):
        self.d = np.zeros(N)

    def __call__(self, t, y, k):
        self.d[:] = 0.0
        self.d[1:] = k[0] * (y[:-1] - y[1:])
        self.d[0] = -k[1] * y[0] ** 2
        return self.d.copy()  # SciPy's solvers keep what they get


RIGHT_SIDES = [
    neighbours, stiff, matrix_of_the_program, dot_of_the_program, all_with_all, ends, listed, branch_on_time,
    branch_on_a_value, entries_that_come_and_go, numbers_of_the_state, counting, Working(),
]  # fmt: skip
WEIGHTS = RANDOM.uniform(0.5, 1.0, (N, 100))


def name_of(f):
    return getattr(f, "__name__", type(f).__name__)


@pytest.fixture(autouse=True)
def nothing_is_kept():
    yield
    ag.adopt.clear()


def loss_of(solve):
    def loss(y0, k):
        y = solve(y0, k)
        return np.sum(np.sin(2.0 * y) * WEIGHTS[:, : y.shape[1]])

    return loss


def differences(loss, h=1e-3):
    found = []
    for moves in ((ALONG[0], 0.0), (0.0, ALONG[1])):
        at = [loss(Y0 + i * h * moves[0], K + i * h * moves[1]) for i in (-2, -1, 1, 2)]
        found.append((at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h))
    return np.asarray(found)


def gradients(loss):
    return np.asarray([np.sum(g * d) for g, d in zip(ag.grad(loss, argnums=(0, 1))(Y0, K), ALONG, strict=True)])


def assert_exact(method, f, close, at=AT, end=1.0, **options):
    exact = "LSODA" if f is stiff else "DOP853"
    expected = differences(loss_of(solved(plain, exact, f, at, end, **EXACT)))
    found = gradients(loss_of(solved(integrate, method, f, at, end, **options)))
    np.testing.assert_allclose(found, expected, rtol=close, atol=close * np.max(np.abs(expected)))


@pytest.mark.parametrize("f", RIGHT_SIDES, ids=name_of)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_those_of_the_equation(method, f):
    # An explicit method takes thousands of steps of the stiff equation for the whole time.
    end = 0.05 if f is stiff and method in METHODS[:2] else 1.0
    assert_exact(method, f, 2e-5, end * AT, end, rtol=1e-8, atol=1e-9)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("f", [neighbours, stiff, matrix_of_the_program, listed, numbers_of_the_state], ids=name_of)
@pytest.mark.parametrize("method", IMPLICIT)
def test_the_steps_of_the_solver_give_them(method, f):
    for at in (AT, np.asarray([0.0, 1e-7, 1.0]), np.linspace(0.01, 1.0, 90)):
        assert_exact(method, f, 1e-4, at[1:] if method == "odeint" else at, rtol=1e-7, atol=1e-8)


def forced(t, y, k):
    return k[0] * (MATRIX @ y) - k[1] * y + np.sin(t * k[1])


def jacobian_of_forced(t, y, k):
    return k[0] * MATRIX - k[1] * np.eye(N)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("at", [AT, np.asarray([0.2, 0.4, 0.6]), np.linspace(0.0, 1.0, 50)], ids=len)
@pytest.mark.parametrize("way", [1.0, -1.0], ids=["forwards", "backwards"])
@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_gradients_are_those_of_the_solvers_own_steps(method, way, at, monkeypatch):
    monkeypatch.setattr(collocation, "_MOST_OFF", math.inf)
    how = {"rtol": 1e6, "atol": 1e6, "max_step": 0.05, "first_step": 0.05}
    ours = loss_of(solved(integrate, method, forced, way * at, way, jac=jacobian_of_forced, **how))

    def theirs(y0, k):
        jac = lambda t, y, _: jacobian_of_forced(t, y, k)
        return loss_of(solved(plain, method, forced, way * at, way, jac=jac, **how))(y0, k)

    np.testing.assert_allclose(gradients(ours), differences(theirs), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", [f for f in RIGHT_SIDES if f is not stiff], ids=name_of)
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_products_at_once_are_those_point_by_point(method, f, monkeypatch):
    monkeypatch.setattr(runge_kutta, "_SMALL", 2)
    how = {"rtol": 1e6, "atol": 1e6, "max_step": 0.05, "first_step": 0.05}
    loss = loss_of(solved(integrate, method, f, AT, **how))
    once = ag.grad(loss, argnums=(0, 1))(Y0, K)
    monkeypatch.setattr(runge_kutta, "LARGEST", 0)
    for one, other in zip(once, ag.grad(loss, argnums=(0, 1))(Y0, K), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", IMPLICIT)
def test_the_steps_agree_with_the_adjoint_equation(method, monkeypatch):
    loss = loss_of(solved(integrate, method, neighbours, AT, rtol=1e-9, atol=1e-10))
    steps = gradients(loss)
    monkeypatch.setattr(collocation, "LARGEST", 0)
    np.testing.assert_allclose(steps, gradients(loss), rtol=1e-5)


def calls_of(f):
    f = array_function(f)
    return many_steps.Calls(lambda t, y, k: f(t, y, k), [K])


POINTS = np.linspace(0.0, 1.0, 9), RANDOM.uniform(0.3, 0.9, (9, N))


@pytest.mark.parametrize(
    ("f", "kind"),
    [(neighbours, "_Compressed"), (ends, "_Constant"), (matrix_of_the_program, "_Constant"), (all_with_all, "_Whole"),
     (dot_of_the_program, "_Whole")],
)  # fmt: skip
def test_products_with_jacobians_at_many_points(f, kind):
    t, y = POINTS
    found = large_states.products_at(calls_of(f), t, y, None, True)[1]
    assert type(found).__name__ == kind
    one = large_states.OneByOne(calls_of(f), t, y)
    p = RANDOM.standard_normal((9, N))
    for k in (0, 4, 8):
        matrix = one.matrix(k)
        np.testing.assert_allclose(found.matrix(k), matrix, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.transposed(k, p[k]), matrix.T @ p[k], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(found.forwards(k, p[k]), matrix @ p[k], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(one.transposed(k, p[k]), matrix.T @ p[k], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(one.forwards(k, p[k]), matrix @ p[k], rtol=1e-5, atol=1e-8)
    for a, b in zip(found.by_parameters(p), one.by_parameters(p), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("f", [entries_that_come_and_go, all_with_all], ids=name_of)
def test_a_structure_that_does_not_hold_is_no_form(f):
    with pytest.raises(NoForm):
        large_states.products_at(calls_of(f), *POINTS)


def histories_of(method, f, **options):
    cls, solution = collocation.noting(method)
    solver = cls(lambda t, y: f(t, y, K), 0.0, Y0, 1.0, **options)
    while solver.status == "running":
        solver.step()
    return solution.history


@pytest.mark.parametrize("f", [neighbours, stiff, matrix_of_the_program], ids=name_of)
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-11])
@pytest.mark.parametrize("method", ["BDF", "LSODA"])
def test_steps_with_a_history_are_told_apart_from_others(method, f, rtol):
    history = histories_of(method, f, rtol=rtol, atol=0.1 * rtol)
    made = history.steps()
    assert history.consistent(made)
    if rtol < 1e-8:  # what is added in a step is rounding
        return
    n = len(history.sums) // 2
    history.lengths[n] *= 1.01
    assert not history.consistent(history.steps())
    history.lengths[n] /= 1.01
    for part in (0, 1):
        other = [one.copy() for one in made]
        other[part][n] *= 1.01
        assert not history.consistent(other)


def test_where_the_steps_are_others_the_adjoint_equation_is_integrated(monkeypatch):
    monkeypatch.setattr(multistep.History, "consistent", lambda self, made: False)
    assert_exact("LSODA", neighbours, 1e-5, rtol=1e-8, atol=1e-9)


def swinging(t, y, k):
    half = N // 2
    return np.concatenate([y[half:], -np.linspace(1.0, 60.0, half) * np.sin(y[:half]) - k[1] * y[half:]])


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_solution_at_rest_whose_derivative_moves(method):
    at = np.asarray([1.0, 6.0])
    loss = lambda y0: solved(integrate, method, swinging, at, 6.0, rtol=1e-7, atol=1e-8)(y0, K).sum()
    exact = solved(plain, "DOP853", swinging, at, 6.0, **EXACT)
    h = 1e-3
    expected = (exact(h * ALONG[0], K).sum() - exact(-h * ALONG[0], K).sum()) / (2.0 * h)
    assert ag.grad(loss)(np.zeros(N)) @ ALONG[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_dense_output_and_an_end_by_an_event(method):
    def hit(t, y, k):
        return y[0] - 0.5 * Y0[0] - 0.2

    hit.terminal = True

    def f(y0, k, library=integrate, method=method, options=None):
        sol = library.solve_ivp(
            neighbours, (0.0, 3.0), y0, method, args=(k,), events=hit, dense_output=True,
            **(options or {"rtol": 1e-8, "atol": 1e-9}),
        )  # fmt: skip
        return sol.t[-1] + sol.sol(0.01)[0] + sol.y[1, -1]

    np.testing.assert_allclose(gradients(f), differences(lambda y0, k: f(y0, k, plain, "DOP853", EXACT)), rtol=1e-5)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("method", IMPLICIT)
def test_many_steps_go_in_pieces(method, monkeypatch):
    loss = loss_of(solved(integrate, method, neighbours, AT, rtol=1e-7, atol=1e-8))
    whole = gradients(loss)
    for module, name in ((multistep, "_MATRICES"), (collocation, "_MATRICES")):
        monkeypatch.setattr(module, name, 7 * N * N)
    np.testing.assert_allclose(gradients(loss), whole, rtol=1e-11)
    monkeypatch.setattr(multistep, "_KEPT", 1)
    monkeypatch.setattr(multistep, "_BYTES", 0)
    np.testing.assert_allclose(gradients(loss), whole, rtol=1e-11)


def test_steps_that_are_too_many_to_be_kept(monkeypatch):
    monkeypatch.setattr(collocation, "_BYTES", 1000)
    assert_exact("BDF", neighbours, 1e-4, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_second_derivatives(method):
    loss = loss_of(solved(integrate, method, neighbours, np.asarray([0.5]), rtol=1e-9, atol=1e-10))
    found = ALONG[1] @ ag.hessian(lambda k: loss(Y0, k))(K) @ ALONG[1]
    slope = lambda k: ag.grad(lambda k: loss(Y0, k))(k) @ ALONG[1]
    h = 1e-3
    expected = (slope(K + h * ALONG[1]) - slope(K - h * ALONG[1])) / (2.0 * h)
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("method", ["RK45", "BDF", "LSODA"])
def test_float32_stays_float32(method):
    f = lambda y0, k: ag.implicit.solve_ivp(
        neighbours, (0.0, 1.0), y0, (k,), t_eval=AT, method=method, rtol=1e-5, atol=1e-6
    ).y.sum()
    found = ag.grad(f, argnums=(0, 1))(Y0.astype(np.float32), K.astype(np.float32))
    assert [one.dtype for one in found] == [np.float32] * 2
    for one, exact in zip(found, ag.grad(f, argnums=(0, 1))(Y0, K), strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_complex_states(method):
    def f(w, library=integrate, method=method, options=None):
        options = options or {"rtol": 1e-8, "atol": 1e-9}
        slope = lambda t, y: 1j * w * np.roll(y, 1) - 0.1 * y
        y = library.solve_ivp(slope, (0.0, 1.0), Y0 + 0j, method, AT, **options).y
        return (y.real**2 + 0.5 * y.imag).sum()

    expected = (f(1.3 + 1e-4, plain, "DOP853", EXACT) - f(1.3 - 1e-4, plain, "DOP853", EXACT)) / 2e-4
    assert ag.grad(f)(1.3) == pytest.approx(expected, rel=1e-5)


@pytest.mark.usefixtures("by_steps")
@pytest.mark.parametrize("times", [[0.0, 0.4, 1.0], [1.0, 0.7, 0.7, 0.0]], ids=["forwards", "backwards"])
@pytest.mark.parametrize(
    "options",
    [{}, {"hmax": 0.1}, {"h0": 1e-4}, {"full_output": 1}, {"Dfun": lambda y, t, k: np.eye(N)}, {"mxordn": 4}],
    ids=["none", "hmax", "h0", "full_output", "Dfun", "mxordn"],
)
def test_options_of_odeint(options, times):
    if "h0" in options and times[0] > times[-1]:
        options = {"h0": -options["h0"]}

    def loss(y0, k, library=integrate, options=options):
        f = lambda y, t, k: k[0] * (MATRIX @ y) - k[1] * y**2
        found = library.odeint(f, y0, times, (k,), **options)
        return np.sum((found[0] if "full_output" in options else found) ** 2)

    expected = differences(lambda y0, k: loss(y0, k, plain, {"rtol": 1e-12, "atol": 1e-13}), 1e-4)
    np.testing.assert_allclose(gradients(loss), expected, rtol=5e-5)


def test_a_right_side_is_called_by_odeint_as_often_as_without_a_gradient():
    COUNT[0] = 0
    plain.odeint(counting, Y0, np.append(0.0, AT), (K,), tfirst=True)
    once, COUNT[0] = COUNT[0], 0
    ag.vjp(lambda k: integrate.odeint(counting, Y0, np.append(0.0, AT), (k,), tfirst=True), K)
    assert COUNT[0] <= once + 3


def test_variables_that_change_after_the_call():
    def loss(k):
        factor = 1.0
        slope = lambda t, y: factor * neighbours(t, y, k)
        y = integrate.solve_ivp(slope, (0.0, 1.0), Y0, "LSODA", AT, rtol=1e-8, atol=1e-9).y
        factor = 5.0
        return y.sum() * (factor / 5.0)

    direct = lambda k: integrate.solve_ivp(
        neighbours, (0.0, 1.0), Y0, "LSODA", AT, args=(k,), rtol=1e-8, atol=1e-9
    ).y.sum()
    np.testing.assert_allclose(ag.grad(loss)(K), ag.grad(direct)(K), rtol=1e-10)
