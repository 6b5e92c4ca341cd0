"""Solutions that are not isolated: fewer equations than unknowns, on a curve or surface of solutions.

The class: problems whose solutions form a straight or curved valley x solvers x what is differentiated. What all
solutions have in common has its gradient; what depends on which of them was found is refused, also where the solver
stopped a little beside the valley and the matrix is regular there. Solutions that are only ill-conditioned keep their
gradients.
"""

import numpy as np
import pytest

import arraygrad as ag

optimize = pytest.importorskip("scipy.optimize")

START = np.array([1.0, 3.0])
# name -> the residual of one equation in two unknowns, with a parameter a = 2
VALLEYS = {
    "product": lambda x, a: x[0] * x[1] - a,
    "line": lambda x, a: x[0] + 2.0 * x[1] - a,
    "circle": lambda x, a: x[0] ** 2 + x[1] ** 2 - a,
    "exponential": lambda x, a: np.exp(0.3 * x[0]) * x[1] - a,
    "ratio": lambda x, a: x[0] / (1.0 + x[1] ** 2) - 0.1 * a,
}


def least_squares(method):
    return lambda f, start: optimize.least_squares(lambda x: np.stack([f(x)]), start, method=method).x


def minimized(method):
    return lambda f, start: optimize.minimize(lambda x: f(x) ** 2, start, method=method, tol=1e-8).x


SOLVERS = {
    "least_squares, trf": least_squares("trf"),
    "least_squares, dogbox": least_squares("dogbox"),
    "BFGS": minimized("BFGS"),
    "Nelder-Mead": minimized("Nelder-Mead"),
    "CG": minimized("CG"),
    "L-BFGS-B": minimized("L-BFGS-B"),
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("residual", VALLEYS.values(), ids=VALLEYS)
def test_what_depends_on_the_place_in_a_valley_is_refused(residual, solver):
    def by_parameter(a):
        return solver(lambda x: residual(x, a), START)[0]

    def by_start(start):
        return solver(lambda x: residual(x, 2.0), start)[1]

    for f, at in ((by_parameter, 2.0), (by_start, START)):
        with pytest.raises((np.linalg.LinAlgError, ag.implicit.ConvergenceError), match=r"isolated|no solution"):
            ag.grad(f)(at)


@pytest.mark.parametrize("residual", VALLEYS.values(), ids=VALLEYS)
def test_a_term_that_chooses_a_solution_gives_its_gradient(residual):
    """The way out: a small term makes the solution isolated."""

    def f(a):
        x = optimize.minimize(
            lambda x: residual(x, a) ** 2 + 1e-2 * ((x - np.array([0.5, 1.0])) ** 2).sum(), START, tol=1e-8
        ).x
        return x[0] + 2.0 * x[1]

    step = 1e-3
    assert np.isclose(ag.grad(f)(2.0), (f(2.0 + step) - f(2.0 - step)) / (2 * step), rtol=1e-3, atol=1e-6)


def test_an_ill_conditioned_solution_keeps_its_gradient():
    def rosenbrock(x, a):
        return 1e4 * (x[1] - x[0] ** 2) ** 2 + (a - x[0]) ** 2

    solve = ag.implicit.minimize(rosenbrock, solver=lambda fun, x0: np.array([1.2, 1.44]))
    assert np.isclose(ag.grad(lambda a: solve(np.ones(2), a).sum())(1.2), 1.0 + 2 * 1.2, rtol=1e-4)


@pytest.mark.parametrize("power", range(9))
def test_quadratics_of_all_conditions_keep_their_gradients(power):
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    matrix = turn.T @ np.diag([1.0, 10.0**-power]) @ turn
    at = np.array([1.0, 2.0])
    solve = ag.implicit.root(lambda x, b: matrix @ x - b, solver=lambda fun, x0: np.linalg.solve(matrix, at))
    found = ag.jacobian(lambda b: solve(np.zeros(2), b))(at)
    expected = np.linalg.inv(matrix)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=10.0 ** (power - 14) * np.abs(expected).max())


@pytest.mark.parametrize("rate", [0.5, 3.0, 20.0])
def test_a_fit_of_exponentials_keeps_its_gradient(rate):
    t = np.linspace(0.0, 1.0, 20)
    data = 2.0 * np.exp(-rate * t) + 0.5 * np.exp(-0.1 * t)

    def f(shift):
        return optimize.least_squares(
            lambda p: p[0] * np.exp(-p[1] * t) + p[2] - data - shift * t, [1.0, rate, 0.1], xtol=1e-12, ftol=1e-12
        ).x[1]

    step = 1e-5
    assert np.isclose(ag.grad(f)(0.0), (f(step) - f(-step)) / (2 * step), rtol=1e-3)
