"""`scipy.optimize.minimize` with constraints in functions that are differentiated.

The class: constraint (dict of an equation and of an inequality, with args and jac; LinearConstraint;
NonlinearConstraint; several; active and not) x solver x where the value stands that is followed. The reference is
differences of minima that are solved for to the last digits. Minima that depend on nothing that is followed are
SciPy's. What lies: constraints that are active without a force, dependent ones, solvers that have not converged, other
scales.
"""

import numpy as np
import pytest
from scipy import optimize

import arraygrad as ag

CONSTRAINTS = {
    "equation": lambda c: {"type": "eq", "fun": lambda t: t[0] - 2.0 * t[1] + c},
    "inequality with args": lambda c: [{"type": "ineq", "fun": lambda t, c: c - t[0] - t[1], "args": (c,)}],
    "with a Jacobian": lambda c: {
        "type": "ineq", "fun": lambda t: np.array([c - t[0] - t[1]]), "jac": lambda t: np.array([[-1.0, -1.0]])
    },
    "linear": lambda c: optimize.LinearConstraint(np.array([[1.0, 1.0]]), -1.0, c),
    "linear in a list": lambda c: [optimize.LinearConstraint(np.eye(2), np.full(2, -1.0), c * np.ones(2))],
    "linear equation": lambda c: optimize.LinearConstraint([[1.0, 1.0]], c, c),
    "linear of lists": lambda c: optimize.LinearConstraint([[c, 1.0]], -1.0, [c]),
    "linear of a list of limits": lambda c: [
        optimize.LinearConstraint([[1.0, c], [9.0, 9.0]], [-9.0, -99.0], (c, 99.0))
    ],
    "nonlinear in a list of Tensors": lambda c: optimize.NonlinearConstraint(lambda t: [t[0] + t[1]], [-9.0], [c]),
    "nonlinear": lambda c: optimize.NonlinearConstraint(lambda t: c * t[0] ** 2 + t[1] ** 2, -1.0, 1.0),
    "nonlinear in a list of numbers": lambda c: optimize.NonlinearConstraint(
        lambda t: [t[0] * t[1], t[0] + t[1]], [-9.0, -9.0], [9.0, 1.0 * c]
    ),
    "limit of a nonlinear one": lambda c: optimize.NonlinearConstraint(lambda t: t[0] ** 2 + t[1] ** 2, -1.0, c),
    "several": lambda c: [
        {"type": "eq", "fun": lambda t: t[0] - t[1]}, {"type": "ineq", "fun": lambda t: c - t[0]}
    ],
    "one of them is active": lambda c: [
        {"type": "ineq", "fun": lambda t: 50.0 - t[0] * c}, {"type": "ineq", "fun": lambda t: c - t[0] - t[1]}
    ],
    "none is active": lambda c: {"type": "ineq", "fun": lambda t: 50.0 - c * t[0]},
    "small numbers": lambda c: {"type": "ineq", "fun": lambda t: 1e-7 * (c - t[0] - t[1])},
    "large numbers": lambda c: {"type": "ineq", "fun": lambda t: 1e5 * (c - t[0] - t[1])},
    "in vectors": lambda c: {"type": "ineq", "fun": lambda t: c * np.array([1.0, 2.0]) - t},
}  # fmt: skip


def cost(t, a):
    return np.sum((t - a * np.array([1.0, 1.5])) ** 2) + 0.05 * t[0] ** 4


def minimum(constraint, method, a=3.0, c=1.0, start=0.2, tol=1e-8, **options):
    given = CONSTRAINTS[constraint](c)
    return optimize.minimize(
        cost, np.full(2, start), args=(a,), method=method, constraints=given, tol=tol, options=options or None
    )


SOLVED = [
    (constraint, method) for constraint in CONSTRAINTS for method in (None, "SLSQP") if "numbers" not in constraint
]
SOLVED += [("linear", "trust-constr"), ("nonlinear", "trust-constr"), ("equation", "trust-constr")]


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
@pytest.mark.parametrize(("constraint", "method"), SOLVED)
def test_minimum_of_constants_is_scipys_and_a_constant(constraint, method):
    def program(k):
        weights = np.array([1.0, 0.5])
        found = minimum(constraint, method, a=ag.stop_gradient(k) + 1.7)
        return k * np.sum(found.x * weights) + k * k * found.fun

    expected = minimum(constraint, method)
    value, gradient = ag.value_and_grad(program)(1.3)
    slope = expected.x @ [1.0, 0.5] + 2.6 * expected.fun
    assert value == pytest.approx(1.3 * expected.x @ [1.0, 0.5] + 1.69 * expected.fun, rel=1e-9)
    assert gradient == pytest.approx(slope, rel=1e-9)


def differences(f, k, h=1e-2):
    return (8.0 * (f(k + h) - f(k - h)) - (f(k + 2 * h) - f(k - 2 * h))) / (12.0 * h)


@pytest.mark.parametrize("what", ["x", "fun"])
@pytest.mark.parametrize("part", ["a", "c", "start"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_minimum_of_what_is_followed_has_the_gradient_of_differences(constraint, part, what):
    def program(k):
        found = minimum(constraint, "SLSQP", tol=1e-15, **{part: k})
        return found.fun if what == "fun" else found.x @ np.array([1.0, -0.3])

    at = {"a": 3.0, "c": 1.0, "start": 0.2}[part]
    expected = differences(program, at)
    assert ag.grad(program)(at) == pytest.approx(expected, rel=2e-3, abs=2e-4)


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0", "ignore:Singular Jacobian")
@pytest.mark.parametrize("method", ["trust-constr", "COBYLA", "COBYQA"])
@pytest.mark.parametrize("constraint", ["equation", "inequality with args", "nonlinear", "several"])
def test_other_solvers_give_the_same_gradient(constraint, method):
    if constraint == "several" and method != "COBYQA":
        return  # they stop too far from the corner, which is refused

    def program(k, method):
        found = minimum(constraint, method, a=3.0 * k, c=k, tol=1e-12, maxiter=5000)
        return found.x @ np.array([1.0, -0.3])

    expected = ag.grad(lambda k: program(k, "SLSQP"))(1.0)
    assert ag.grad(lambda k: program(k, method))(1.0) == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_bounds_and_constraints_hold_a_minimum_together():
    def program(a):
        found = optimize.minimize(
            lambda t: np.sum((t - a) ** 2 * np.array([1.0, 2.0, 3.0])), np.zeros(3), bounds=[(0.0, None)] * 3,
            constraints={"type": "eq", "fun": lambda t: np.sum(t) - 1.0}, tol=1e-14,
        )  # fmt: skip
        return found.x @ np.array([1.0, 3.0, -1.0])

    assert np.allclose(ag.grad(program)(np.array([1.0, 0.3, -2.0])), [-2.0 / 3.0, 4.0 / 3.0, 0.0], atol=1e-6)


def test_second_derivatives_are_those_of_the_equations():
    def program(k):
        return np.sum(minimum("nonlinear", "SLSQP", a=3.0 * k, c=k, tol=1e-15).x ** 2)

    first = ag.grad(program)
    assert ag.grad(first)(1.1) == pytest.approx(differences(first, 1.1), rel=1e-3)


def projection(a, limit=1.0):
    """The nearest point to (a, 0) with x >= 1."""
    constraint = {"type": "ineq", "fun": lambda t: t[0] - limit}
    return optimize.minimize(lambda t: (t[0] - a) ** 2 + t[1] ** 2, [0.0, 0.0], constraints=constraint, tol=1e-14)


@pytest.mark.parametrize(("a", "expected"), [(0.5, 0.0), (1.5, 1.0), (0.999, 0.0), (1.001, 1.0)])
def test_either_side_of_a_limit_has_its_derivative(a, expected):
    assert ag.grad(lambda a: projection(a).x[0])(a) == pytest.approx(expected, abs=1e-6)


def test_an_inequality_without_a_force_is_refused():
    with pytest.raises(TypeError, match=r"does not hold the minimum.*stop_gradient"):
        ag.grad(lambda a: projection(a).x[0])(1.0)
    value, gradient = ag.value_and_grad(lambda a: a * projection(ag.stop_gradient(a)).x[0])(1.0)  # the way out
    assert (value, gradient) == (pytest.approx(1.0), pytest.approx(1.0))


@pytest.mark.filterwarnings("ignore:Singular Jacobian", "ignore:delta_grad == 0.0")
def test_dependent_constraints_are_refused():
    def program(a):
        both = [
            {"type": "eq", "fun": lambda t: t[0] + t[1] - a},
            {"type": "eq", "fun": lambda t: 2 * (t[0] + t[1] - a)},
        ]
        return optimize.minimize(lambda t: t[0] ** 2 + 2 * t[1] ** 2, [0.0, 0.0], method="trust-constr",
                                 constraints=both, tol=1e-12).x[0]  # fmt: skip

    with pytest.raises(TypeError, match="leave out what the others imply"):
        ag.grad(program)(1.0)


@pytest.mark.filterwarnings("ignore")  # of the solvers
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA"])
def test_a_search_that_has_stopped_early_is_refused(method):
    def program(a):
        found = optimize.minimize(
            lambda t: (t[0] - 2.0) ** 4 + (t[1] - a) ** 4 + np.exp(t[0] * t[1]), [2.0, -3.0], method=method,
            constraints={"type": "ineq", "fun": lambda t: a - t[0] ** 2 - t[1] ** 2}, options={"maxiter": 5},
        )  # fmt: skip
        return found.x[0]

    with pytest.raises((ag.implicit.ConvergenceError, TypeError)):
        ag.grad(program)(1.5)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "TNC"])
@pytest.mark.parametrize(
    "bounds",
    [lambda c: optimize.Bounds([0.0, 0.0], [c, 9.0]), lambda c: optimize.Bounds((0.0, 0.0), ub=(9.0, 2.0 * c)),
     lambda c: optimize.Bounds(ub=[c, c])],
)  # fmt: skip
def test_bounds_of_lists(bounds, method):
    def f(c):
        return np.sum(optimize.minimize(cost, np.full(2, 1.1), (3.0,), method, bounds=bounds(c), tol=1e-13).x ** 2)

    assert ag.grad(f)(1.2) == pytest.approx((f(1.2 + 1e-3) - f(1.2 - 1e-3)) / 2e-3, rel=1e-3)


def test_objects_of_settings_are_scipys():
    def f(c):
        for one in (optimize.Bounds(0.0, [c]), optimize.LinearConstraint([[c]]), optimize.Bounds([0.0], [1.0])):
            assert isinstance(one, (optimize.Bounds, optimize.LinearConstraint))
            assert type(one).__module__ == "scipy.optimize._constraints"
            names.append(repr(one)[:8])
        return c * optimize.Bounds([0.0], [c]).ub[0]

    names = []
    assert ag.grad(f)(1.5) == 3.0
    f(1.5)
    assert names[:3] == names[3:]


def test_missing_parts_are_told_in_scipys_words():
    with pytest.raises(KeyError, match="no type"):
        ag.grad(lambda a: optimize.minimize(cost, np.zeros(2), (a,), constraints=[{"fun": lambda t: t[0]}]).fun)(1.0)
    with pytest.raises((KeyError, ValueError), match="no function"):
        ag.grad(lambda a: optimize.minimize(cost, np.zeros(2), (a,), constraints=[{"type": "eq"}]).fun)(1.0)
    held = optimize.Bounds(0.0, 1.0)
    with pytest.raises(TypeError, match="constraint"):
        ag.grad(lambda a: optimize.minimize(cost, np.zeros(2), (a,), constraints=held, method="trust-constr").fun)(1.0)


def test_portfolio_of_least_variance():
    covariance = np.array([[0.10, 0.02, 0.01], [0.02, 0.08, 0.03], [0.01, 0.03, 0.12]])
    means = np.array([0.05, 0.09, 0.12])

    class Model:
        def __init__(self, goal):
            self.goal = goal

        def variance(self, w):
            return w @ covariance @ w

        def returns(self, w):
            return w @ means - self.goal

        def weights(self):
            held = [{"type": "eq", "fun": lambda w: np.sum(w) - 1.0}, {"type": "eq", "fun": self.returns}]
            return optimize.minimize(self.variance, np.ones(3) / 3, constraints=held, tol=1e-15).x

    def exact(goal):  # the linear system of Karush, Kuhn and Tucker
        rows = np.stack([np.ones(3), means])
        matrix = np.block([[2.0 * covariance, -rows.T], [rows, np.zeros((2, 2))]])
        return np.linalg.solve(matrix, np.concatenate([np.zeros(3), [1.0, goal]]))[:3]

    found = ag.jacobian(lambda goal: Model(goal).weights())(0.1)
    assert np.allclose(found, (exact(0.2) - exact(0.0)) / 0.2, rtol=1e-6)
