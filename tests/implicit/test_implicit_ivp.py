"""implicit.solve_ivp: the continuous adjoint against exact solutions and finite differences."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import implicit

pytest.importorskip("scipy.integrate")


def predators(t, y, p):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])


Y0, P = np.array([1.0, 2.0]), np.array([1.0, 0.5, 0.8, 0.3])


def test_arguments_that_are_no_tuple_are_refused_with_the_tuple():
    with pytest.raises(TypeError, match=r"args must be a tuple of the arguments after y, as in \(k,\), got Tensor"):
        ag.grad(lambda k: ag.implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), [1.0], k).y[0, 0])(2.0)
    with pytest.raises(TypeError, match=r"y0 must be a list, an array of NumPy or a Tensor over one, as in \[1\.0\]"):
        ag.implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), 1.0, (2.0,))


def test_without_t_eval_the_last_state_is_given_and_args_may_be_dicts():
    def final(p):
        found = ag.implicit.solve_ivp(lambda t, y, p: -p["k"] * y, (0.0, 1.0), [1.0], (p,))
        assert found.y.shape == (1, 1)
        return found.y[0, 0]

    assert ag.grad(final)({"k": 0.5})["k"] == pytest.approx(-np.exp(-0.5), rel=1e-7)


def test_gradients_at_several_times_to_second_order():
    solve = lambda y0, p: implicit.solve_ivp(predators, (0.0, 1.5), y0, (p,), t_eval=[0.5, 1.5]).y
    assert ag.gradcheck(solve, [Y0, P], order=2, atol=1e-6, rtol=1e-6)


def test_derivatives_of_an_exponential_are_exact():
    last = lambda y0, k: implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 2.0), y0, (k,)).y[0, 0]
    by_y0, by_k = ag.grad(last, argnums=(0, 1))(np.array([3.0]), 0.7)
    assert by_y0[0] == pytest.approx(np.exp(-1.4), rel=1e-8)
    assert by_k == pytest.approx(-6.0 * np.exp(-1.4), rel=1e-8)


def test_stiff_problem_with_an_implicit_method():
    def stiff(t, y, k):
        return np.stack([-k * y[0] + y[1], -y[1]])

    def last(k):
        return implicit.solve_ivp(stiff, (0.0, 1.0), np.array([1.0, 1.0]), (k,), method="LSODA", rtol=1e-8).y[0, 0]

    # y0(t) = (exp(-t) - exp(-k t)) / (k - 1) + exp(-k t)
    k = 300.0
    assert ag.grad(last)(k) == pytest.approx(-np.exp(-1.0) / (k - 1.0) ** 2, rel=1e-3)


def test_times_that_run_backwards():
    last = lambda k: implicit.solve_ivp(lambda t, y, k: -k * y, (1.0, 0.0), np.ones(1), (k,)).y[0, 0]
    assert ag.grad(last)(0.5) == pytest.approx(np.exp(0.5), rel=1e-8)


def test_equation_that_depends_on_time_and_containers():
    def forced(t, y, p):
        return p["a"] * np.cos(p["w"] * t) - y

    solve = lambda a, w: implicit.solve_ivp(forced, (0.0, 1.0), np.zeros(1), ({"a": a, "w": w},), t_eval=[0.3, 1.0]).y
    assert ag.gradcheck(solve, [np.array([2.0]), np.array([3.0])], atol=1e-7, rtol=1e-7)


def test_first_time_may_be_asked_for():
    y = lambda y0: implicit.solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, t_eval=[0.0, 1.0]).y
    np.testing.assert_allclose(ag.jacobian(y)(np.ones(1))[0, :, 0], [1.0, np.exp(-1.0)], rtol=1e-8)


def test_argument_that_the_equation_does_not_use_has_a_zero_gradient():
    last = lambda k: implicit.solve_ivp(lambda t, y, k: -y, (0.0, 1.0), np.ones(1), (k,)).y[0, 0]
    assert ag.grad(last)(3.0) == 0.0


def test_raw_arguments_give_scipys_own_result():
    from scipy import integrate

    ours = implicit.solve_ivp(predators, (0.0, 1.5), Y0, (P,), t_eval=[0.5, 1.5])
    theirs = integrate.solve_ivp(
        predators, (0.0, 1.5), Y0, args=(P,), t_eval=[0.5, 1.5], method="DOP853", rtol=1e-9, atol=1e-9
    )
    assert type(ours) is type(theirs)
    np.testing.assert_array_equal(ours.y, theirs.y)


def test_float32_stays_float32():
    y0 = Y0.astype(np.float32)
    last = lambda y0: implicit.solve_ivp(predators, (0.0, 1.0), y0, (P.astype(np.float32),), rtol=1e-5, atol=1e-5).y
    assert last(y0).dtype == np.float32
    assert ag.grad(lambda y0: last(y0).sum())(y0).dtype == np.float32


# Refusals


def test_solver_that_fails():
    with pytest.raises(implicit.ConvergenceError, match="the solver failed at t = "):
        implicit.solve_ivp(lambda t, y: y * y, (0.0, 2.0), np.ones(1))


def test_tensor_in_a_closure():
    found = ag.grad(lambda k: implicit.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(1)).y[0, 0])(1.0)
    assert found == pytest.approx(-np.exp(-1.0), rel=1e-7)


def test_time_that_requires_grad():
    with pytest.raises(TypeError, match="times have no derivative here"):
        ag.grad(lambda T: implicit.solve_ivp(lambda t, y: -y, (0.0, T), np.ones(1)).y[0, 0])(1.0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y0": np.ones((2, 1))}, ValueError, "must be one-dimensional"),
        ({"y0": np.ones(1) * 1j}, TypeError, "y0 is complex"),
        ({"y0": "y"}, TypeError, "y0 must be a list, an array of NumPy"),
        ({"t_eval": [0.5, 0.2]}, ValueError, "t_eval must be sorted"),
        ({"t_eval": [2.0]}, ValueError, "lie between them"),
        ({"t_eval": []}, ValueError, "at least one time"),
        ({"t_span": (0.0, np.inf)}, ValueError, "t_span must be finite"),
        ({"events": lambda t, y: y[0]}, TypeError, "events is not taken"),
        ({"f": lambda t, y: y[:1]}, ValueError, r"of the shape of y0, \(2,\), got \(1,\)"),
    ],
)
def test_wrong_arguments(change, error, message):
    call = {"f": lambda t, y: -y, "t_span": (0.0, 1.0), "y0": np.ones(2), **change}
    with pytest.raises(error, match=message):
        implicit.solve_ivp(**call)
