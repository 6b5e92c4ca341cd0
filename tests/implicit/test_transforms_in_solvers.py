"""Transforms of functions that read what is differentiated, given to solvers.

The class: `ag.value_and_grad(f)` and `ag.grad(f)` as the function of a solver, themselves or called by another
function, a method or an object, x where `f` finds what it reads (closure, global, attribute, default, container,
partial) x solvers. Something else in the result depends on the same argument, so that no warning of a constant comes.
The reference is differences of the plain call; where the minimum is known, its equation.
"""

import functools
import gc

import numpy as np
import pytest
from scipy import optimize
from scipy.integrate import odeint, quad, solve_ivp

import arraygrad as ag
import arraygrad.scipy.optimize
from arraygrad.adoption import namespaces

X, TIGHT, ZEROS = np.array([0.5, 0.7]), {"tol": 1e-12}, np.zeros(2)
READ = {}


@pytest.fixture(autouse=True)
def _no_tensor_stays_in_a_global():
    """Debug builds count the objects that live after a test."""
    yield
    READ.clear()


def cost(x, a):
    return np.sum((x - a) ** 2 + x**4)


class Model:
    def __init__(self, a):
        self.a = a
        self.both = ag.value_and_grad(self.loss)

    def loss(self, x):
        return cost(x, self.a)

    def __call__(self, x):
        return self.both(x)


def of_global(a):
    READ["a"] = a
    return lambda x: cost(x, READ["a"])


def nested(a):
    both = ag.value_and_grad(lambda x: cost(x, a))

    def function(x):
        value, gradient = both(x)
        return float(value), gradient

    return function


def bound_anew(a):
    value = a * 1.0
    both = ag.value_and_grad(lambda x: cost(x, value))
    found = optimize.minimize(both, ZEROS, jac=True, **TIGHT).x
    value = value * 0.0
    return found


BOTH = {
    "closure": lambda a: ag.value_and_grad(lambda x: cost(x, a)),
    "default": lambda a: ag.value_and_grad(lambda x, a=a: cost(x, a)),
    "container": lambda a: (lambda held: ag.value_and_grad(lambda x: cost(x, held["a"][0])))({"a": [a]}),
    "global": lambda a: ag.value_and_grad(of_global(a)),
    "method": lambda a: ag.value_and_grad(Model(a).loss),
    "partial": lambda a: functools.partial(ag.value_and_grad(cost), a=a),
    "of a partial": lambda a: ag.value_and_grad(functools.partial(cost, a=a)),
    "object": Model,
    "attribute": lambda a: Model(a).both,
    "called by a lambda": lambda a: (lambda both: lambda x: both(x))(ag.value_and_grad(lambda x: cost(x, a))),
    "called by a function": nested,
}
SOLVERS = {
    "minimize": lambda f: optimize.minimize(f, ZEROS, jac=True, **TIGHT).x,
    "bounds": lambda f: (
        optimize.minimize(
            f, ZEROS, jac=True, method="L-BFGS-B", bounds=[(-5.0, 5.0)] * 2, options={"ftol": 1e-15, "gtol": 1e-12}
        ).x
    ),
    "fmin_l_bfgs_b": lambda f: optimize.fmin_l_bfgs_b(f, ZEROS, factr=10, pgtol=1e-12)[0],
}


def minimum_slope(a):
    """d(sum of the minimum)/da from 2 (x - a) + 4 x^3 = 0."""
    x = a.copy()
    for _ in range(100):
        x = x - (2.0 * (x - a) + 4.0 * x**3) / (2.0 + 12.0 * x**2)
    return 2.0 / (2.0 + 12.0 * x**2)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("where", BOTH)
def test_value_and_gradient_of_what_is_read(where, solver):
    found = ag.grad(lambda a: SOLVERS[solver](BOTH[where](a)).sum() + np.sum(a))(X)
    np.testing.assert_allclose(found, minimum_slope(X) + 1.0, rtol=1e-6)


def test_what_is_bound_anew_later():
    np.testing.assert_allclose(ag.grad(lambda a: bound_anew(a).sum() + np.sum(a))(X), minimum_slope(X) + 1.0, rtol=1e-6)


@pytest.mark.parametrize("make", [lambda a: ag.value_and_grad(lambda x: cost(x, a)), lambda a: BOTH["global"](a)])
def test_step_by_step(make):
    a = ag.tensor(X, requires_grad=True)
    found = arraygrad.scipy.optimize.minimize(make(a), ZEROS, jac=True, **TIGHT).x
    found.sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), minimum_slope(X), rtol=1e-6)


def test_copied_globals_are_not_kept():
    """Solvers call copies with globals of their own. What adoption knows of them goes with them, and what they hold."""

    def function(a):
        READ["a"] = a
        return np.sum(optimize.minimize(ag.value_and_grad(lambda x: cost(x, READ["a"])), ZEROS, jac=True, **TIGHT).x)

    ag.grad(function)(X)
    known = len(namespaces._namespaces)
    ag.grad(function)(X)
    assert len(namespaces._namespaces) == known
    gc.collect()
    assert not list(namespaces._passing)


GRADIENTS = {
    "root": lambda a: optimize.root(ag.grad(lambda x: cost(x, a)), ZEROS, **TIGHT).x.sum(),
    "fsolve": lambda a: optimize.fsolve(ag.grad(lambda x: cost(x, a)), ZEROS, xtol=1e-13).sum(),
    "least_squares": lambda a: optimize.least_squares(
        ag.grad(lambda x: cost(x, a)), ZEROS, xtol=1e-14, ftol=1e-14, gtol=1e-14
    ).x.sum(),
    "brentq": lambda a: optimize.brentq(ag.grad(lambda x: (x - a[0]) ** 2 + x**4 + a[1] * x), -3.0, 3.0, xtol=1e-14),
    "newton": lambda a: optimize.newton(ag.grad(lambda x: (x - a[0]) ** 2 + x**4 + a[1] * x), 0.3, tol=1e-13),
    "quad": lambda a: quad(ag.grad(lambda x: x**3 * a[0] + np.sin(a[1] * x)), 0.0, 1.0)[0],
    "odeint": lambda a: odeint(
        lambda y, t: -ag.grad(lambda y: np.sum(a * y**2))(y), np.ones(2), np.array([0.0, 1.0]), rtol=1e-11, atol=1e-11
    )[-1].sum(),
    "solve_ivp": lambda a: solve_ivp(
        lambda t, y: np.concatenate([y[1:], -ag.value_and_grad(lambda q: np.sum(a * q**4))(y[:1])[1]]), (0.0, 1.0),
        np.ones(2), rtol=1e-11, atol=1e-11,
    ).y[:, -1].sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_what_is_read(name):
    def function(a):
        return GRADIENTS[name](a) + np.sum(a)

    step = 1e-4
    moves = step * np.eye(2)
    expected = [
        (8.0 * (function(X + d / 2) - function(X - d / 2)) - (function(X + d) - function(X - d))) / (6.0 * step)
        for d in moves
    ]
    np.testing.assert_allclose(ag.grad(function)(X), expected, rtol=1e-6)
