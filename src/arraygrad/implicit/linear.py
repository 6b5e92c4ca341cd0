"""Linear systems solved by any solver: dense matrices, sparse ones of SciPy and CuPy, and functions that multiply.

May import: implicit.common, implicit.lifting, transforms.tracked_call, core.containers, core.tensor,
transforms, numpy; scipy and cupyx inside functions.

With A x = b and a gradient g of x: A^H w = g is solved by the same solver, b gets w, and A gets -w x^H. Both are
recorded operations, so gradients of gradients are solutions of the same kind.
"""

from __future__ import annotations

import numpy

from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import (
    Arguments,
    ConvergenceError,
    namespace_of,
    raw,
    raw_function,
    solution_of,
)
from arraygrad.implicit.lifting import lifted
from arraygrad.transforms.following import vjp
from arraygrad.transforms.tracked_call import meta_of

__all__ = ["linear_solve"]

_NAME = "implicit.linear_solve"

# Relative size of the residual that SciPy's GMRES is asked for, and the most that is accepted of any solver.
GMRES_TOLERANCE = 1e-12


def linear_solve(A, b, solver=None, *, data=None, args=(), tol=1e-6):
    """The solution x of the linear system A x = b, differentiable in A and b whatever solves it.

    Parameters
    ----------
    A : array or Tensor (n, n), scipy.sparse or cupyx.scipy.sparse array or matrix, or callable
        A callable is called as `A(x, *args)` and must be linear in x; it is differentiated in `args`, and its transpose
        is computed by reverse mode. A sparse matrix is constant, but for its values given as `data`, or for those of a
        matrix of arraygrad.scipy.sparse.
    b : array or Tensor
        (n,) or, for a dense or sparse A, (n, k); any shape for a callable.
    solver : callable, optional
        `solver(A, b)` on raw arrays returns x (or a pair of x and a flag that is 0 on success, as scipy.sparse.linalg's
        iterative solvers do). It is called with A and with its conjugate transpose, as a raw matrix or as a callable of
        one argument. By default: `linalg.solve`, scipy.sparse.linalg.spsolve, and scipy.sparse.linalg.gmres, or those
        of cupyx.scipy.sparse.linalg.
    data : array or Tensor (nnz,), optional
        The values of a sparse A, in the order of `A.data`, in whose place they stand: the way to their gradient.
    args : tuple
        Further arguments of a callable A.
    tol : float
        A solution is refused if max|A x - b| > tol * max|b|.

    Returns
    -------
    array or Tensor
        x, of the shape of b; raw if A, b, data and args are.

    Raises
    ------
    ConvergenceError
        If the solver says so, or the residual is too large.
    numpy.linalg.LinAlgError
        If A is singular, where the solver can tell.
    TypeError
        If b is no floating-point array; if `data` goes with a matrix that is not sparse, or `args` with no callable.
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import arraygrad as ag
    >>> A, b = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([3.0, 4.0])
    >>> ag.implicit.linear_solve(A, b)
    array([1., 1.])
    >>> ag.grad(lambda b: ag.implicit.linear_solve(A, b).sum())(b)
    array([0.5  , 0.125])
    """
    if solver is not None and not callable(solver):
        raise TypeError(f"{_NAME}: a solver must be callable, as solver(A, b), got {type(solver).__name__}")
    b = _right_side(b)
    if _is_sparse(A):
        if args:
            raise TypeError(f"{_NAME}: args are for a callable A, got {type(A).__name__}")
        if data is None and type(A).__module__.startswith("arraygrad."):  # with a Tensor of values
            data, A = A.data, A.pattern
        return _sparse(A, data, b, solver, tol)
    if data is not None:
        raise TypeError(f"{_NAME}: data= replaces the values of a scipy.sparse matrix, but A is {type(A).__name__}")
    if callable(A) and not isinstance(A, Tensor):
        return _matrix_free(A, b, solver, tuple(args), tol)
    if args:
        raise TypeError(f"{_NAME}: args are for a callable A, got {type(A).__name__}")
    return _dense(A, b, solver, tol)


class _System:
    """A solved system as the node of its solution sees it; `pull` is that of its kind."""

    def __init__(self, solution, arguments, pull):
        self.solution = solution
        self._arguments = arguments
        self._pull = pull

    def pull(self, g, x, arrays):
        return self._pull(namespace_of(x), g, x, self._arguments.rebuilt(arrays), arrays)


def _dense(A, b, solver, tol):
    arguments = Arguments((A, b))
    A_raw, b_raw = arguments.raw()
    meta = meta_of(A_raw)
    if meta.ndim != 2 or meta.shape[0] != meta.shape[1] or meta.shape[0] != b_raw.shape[0] or b_raw.ndim > 2:
        raise ValueError(
            f"{_NAME}: A must be (n, n) and b (n,) or (n, k), got shapes {meta.shape} and {tuple(b_raw.shape)}; for "
            "stacks of matrices use arraygrad.linalg.solve"
        )
    xp = meta.ops.xp
    if solver is None:
        try:
            x = xp.linalg.solve(A_raw, b_raw)
        except Exception as error:  # each library has an error of its own
            if "ingular" not in str(error):
                raise
            raise numpy.linalg.LinAlgError(f"{_NAME}: A is singular") from error
    else:
        x = _called(solver, A_raw, b_raw, xp.result_type(A_raw.dtype, b_raw.dtype))
        _check_residual(xp, xp.matmul(A_raw, x), b_raw, tol)

    def pull(xp, g, x, args, arrays):
        A, _ = args
        w = linear_solve(_adjoint(xp, A), g, solver, tol=tol)
        right, left = (x, w) if len(x.shape) == 2 else (x[:, None], w[:, None])
        return _chosen(arguments, (-xp.matmul(left, _adjoint(xp, right)), w))

    return arguments.attach(_System(x, arguments, pull))


def _sparse(A, data, b, solver, tol):
    if A.shape[0] != A.shape[1] or A.shape[0] != b.shape[0] or b.ndim > 2:
        raise ValueError(f"{_NAME}: A must be (n, n) and b (n,) or (n, k), got shapes {A.shape} and {tuple(b.shape)}")
    library = "cupy" if type(A).__module__.startswith("cupyx.") else "numpy"
    if type(raw(b)).__module__.partition(".")[0] != library:
        raise TypeError(
            f"{_NAME}: b must be an array of {library} beside a matrix of {type(A).__module__}, got {type(raw(b))}: "
            f"move one of them (arraygrad.to_backend(b, {library!r}))"
        )
    if data is None:
        data, pattern = A.data, A
        if getattr(A, "format", "") not in _FORMATS:
            pattern = A.tocsr()
            data = pattern.data
    else:
        pattern = A
        if getattr(A, "format", "") not in _FORMATS:
            raise TypeError(f"{_NAME}: with data= A must have format {', '.join(_FORMATS)}, got {A.format!r}")
        if tuple(data.shape) != A.data.shape:
            raise ValueError(f"{_NAME}: data must have the shape of A.data, {A.data.shape}, got {tuple(data.shape)}")
    arguments = Arguments((data, b))
    data_raw, b_raw = arguments.raw()
    matrix = _with_data(pattern, data_raw)
    x = _called(solver or _spsolve, matrix, b_raw, numpy.result_type(data_raw.dtype, b_raw.dtype))
    _check_residual(meta_of(b_raw).ops.xp, matrix @ x, b_raw, tol)

    def pull(xp, g, x, args, arrays):
        values, _ = args
        turned = pattern.T  # the same order of values: CSR and CSC exchange, COO its indices
        conjugate = _conj(xp, values)
        w = linear_solve(turned, g, solver, data=conjugate, tol=tol)
        coordinates = pattern.tocoo()
        rows, columns = coordinates.coords if hasattr(coordinates, "coords") else (coordinates.row, coordinates.col)
        products = -(w[rows, ...] * _conj(xp, x[columns, ...]))
        if len(x.shape) == 2:
            products = xp.sum(products, axis=1)
        return _chosen(arguments, (products, w))

    return arguments.attach(_System(x, arguments, pull))


def _matrix_free(A, b, solver, args, tol):
    A, args = lifted(_NAME, A, args)
    arguments = Arguments((b, *args))
    b_raw, *rest = arguments.raw()
    matvec = raw_function(_NAME, A, rest)
    xp = meta_of(b_raw).ops.xp
    x = _called(solver or _gmres, matvec, b_raw, b_raw.dtype)
    _check_residual(xp, matvec(x), b_raw, tol)

    def transposed(w, x, *args):
        """A^H w: the gradient of w . A(x), which depends on no value of x."""
        return vjp(lambda x: A(x, *args), x)[1](w)[0]

    def pull(xp, g, x, values, arrays):
        _, *rest = values
        w = linear_solve(transposed, g, solver, args=(raw(x), *rest), tol=tol)
        if arguments.positions() == (0,):
            return [w]

        def product(*arrays):
            _, *rest = arguments.rebuilt(arrays)
            return A(x, *rest)

        # b is no argument of the product; its gradient is w itself.
        _, back = vjp(product, *arrays)
        found = list(back(-w))
        if 0 in arguments.positions():
            found[0] = w
        return found

    return arguments.attach(_System(x, arguments, pull))


# Helpers

_FORMATS = ("csr", "csc", "coo")


def _is_sparse(A):
    return type(A).__module__.startswith(("scipy.", "cupyx.", "arraygrad.scipy.")) and hasattr(A, "tocsr")


def _right_side(b):
    if not isinstance(b, Tensor):
        if isinstance(b, (list, int, float)):
            b = numpy.asarray(b, dtype=numpy.float64)
        try:
            meta = meta_of(b)
        except TypeError as error:
            raise TypeError(f"{_NAME}: b must be an array or a Tensor, got {type(b).__name__}") from error
    else:
        meta = meta_of(b)
    if not meta.is_floating:
        raise TypeError(f"{_NAME}: b must be a floating-point array, got dtype {meta.dtype}")
    return b


def _called(solver, A, b, dtype):
    outcome = solver(A, b)
    if isinstance(outcome, tuple) and len(outcome) == 2:
        outcome, flag = outcome
        if flag != 0:
            raise ConvergenceError(f"{_NAME}: the solver did not converge: it returned the flag {flag}")
    return solution_of(_NAME, outcome, meta_of(b).ops.xp.astype(b, dtype))


def _check_residual(xp, product, b, tol):
    if not b.size:
        return
    left, given = float(xp.max(xp.abs(product - b))), float(xp.max(xp.abs(b)))
    if not left <= tol * given:
        raise ConvergenceError(
            f"{_NAME}: the solver's result is no solution: max|A x - b| is {left:.3g} for max|b| {given:.3g} "
            f"(tol={tol:g})"
        )


def _with_data(pattern, data):
    matrix = pattern.copy()
    matrix.data = data if type(data).__module__.startswith("cupy") else numpy.asarray(data)
    return matrix


def _spsolve(A, b):
    import warnings

    if type(A).__module__.startswith("cupyx."):
        from cupyx.scipy.sparse.linalg import spsolve as on_device

        return on_device(A.tocsr(), b)
    from scipy.sparse.linalg import MatrixRankWarning, spsolve

    with warnings.catch_warnings():
        warnings.simplefilter("error", MatrixRankWarning)
        try:
            return spsolve(A.tocsc(), b)
        except MatrixRankWarning as error:
            raise numpy.linalg.LinAlgError(f"{_NAME}: A is singular") from error


def _gmres(matvec, b):
    try:
        if type(b).__module__.startswith("cupy"):
            from cupyx.scipy.sparse.linalg import LinearOperator, gmres
        else:
            from scipy.sparse.linalg import LinearOperator, gmres
    except ImportError as error:
        raise ImportError(f"{_NAME} uses SciPy where no solver is given: pass solver=, or pip install scipy") from error
    operator = LinearOperator(
        (b.size, b.size), matvec=lambda v: numpy.ravel(matvec(numpy.reshape(v, b.shape))), dtype=b.dtype
    )
    tolerance = max(GMRES_TOLERANCE, 10.0 * float(numpy.finfo(b.dtype).eps))
    x, flag = gmres(operator, numpy.ravel(b), rtol=tolerance, atol=0.0, restart=min(b.size, 100))
    return numpy.reshape(x, b.shape), flag


def _adjoint(xp, A):
    return _conj(xp, xp.matrix_transpose(A))


def _conj(xp, x):
    return xp.conj(x) if meta_of(x).is_complex else x


def _chosen(arguments, gradients):
    """Those of the gradients of (A or data, b) that are wanted."""
    return [gradients[i] for i in arguments.positions()]
