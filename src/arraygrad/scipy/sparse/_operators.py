"""Linear operators of scipy.sparse.linalg whose products depend on Tensors: their products, solutions, eigenvalues.

May import: arraygrad, autograd.grad_mode, core.tensor, implicit, scipy._callbacks, scipy._conjugates, scipy._guards,
scipy._libraries, scipy.sparse, transforms, numpy, SciPy.

SciPy's own operators convert what their functions return to plain arrays. `product_of` takes an operator apart instead,
into one function of recorded operations: what the program has written (`matvec`, `_matvec` of a class), and sums,
products, multiples, powers and adjoints of such. The solvers run on the values of that function. Gradients come from
the equation that the result satisfies, by calling the function once more at the solution.
"""

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as _linalg
from scipy.sparse.linalg import _interface

import arraygrad as ag
from arraygrad.autograd.grad_mode import no_grad
from arraygrad.core.tensor import Tensor
from arraygrad.implicit.common import Arguments, ConvergenceError
from arraygrad.implicit.linear import linear_solve
from arraygrad.scipy._callbacks import lifted
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._guards import NotDifferentiable, raw
from arraygrad.scipy._libraries import is_foreign_matrix, library_of, loaded_arrays
from arraygrad.scipy.sparse._constants import recorded_of, set_of_operator
from arraygrad.scipy.sparse._coordinates import is_tracked
from arraygrad.scipy.sparse._devices import placed, sum_of_squares, theirs
from arraygrad.scipy.sparse._grids import dense_of
from arraygrad.scipy.sparse._matrix import Matrix, matrix_power
from arraygrad.scipy.sparse._matrix_base import native_of, parts
from arraygrad.transforms.following import vjp

__all__ = [
    "OWN_ADJOINT",
    "LinearOperator",
    "Operator",
    "as_dense",
    "as_matrix",
    "depends",
    "eigen",
    "has_adjoint",
    "ours",
    "over",
    "plain_operator",
    "solved",
    "tried",
]

# A solution is the equation's if its residual is below this, relative.
NEAR = 1e-3
LARGEST = 3000  # rows of an operator that is made dense, 72 MB
OWN_ADJOINT = ("cg", "minres")  # solvers that take A to be its own adjoint
# Raises what SciPy raises.
_NO_ADJOINT = _linalg.LinearOperator((1, 1), matvec=lambda x: x, dtype=float)
_TAKE_ADJOINTS = ("bicg", "qmr")  # solvers that multiply with A's adjoint


# -- the products -----------------------------------------------------------------------------------------------------


def product_of(A, adjoint=False):
    """(function(x, held), held): A x, or A^H x, of a vector or of columns, recorded; None where there is no adjoint.

    `held` is a tuple of the Tensors that a composed operator holds itself: factors, values of matrices. What functions
    of the program read is in these functions.
    """
    held = []
    function = _composed(A, adjoint, held)
    return None if function is None else (function, tuple(held))


def multiplied(A, x, adjoint=False):
    """A x, or A^H x, recorded."""
    found = product_of(A, adjoint)
    if found is None:
        return _NO_ADJOINT.rmatvec(np.zeros(1))  # SciPy's own error
    function, held = found
    return function(x, held)


def _composed(A, adjoint, held):
    kind = type(A)
    if isinstance(A, Operator):
        return _of_values(A.matrix, adjoint, held)
    if isinstance(A, _Over):
        return _composed(A.inner, adjoint, held)
    if isinstance(A, _interface.MatrixLinearOperator):
        return _of_constants(A.A, adjoint)
    if kind is _interface.IdentityOperator:
        return lambda x, held: x
    if kind is _interface._AdjointLinearOperator:
        return _composed(A.args[0], not adjoint, held)
    if kind is _interface._TransposedLinearOperator:
        inner = _composed(A.args[0], not adjoint, held)
        return None if inner is None else lambda x, held: _conj(inner(_conj(x), held))
    if kind in (_interface._SumLinearOperator, _interface._ProductLinearOperator):
        one, two = (_composed(part, adjoint, held) for part in A.args)
        if one is None or two is None:
            return None
        if kind is _interface._SumLinearOperator:
            return lambda x, held: one(x, held) + two(x, held)
        if adjoint:
            one, two = two, one
        return lambda x, held: one(two(x, held), held)
    if kind is _interface._ScaledLinearOperator:
        inner, at = _composed(A.args[0], adjoint, held), len(held)
        held.append(A.args[1])
        if inner is None:
            return None
        return lambda x, held: (_conj(held[at]) if adjoint else held[at]) * inner(x, held)
    if kind is _interface._PowerLinearOperator:
        inner, times = _composed(A.args[0], adjoint, held), A.args[1]
        return None if inner is None else lambda x, held: _repeated(inner, times, x, held)
    return _of_functions(A, adjoint)


def _conj(x):
    return conj(x) if isinstance(x, Tensor) else np.conj(x)


def _repeated(function, times, x, held):
    for _ in range(times):
        x = function(x, held)
    return x


def _of_values(matrix, adjoint, held):
    """The product with a matrix whose values are a Tensor."""
    values, pattern, _ = parts(matrix)
    at = len(held)
    held.append(values)

    def product(x, held):
        found = Matrix(pattern, held[at])
        return (found.conj().T if adjoint else found) @ x

    return product


def _of_constants(matrix, adjoint):
    """The product with a matrix of SciPy's, or a dense one."""
    matrix = matrix.conj().T if adjoint else matrix
    if is_foreign_matrix(matrix):
        return lambda x, held: recorded_of(matrix) @ x
    if sparse.issparse(matrix):
        return lambda x, held: (recorded_of(matrix) if isinstance(x, Tensor) else matrix) @ x
    return lambda x, held: matrix @ x


def _of_functions(A, adjoint):
    """The product of an operator that a program has written: by functions, or as a class with methods."""
    m, n = A.shape[::-1] if adjoint else A.shape
    if isinstance(A, _interface._CustomLinearOperator):
        of_vector, of_columns = (
            vars(A)[f"_CustomLinearOperator__{'r' if adjoint else ''}{name}_impl"] for name in ("matvec", "matmat")
        )
    else:
        base = _linalg.LinearOperator
        names = ("_rmatvec", "_rmatmat") if adjoint else ("_matvec", "_matmat")
        of_vector, of_columns = (
            getattr(A, name) if getattr(type(A), name, None) is not getattr(base, name) else None for name in names
        )
        if adjoint and of_vector is None and of_columns is None and type(A)._adjoint not in _OF_RMATVEC:
            return _composed(A._adjoint(), False, [])
    if of_vector is None and of_columns is None:
        return None

    def product(x, held):
        x = _as_array(x)
        if x.ndim == 1:
            found = of_columns(x.reshape((n, 1))) if of_vector is None else of_vector(x)
            return _as_array(found).reshape((m,))
        if of_columns is not None:
            return _as_array(of_columns(x))
        columns = [_as_array(of_vector(x[:, j].reshape((n, 1)))).reshape((m,)) for j in range(x.shape[1])]
        return ag.stack(columns, axis=1) if any(isinstance(c, Tensor) for c in columns) else np.stack(columns, axis=1)

    return product


def _as_array(found):
    found = dense_of(found)
    return found if isinstance(found, Tensor) or library_of((found,)) else np.asarray(found)


def _plainly(function):
    """The function of one argument on plain arrays, with nothing recorded."""

    def call(x):
        with no_grad():
            return raw(_as_array(raw(function(x))))

    return call


def _scipy_operator(A, product, like, adjoint=None):
    """SciPy's operator of a product, or that of the library of an array `like`."""
    make = theirs("LinearOperator", _linalg.LinearOperator, like)
    return make(A.shape, matvec=product, rmatvec=adjoint, dtype=A.dtype)


def _plain_adjoint(A):
    return _plainly(lambda x: multiplied(A, x, True)) if has_adjoint(A) else None


def plain_operator(A, like):
    """An operator on plain arrays like `like`, such as a preconditioner: its products without a gradient."""
    if isinstance(A, _linalg.LinearOperator):
        return _scipy_operator(A, _plainly(lambda x: multiplied(A, x)), like, _plain_adjoint(A))
    return native_of(A)


def ours(A):
    """An operator of another library as one of ours; anything else as it is."""
    if not type(A).__module__.startswith("cupyx.scipy.sparse.linalg") or not hasattr(A, "matvec"):
        return A
    impl = "_CustomLinearOperator__rmatvec_impl"
    adjoint = A.rmatvec if vars(A).get(impl, A) is not None else None
    return LinearOperator(A.shape, matvec=A.matvec, rmatvec=adjoint, dtype=A.dtype)


def tried(A, dtype=None):
    """The product of an operator with zeros, of the first library whose arrays its functions take."""
    n, error = A.shape[-1], None
    for asarray in (np.asarray, *[module.asarray for module in loaded_arrays()]):
        try:
            return multiplied(A, asarray(np.zeros(n, dtype=A.dtype if dtype is None else dtype)))
        except TypeError as caught:  # of a library that is given arrays of another one
            error = error or caught
    raise error


def has_adjoint(A):
    """Whether an operator says what its adjoint is."""
    return product_of(A, True) is not None


def depends(A):
    """Whether the products of an operator depend on Tensors that require grad: one product tells."""
    if not isinstance(A, _linalg.LinearOperator) or not ag.is_grad_enabled() or product_of(A) is None:
        return False
    return is_tracked(tried(A))


# -- operators whose products are recorded ----------------------------------------------------------------------------


class _Kind(type):
    """SciPy's operators count as instances of the class of the same name."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, _linalg.LinearOperator) if cls is LinearOperator else super().__instancecheck__(obj)


class LinearOperator(_linalg.LinearOperator, metaclass=_Kind):
    """scipy.sparse.linalg.LinearOperator, whose products with arrays are recorded.

    Made of functions, `LinearOperator(shape, matvec, ...)`, or by a class that is derived from it, as SciPy's.
    """

    def __new__(cls, *args, **kwargs):
        if cls is LinearOperator:
            return object.__new__(_OfFunctions)
        return object.__new__(cls) if issubclass(cls, _Over) else super().__new__(cls)

    def _init_dtype(self):
        if self.dtype is None:  # found by a product whose value alone counts
            with no_grad():
                self.dtype = raw(_as_array(tried(self, np.int8))).dtype

    def _multiplied(self, x, adjoint, columns):
        x = _as_array(x)
        m, n = self.shape[::-1] if adjoint else self.shape
        if x.shape != (n,) and not (x.ndim == 2 and x.shape[0] == n and (columns or x.shape[1] == 1)):
            raise ValueError("dimension mismatch")
        return _as_array(multiplied(self, x, adjoint)).reshape((m, *x.shape[1:]))

    def matvec(self, x):
        """A x, of a vector or of one column."""
        return self._multiplied(x, False, False)

    def rmatvec(self, x):
        """A^H x, of a vector or of one column."""
        return self._multiplied(x, True, False)

    def matmat(self, X):
        """A X, of columns."""
        return self._multiplied(X, False, True)

    def rmatmat(self, X):
        """A^H X, of columns."""
        return self._multiplied(X, True, True)

    def _adjoint(self):
        return _Over(_interface._AdjointLinearOperator(self))

    def _transpose(self):
        return _Over(_interface._TransposedLinearOperator(self))

    def dot(self, x):
        """The product with an array, another operator, or a number."""
        if isinstance(x, _linalg.LinearOperator):
            return _Over(_interface._ProductLinearOperator(self, x))
        return self._scaled(x) if _is_number(x) else self.matmat(x)

    def __matmul__(self, x):
        if _is_number(x):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(x)

    __call__ = __mul__ = dot

    def _rdot(self, x):
        if isinstance(x, _linalg.LinearOperator):
            return _Over(_interface._ProductLinearOperator(x, self))
        return self.T.dot(_as_array(x).T).T

    def __rmul__(self, x):
        return self._scaled(x) if _is_number(x) else self._rdot(x)

    def __rmatmul__(self, x):
        if _is_number(x):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._rdot(x)

    __array_ufunc__ = None  # arrays and Tensors leave `array @ operator` to the operator

    def _scaled(self, factor):
        made = _interface._ScaledLinearOperator(self, 1.0)  # SciPy's class takes numbers alone
        made.args = (self, factor)
        made.dtype = np.result_type(self.dtype, getattr(raw(factor), "dtype", type(factor)))
        return _Over(made)

    def __truediv__(self, factor):
        if not _is_number(factor):
            raise ValueError("Can only divide a linear operator by a scalar.")
        return self._scaled(1.0 / factor)

    def __neg__(self):
        return self._scaled(-1)

    def __add__(self, other):
        if not isinstance(other, _linalg.LinearOperator):
            return NotImplemented
        return _Over(_interface._SumLinearOperator(self, other))

    __radd__ = __add__

    def __sub__(self, other):
        return self + -other

    def __pow__(self, n):
        return _Over(_interface._PowerLinearOperator(self, n))


def _is_number(x):
    return not isinstance(x, _linalg.LinearOperator) and np.ndim(raw(dense_of(x))) == 0


class _Over(LinearOperator):
    """Recorded products of an operator of SciPy's, `inner`."""

    def __init__(self, inner):
        self.inner = inner
        super().__init__(inner.dtype, inner.shape)


def over(A):
    """A linear operator of SciPy's as one whose products are recorded."""
    return A if issubclass(type(A), LinearOperator) else _Over(A)


set_of_operator(over)


class _OfFunctions(_Over):
    def __init__(self, *args, **kwargs):
        super().__init__(_Custom(*args, **kwargs))


class _Custom(_interface._CustomLinearOperator):
    """SciPy's operator of functions; one of them may be of a class of ours."""

    _init_dtype = LinearOperator._init_dtype

    def matvec(self, x):
        return multiplied(self, x)


class Operator(LinearOperator):
    """The operator of a `Matrix`. What is made of such operators alone is one of a matrix again."""

    def __new__(cls, matrix, contents=()):
        return object.__new__(cls)

    def __init__(self, matrix, contents=()):
        self._matrix, self._contents = matrix, contents
        super().__init__(matrix.dtype, matrix.shape)

    @property
    def matrix(self):
        """What it multiplies by; one that was made of a dense array refuses later writes there, which SciPy sees."""
        for contents in self._contents:
            contents.check("scipy.sparse.linalg.aslinearoperator")
        return self._matrix

    def _adjoint(self):
        return Operator(self.matrix.conj().T, self._contents)

    def _transpose(self):
        return Operator(self.matrix.T, self._contents)

    def _scaled(self, factor):
        return Operator(self.matrix * factor, self._contents)

    def __add__(self, other):
        if not isinstance(other, Operator):
            return super().__add__(other)
        return Operator(self.matrix + other.matrix, (*self._contents, *other._contents))

    def __pow__(self, n):
        return Operator(matrix_power(self.matrix, n), self._contents)


_OF_RMATVEC = (_linalg.LinearOperator._adjoint, LinearOperator._adjoint)


# -- solutions --------------------------------------------------------------------------------------------------------


def solved(name, A, b, solver, options):
    """(x, info) of an iterative solver, recorded in b and in what the products of A depend on.

    Parameters
    ----------
    A : LinearOperator
    b : array or Tensor (n,)
    solver : callable
        SciPy's own, called as `solver(operator, b, **options)` on plain arrays.
    options : dict
        For the solution; the gradient's systems take no starting point and no callback.
    """
    function, held = product_of(A)
    function, parameters = lifted(f"scipy.sparse.linalg.{name}", function, (held,))
    adjoint = _plain_adjoint(A)
    b = ag.asarray(dense_of(b))
    dtype = np.result_type(raw(b).dtype, A.dtype, np.float32 if raw(b).dtype.kind in "fc" else np.float64)
    b = b if raw(b).dtype == dtype else b.astype(dtype)
    runs = []

    def run(product, right):
        if not runs:
            operator = _scipy_operator(A, _plainly(product), right, adjoint)
            x, info = solver(operator, right, **options)
            runs.append((product, right, x, info))
            return x
        _check(name, *runs[0][:3])
        rest = {key: value for key, value in options.items() if key not in ("x0", "callback", "callback_type", "show")}
        operator = _scipy_operator(A, _plainly(product), right)
        of = theirs("gmres", _linalg.gmres, right) if name in _TAKE_ADJOINTS else solver
        if name in _TAKE_ADJOINTS:
            rest = {key: rest[key] for key in ("rtol", "atol", "maxiter") if key in rest}
        elif rest.get("M") is not None and name not in OWN_ADJOINT:
            rest["M"] = _adjoint_of(rest["M"], right)
        x, info = of(operator, right, **rest)
        if info:
            raise RuntimeError(
                f"arraygrad.scipy.sparse.linalg.{name}: the gradient's system did not converge (info={info})"
            )
        return x

    x = linear_solve(function, b, run, args=tuple(parameters), tol=np.inf)
    return x, runs[0][3]


def _adjoint_of(M, like):
    """The adjoint of a preconditioner, None where it has none: the gradient's system is solved without."""
    if not hasattr(M, "rmatvec"):
        return M.conj().T
    try:
        M.rmatvec(like * 0)
    except (TypeError, NotImplementedError):
        return None
    return M.H


def _check(name, product, b, x):
    """Refuse the gradient of what is no solution."""
    with no_grad():
        left, given = (sum_of_squares(raw(v)) ** 0.5 for v in (raw(product(x)) - raw(b), b))
    if not left <= NEAR * given:
        raise ConvergenceError(
            f"scipy.sparse.linalg.{name}: the result is no solution: |A x - b| is {left:.3g} for |b| {given:.3g}, but "
            "the gradient is that of the solution: pass a smaller rtol, or allow more iterations"
        )


# -- eigenvalues ------------------------------------------------------------------------------------------------------


class _Eigen:
    """Eigenvalues and vectors of a symmetric operator, one below the other, as the node of its arguments sees them."""

    def __init__(self, name, solution, function, arguments):
        self.name, self.solution, self.function, self.arguments = name, solution, function, arguments

    def pull(self, g, x, arrays):
        """An eigenvalue has the gradient v^H dA v, a vector that of (w - A)^+ dA v (Giles 2008)."""
        w, v = _taken_apart(x)
        g_w, g_v = _taken_apart(g)
        left = v * g_w
        if is_tracked(g_v) or bool(raw(g_v).any()):
            dense = _columns(self.name, self._with(arrays), v.shape[0], v)
            eye = placed(np.eye(v.shape[0]), v)
            moved = [ag.matmul(ag.linalg.pinv(w[k] * eye - dense, rtol=1e-9), g_v[:, k]) for k in range(w.shape[0])]
            left = left + ag.stack(moved, axis=1)
        _, back = vjp(lambda *arrays: _of_each(self._with(arrays), v), *arrays)
        return list(back(left))

    def _with(self, arrays):
        parameters = self.arguments.rebuilt(arrays)
        return lambda x: self.function(x, *parameters)


def _of_each(function, X):
    """The products of columns, vector by vector: functions of a program may take no more than one."""
    return ag.stack([ag.asarray(function(X[:, j])) for j in range(X.shape[1])], axis=1)


def _taken_apart(x):
    x = ag.asarray(x)
    return (ag.real(x[0]) if x.dtype.kind == "c" else x[0]), x[1:]


def eigen(name, A, solve):
    """(w, v) of a symmetric operator by `solve(operator)` of SciPy's, recorded in what its products depend on."""
    function, held = product_of(A)
    function, parameters = lifted(f"scipy.sparse.linalg.{name}", function, (held,))
    arguments = Arguments(tuple(parameters))
    w, v = solve(plain_operator(A, tried(A)))
    solution = raw(ag.concat([ag.asarray(w[None].astype(v.dtype)), ag.asarray(v)]))
    return _taken_apart(arguments.attach(_Eigen(name, solution, function, arguments)))


def _columns(name, function, n, like):
    if n > LARGEST:
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse.linalg.{name}: this derivative makes the operator dense, which is done up to "
            f"{LARGEST} rows"
        )
    return _of_each(function, placed(np.eye(n), like))


def as_matrix(A):
    """The matrix of an operator that is made of matrices alone; anything else as it is."""
    return A.matrix if isinstance(A, Operator) else A


def as_dense(name, A):
    """The matrix of an operator whose products depend on Tensors, recorded; anything else as it is."""
    A = as_matrix(A)
    return _columns(name, lambda x: multiplied(A, x), A.shape[1], tried(A)) if depends(A) else A
