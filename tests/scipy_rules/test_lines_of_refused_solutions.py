"""Errors of backward about what a solver returned: they name the line of the program that called the solver.

The class: solvers whose result is no solution, or has no derivative (minimize, root, least_squares, lsq_linear, cg,
lsqr, lsmr, events, arraygrad.implicit) x where they are called (a function, a method, a lambda in a helper).

Imports the public names of arraygrad.
"""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy import integrate, optimize

import arraygrad as ag

HERE = re.escape("test_lines_of_refused_solutions.py")
LARGE = np.diag(np.linspace(1.0, 1e3, 40)) + 0.1


SQUARE = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, 0.4], [0.1, -0.3, 1.8]])

CASES = {
    "minimize": (lambda a: optimize.minimize(lambda p, a: 1e-8 * np.sum((p - a) ** 2 + (p - a) ** 4), np.zeros(1),
                                             args=(a,)).x[0], "minimize"),
    "least_squares": (lambda a: optimize.least_squares(lambda p: (p[0] + p[1] - a) * np.array([1.0, 2.0]),
                                                       np.zeros(2)).x[0], "least_squares"),
    "lsq_linear": (lambda a: optimize.lsq_linear(SQUARE, np.array([4.0, 1.0, 0.4]) * a, (-0.5, 0.8), max_iter=1).x[1],
                   "lsq_linear"),
    "cg": (lambda a: spl.cg(sp.csr_array(LARGE) * a, np.ones(40), maxiter=2)[0].sum(), "cg"),
    "lsqr": (lambda a: spl.lsqr(sp.csr_array(LARGE) * a, np.ones(40), iter_lim=2)[0].sum(), "lsqr"),
    "lsmr": (lambda a: spl.lsmr(sp.csr_array(LARGE) * a, np.ones(40), maxiter=2)[0].sum(), "lsmr"),
    "implicit.root": (lambda a: ag.implicit.root(lambda x, a: x**2 - a, lambda fun, x0: x0)(1.0, a), "root"),
    "implicit.minimize": (lambda a: ag.implicit.minimize(lambda x, a: (x - a) ** 2, lambda fun, x0: x0)(1.0, a),
                          "minimize"),
    "an event": (lambda a: integrate.solve_ivp(lambda t, y: [1.0 + 0.0 * y[0]], (0.0, 2.0), [a], max_step=0.125,
                                               events=lambda t, y: np.where(y[0] < 1.0, -1.0, 1.0) + 0.0 * y[0]
                                               ).t_events[0][0], "solve_ivp"),
}  # fmt: skip


class Model:
    def __init__(self, f):
        self.f = f

    def run(self, a):
        return self.f(a)


WAYS = {"a function": lambda f: f, "a method": lambda f: Model(f).run, "a helper": lambda f: lambda a: 1.0 * f(a)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_the_line_of_the_call_is_named(case, way):
    f, name = CASES[case]
    line = f.__code__.co_firstlineno
    with pytest.raises((ag.implicit.ConvergenceError, np.linalg.LinAlgError)) as error:
        ag.grad(WAYS[way](f))(0.5)
    found = re.match(rf"\S*{HERE}:(\d+), in <lambda>: .*\b{name}", str(error.value))
    assert found, str(error.value)
    assert 0 <= int(found[1]) - line <= 3
