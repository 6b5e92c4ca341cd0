"""Equations that fill arrays and call math, solved by a plain call: outside of a transform, with plain arguments.

The class: what the function does x root and minimize. The solution is that of SciPy's own solver, and of the call that
a transform makes. Without adoption the plain call is refused where a transform refuses.
"""

import math

import numpy as np
import pytest

optimize = pytest.importorskip("scipy.optimize", reason="SciPy, which is optional, is not installed")

import arraygrad as ag

START = np.array([1.0, 1.0])


def residual(y, k):
    return [y[0] ** 2 + 0.1 * y[1] - k, y[1] - math.sin(0.5) * y[0]]


def listed(y, k):
    return np.array([y[0] ** 2 + 0.1 * y[1] - k, y[1] - np.sin(0.5) * y[0]])


def filled(y, k):
    out = np.zeros(2)
    out[0] = y[0] ** 2 + 0.1 * y[1] - k
    out[1] = y[1] - np.sin(0.5) * y[0]
    return out


def by_floats(y, k):
    a, b = float(y[0]), float(y[1])
    return np.asarray([math.pow(a, 2.0) + 0.1 * b - k, b - math.sin(0.5) * a])


class Model:
    def __init__(self):
        self.slope = math.sin(0.5)

    def residual(self, y, k):
        out = np.empty(2)
        for i, value in enumerate(self.parts(y, k)):
            out[i] = value
        return out

    def parts(self, y, k):
        yield y[0] ** 2 + 0.1 * y[1] - k
        yield y[1] - self.slope * y[0]


PROGRAMS = {
    "a list": residual,
    "an array of numbers": listed,
    "an array that is filled": filled,
    "numbers of Python's": by_floats,
    "a method": Model().residual,
    "a lambda": lambda y, k: filled(y, k),
}


def by_bfgs(fun, x0):
    return optimize.minimize(ag.value_and_grad(fun), x0, jac=True, method="BFGS", options={"gtol": 1e-9})


def by_newton(fun, x0):
    return optimize.root(fun, x0, jac=ag.jacobian(fun), options={"xtol": 1e-12})


def squares(f):
    return lambda y, k: sum(v * v for v in f(y, k))


SOLVERS = {
    "root": ag.implicit.root,
    "minimize": lambda f: ag.implicit.minimize(squares(f)),
    "root by a solver of its own": lambda f: ag.implicit.root(f, lambda fun, x0: optimize.root(fun, x0, tol=1e-12)),
    "root by a solver that differentiates": lambda f: ag.implicit.root(f, by_newton),
    "minimize by a solver that differentiates": lambda f: ag.implicit.minimize(squares(f), by_bfgs),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_plain_call_gives_the_solution(program, solver):
    solve = SOLVERS[solver](PROGRAMS[program])
    found = solve(START, 2.0)
    assert type(found) is np.ndarray
    plain = lambda k: optimize.root(residual, START, (k,), options={"xtol": 1e-12}).x
    np.testing.assert_allclose(found, plain(2.0), rtol=1e-6)
    slopes = ag.jacobian(lambda k: solve(START, k))(2.0)
    np.testing.assert_allclose(slopes, (plain(2.0 + 1e-5) - plain(2.0 - 1e-5)) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("program", ["an array of numbers", "an array that is filled", "numbers of Python's"])
def test_a_plain_call_is_refused_where_nothing_is_adopted(program):
    with ag.set_adoption(False), pytest.raises(TypeError, match=r"requires grad|is being differentiated"):
        ag.implicit.root(PROGRAMS[program])(START, 2.0)


def test_a_number_of_python_s_stays_one():
    found = ag.implicit.root(lambda y, k: y * y - math.exp(k))(1.0, 0.5)
    assert isinstance(found, float)
    assert not isinstance(found, np.floating)
    assert found == pytest.approx(math.exp(0.25), rel=1e-12)


def test_what_a_plain_call_keeps_is_plain():
    kept = []

    def f(y, k):
        kept.append(2.0 * np.array(y))
        return y * y - k

    ag.implicit.root(f, lambda fun, x0: optimize.root(fun, x0, tol=1e-12))(np.ones(1), 2.0)
    assert {type(one) for one in kept} == {np.ndarray}
