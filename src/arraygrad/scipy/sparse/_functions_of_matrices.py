"""Functions of sparse matrices: inverse, exponential, powers, norms, and functions times vectors.

May import: arraygrad, core.tensor, scipy._declare, scipy._guards, scipy._libraries, scipy.linalg, scipy.sparse,
numpy, SciPy.

SciPy's own function gives the values. Inverse and exponential are dense in general: their derivative is that of the
dense function.
"""

import numpy as np
from scipy import linalg as _dense_linalg
from scipy import sparse
from scipy.sparse import linalg as _linalg

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._libraries import is_foreign_matrix
from arraygrad.scipy.linalg._chapter import NAMES as LINALG
from arraygrad.scipy.sparse import _matrix
from arraygrad.scipy.sparse._devices import library_in, on_host_only
from arraygrad.scipy.sparse._grids import dense_of
from arraygrad.scipy.sparse._matrix_base import entries, kept_copy, matched, plain_of, tracked
from arraygrad.scipy.sparse._spectra import LARGEST

__all__ = ["declare"]


def _dense(name, A):
    """The dense array of a square matrix that is not too large for it."""
    if max(A.shape) > LARGEST:
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse.linalg.{name}: this derivative makes the matrix dense, which is done up to "
            f"{LARGEST} rows"
        )
    return A.toarray() if _matrix.is_sparse(A) else dense_of(A)


def _result(plain, dense):
    """A dense result as SciPy's own sparse or dense one."""
    if not sparse.issparse(plain):
        return ag.reshape(dense, np.shape(plain))
    return matched(plain, np.arange(int(np.prod(plain.shape)), dtype=np.int64), ag.reshape(dense, (-1,)))


@on_host_only("expm")
def expm(A):
    """scipy.sparse.linalg.expm, differentiable in the values of A."""
    if not tracked(A):
        return _linalg.expm(plain_of(A))
    plain = _linalg.expm(plain_of(A))
    return _result(plain, LINALG["expm"](_dense("expm", A)))


def matrix_power(A, power):
    """scipy.sparse.linalg.matrix_power, differentiable in the values of A."""
    return (
        _matrix.matrix_power(A, power) if tracked(A) or library_in((A,)) else _linalg.matrix_power(plain_of(A), power)
    )


@on_host_only("onenormest")
def onenormest(A, t=2, itmax=5, compute_v=False, compute_w=False):
    """scipy.sparse.linalg.onenormest: the norm of A v, for the v that SciPy finds, differentiable in the values."""
    if not tracked(A):
        return _linalg.onenormest(plain_of(A), t, itmax, compute_v, compute_w)
    _, v = _linalg.onenormest(plain_of(A), t, itmax, True, False)
    w = A @ v
    found = (ag.sum(ag.abs(w)), *((v,) if compute_v else ()), *((w,) if compute_w else ()))
    return found if len(found) > 1 else found[0]


# -- f(A) b -----------------------------------------------------------------------------------------------------------


def _multiplied(b, A, f, options):
    return _linalg.funm_multiply_krylov(f, A, b, **options)


@ruled("sparse.linalg._funm_multiply", _multiplied, "b", "definition (linear in b)", inert="options")
def _recorded_multiply(g, ans, A, f, options):
    """b gets f(A)^H g, and f(A)^H is the function M -> f(M^H)^H of A^H."""
    turned = lambda M: np.conj(np.asarray(f(np.conj(M.T)))).T
    return _recorded_multiply(g, A.conj().T, turned, options)


REGISTRY.pop("sparse.linalg._funm_multiply")


@on_host_only("funm_multiply_krylov")
def funm_multiply_krylov(f, A, b, *, assume_a="general", t=1.0, atol=0.0, rtol=1e-6, restart_every_m=None,
                         max_restarts=20):  # fmt: skip
    """scipy.sparse.linalg.funm_multiply_krylov, differentiable in b, and in A and t through the dense matrix."""
    options = {"assume_a": assume_a, "atol": atol, "rtol": rtol, "restart_every_m": restart_every_m,
               "max_restarts": max_restarts}  # fmt: skip
    if not tracked(A, b, t) and not isinstance(b, Tensor):
        return _linalg.funm_multiply_krylov(f, plain_of(A), b, t=raw(t), **options)
    if isinstance(A, _linalg.LinearOperator):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.funm_multiply_krylov: an operator has no rule")
    b = ag.asarray(dense_of(b))
    if not tracked(A, t):
        plain = kept_copy(A) if raw(t) == 1.0 else plain_of(A) * float(raw(t))
        return _recorded_multiply(b, plain, f, options)
    value = _linalg.funm_multiply_krylov(f, plain_of(A), raw(b), t=float(raw(t)), **options)
    dense = ag.asarray(_dense("funm_multiply_krylov", A))
    ours = (
        LINALG.get(getattr(f, "__name__", ""), f) if f is getattr(_dense_linalg, getattr(f, "__name__", ""), 0) else f
    )
    matrix = ours(dense * t)
    if not isinstance(matrix, Tensor) or not matrix.requires_grad:
        raise NotDifferentiable(
            "arraygrad.scipy.sparse.linalg.funm_multiply_krylov: f gave no recorded result for a Tensor; use a "
            "function of arraygrad.scipy.linalg"
        )
    found = ag.matmul(matrix, b)
    if not np.allclose(raw(found), value, rtol=1e-3, atol=1e-3 * np.max(np.abs(value), initial=0.0)):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.funm_multiply_krylov: SciPy's result is not f(A) b")
    return found


# -- norms ------------------------------------------------------------------------------------------------------------


def norm(x, ord=None, axis=None):
    """scipy.sparse.linalg.norm, differentiable in the values."""
    if not tracked(x) and library_in((x,)) is None:
        return _linalg.norm(plain_of(x), ord, axis)
    x = _matrix.Matrix(x) if is_foreign_matrix(x) else x
    plain = _linalg.norm(plain_of(x), ord, axis)
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    size = abs(x)
    if axis is None or isinstance(axis, tuple):
        if ord in (None, "fro", "f"):
            _, values = entries(x)
            return ag.sqrt(ag.sum((values * ag.conj(values)).real if x.dtype.kind == "c" else values * values))
        first = 0 if axis is None else axis[0] % 2
        if ord in (1, -1, np.inf, -np.inf):
            sums = ag.reshape(_flat(size.sum(axis=first if abs(ord) == 1 else 1 - first)), (-1,))
            return ag.max(sums) if ord > 0 else ag.min(sums)
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse.linalg.norm: ord={ord!r} of matrices has no rule; use svds for the largest "
            "singular value"
        )
    if ord in (None, 2):
        found = _flat((size.multiply(size)).sum(axis=axis)) ** 0.5
    elif ord == np.inf:
        found = _flat(size.max(axis=axis))
    elif ord == -np.inf:
        found = _flat(size.min(axis=axis))
    elif ord == 1:
        found = _flat(size.sum(axis=axis))
    elif isinstance(ord, (int, float)) and ord > 0:
        found = _flat(size.power(ord).sum(axis=axis)) ** (1.0 / ord)
    else:
        raise NotDifferentiable(f"arraygrad.scipy.sparse.linalg.norm: ord={ord!r} has no rule")
    return ag.reshape(found, np.shape(plain))


def _flat(found):
    """The sums as a Tensor, of whatever kind the matrix class gives."""
    return found.toarray() if _matrix.is_sparse(found) else dense_of(found)


def _inverse(A, spsolve):
    if not tracked(A):
        return _linalg.inv(plain_of(A))
    plain = _linalg.inv(plain_of(A))
    if max(A.shape) > LARGEST:
        _dense("inv", A)
    return _result(plain, spsolve(A, np.eye(A.shape[0], dtype=A.dtype)))


def declare(chapter, spsolve):
    """Put the functions into the chapter; `spsolve` is ours."""

    @on_host_only("inv")
    def inv(A):
        """scipy.sparse.linalg.inv, differentiable in the values of A."""
        return _inverse(A, spsolve)

    chapter.object("inv", "A (the values)", "Giles (2008)")(inv)
    chapter.object("expm", "A (the values)", "Higham (2008), 10.6")(expm)
    chapter.object("matrix_power", "A (the values)", "definition")(matrix_power)
    chapter.object("onenormest", "A (the values)", "Higham and Tisseur (2000); by selection")(onenormest)
    chapter.object("funm_multiply_krylov", "A b t", "Higham (2008), 3")(funm_multiply_krylov)
    chapter.object("norm", "x (the values)", "definition; by selection")(norm)
