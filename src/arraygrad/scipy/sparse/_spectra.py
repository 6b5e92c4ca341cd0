"""Eigenvalues, singular values and exponentials of sparse matrices, and least squares by LSMR.

May import: arraygrad, core.tensor, implicit.common, scipy._conjugates, scipy._declare, scipy._libraries, scipy.linalg,
scipy.sparse, numpy, SciPy.

An eigenvalue of a symmetric matrix has the gradient v_i v_j at the element (i, j) of the pattern (Giles 2008): that
costs no more than the product. Eigenvectors, and what is not symmetric, are differentiated through the dense matrix.
"""

import numpy as np
from scipy.sparse import linalg as _linalg

import arraygrad as ag
from arraygrad.implicit.common import Called
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import REGISTRY, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy._libraries import serve
from arraygrad.scipy.linalg import _factors as _declared  # noqa: F401 (declares svd, eigvals)
from arraygrad.scipy.linalg import _functions as _declared_too  # noqa: F401 (declares expm)
from arraygrad.scipy.linalg._chapter import NAMES as LINALG
from arraygrad.scipy.sparse._coordinates import coordinates, summed, taken, with_values
from arraygrad.scipy.sparse._devices import library_in, on_host_only, placed, theirs
from arraygrad.scipy.sparse._grids import dense_of
from arraygrad.scipy.sparse._matrix import Matrix
from arraygrad.scipy.sparse._matrix_base import kept_copy, parts, tracked
from arraygrad.scipy.sparse._operators import LARGEST, as_dense, as_matrix, depends, eigen, ours, plain_operator, tried

__all__ = ["declare"]

GILES = "Giles (2008), on the pattern"


def _parts(A):
    """(values, pattern) of a matrix; those of a dense one are all its elements."""
    return parts(A)[:2]


def _dense(name, values, pattern):
    if max(pattern.shape) > LARGEST:
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse.linalg.{name}: this derivative makes the matrix dense, which is done up to "
            f"{LARGEST} rows"
        )
    rows, columns, places = coordinates(pattern)
    m, n = pattern.shape
    chosen = taken(ag.reshape(ag.asarray(values), (-1,)), places)
    return ag.reshape(summed(chosen, rows * n + columns, m * n), (m, n))


def _tracked(name, A, *rest):
    """Whether the values of A are differentiated; refuse what is not."""
    if holds_tensor(rest, grad=True):
        raise NotDifferentiable(f"arraygrad.scipy.sparse.linalg.{name}: it is differentiable in A alone")
    return tracked(A)


# -- symmetric matrices -----------------------------------------------------------------------------------------------


def _eigen_values(values, pattern, solve):
    return solve(with_values(pattern, values))


@ruled("sparse.linalg._eigen", _eigen_values, "values", GILES, inert="solve")
def _eigen(g, ans, values, pattern):
    (g_w, g_v), (w, v) = g, ans
    rows, columns, places = coordinates(pattern)
    left = v * g_w if g_w is not None else 0.0 * v
    if g_v is not None:
        dense = _dense("eigsh", values, pattern)
        eye = placed(np.eye(dense.shape[0]), dense)
        moved = [ag.matmul(ag.linalg.pinv(w[k] * eye - dense, rtol=1e-9), g_v[:, k]) for k in range(w.shape[0])]
        left = left + ag.stack(moved, axis=1)
    terms = ag.sum(taken(left, rows) * conj(taken(v, columns)), axis=1)
    return ag.reshape(summed(terms, places, pattern.data.size), pattern.data.shape)


REGISTRY.pop("sparse.linalg._eigen")
serve("sparse.linalg._eigen", _eigen_values)


def eigsh(A, k=6, M=None, sigma=None, which="LM", v0=None, ncv=None, maxiter=None, tol=0, return_eigenvectors=True,
          Minv=None, OPinv=None, mode="normal", **further):  # fmt: skip
    """scipy.sparse.linalg.eigsh, differentiable in the values of A; separate eigenvalues."""
    given = (sigma, which, v0, ncv, maxiter, tol)
    A = ours(A)
    like = A if isinstance(A, Matrix) or not isinstance(A, _linalg.LinearOperator) else tried(A)
    if library_in((like,)) is not None:
        settings = dict(
            zip("M sigma which v0 ncv maxiter tol Minv OPinv".split(), (M, *given, Minv, OPinv), strict=True)
        )
        return _eigsh_on_device(A, k, like, {**settings, **further}, return_eigenvectors)
    solved = []

    def solve(matrix):
        solved.append(matrix)
        return _linalg.eigsh(matrix, k, None, *given, True, Minv, OPinv, mode, **further)

    def without_vectors(w, v):
        if raw(v).dtype.kind != "c":
            return ag.take(w, _order(raw(w), which, sigma, k < solved[0].shape[0]))
        plain = _linalg.eigsh(solved[0], k, None, *given, False, Minv, OPinv, mode, **further)
        return ag.take(w, _nearest(plain, raw(w)))

    if depends(A) and not holds_tensor((M, *given), grad=True) and M is None:
        w, v = eigen("eigsh", A, solve)
        return (w, v) if return_eigenvectors else without_vectors(w, v)
    A = as_matrix(A)
    if not _tracked("eigsh", A, M, *given):
        return _linalg.eigsh(raw(A), k, raw(M), *map(raw, given), return_eigenvectors, Minv, OPinv, mode, **further)
    if M is not None:
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.eigsh: the derivative is known without M")
    w, v = _eigen(*_parts(A), solve)
    return (w, v) if return_eigenvectors else without_vectors(w, v)


def _order(values, which, sigma, iterated):
    """The order in which eigsh gives rising eigenvalues without the vectors, as its `return_eigenvectors` says."""
    sizes = np.abs(values)
    keys = {"LM": sizes, "SA": sizes, "SM": -sizes} if sigma is None and iterated else {}
    return np.argsort(keys.get(which, values), kind="stable")


_EIGSH_DEFAULTS: dict[str, object] = {"which": "LM", "tol": 0}


def _eigsh_on_device(A, k, like, settings, return_eigenvectors):
    """eigsh by the library of the array or matrix `like`."""
    given = {key: value for key, value in settings.items() if value is not _EIGSH_DEFAULTS.get(key)}
    if holds_tensor(given, grad=True):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.eigsh: it is differentiable in A alone")
    function = theirs("eigsh", _linalg.eigsh, like, given)
    given = {key: raw(value) for key, value in given.items()}
    solve = lambda matrix: function(matrix, k, **given)
    if depends(A):
        w, v = eigen("eigsh", A, solve)
    elif isinstance(A, _linalg.LinearOperator) and as_matrix(A) is A:
        w, v = solve(plain_operator(A, like))
    else:
        w, v = _eigen(*_parts(as_matrix(A)), solve)
    return (w, v) if return_eigenvectors else w


@on_host_only("lobpcg")
def lobpcg(A, X, B=None, M=None, Y=None, **options):
    """scipy.sparse.linalg.lobpcg, differentiable in the values of A; separate eigenvalues."""
    by_products = depends(A)
    A, M = as_matrix(A), plain_operator(M, X)
    if not by_products and not _tracked("lobpcg", A, X, B, M, Y):
        return _linalg.lobpcg(raw(A), raw(X), raw(B), raw(M), raw(Y), **options)
    if B is not None or Y is not None or options.get("retLambdaHistory") or options.get("retResidualNormsHistory"):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.lobpcg: B, Y and histories have no rule")
    solve = lambda matrix: _linalg.lobpcg(matrix, raw(X), None, M, **options)
    return eigen("lobpcg", A, solve) if by_products else _eigen(*_parts(A), solve)


# -- through the dense matrix -----------------------------------------------------------------------------------------


@on_host_only("eigs")
def eigs(A, k=6, *args, return_eigenvectors=True, **options):
    """scipy.sparse.linalg.eigs, differentiable in the values of A; separate eigenvalues, vectors up to their phase."""
    A = as_dense("eigs", A)
    if not _tracked("eigs", A, args, options):
        return _linalg.eigs(raw(A), k, *args, return_eigenvectors=return_eigenvectors, **options)
    values, pattern = _parts(A)
    matrix = with_values(pattern, raw(values))
    dense = _dense("eigs", values, pattern)
    if not return_eigenvectors:
        plain = _linalg.eigs(matrix, k, *args, return_eigenvectors=False, **options)
        every = LINALG["eigvals"](dense)
        return ag.take(every, _nearest(plain, raw(every)))
    w0, v0 = _linalg.eigs(matrix, k, *args, **options)
    every, vectors = LINALG["eig"](dense)
    places = _nearest(w0, raw(every))
    v = ag.take(vectors, places, axis=1)
    phase = np.sum(np.conj(raw(v)) * v0, axis=0)  # ARPACK leaves it to chance
    return ag.take(every, places), v * (phase / np.abs(phase))


def _nearest(found, every):
    """Which of all values each one is, each taken once."""
    every, chosen = np.array(every), []
    for one in found:
        i = int(np.argmin(np.abs(every - one)))
        chosen.append(i)
        every[i] = np.inf
    return np.array(chosen, dtype=int)


@on_host_only("svds")
def svds(A, k=6, ncv=None, tol=0, which="LM", v0=None, maxiter=None, return_singular_vectors=True, **options):
    """scipy.sparse.linalg.svds, differentiable in the values of A; separate singular values."""
    given = (ncv, tol, which, v0, maxiter)
    A = as_dense("svds", A)
    if not _tracked("svds", A, given, options):
        return _linalg.svds(raw(A), k, *given, return_singular_vectors, **options)
    values, pattern = _parts(A)
    matrix = with_values(pattern, raw(values))
    u0, s0, _ = _linalg.svds(matrix, k, *given, True, **options)
    u, s, vh = LINALG["svd"](_dense("svds", values, pattern), full_matrices=False)
    places = _nearest(s0, raw(s))
    u, s, vh = ag.take(u, places, axis=1), ag.take(s, places), ag.take(vh, places, axis=0)
    sign = np.sign(np.sum(np.real(np.conj(raw(u)) * u0), axis=0))
    u, vh = u * sign, vh * sign[:, None]
    if return_singular_vectors is False:
        return s
    return (u if return_singular_vectors != "vh" else None), s, (vh if return_singular_vectors != "u" else None)


# -- exponentials -----------------------------------------------------------------------------------------------------


def _multiplied(B, A):
    return _linalg.expm_multiply(A, B)


@ruled("sparse.linalg._expm_multiply", _multiplied, "B", "definition (linear in B)", inert="A")
def _recorded_multiply(g, ans, A):
    return _recorded_multiply(g, A.conj().T if hasattr(A, "conj") else A.H)


REGISTRY.pop("sparse.linalg._expm_multiply")


@on_host_only("expm_multiply")
def expm_multiply(A, B, start=None, stop=None, num=None, endpoint=None, traceA=None):
    """scipy.sparse.linalg.expm_multiply, differentiable in B, and in A through the dense matrix."""
    A = as_dense("expm_multiply", A)
    tracked = _tracked("expm_multiply", A, start, stop)
    if not tracked and not holds_tensor(B):
        return _linalg.expm_multiply(raw(A), B, start, stop, num, endpoint, traceA)
    several = any(v is not None for v in (start, stop, num, endpoint))
    times = np.array([1.0])
    if several:
        count = 50 if num is None else num
        times = np.linspace(start, stop, count, endpoint=True if endpoint is None else endpoint)
    if tracked:
        dense, B = _dense("expm_multiply", *_parts(A)), ag.asarray(B)
        found = [ag.matmul(LINALG["expm"](dense * t if several else dense), B) for t in times]
    else:
        matrix = kept_copy(A)
        found = [_recorded_multiply(B, matrix if t == 1.0 else matrix * t) for t in times]
    return ag.stack(found) if several else found[0]


def declare(chapter, least_squares, wanted):
    """Put the functions into the chapter; `least_squares` is the rule of LSQR."""

    @on_host_only("lsmr")
    def lsmr(A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, maxiter=None, show=False, x0=None):
        """scipy.sparse.linalg.lsmr of a matrix of full rank, without damping: x and the norm of r are recorded."""
        A = as_dense("lsmr", A)
        if not wanted(A, b) and not holds_tensor((damp, x0), grad=True):
            return _linalg.lsmr(raw(A), raw(b), damp, atol, btol, conlim, maxiter, show, x0)
        if holds_tensor(damp) or damp or x0 is not None or isinstance(A, _linalg.LinearOperator):
            raise NotDifferentiable("arraygrad.scipy.sparse.linalg.lsmr: damp, x0 and operators have no rule")
        values, pattern = _parts(A)
        b = dense_of(b)
        plain = _linalg.lsmr(with_values(pattern, raw(values)), raw(b), damp, atol, btol, conlim, maxiter, show)
        x = least_squares(values, b, pattern, {"name": Called("scipy.sparse.linalg.lsmr"), "found": plain[0]})
        left = ag.asarray(b) - Matrix(pattern, values) @ x
        return x, plain[1], plain[2], ag.sqrt(ag.sum(left * left)), *[None] * 4

    chapter.object("eigsh", "A (the values)", GILES)(eigsh)
    chapter.object("lobpcg", "A (the values)", GILES)(lobpcg)
    chapter.object("eigs", "A (the values)", "the table: Boeddeker et al. (2017)")(eigs)
    chapter.object("svds", "A (the values)", "the table: Townsend (2016)")(svds)
    chapter.object("expm_multiply", "A B", "Higham (2008), 3.6")(expm_multiply)
    chapter.object("lsmr", "A b", "Golub and Pereyra (1973), on the pattern")(lsmr)
