"""The class of callbacks that help a solver alone (Jacobians, slopes, Hessians): they are called as SciPy calls them.

Each is called with the variables in SciPy's order and all further arguments, as plain numbers. The reference is the
same call without Tensors, and differences of it.
"""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import integrate, optimize

import arraygrad as ag
import arraygrad.scipy.integrate
import arraygrad.scipy.optimize

C = np.array([[-800.0, 0.5], [0.2, -2.0]])  # stiff, so that LSODA asks for Jacobians
A = np.array([2.0, 3.0])
TIMES = np.linspace(0.0, 0.5, 4)
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def noting(calls, f):
    def called(*args):
        calls.append([(np.shape(a), float(np.sum(a))) for a in args])
        assert not any(isinstance(a, ag.Tensor) and a.requires_grad for a in args)
        return f(*args)

    return called


def banded(t, y, c):
    return np.array([[0.0, c[0, 1]], [c[0, 0], c[1, 1]], [c[1, 0], 0.0]])


# Name: (call of a note and of the argument, the argument).
CALLS = {
    "odeint": (lambda note, c, integrate=integrate: integrate.odeint(
        lambda y, t, c: c @ y, np.ones(2), TIMES, args=(c,), Dfun=note(lambda y, t, c: c), **TIGHT)[-1], C),
    "odeint, time first": (lambda note, c, integrate=integrate: integrate.odeint(
        lambda t, y, c: c @ y, np.ones(2), TIMES, args=(c,), Dfun=note(lambda t, y, c: c), tfirst=True,
        **TIGHT)[-1], C),
    "odeint, columns": (lambda note, c, integrate=integrate: integrate.odeint(
        lambda y, t, c: c @ y, np.ones(2), TIMES, args=(c,), Dfun=note(lambda y, t, c: c.T), col_deriv=1,
        **TIGHT)[-1], C),
    "odeint, bands": (lambda note, c, integrate=integrate: integrate.odeint(
        lambda t, y, c: c @ y, np.ones(2), TIMES, args=(c,), Dfun=note(banded), tfirst=True, ml=1, mu=1,
        **TIGHT)[-1], C),
    "odeint without arguments": (lambda note, y0, integrate=integrate: integrate.odeint(
        lambda y, t: C @ y, y0, TIMES, Dfun=note(lambda y, t: C), **TIGHT)[-1], A),
    "solve_ivp": (lambda note, c, integrate=integrate: integrate.solve_ivp(
        lambda t, y, c: c @ y, (0.0, 0.5), np.ones(2), "BDF", args=(c,), jac=note(lambda t, y, c: c), **TIGHT).y[:, -1],
        C),
    "newton": (lambda note, a, optimize=optimize: optimize.newton(
        lambda x, a: x * x - a[0], 1.0, fprime=note(lambda x, a: 2 * x), args=(a,), tol=1e-13), A),
    "newton, both slopes": (lambda note, a, optimize=optimize: optimize.newton(
        lambda x, a, b: x * x - a[0] * b, 1.0, fprime=lambda x, a, b: 2 * x, fprime2=note(lambda x, a, b: 2.0),
        args=(a, 2.0), tol=1e-13), A),
    "root_scalar": (lambda note, a, optimize=optimize: optimize.root_scalar(
        lambda x, a: x * x - a[1], x0=1.0, fprime=note(lambda x, a: 2 * x), args=(a,), method="newton",
        xtol=1e-13).root, A),
    "root": (lambda note, a, optimize=optimize: optimize.root(
        lambda x, a: x * x - a, np.ones(2), jac=note(lambda x, a: np.diag(2 * x)), args=(a,), tol=1e-13).x, A),
    "fsolve": (lambda note, a, optimize=optimize: optimize.fsolve(
        lambda x, a: x * x - a, np.ones(2), fprime=note(lambda x, a: np.diag(2 * x)), args=(a,), xtol=1e-10), A),
    "leastsq": (lambda note, a, optimize=optimize: optimize.leastsq(
        lambda x, a: x * x - a, np.ones(2), Dfun=note(lambda x, a: np.diag(2 * x)), args=(a,), xtol=1e-10)[0], A),
    "least_squares": (lambda note, a, optimize=optimize: optimize.least_squares(
        lambda x, a: x * x - a, np.ones(2), jac=note(lambda x, a: np.diag(2 * x)), args=(a,), xtol=1e-14, ftol=1e-14,
        gtol=1e-14).x, A),
    "minimize": (lambda note, a, optimize=optimize: optimize.minimize(
        lambda x, a: np.sum((x - a) ** 2), np.ones(2), jac=note(lambda x, a: 2 * (x - a)), args=(a,), tol=1e-12).x, A),
    "minimize, hess": (lambda note, a, optimize=optimize: optimize.minimize(
        lambda x, a: np.sum((x - a) ** 4 + (x - a) ** 2), np.ones(2), jac=lambda x, a: 4 * (x - a) ** 3 + 2 * (x - a),
        hess=note(lambda x, a: np.diag(12 * (x - a) ** 2 + 2)), args=(a,), method="trust-exact", tol=1e-10).x, A),
    "minimize, hessp": (lambda note, a, optimize=optimize: optimize.minimize(
        lambda x, a: np.sum((x - a) ** 4 + (x - a) ** 2), np.ones(2), jac=lambda x, a: 4 * (x - a) ** 3 + 2 * (x - a),
        hessp=note(lambda x, p, a: (12 * (x - a) ** 2 + 2) * p), args=(a,), method="trust-ncg", tol=1e-10).x, A),
    "fmin_bfgs": (lambda note, a, optimize=optimize: optimize.fmin_bfgs(
        lambda x, a: np.sum((x - a) ** 2), np.ones(2), fprime=note(lambda x, a: 2 * (x - a)), args=(a,), gtol=1e-10,
        disp=False), A),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*a function that scipy:UserWarning")  # the notes that it takes
@pytest.mark.parametrize("name", CALLS)
def test_it_gets_what_scipy_gives_it(name):
    call, argument = CALLS[name]
    module = call.__defaults__[0]
    plain, ours = [], []
    expected = call(lambda f: noting(plain, f), argument)
    value = call(
        lambda f: noting(ours, f),
        ag.tensor(argument, requires_grad=True),
        arraygrad.scipy.integrate if module is integrate else arraygrad.scipy.optimize,
    )
    np.testing.assert_allclose(value.numpy(), expected, rtol=1e-5, atol=1e-7)
    assert plain
    assert ours
    assert [shape for shape, _ in ours[0]] == [shape for shape, _ in plain[0]]
    np.testing.assert_allclose([total for _, total in ours[0]], [total for _, total in plain[0]], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CALLS)
def test_the_solution_has_its_gradient(name):
    call, argument = CALLS[name]
    holds(lambda a: np.sum(call(lambda f: f, a) ** 2), argument, rtol=1e-4, atol=1e-5)
