"""SciPy's solvers take arraygrad's derivatives as they are: the types, dtypes and signatures they want."""

import doctest
import os
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")

X0 = np.array([-1.2, 1.0, 0.5])
T = np.linspace(0.0, 1.0, 20)
Y = 2.0 * np.exp(-3.0 * T)


def rosen(x, a=100.0):
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def residuals(p):
    return p[0] * np.exp(-p[1] * T) - Y


def plain(array, dtype=np.float64):
    """Whether it is a plain ndarray of that dtype, or where it has no axes a scalar of it, as NumPy's results are."""
    return type(array) is (np.ndarray if np.ndim(array) else np.dtype(dtype).type) and array.dtype == dtype


def test_transforms_return_plain_float64_arrays():
    value, gradient = ag.value_and_grad(rosen)(X0)
    assert plain(value)
    assert value.shape == ()
    assert plain(gradient)
    assert plain(ag.hessian(rosen)(X0))
    assert plain(ag.hvp(rosen)(X0, X0))
    assert plain(ag.jacrev(residuals)(np.ones(2)))
    assert plain(ag.jacfwd(residuals)(np.ones(2)))


def test_float32_in_gives_float32_out():
    x = X0.astype(np.float32)
    value, gradient = ag.value_and_grad(rosen)(x)
    assert (value.dtype, gradient.dtype, ag.hvp(rosen)(x, x).dtype) == (np.float32,) * 3


@pytest.mark.parametrize("method", ["CG", "BFGS", "L-BFGS-B", "SLSQP", "trust-constr"])
def test_minimize_with_value_and_gradient_together(method):
    found = optimize.minimize(ag.value_and_grad(rosen), X0, jac=True, method=method, tol=1e-8)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_minimize_with_a_hessian_vector_product(method):
    found = optimize.minimize(rosen, X0, jac=ag.grad(rosen), hessp=ag.hvp(rosen), method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


@pytest.mark.parametrize("method", ["Newton-CG", "dogleg", "trust-exact", "trust-constr"])
def test_minimize_with_a_hessian(method):
    start = np.array([1.1, 1.15, 1.2])  # dogleg needs a convex neighbourhood
    found = optimize.minimize(rosen, start, jac=ag.grad(rosen), hess=ag.hessian(rosen), method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_further_arguments_are_passed_on():
    found = optimize.minimize(
        rosen,
        X0,
        args=(10.0,),
        jac=ag.grad(rosen),
        hessp=lambda x, p, *args: ag.hvp(rosen)(x, *args, p),
        method="trust-krylov",
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


def test_nonlinear_constraint():
    circle = lambda x: np.stack([x[0] ** 2 + x[1] ** 2])
    constraint = optimize.NonlinearConstraint(
        circle, 1.0, 1.0, jac=ag.jacrev(circle), hess=lambda x, v: ag.hessian(lambda x: circle(x) @ v)(x)
    )
    line = lambda x: x[0] + 2.0 * x[1]
    found = optimize.minimize(
        ag.value_and_grad(line),
        np.array([0.5, 0.5]),
        jac=True,
        hess=ag.hessian(line),
        constraints=constraint,
        method="trust-constr",
    )
    np.testing.assert_allclose(found.x, -np.array([1.0, 2.0]) / np.sqrt(5.0), atol=1e-4)


@pytest.mark.parametrize("jac", [ag.jacrev, ag.jacfwd])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method, jac):
    found = optimize.least_squares(residuals, np.ones(2), jac=jac(residuals), method=method)
    np.testing.assert_allclose(found.x, [2.0, 3.0], rtol=1e-6)


def test_curve_fit():
    model = lambda t, a, k: a * np.exp(-k * t)
    jac = lambda t, a, k: ag.jacfwd(lambda p: model(t, p[0], p[1]))(np.array([a, k]))
    found, _ = optimize.curve_fit(model, T, Y, jac=jac)
    np.testing.assert_allclose(found, [2.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method):
    f = lambda x: np.cos(x) - x + 0.1 * np.roll(x, 1)
    found = optimize.root(f, np.ones(3), jac=ag.jacrev(f), method=method)
    assert found.success
    np.testing.assert_allclose(f(found.x), 0.0, atol=1e-8)


def test_fsolve():
    f = lambda x: np.cos(x) - x
    np.testing.assert_allclose(optimize.fsolve(f, np.ones(2), fprime=ag.jacrev(f)), 0.7390851332, rtol=1e-9)


@pytest.mark.parametrize("method", ["newton", "halley"])
def test_root_of_one_number(method):
    f = lambda x: np.cos(x) - x
    derivatives = {"fprime": ag.grad(f), "fprime2": ag.grad(ag.grad(f))}
    found = optimize.root_scalar(f, x0=1.0, method=method, **derivatives)
    assert found.root == pytest.approx(0.7390851332, rel=1e-9)


def test_jacobian_of_a_stiff_equation():
    f = lambda t, y: np.stack([-100.0 * y[0] + y[1] ** 2, -y[1]])
    found = integrate.solve_ivp(f, (0.0, 1.0), [1.0, 1.0], method="BDF", jac=ag.jacrev(f, argnums=1), rtol=1e-6)
    assert found.success
    assert found.y[1, -1] == pytest.approx(np.exp(-1.0), rel=1e-4)


def test_check_grad_agrees():
    assert optimize.check_grad(rosen, ag.grad(rosen), X0) < 1e-4


def test_examples_of_the_page():
    page = Path(__file__).parents[2] / "docs" / "scipy.md"
    before = os.environ.get("SCIPY_ARRAY_API")
    try:
        failed, attempted = doctest.testfile(str(page), module_relative=False)
    finally:  # the page sets it
        if before is None:
            os.environ.pop("SCIPY_ARRAY_API", None)
    assert attempted
    assert not failed
