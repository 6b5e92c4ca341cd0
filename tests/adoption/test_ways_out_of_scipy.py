"""SciPy's own functions and classes with a Tensor: the error names what works in their place, and it does.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

scipy = pytest.importorskip("scipy")
integrate = pytest.importorskip("scipy.integrate")
optimize = pytest.importorskip("scipy.optimize")
signal = pytest.importorskip("scipy.signal")
spatial = pytest.importorskip("scipy.spatial")
stats = pytest.importorskip("scipy.stats")

X = np.array([0.5, 0.7])
SOLVERS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "OdeSolver")
SOLVE_IVP = r"arraygrad\.scipy\.integrate\.solve_ivp\(fun, \(t0, t_bound\), y0, args=\.\.\.\) has one\. Take that"


@pytest.fixture(autouse=True)
def _without_adoption():
    with ag.set_adoption(False):
        yield


def steps(solver, more=()):
    return lambda x: solver(lambda t, y: -y, 0.0, x, 1.0, *more).y.sum()


@pytest.mark.parametrize("adopt", [False, True])
@pytest.mark.parametrize("name", SOLVERS)
def test_class_of_a_solver_names_the_function_that_has_a_rule(name, adopt):
    f = steps(getattr(integrate, name), (False,) if name == "OdeSolver" else ())
    with pytest.raises(TypeError, match=rf"scipy\.integrate\.{name} has no derivative here: .*{SOLVE_IVP}"):
        ag.grad(f, adopt=adopt)(X)


@pytest.mark.parametrize("adopt", [False, True])
def test_methods_of_a_class_and_of_an_object_name_it_too(adopt):
    def f(x):
        return integrate.ode(lambda t, y: -y).set_initial_value(x, 0.0).integrate(1.0).sum()

    with pytest.raises(TypeError, match=rf"scipy\.integrate\.ode has no derivative here: .*{SOLVE_IVP}"):
        ag.grad(f, adopt=adopt)(X)

    def g(x):
        solver = integrate.RK45(lambda t, y: -y * scale[0], 0.0, X, 1.0)
        scale[0] = x[0]
        solver.step()
        return solver.y.sum()

    scale = [1.0]
    with pytest.raises(TypeError, match=rf"scipy\.integrate\.RK45 has no derivative here: .*{SOLVE_IVP}"):
        ag.grad(g, adopt=adopt)(X)


@pytest.mark.parametrize("adopt", [False, True])
def test_what_is_named_in_the_place_of_a_solver_has_the_derivative(adopt):
    room = integrate if adopt else pytest.importorskip("arraygrad.scipy.integrate")

    def f(x):
        return room.solve_ivp(lambda t, y, k: -k * y, (0, 1), X, args=(x,), rtol=1e-9, atol=1e-11).y[:, -1].sum()

    np.testing.assert_allclose(ag.grad(f, adopt=adopt)(X), -X * np.exp(-X), rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: optimize.root_scalar(lambda y: y * y - x[0], bracket=(0, 2)).root, "optimize.root_scalar"),
        (lambda x: optimize.brentq(lambda y, a: y * y - a, 0, 2, args=(x[0],)), "optimize.brentq"),
        (lambda x: optimize.least_squares(lambda y, a: y * y - a, X, args=(x,)).x.sum(), "optimize.least_squares"),
        (lambda x: stats.multivariate_normal(x, np.eye(2)).logpdf(X), "stats.multivariate_normal"),
        (lambda x: stats.multivariate_normal.logpdf(X, x, np.eye(2)), "stats.multivariate_normal.logpdf"),
        (lambda x: stats.dirichlet(x).logpdf(np.array([0.4, 0.6])), "stats.dirichlet"),
        (lambda x: stats.norm(x, 1.0).logpdf(0.3).sum(), "stats.norm"),
        (lambda x: spatial.distance.pdist(x.reshape(2, 1)).sum(), "spatial.distance.pdist"),
        (lambda x: spatial.distance.cdist(x.reshape(2, 1), X.reshape(2, 1) + 1).sum(), "spatial.distance.cdist"),
    ],
)
def test_function_or_distribution_with_a_rule_is_named_and_recorded_in_adopted_calls(f, name):
    with pytest.raises((TypeError, ValueError)) as error:  # compiled code may go on, and fail otherwise
        ag.grad(f)(X)
    told = (str(error.value), *getattr(error.value, "__notes__", ()))
    assert any(f"Take arraygrad.scipy.{name}, which is recorded, or call SciPy's in arraygrad.grad" in t for t in told)
    found = ag.grad(f, adopt=True)(X)
    expected = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: spatial.Delaunay(np.array([[0, 0], [1, 0], [0, 1.0]]) * x[0]).points.sum(),
         r"jumps; arraygrad\.scipy\.spatial\.ConvexHull and arraygrad\.scipy\.interpolate\.LinearNDInterpolator have"),
        (lambda x: signal.remez(5, [0, x[0], 0.8, 1.0], [1, 0], fs=2).sum(),
         r"frequencies has no rule; arraygrad\.scipy\.signal\.firls has one\. Take that; otherwise compose"),
        (lambda x: stats.levy_stable.pdf(0.3, 1.5, x[0]), r"no derivative of this density\. So compose the value"),
    ],
)  # fmt: skip
def test_function_without_a_rule_says_why_and_names_those_that_have_one(f, text):
    with pytest.raises(TypeError, match=text):
        ag.grad(f)(X)


def test_function_without_a_rule_has_no_args_to_pass_a_tensor_in():
    def f(x):
        return integrate.solve_bvp(lambda t, y: y, lambda a, b: a - x, np.linspace(0, 1, 4), np.ones((2, 4))).y.sum()

    with pytest.raises(
        TypeError, match=r"solve_bvp: .* requires grad, but it has no rule; discretise .*implicit\.root"
    ):
        ag.grad(f, adopt=True)(X)
