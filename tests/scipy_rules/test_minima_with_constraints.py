"""`scipy.optimize.minimize` with constraints in functions that are differentiated.

The class: constraint (dict of an equation and of an inequality, with args and jac; LinearConstraint;
NonlinearConstraint; several) x solver x where the value stands that is followed. Minima that depend on none are
constants: they are SciPy's. Where the function, its args, x0 or a constraint depends on one, the call is refused.
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
    "nonlinear": lambda c: optimize.NonlinearConstraint(lambda t: c * t[0] ** 2 + t[1] ** 2, -1.0, 1.0),
    "several": lambda c: [
        {"type": "eq", "fun": lambda t: t[0] - t[1]}, {"type": "ineq", "fun": lambda t: c - t[0]}
    ],
}  # fmt: skip


def cost(t, a):
    return np.sum((t - a * np.array([1.0, 1.5])) ** 2)


def minimum(constraint, method, a=3.0, c=1.0, start=0.2):
    given = CONSTRAINTS[constraint](c)
    return optimize.minimize(cost, np.full(2, start), args=(a,), method=method, constraints=given, tol=1e-8)


SOLVED = [(constraint, method) for constraint in CONSTRAINTS for method in (None, "SLSQP")]
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


@pytest.mark.parametrize("part", ["a", "c", "start"])
@pytest.mark.parametrize("constraint", list(CONSTRAINTS))
def test_minimum_of_what_is_followed_is_refused(constraint, part):
    with pytest.raises(TypeError, match=r"constraints|requires grad"):
        ag.grad(lambda k: np.sum(minimum(constraint, "SLSQP", **{part: k}).x))(1.2)
