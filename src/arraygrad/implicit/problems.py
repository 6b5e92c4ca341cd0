"""Gradients through solved problems, without a look at how they were solved: roots, minima, fixed points, linear
systems and initial value problems.

May import: adoption.setting, autograd.python_numbers, transforms, implicit.common, implicit.lifting, implicit.linear,
implicit.ivp, implicit.solvers, implicit.watching, and what these may.

A solver is any function; nothing of it is recorded. The gradient comes from the equation that the solution satisfies
(implicit function theorem): if F(x, a) = 0 then dx/da = -(dF/dx)^-1 dF/da, so a gradient g of x costs one solution of
(dF/dx)^T w = g, and is -w^T dF/da. That is made of recorded operations, so gradients of gradients need nothing more.
"""

from __future__ import annotations

import numpy

from arraygrad.adoption.setting import adopted
from arraygrad.autograd.python_numbers import adopting
from arraygrad.core.convert import running_here
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import (
    Arguments,
    Called,
    ConvergenceError,
    array_function,
    as_tensor,
    namespace_of,
    raw,
    raw_function,
    solution_of,
    solve_dense,
    starting_point,
)
from arraygrad.implicit.ivp import solve_ivp
from arraygrad.implicit.lifting import lifted
from arraygrad.implicit.linear import linear_solve
from arraygrad.implicit.solvers import iterate, minimize_scipy, root_scipy
from arraygrad.implicit.stores import watching
from arraygrad.implicit.watching import Watched
from arraygrad.transforms.following import grad, jacobian, vjp
from arraygrad.transforms.tracked_call import function_name, meta_of
from arraygrad.transforms.transformed import exact

__all__ = ["ConvergenceError", "fixed_point", "linear_solve", "minimize", "root", "solve_ivp"]


@exact
def root(f, solver=None, *, linear_solver=None, tol=1e-5, verbose=False, **unknown):
    """The function `solve(x0, *args)` that finds x with f(x, *args) = 0, differentiable in `args`.

    Parameters
    ----------
    f : callable
        `f(x, *args)`: an array, or a list, of as many elements as `x`. What its derivatives are wanted for is an
        argument, or is read besides: in its closure, an attribute of its object, a list, a global.
    solver : callable, optional
        `solver(fun, x0)` with `fun(x) = f(x, *args)` on raw arrays; returns x, or an object as SciPy's solvers do
        (`x` or `root`, `success` or `converged`, `message`). By default `scipy.optimize.root` with the Jacobian
        computed by arraygrad, and Newton's steps to the last digits.
    linear_solver : callable, optional
        `linear_solver(matvec, b)` returns w with matvec(w) = b, for the transposed Jacobian; raw arrays shaped as x.
        By default the Jacobian is computed as a matrix and factorised; with this it is never formed.
    tol : float
        The gradient is refused if a step of Newton's method from the solution would move it by more than
        tol * (1 + max|x|). (Not looked at with a `linear_solver`.)
    verbose : bool
        Print to stderr, every two seconds and at the end, how often the solver has called its function, and the
        largest residual of the last call.

    Returns
    -------
    callable
        `solve(x0, *args)`: the solution, of the shape and dtype of `x0`; a Tensor if any of `args` is one. It does not
        depend on `x0`, whose gradient is zero. Keyword arguments are not taken.

    Raises
    ------
    ConvergenceError
        When called: if the solver says that it did not converge. In backward: see `tol`.
    numpy.linalg.LinAlgError
        In backward: if the Jacobian at the solution is singular.
    TypeError
        When called: if `f` depends on a Tensor that is not among its arguments; if x0 is complex or no array.

    Examples
    --------
    >>> import arraygrad as ag
    >>> solve = ag.implicit.root(lambda x, a: x * x - a)
    >>> ag.grad(lambda a: solve(1.0, a))(4.0)
    0.25
    """
    _known("implicit.root", unknown)
    _check("implicit.root", f, solver, linear_solver)
    watch = ("largest residual", lambda value, x: value) if verbose else None
    whole = array_function(f)

    def solve(x0, *args):
        return _solve("implicit.root", lambda f: f, f, whole, solver or root_scipy, x0, args, linear_solver, tol, watch)

    return solve


@exact
def minimize(f, solver=None, *, linear_solver=None, tol=1e-5, verbose=False, **unknown):
    """The function `solve(x0, *args)` that finds a minimum of f(x, *args) over x, differentiable in `args`.

    Parameters
    ----------
    f : callable
        `f(x, *args)`: a real scalar, twice differentiable in x.
    solver : callable, optional
        As in `root`; `fun(x)` is the scalar, and `arraygrad.value_and_grad(fun)` its value and gradient, as in
        `lambda fun, x0: scipy.optimize.minimize(ag.value_and_grad(fun), x0, jac=True)`. By default that, followed by
        Newton's steps to the last digits.
    linear_solver, tol
        As in `root`; the matrix is the Hessian.
    verbose : bool
        As in `root`, with the value of `f`.

    Returns
    -------
    callable
        `solve(x0, *args)`: the minimiser, of the shape and dtype of `x0`.

    Raises
    ------
    ConvergenceError, numpy.linalg.LinAlgError, TypeError
        As `root`. A minimum at the edge of a feasible region, where the gradient is not zero, counts as not converged.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> ridge = ag.implicit.minimize(lambda x, a: (x - 3.0) ** 2 + a * x**2)
    >>> round(ag.grad(lambda a: ridge(0.0, a))(0.5), 6)      # x = 3 / (1 + a)
    -1.333333
    """
    _known("implicit.minimize", unknown)
    _check("implicit.minimize", f, solver, linear_solver)
    watch = ("value", lambda value, x: value) if verbose else None

    def stationary(f):
        return lambda x, *args: grad(f)(x, *args)

    def solve(x0, *args):
        return _solve(
            "implicit.minimize", stationary, f, f, solver or minimize_scipy, x0, args, linear_solver, tol, watch
        )

    return solve


@exact
def fixed_point(f, solver=None, *, linear_solver=None, tol=1e-5, verbose=False, **unknown):
    """The function `solve(x0, *args)` that finds x with f(x, *args) = x, differentiable in `args`.

    Parameters
    ----------
    f : callable
        `f(x, *args)`: an array shaped as `x`.
    solver : callable, optional
        As in `root`; `fun(x) = f(x, *args)` is the map itself, as `scipy.optimize.fixed_point` takes it. By default the
        map is applied until nothing changes.
    linear_solver, tol
        As in `root`; the matrix is that of the derivative of f(x) - x.
    verbose : bool
        As in `root`, with the last change.

    Returns
    -------
    callable
        `solve(x0, *args)`: the fixed point, of the shape and dtype of `x0`.

    Raises
    ------
    ConvergenceError, numpy.linalg.LinAlgError, TypeError
        As `root`.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> solve = ag.implicit.fixed_point(lambda x, a: np.cos(a * x))
    >>> round(solve(1.0, 1.0), 6)
    0.739085
    """
    _known("implicit.fixed_point", unknown)
    _check("implicit.fixed_point", f, solver, linear_solver)
    watch = ("last change", lambda value, x: value - x) if verbose else None

    def residual(f):
        return lambda x, *args: f(x, *args) - x

    def solve(x0, *args):
        return _solve("implicit.fixed_point", residual, f, f, solver or iterate, x0, args, linear_solver, tol, watch)

    return solve


# Helpers


class _Root:
    """A solution of residual(x, *arguments) = 0, as the node of its Tensor sees it."""

    def __init__(self, name, residual, solution, arguments, linear_solver, tol):
        self.name = name if isinstance(name, Called) else Called(name)
        self.residual = residual
        self.solution = solution
        self.arguments = arguments
        self.linear_solver = linear_solver
        self.tol = tol

    def pull(self, g, x, arrays):
        """Gradients of the arguments: -w^T dF/da with (dF/dx)^T w = g. All raw, or all Tensors."""
        tensor = as_tensor(x)
        args = self.arguments.rebuilt([as_tensor(array) for array in arrays])
        if self.linear_solver is None:
            w = self._dense(g, x, tensor, args, self.arguments.rebuilt([raw(array) for array in arrays]))
        else:

            def transposed(w, x, *args):
                return vjp(lambda x: self.residual(x, *args), x)[1](w)[0]

            w = linear_solve(transposed, g, self.linear_solver, args=(tensor, *args))
        _, pull = vjp(lambda *arrays: self.residual(tensor, *self.arguments.rebuilt(arrays)), *arrays)
        return list(pull(-w))

    def _dense(self, g, x, tensor, args, raw_args):
        xp = namespace_of(x)
        shape = tuple(x.shape)
        n = meta_of(x).size
        matrix = jacobian(self.residual)(tensor, *args)
        matrix = xp.reshape(matrix if isinstance(x, Tensor) else raw(matrix), (n, n))
        self._check(raw(matrix), raw(x), raw_args, n)
        w = solve_dense(self.name, xp, xp.matrix_transpose(matrix), xp.reshape(g, (n,)), "Jacobian")
        if n > 1:
            self._check_isolated(raw(matrix), raw(x), raw_args, raw(w), raw(g))
        return xp.reshape(w, shape)

    def _check(self, matrix, x, args, n):
        """That Newton's method would stay where it is. All raw."""
        left = raw(self.residual(x, *args))
        rxp = meta_of(x).ops.xp
        step = solve_dense(self.name, rxp, matrix, rxp.reshape(left, (n,)), "Jacobian")
        moved, size = (float(rxp.max(rxp.abs(a))) if n else 0.0 for a in (step, x))
        if not moved <= self.tol * (1.0 + size):
            raise ConvergenceError(
                f"{self.name}: the solver's result is no solution: Newton's method would move it by {moved:.3g}, "
                f"which is more than tol={self.tol:g} allows. Have the solver go on to a smaller tolerance of its own: "
                "a gradient is no better than the solution that it is taken at"
            )

    def _check_isolated(self, matrix, x, args, w, g):
        """That the solution is no point of a valley, as those of fewer equations than unknowns are. All raw.

        Where the solver stops, a little beside a valley, the matrix is regular by as much as is left of the equations.
        Newton's method, without the directions that the matrix hardly knows, takes that away: then the matrix of a
        valley is singular, and that of a solution which is only ill-conditioned stays as it is. Looked at where `w`,
        of which all gradients are made, is large enough to be of such a direction.
        """
        rxp = meta_of(x).ops.xp
        large, given = float(rxp.max(rxp.abs(w))), float(rxp.max(rxp.abs(g)))
        if not large * float(rxp.max(rxp.abs(matrix))) > _REGULAR * given:
            return
        n = meta_of(w).size
        smallest = None
        for _ in range(3):
            u, sizes, v = rxp.linalg.svd(matrix)
            before, smallest = smallest, float(sizes[-1] / sizes[0])
            singular = 100.0 * float(rxp.finfo(matrix.dtype).eps)
            if before is not None and smallest < max(0.01 * before, singular):
                raise numpy.linalg.LinAlgError(
                    f"{self.name}: the solution is not isolated: others lie beside it in a valley, where the Jacobian "
                    "is singular, and which of them is found depends on the solver and on where it begins. Compute the "
                    "result of what all of them have in common (the residual, a prediction), add an equation or a "
                    "small term that chooses one (1e-3 * sum(x**2)), or detach() what only the start depends on"
                )
            if before is not None and smallest > 0.5 * before:
                return
            left = rxp.reshape(raw(self.residual(x, *args)), (n,))
            kept = rxp.astype(sizes > 10.0 * sizes[-1], sizes.dtype)
            step = rxp.matrix_transpose(v) @ (kept / sizes * (rxp.matrix_transpose(u) @ left))
            x = x - rxp.reshape(step, x.shape)
            matrix = rxp.reshape(raw(jacobian(self.residual)(as_tensor(x), *args)), (n, n))
            if not bool(rxp.all(rxp.isfinite(matrix))):
                return


# From so many times the size of g on, relative to the matrix, w may be of a direction that the matrix hardly knows.
_REGULAR = 1e3


def _solve(name, residual_of, given, f, solver, x0, args, linear_solver, tol, watch):
    """The solution for `f`, which calls the program's own function, `given`."""
    f, args = lifted(name, f, args)
    arguments = Arguments(args)
    number = type(x0) is float and not arguments.any_tensor
    x0 = starting_point(name, x0)
    if not (arguments.tensors or running_here() or adopting()):
        f = _adopted_for_tensors(f, given)
    residual = residual_of(f)
    fun = raw_function(name, f, arguments.raw())
    watched = fun if watch is None else Watched(name, fun, *watch)
    with watching(name, (given,), arguments.tensors, tensors=True):
        outcome = solver(watched, x0)
    x = solution_of(name, outcome, x0)
    if watch is not None:
        watched.finish()
    fun(x)  # a solver that never called it would hide that it depends on other Tensors
    shape = tuple(getattr(raw_function(name, residual, arguments.raw())(x), "shape", ()))
    if shape != tuple(x.shape):
        raise ValueError(
            f"{name}: '{function_name(given)}' must have as many values as x, of shape {tuple(x.shape)}, got shape "
            f"{shape}"
        )
    found = arguments.attach(_Root(name, residual, x, arguments, linear_solver, tol))
    return float(found) if number else found


def _adopted_for_tensors(f, given):
    """`f` of a plain call: adopted, as in a transform, where a solver differentiates it; else it runs as it is."""
    other = array_function(adopted(given, None))

    def function(x, *args):
        return (other if isinstance(x, Tensor) else f)(x, *args)

    function.__name__ = function_name(f)
    return function


def _known(name, unknown):
    if unknown:
        keyword = next(iter(unknown))
        raise TypeError(
            f"{name}() got an unexpected keyword argument {keyword!r}: the arguments of f are given to the function "
            f"that it makes, {name}(f)(x0, *args), and options of SciPy's to a solver, {name}(f, lambda fun, x0: ...)"
        )


def _check(name, f, *solvers):
    if not callable(f):
        raise TypeError(f"{name}: f must be callable, got {type(f).__name__}")
    for solver in solvers:
        if solver is not None and not callable(solver):
            raise TypeError(
                f"{name}: a solver must be callable, as solver(fun, x0), got {type(solver).__name__}; {name} makes a "
                f"function, {name}(f)(x0, *args), which takes the starting point and the arguments of f"
            )
