"""implicit.root, minimize and fixed_point: derivatives by known formulas and finite differences, refusals."""

import math

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import implicit

optimize = pytest.importorskip("scipy.optimize")
linalg = pytest.importorskip("scipy.sparse.linalg")

MIXING = np.random.default_rng(0).normal(size=(3, 3))


def system(x, a):
    return a * x + 0.1 * np.sin(MIXING @ x) - 1.0


def test_derivative_of_a_square_root():
    solve = implicit.root(lambda x, a: x * x - a)
    assert ag.grad(lambda a: solve(1.0, a))(4.0) == pytest.approx(0.25, rel=1e-12)


def test_second_and_third_derivative_of_a_square_root():
    solve = implicit.root(lambda x, a: x * x - a)
    second = ag.grad(ag.grad(lambda a: solve(1.0, a)))
    assert second(4.0) == pytest.approx(-0.25 * 4.0**-1.5, rel=1e-10)
    assert ag.grad(second)(4.0) == pytest.approx(0.375 * 4.0**-2.5, rel=1e-10)


def test_root_of_a_system_to_second_order():
    solve = implicit.root(system)
    assert ag.gradcheck(lambda a: solve(np.zeros(3), a), [np.array([2.0, 3.0, 4.0])], order=2)


def test_unknown_of_two_axes():
    solve = implicit.root(lambda x, a: a * x + 0.1 * x**3 - 1.0)
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert solve(np.zeros((2, 2)), a).shape == (2, 2)
    assert ag.gradcheck(lambda a: solve(np.zeros((2, 2)), a), [a])


def test_transposed_system_by_a_matrix_free_solver_to_second_order():
    def gmres(matvec, b):
        operator = linalg.LinearOperator((b.size, b.size), matvec=matvec, dtype=b.dtype)
        return linalg.gmres(operator, b, rtol=1e-13)

    solve = implicit.root(system, linear_solver=gmres)
    assert ag.gradcheck(lambda a: solve(np.zeros(3), a), [np.array([2.0, 3.0, 4.0])], order=2)


@pytest.mark.parametrize(
    "solver",
    [
        lambda fun, x0: optimize.root(fun, x0, method="krylov", options={"fatol": 1e-10}),
        lambda fun, x0: optimize.fsolve(fun, x0),
        lambda fun, x0: list(optimize.fsolve(fun, x0)),
    ],
    ids=["OptimizeResult", "array", "list"],
)
def test_solver_may_return_what_scipy_returns(solver):
    a = np.array([2.0, 3.0, 4.0])
    expected = ag.jacobian(lambda a: implicit.root(system)(np.zeros(3), a))(a)
    found = ag.jacobian(lambda a: implicit.root(system, solver)(np.zeros(3), a))(a)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_solver_of_one_unknown_may_return_root_results():
    solve = implicit.root(
        lambda x, a: np.exp(x) - a, lambda fun, x0: optimize.root_scalar(fun, bracket=(-5.0, 5.0), xtol=1e-12)
    )
    assert ag.grad(lambda a: solve(0.0, a))(2.0) == pytest.approx(0.5)


def test_minimum_to_second_order_with_containers():
    solve = implicit.minimize(lambda x, p: np.sum((x - p["c"]) ** 4) + np.sum(p["w"] * x**2) + np.sum(x**2))
    c, w = np.array([2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0])
    assert ag.gradcheck(lambda c, w: solve(np.zeros(3), {"c": c, "w": w}), [c, w], order=2)


def test_ridge_regression_has_its_known_derivative():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    solve = implicit.minimize(lambda b, penalty: np.sum((X @ b - y) ** 2) + penalty * np.sum(b**2))
    inverse = np.linalg.inv(X.T @ X + 0.7 * np.eye(3))
    b = inverse @ X.T @ y
    np.testing.assert_allclose(solve(np.zeros(3), 0.7), b, rtol=1e-8)
    np.testing.assert_allclose(ag.jacobian(lambda p: solve(np.zeros(3), p))(0.7), -inverse @ b, rtol=1e-8)


def test_minimum_found_with_a_solver_of_scipy():
    def solver(fun, x0):
        return optimize.minimize(ag.value_and_grad(fun), x0, jac=True, method="L-BFGS-B", options={"ftol": 1e-15})

    solve = implicit.minimize(lambda x, a: np.sum((x - a) ** 2) + np.sum(a * x), solver)
    a = np.array([1.0, 2.0])  # x = a / 2
    np.testing.assert_allclose(ag.jacobian(lambda a: solve(np.zeros(2), a))(a), 0.5 * np.eye(2), atol=1e-9)


def test_minimum_at_a_bound_counts_as_not_converged():
    def solver(fun, x0):
        return optimize.minimize(ag.value_and_grad(fun), x0, jac=True, method="L-BFGS-B", bounds=[(1.0, None)])

    solve = implicit.minimize(lambda x, a: np.sum((x - a) ** 2), solver)
    with pytest.raises(implicit.ConvergenceError, match="is no solution"):
        ag.grad(lambda a: solve(np.ones(1), a)[0])(0.5)


def test_fixed_point_to_second_order():
    solve = implicit.fixed_point(lambda x, a: np.cos(a * x))
    assert ag.gradcheck(lambda a: solve(np.ones(3), a), [np.array([0.3, 0.5, 0.7])], order=2)


def test_fixed_point_with_scipys_solver():
    solve = implicit.fixed_point(lambda x, a: np.cos(a * x), optimize.fixed_point)
    x = solve(1.0, 1.0)
    assert ag.grad(lambda a: solve(1.0, a))(1.0) == pytest.approx(-x * np.sin(x) / (1 + np.sin(x)), rel=1e-6)


def test_raw_arguments_give_raw_results_of_the_starting_points_dtype():
    solve = implicit.root(lambda x, a: x * x - a)
    found = solve(np.ones(2, dtype=np.float32), np.array([4.0, 9.0], dtype=np.float32))
    assert (type(found), found.dtype) == (np.ndarray, np.float32)
    np.testing.assert_allclose(found, [2.0, 3.0], rtol=1e-6)


def test_float32_arguments_have_float32_gradients():
    solve = implicit.root(lambda x, a: x * x - a)
    gradient = ag.grad(lambda a: solve(np.ones(2, dtype=np.float32), a).sum())(np.array([4.0, 9.0], dtype=np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, [0.25, 1 / 6], rtol=1e-5)


def test_integers_to_start_from_become_float64():
    solve = implicit.root(lambda x, a: x * x - a)
    assert solve(np.array([1, 1]), np.array([4.0, 9.0])).dtype == np.float64


def test_starting_point_has_a_zero_gradient():
    solve = implicit.root(lambda x, a: x * x - a)
    with pytest.warns(UserWarning, match="does not depend on the arguments"):
        assert ag.grad(lambda x0: solve(x0, 4.0).sum())(np.ones(1)).tolist() == [0.0]


def test_arrays_of_another_library():
    strict = pytest.importorskip("array_api_strict")

    def newton(fun, x0):
        x = x0
        for _ in range(30):
            x = x - fun(x) / (2.0 * x)
        return x

    solve = implicit.root(lambda x, a: x * x - a, newton)
    gradient = ag.grad(lambda a: ag.sum(solve(strict.asarray([1.0, 1.0]), a)))(strict.asarray([4.0, 9.0]))
    assert type(gradient) is type(strict.asarray(0.0))
    np.testing.assert_allclose(np.asarray(gradient), [0.25, 1 / 6])


def test_nothing_is_recorded_under_no_grad():
    solve = implicit.root(lambda x, a: x * x - a)
    with ag.no_grad():
        x = solve(np.ones(1), ag.tensor([4.0], requires_grad=True))
    assert not x.requires_grad


# Refusals


def test_solver_that_reports_failure():
    with pytest.raises(implicit.ConvergenceError, match=r"implicit.root: the solver did not converge: "):
        implicit.root(lambda x, a: x * x + a)(np.ones(1), np.ones(1))


def test_solution_that_is_none_is_refused_in_backward():
    solve = implicit.root(lambda x, a: x * x - a, lambda fun, x0: x0)
    with pytest.raises(implicit.ConvergenceError, match=r"Newton.s method would move it by 1\.5"):
        ag.grad(lambda a: solve(np.ones(1), a).sum())(np.array([4.0]))


def test_tolerance_says_how_good_a_solution_must_be():
    solve = implicit.root(lambda x, a: x * x - a, lambda fun, x0: x0 + 1.01, tol=0.1)
    assert ag.grad(lambda a: solve(np.ones(1), a).sum())(np.array([4.0]))[0] == pytest.approx(0.25, rel=0.01)


def test_values_that_are_not_finite():
    solve = implicit.root(lambda x, a: x - a, lambda fun, x0: x0 * np.inf)
    with pytest.raises(implicit.ConvergenceError, match="not finite"):
        solve(np.ones(2), np.ones(2))


@pytest.mark.parametrize("solver", [None, lambda fun, x0: np.zeros(2)], ids=["dense", "given"])
def test_singular_jacobian(solver):
    solve = implicit.root(lambda x, a: np.stack([x[0] + x[1] - a, 2.0 * x[0] + 2.0 * x[1] - 2.0 * a]), solver)
    with pytest.raises(np.linalg.LinAlgError, match=r"implicit.root: the Jacobian at the solution is singular"):
        ag.grad(lambda a: solve(np.array([0.5, -0.5]), a).sum())(0.0)


def test_double_root_is_singular():
    solve = implicit.root(lambda x, a: (x - a) ** 2, lambda fun, x0: x0)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ag.grad(lambda a: solve(np.ones(1), a).sum())(np.ones(1))


def test_iteration_that_does_not_converge():
    with pytest.raises(implicit.ConvergenceError, match=r"x still changed by .* in iteration"):
        implicit.fixed_point(lambda x, a: a - x)(np.ones(1), np.ones(1))


@pytest.mark.parametrize("make", [implicit.root, implicit.fixed_point])
def test_tensor_in_a_closure_is_an_argument(make):
    solve = lambda a: make(lambda x: np.cos(a * x) - (x if make is implicit.root else 0.0))(np.ones(1))
    x = 0.7390851332151607
    found = ag.grad(lambda a: solve(a).sum())(np.ones(1))
    np.testing.assert_allclose(found, -x * np.sin(x) / (1.0 + np.sin(x)), rtol=1e-9)


def test_minimum_with_a_tensor_in_a_closure():
    found = ag.grad(lambda a: implicit.minimize(lambda x: np.sum((x - a) ** 2))(np.ones(1)).sum())(np.ones(1))
    np.testing.assert_allclose(found, 1.0, rtol=1e-9)


@pytest.mark.parametrize(("x0", "found"), [(1j, "complex"), (np.ones(1) + 0j, "complex128"), ("one", "str")])
def test_starting_point_that_is_no_real_array(x0, found):
    with pytest.raises(TypeError, match=f"implicit.root: x0 .*{found}"):
        implicit.root(lambda x, a: x - a)(x0, 1.0)


def test_residual_of_another_shape():
    with pytest.raises(ValueError, match=r"must have as many values as x, of shape \(2,\), got shape \(\)"):
        implicit.root(lambda x, a: np.sum(x) - a, lambda fun, x0: x0)(np.ones(2), 2.0)


def test_solution_of_another_shape():
    with pytest.raises(ValueError, match=r"returned an array of shape \(3,\) for x0 of shape \(2,\)"):
        implicit.root(lambda x, a: x - a, lambda fun, x0: np.ones(3))(np.ones(2), 2.0)


def test_what_cannot_be_called():
    with pytest.raises(TypeError, match=r"implicit.root: f must be callable, got float"):
        implicit.root(1.0)
    with pytest.raises(TypeError, match=r"a solver must be callable, as solver\(fun, x0\), got str"):
        implicit.minimize(np.sum, "bfgs")


# As part of larger programs


@pytest.mark.parametrize("jac", [ag.jacrev, ag.jacfwd])
def test_every_transform_of_a_solution(jac):
    solve = implicit.root(system)
    a, v = np.array([2.0, 3.0, 4.0]), np.array([1.0, -1.0, 0.5])
    f = lambda a: solve(np.zeros(3), a) ** 2
    J = ag.jacobian(f)(a)
    np.testing.assert_allclose(jac(f)(a), J, rtol=1e-10)
    np.testing.assert_allclose(ag.jvp(f, (a,), (v,))[1], J @ v, rtol=1e-10)
    scalar = lambda a: np.sum(f(a))
    np.testing.assert_allclose(ag.hvp(scalar)(a, v), ag.hessian(scalar)(a) @ v, rtol=1e-9)


def test_problem_within_a_problem():
    # x solves x^2 = y, where y solves y^3 = a: x = a^(1/6).
    inner = implicit.root(lambda y, a: y**3 - a)
    outer = implicit.root(lambda x, a: x * x - inner(1.0, a))
    assert ag.grad(lambda a: outer(1.0, a))(2.0) == pytest.approx(2.0 ** (-5 / 6) / 6, rel=1e-9)


def test_solution_and_arguments_may_be_written_in_place_afterwards():
    solve = implicit.root(lambda x, a: x * x - a)
    a = ag.tensor([4.0, 9.0], requires_grad=True) * 1.0
    x = solve(np.ones(2), a)
    total = x.sum()
    x += 10.0
    a *= 0.0
    (gradient,) = ag.autograd.grad(total, [a], allow_unused=True)
    assert gradient is None  # by the new value of a
    b = ag.tensor([4.0, 9.0], requires_grad=True)
    c = b * 1.0
    y = solve(np.ones(2), c)
    total = y.sum()
    y += 10.0
    c *= 0.0
    total.backward()
    np.testing.assert_allclose(b.grad.numpy(), [0.25, 1 / 6])


def test_starting_point_is_not_the_result_even_if_the_solver_returns_it():
    x0 = np.array([2.0])
    x = implicit.root(lambda x, a: x * x - a, lambda fun, x0: x0)(x0, np.array([4.0]))
    assert not np.shares_memory(x, x0)


def test_graph_is_freed_after_backward():
    solve = implicit.root(lambda x, a: x * x - a)
    a = ag.tensor([4.0], requires_grad=True)
    x = solve(np.ones(1), a)
    x.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        x.backward()


# What only adopted calls follow: arrays made inside, functions of math, rows that are written.
def made_of_a_list(y, k):
    return np.array([k * y[0] - y[1], y[0] + math.exp(k) * y[1] - 2.0])


def written(y, k):
    out = np.zeros(2)
    out[0], out[1] = k * y[0] - y[1], y[0] + math.exp(k) * y[1] - 2.0
    return out


def squares(f):
    return lambda y, k: f(y, k) @ f(y, k)


def beside(f):
    return lambda y, k: y - 0.1 * f(y, k)


@pytest.mark.parametrize("f", [made_of_a_list, written])
@pytest.mark.parametrize("kind", ["root", "minimize", "fixed_point"])
def test_a_plain_call_differentiates_as_a_transform_does_by_default(f, kind):
    """The solver asks for derivatives, though the caller has none to ask for."""
    function = {"root": f, "minimize": squares(f), "fixed_point": beside(f)}[kind]
    solve, start = getattr(ag.implicit, kind)(function), np.array([1.0, 1.0])
    expected = np.linalg.solve(np.array([[0.7, -1.0], [1.0, math.exp(0.7)]]), [0.0, 2.0])
    found = solve(start, 0.7)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    inside = []
    ag.grad(lambda k: inside.append(ag.stop_gradient(solve(start, k)).numpy()) or np.sum(solve(start, k)))(0.7)
    np.testing.assert_allclose(inside[0], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["root", "minimize"])
def test_a_plain_call_follows_the_setting(kind):
    function = made_of_a_list if kind == "root" else squares(made_of_a_list)
    with ag.set_adoption(False), pytest.raises(TypeError, match=r"numpy\.array"):
        getattr(ag.implicit, kind)(function)(np.array([1.0, 1.0]), 0.7)


def test_a_transform_that_adopts_nothing_decides_for_the_solvers_in_it():
    solve = ag.implicit.root(made_of_a_list)
    with pytest.raises(TypeError, match=r"numpy\.array"):
        ag.grad(lambda k: k * np.sum(solve(np.array([1.0, 1.0]), 0.7)), adopt=False)(0.7)


def far_off(fun, x0):
    return x0 + 0.5


# What has a problem solved whose gradient is refused later, and the line that is to be named.
SOLVED = {
    "root": lambda a: ag.implicit.root(lambda x, a: x * x - a, far_off)(1.0, a),
    "minimize": lambda a: ag.implicit.minimize(lambda x, a: (x - a) ** 4 + (x - a) ** 2, far_off)(1.0, a),
    "fixed_point": lambda a: ag.implicit.fixed_point(lambda x, a: 0.5 * x * a, far_off)(1.0, a),
    "scipy": lambda a: optimize.minimize(lambda p, a: 1e-8 * np.sum((p - a) ** 4 + (p - a) ** 2), [0.0], args=(a,)).x[
        0
    ],
    "a singular matrix": lambda a: ag.implicit.root(lambda x, a: 0.0 * x * a, lambda fun, x0: x0)(1.0, a),
}


@pytest.mark.parametrize("what", SOLVED)
@pytest.mark.parametrize(
    "called", [lambda f: ag.grad(f), lambda f: lambda a: ag.hessian(f)(a)], ids=["first", "second"]
)
def test_an_error_of_a_gradient_names_the_line_that_had_the_problem_solved(what, called):
    """Backward has no frame of the program on the way."""
    line = SOLVED[what].__code__.co_firstlineno
    with pytest.raises((ag.implicit.ConvergenceError, np.linalg.LinAlgError)) as error:
        called(SOLVED[what])(0.3)
    assert f"test_implicit_roots.py:{line}, in <lambda>: " in str(error.value)
    assert str(error.value).count("test_implicit_roots.py") == 1
