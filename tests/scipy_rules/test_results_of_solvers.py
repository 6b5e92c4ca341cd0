"""Results of scipy.optimize: SciPy's values; fields are recorded or left out in words; what is no solution has no
gradient."""

import pickle

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import optimize

import arraygrad as ag
from arraygrad.implicit import ConvergenceError

TALL = np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]])
B = np.array([1.0, 2.0, 0.5])
SQUARE = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
D = np.array([3.0, 2.0, 0.5])
BOX = ([0.0, 0.0, 0.0], [0.3, 5.0, 5.0])

FIELDS = {
    "unbounded_sol, solution": lambda b: np.sum(optimize.lsq_linear(TALL, b, ([0, 0], [0.3, 5])).unbounded_sol[0]),
    "unbounded_sol, residue": lambda b: optimize.lsq_linear(TALL, b, ([0, 0], [0.3, 5])).unbounded_sol[1][0],
    "unbounded_sol, square": lambda b: np.sum(optimize.lsq_linear(SQUARE, b, BOX).unbounded_sol[0]),
    "lsq_linear x": lambda b: np.sum(optimize.lsq_linear(SQUARE, b, BOX).x),
    "lsq_linear bvls": lambda b: np.sum(optimize.lsq_linear(SQUARE, b, BOX, method="bvls").x),
    "lsq_linear cost": lambda b: optimize.lsq_linear(TALL, b, ([0, 0], [0.3, 5])).cost,
    "linprog slack": lambda b: np.sum(
        np.array([1.0, 2.0, 3.0]) * optimize.linprog([-1, -2], [[1, 1], [1, 3], [1, 1]], [4, 6, 9] + b).slack
    ),
    "linprog con": lambda b: np.sum(optimize.linprog([1, 2, 1], A_eq=[[1, 1, 1.0]], b_eq=b[:1]).con) + b[1],
    "root fun": lambda b: np.sum(optimize.root(lambda x: x**3 + x - b, np.ones(3), tol=1e-13).fun),
}


def shifted(x, a):
    return x**3 + x - a


REPORTS = {
    "brentq": lambda b: optimize.brentq(shifted, 0.0, 3.0, args=(b[0],), full_output=True, xtol=1e-14)[1].root,
    "newton": lambda b: optimize.newton(shifted, 1.0, args=(b[0],), full_output=True, tol=1e-14)[1].root,
    "newton of several": lambda b: np.sum(optimize.newton(shifted, np.ones(3), args=(b,), full_output=True).root),
}


@pytest.mark.parametrize("f", REPORTS.values(), ids=REPORTS)
def test_the_root_in_a_report_has_its_gradient(f):
    holds(lambda b: f(b) + np.sum(b), B, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", FIELDS.values(), ids=FIELDS)
def test_a_field_of_a_result_has_its_gradient(f):
    x = D if "SQUARE" in f.__code__.co_names else B
    holds(lambda b: f(b) + np.sum(b), x, rtol=1e-5, atol=1e-7)


def quadratic(x, a):
    return np.sum((x - a) ** 2)


LEFT_OUT = {
    "jac": lambda a: optimize.minimize(quadratic, [1.0], args=(a,)).jac,
    "hess_inv": lambda a: optimize.minimize(quadratic, [1.0], args=(a,)).hess_inv[0, 0],
    "final_simplex": lambda a: optimize.minimize(quadratic, [1.0], args=(a,), method="Nelder-Mead", tol=1e-9)[
        "final_simplex"
    ][0][0, 0],
    "optimality": lambda a: optimize.lsq_linear(SQUARE, D * a, BOX).optimality,
    "grad": lambda a: optimize.least_squares(lambda x: a * x[0] ** 2 - 1, [1.0]).grad,
    "ineqlin": lambda a: optimize.linprog([-1, -2], [[1, 1], [1, 3]], np.array([4, 6.0]) * a).ineqlin.marginals,
    "fjac": lambda a: optimize.root(lambda x: x**3 + x - a, np.ones(1)).fjac,
    "population": lambda a: optimize.differential_evolution(quadratic, [(-3, 3)], args=(a,), rng=1).population,
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_field_that_is_left_out_says_so(name):
    with pytest.raises((AttributeError, KeyError), match=f"{name}: arraygrad leaves it out of a result"):
        ag.grad(lambda a: np.sum(LEFT_OUT[name](a)) + a, adopt=True)(1.3)


def test_a_result_of_constants_keeps_its_fields_and_one_of_tensors_its_counts():
    plain = ag.scipy.optimize.minimize(quadratic, [1.0], args=(ag.asarray(1.3),))
    assert np.shape(plain.jac) == (1,)
    recorded = ag.scipy.optimize.lsq_linear(SQUARE, ag.asarray(D, requires_grad=True), BOX)
    assert recorded.success
    assert recorded.nit > 0
    assert recorded.active_mask.tolist() == [1, 0, 0]
    assert not any(hasattr(recorded, name) for name in ("optimality", "nonsense"))
    assert pickle.loads(pickle.dumps(plain)).nit == plain.nit


STOPPED = {"one step": {"max_iter": 1}, "a wide tolerance": {"tol": 0.3}, "bvls": {"max_iter": 1, "method": "bvls"}}


@pytest.mark.parametrize("options", [*STOPPED.values(), {}], ids=[*STOPPED, "solved"])
def test_lsq_linear_has_the_value_of_scipy(options):
    x = ag.scipy.optimize.lsq_linear(SQUARE, ag.asarray(D, requires_grad=True), BOX, **options)
    theirs = optimize.lsq_linear(SQUARE, D, BOX, **options)
    np.testing.assert_allclose(x.x.numpy(), theirs.x, rtol=1e-14)
    np.testing.assert_allclose(x.cost.item(), theirs.cost, rtol=1e-12)


@pytest.mark.parametrize("options", [STOPPED["one step"], STOPPED["a wide tolerance"]])
def test_lsq_linear_that_stopped_early_refuses_its_gradient(options):
    with pytest.raises(ConvergenceError, match="lsq_linear: the solver's result is no solution"):
        ag.grad(lambda b: np.sum(optimize.lsq_linear(SQUARE, b, BOX, **options).x), adopt=True)(D)


def flat(x):
    return (x[0] - 1.0) ** 2 + 0.0 * x[1]


def circle(x):
    return np.stack([x[0] ** 2 + x[1] ** 2 - 1.0, 0.0 * x[0]])


STARTED = {
    "minimize": lambda a: optimize.minimize(flat, a).x,
    "minimize, jac=True": lambda a: optimize.minimize(ag.value_and_grad(flat), a, jac=True).x,
    "fmin_bfgs": lambda a: optimize.fmin_bfgs(flat, a, disp=False),
    "root": lambda a: optimize.root(circle, a, method="lm").x,
    "least_squares": lambda a: optimize.least_squares(circle, a).x,
    "leastsq": lambda a: optimize.leastsq(circle, a)[0],
}


@pytest.mark.parametrize("f", STARTED.values(), ids=STARTED)
def test_a_solution_that_depends_on_where_the_search_began_refuses_the_gradient_of_the_start(f):
    with pytest.raises(np.linalg.LinAlgError, match="isolated"):
        ag.grad(lambda a: np.sum(f(a)) + np.sum(a), adopt=True)(np.array([0.3, 0.4]))


ISOLATED = {
    "minimize": lambda a: optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), a).x,
    "minimize, jac=True": lambda a: (
        optimize.minimize(ag.value_and_grad(lambda x: np.sum((x - 1.0) ** 2)), a, jac=True).x
    ),
    "root": lambda a: optimize.root(lambda x: x**3 - 1.0, a).x,
    "fsolve": lambda a: optimize.fsolve(lambda x: x**3 - 1.0, a),
    "newton": lambda a: optimize.newton(lambda x: x**3 - 1.0, a),
    "least_squares": lambda a: optimize.least_squares(lambda x: x**3 - 1.0, a).x,
    "least_squares, x_scale": lambda a: optimize.least_squares(lambda x: x**3 - 1.0, [2.0, 3.0], x_scale=a).x,
    "fixed_point": lambda a: optimize.fixed_point(np.cos, a),
}


@pytest.mark.parametrize("f", ISOLATED.values(), ids=ISOLATED)
def test_an_isolated_solution_does_not_depend_on_where_the_search_began(f):
    gradient = ag.grad(lambda a: np.sum(f(a)) + np.sum(a), adopt=True)(np.array([0.8, 0.9]))
    np.testing.assert_array_equal(gradient, [1.0, 1.0])
