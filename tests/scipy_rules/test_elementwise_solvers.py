"""scipy.optimize.elementwise, and integrands of closures: what samples do not say.

The class: function x spelling of its dependence (args, closure, several) x solver; failed elements; what has no rule.
"""

import itertools
import math

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

import scipy.integrate
import scipy.stats
from scipy.optimize import elementwise

import arraygrad as ag
from arraygrad.scipy import NotDifferentiable

# name -> (f(t, a) that rises through zero in [0, 10], the root's derivative by a)
ROOTS = {
    "square": (lambda t, a: t * t - a, lambda t, a: 0.5 / t),
    "exponential": (lambda t, a: np.exp(t) - 5.0 * a, lambda t, a: 1.0 / a),
    "kepler": (lambda t, a: t - 0.4 * np.sin(t) - a, lambda t, a: 1.0 / (1.0 - 0.4 * np.cos(t))),
    "cubic": (lambda t, a: t**3 + a * t - 7.0, lambda t, a: -t / (3.0 * t * t + a)),
}
SPELLINGS = {
    "args": lambda solve, f, init, a: solve(f, init, args=(a,)),
    "a closure": lambda solve, f, init, a: solve(lambda t: f(t, a), init),
    "two args": lambda solve, f, init, a: solve(lambda t, a, b: f(t, a * b), init, args=(a, 1.0)),
    "args beside a closure": lambda solve, f, init, a: solve(lambda t, b: f(t, a + b), init, args=(np.zeros(2),)),
}


@pytest.mark.parametrize(("root", "spelling"), list(itertools.product(ROOTS, SPELLINGS)))
def test_root_of_a_number(root, spelling):
    f, slope = ROOTS[root]

    def solution(a):
        return np.sum(SPELLINGS[spelling](elementwise.find_root, f, (0.0, 10.0), a).x)

    n = np.size(SPELLINGS[spelling](elementwise.find_root, f, (0.0, 10.0), 2.3).x)
    value, gradient = ag.value_and_grad(solution)(2.3)
    assert value == solution(2.3)
    assert gradient == pytest.approx(n * slope(value / n, 2.3), rel=1e-9)


@pytest.mark.parametrize("root", ROOTS)
def test_roots_of_arrays_have_a_diagonal_jacobian(root):
    f, slope = ROOTS[root]
    a = np.array([1.5, 2.3, 4.0])
    x = elementwise.find_root(f, (0.0, 10.0), args=(a,)).x
    found = ag.jacobian(lambda a: elementwise.find_root(f, (0.0, 10.0), args=(a,)).x)(a)
    np.testing.assert_allclose(found, np.diag(slope(x, a)), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("root", "spelling"), list(itertools.product(ROOTS, ["args", "a closure", "two args"])))
def test_minimum(root, spelling):
    f, slope = ROOTS[root]

    def solution(a):
        made = SPELLINGS[spelling](elementwise.find_minimum, lambda t, a: f(t, a) ** 2, (0.0, 1.5, 10.0), a)
        return made.x + 3.0 * made.f_x

    value, gradient = ag.value_and_grad(solution)(2.3)
    assert gradient == pytest.approx(slope(value, 2.3), rel=1e-5)


def test_second_derivatives_of_roots():
    a = np.array([1.5, 4.0])
    found = ag.hessian(lambda a: np.sum(elementwise.find_root(ROOTS["square"][0], (0.0, 10.0), args=(a,)).x))(a)
    np.testing.assert_allclose(found, np.diag(-0.25 * a**-1.5), rtol=1e-9)


def test_brackets_lead_to_solutions():
    def root(a):
        f = ROOTS["square"][0]
        return elementwise.find_root(f, elementwise.bracket_root(f, 0.0, 1.0, args=(a,)).bracket, args=(a,)).x

    def minimum(a):
        def f(t):
            return (t - a) ** 2

        return elementwise.find_minimum(f, elementwise.bracket_minimum(f, 0.1).bracket).x

    assert ag.grad(root)(2.3) == pytest.approx(0.5 / math.sqrt(2.3), rel=1e-9)
    assert ag.grad(minimum)(2.3) == pytest.approx(1.0, rel=1e-6)


def test_plain_calls_are_scipys():
    a, plain = np.array([1.0, 2.0]), []

    def f(x):
        plain.append(elementwise.find_root(ROOTS["square"][0], (0.0, 10.0), args=(a,)))
        return x

    ag.grad(f)(1.0)
    found = elementwise.find_root(ROOTS["square"][0], (0.0, 10.0), args=(a,))
    assert type(plain[0]) is type(found)
    assert type(plain[0].x) is np.ndarray
    np.testing.assert_array_equal(plain[0].x, found.x)


def failing(a):
    return elementwise.find_root(ROOTS["square"][0], (0.0, 10.0), args=(a,))


def test_elements_whose_search_fails():
    a = np.array([1.0, -2.0, 4.0])
    kept = ag.grad(lambda a: np.sum(np.where(failing(a).success, failing(a).x, 0.0)))(a)
    np.testing.assert_allclose(kept, [0.5, 0.0, 0.25], rtol=1e-9)
    with pytest.raises(ag.implicit.ConvergenceError, match="no solution in 1 of the elements"):
        ag.grad(lambda a: np.sum(failing(a).x))(a)


def test_minimum_that_is_flat_is_refused():
    with pytest.raises(ag.implicit.ConvergenceError, match="no solution in 1"):
        ag.grad(lambda a: elementwise.find_minimum(lambda t: 0.0 * t + a, (0.0, 1.0, 2.0)).x)(1.0)


@pytest.mark.parametrize("field", ["bracket", "f_bracket"])
def test_brackets_of_a_search_are_left_out(field):
    with pytest.raises(AttributeError, match="leaves it out"):
        ag.grad(lambda a: getattr(failing(a), field)[0])(2.0)


REFUSED = {
    "start of a bracket": lambda a: elementwise.bracket_root(lambda t: t - 1.0, a).bracket[0],
    "end of a bracket": lambda a: elementwise.bracket_root(lambda t: t - 1.0, 0.0, a).bracket[1],
    "limit": lambda a: elementwise.bracket_minimum(lambda t: (t - 1.0) ** 2, 0.5, xmin=-a).bracket[0],
    "callback": lambda a: elementwise.find_root(lambda t, a: t - a, (0.0, 9.0), args=(a,), callback=print).x,
    "log of qmc_quad": lambda a: scipy.integrate.qmc_quad(lambda t: a * t[0], 0.0, 1.0, log=True).integral,
    "equal limits": lambda a: scipy.integrate.qmc_quad(lambda t: a * t[0], a, a).integral,
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.filterwarnings("ignore:A lower limit was equal")
def test_what_has_no_rule_is_refused(what):
    with pytest.raises(NotDifferentiable):
        ag.grad(REFUSED[what])(2.0)


# -- integrands and terms that close over the argument -----------------------------------------------------------------


def points(d=1):
    return scipy.stats.qmc.Halton(d, rng=3)


CLOSURES = {
    "tanhsinh": lambda x: scipy.integrate.tanhsinh(lambda t: np.exp(-x * t), 0.0, 1.0).integral,
    "tanhsinh of a computed number": lambda x: scipy.integrate.tanhsinh(
        (lambda y: lambda t: np.exp(-y * t))(2.0 * x), 0.0, np.inf
    ).integral,
    "tanhsinh, args too": lambda x: scipy.integrate.tanhsinh(
        lambda t, p: np.exp(-x * p * t), 0.0, 1.0, args=(x,)
    ).integral,
    "tanhsinh, limits too": lambda x: scipy.integrate.tanhsinh(lambda t: np.exp(-x * t), 0.0, x).integral,
    "nsum": lambda x: scipy.integrate.nsum(lambda k: k ** -(1.0 + x), 1, np.inf).sum,
    "nsum, args too": lambda x: scipy.integrate.nsum(lambda k, p: np.exp(-k * p * x), 1, 9, args=(x,)).sum,
    "cubature": lambda x: scipy.integrate.cubature(lambda t: np.exp(-x * t[:, 0]), [0.0], [1.0]).estimate,
    "qmc_quad": lambda x: scipy.integrate.qmc_quad(lambda t: np.exp(-x * t[0]), 0.0, 1.0, qrng=points()).integral,
    "qmc_quad's error": lambda x: 1e6 * scipy.integrate.qmc_quad(
        lambda t: np.exp(-x * t[0]), 0.0, 1.0, qrng=points(), n_points=64
    ).standard_error,
    "qmc_quad, limits": lambda x: scipy.integrate.qmc_quad(
        lambda t: np.exp(-t[0] * t[1]), [0.0, 2.0 * x], [x * x, 0.1], qrng=points(2), n_points=64, n_estimates=2
    ).integral,
    "qmc_quad, all": lambda x: scipy.integrate.qmc_quad(
        lambda t: np.exp(-x * np.sum(t * t, axis=0)), np.zeros(2), np.ones(2) * x, qrng=points(2), n_points=64
    ).integral,
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSURES)
def test_integrals_of_closures(name):
    f = CLOSURES[name]
    value, gradient = ag.value_and_grad(f)(1.3)
    assert value == pytest.approx(float(f(1.3)), rel=1e-15)
    h = 1e-3
    differences = (f(1.3 - 2 * h) - 8 * f(1.3 - h) + 8 * f(1.3 + h) - f(1.3 + 2 * h)) / (12 * h)
    assert gradient == pytest.approx(differences, rel=1e-7)
