"""Linear systems, inverses, determinants, least squares.

May import: arraygrad, scipy._declare, scipy._plainly, scipy.linalg._chapter, numpy, SciPy. Source: Giles (2008),
"Collected matrix derivative results for forward and reverse mode": with A x = b, A^H w = g gives the gradient w of b
and -w x^H of A.
"""

import functools

import numpy as np
import scipy.linalg

import arraygrad as ag
from arraygrad.scipy._declare import gradients_of_composition, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._plainly import is_real, plainly
from arraygrad.scipy.linalg._chapter import (
    NAMES,
    adjoint,
    by_composition,
    by_rule,
    is_complex,
    reading,
    shape_of,
)

__all__ = []

GILES = "Giles (2008)"


def turned(a, trans):
    """a, its transpose or its conjugate transpose, as LAPACK's `trans` says."""
    if trans in (0, "N", False):
        return a
    return adjoint(a) if trans in (2, "C") else ag.matrix_transpose(a)


_STRUCTURE = {
    "sym": lambda a, lower: _symmetric(a, lower), "symmetric": lambda a, lower: _symmetric(a, lower),
    "her": reading, "hermitian": reading, "pos": reading, "positive definite": reading,
    "upper triangular": lambda a, lower: ag.triu(a), "lower triangular": lambda a, lower: ag.tril(a),
    "diagonal": lambda a, lower: a * np.eye(shape_of(a)[-1]),
    "tridiagonal": lambda a, lower: ag.triu(ag.tril(a, k=1), k=-1),
}  # fmt: skip


def _symmetric(a, lower):
    """As `reading`, without conjugation."""
    if lower:
        return ag.tril(a) + ag.matrix_transpose(ag.tril(a, k=-1))
    return ag.triu(a) + ag.matrix_transpose(ag.triu(a, k=1))


@by_composition("solve", "a b", GILES, core="a(n,n),b(n,k?)->(n,k?)")
def _solve(a, b, lower=False, assume_a=None, transposed=False):
    structure = _STRUCTURE.get(assume_a)
    if np.size(raw(a)) == 1:  # SciPy divides: by what is no real number too, and right sides of any length
        return ag.asarray(b) / (ag.reshape(a, (1,) * np.ndim(raw(b))) if np.ndim(raw(a)) == 2 else a)
    a = a if structure is None else structure(a, lower)
    return ag.linalg.solve(turned(ag.asarray(a), 1 if transposed else 0), ag.asarray(b))


@plainly("linalg.solve", "b")
def _solve_adjoint(g, a, assume_a=None, transposed=False):
    if (
        np.ndim(a) != 2
        or np.size(a) == 1
        or not g.size
        or assume_a not in (None, "gen", "general")
        or (transposed and not is_real(a))
    ):
        return None
    factors = scipy.linalg.lu_factor(a, check_finite=False)
    return scipy.linalg.lu_solve(factors, g, 0 if transposed else 2, check_finite=False)


def triangle(a, lower, unit_diagonal=False):
    """The triangle that is read."""
    a = ag.tril(a) if lower else ag.triu(a)
    if not unit_diagonal:
        return a
    n = shape_of(a)[-1]
    return a * (1.0 - np.eye(n)) + np.eye(n)


@by_composition("solve_triangular", "a b", GILES, core="a(n,n),b(n,k?)->(n,k?)")
def _solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False):
    return ag.linalg.solve(turned(triangle(ag.asarray(a), lower, unit_diagonal), trans), ag.asarray(b))


@plainly("linalg.solve_triangular", "b")
def _solve_other_triangle(g, a, trans=0, lower=False, unit_diagonal=False):
    if np.ndim(a) != 2 or not 1 <= g.ndim <= 2 or not (is_real(a) or trans in (0, 2, "N", "C")):
        return None
    other = "N" if trans not in (0, "N") else "C"
    return scipy.linalg.solve_triangular(a, g, other, lower, unit_diagonal, check_finite=False)


@by_rule("inv", "a", GILES, core="a(n,n)->(n,n)")
def _inv(g, ans, a, assume_a=None, lower=False):
    turned = adjoint(ans)
    found = -ag.matmul(ag.matmul(turned, g), turned)
    structure = _STRUCTURE.get(assume_a)
    if structure is None:
        return found
    if assume_a == "diagonal":
        own, a = np.eye(shape_of(a)[-1], dtype=bool), ag.asarray(a)
        kept = g if _inv_keeps_what_is_not_read() else 0.0
        return ag.where(own, -g / adjoint(ag.where(own, a, 1.0)) ** 2, kept)
    # Of the elements that are read alone.
    return gradients_of_composition(lambda given: structure(given[0], lower), found, [ag.asarray(a)])[0]


@functools.cache
def _inv_keeps_what_is_not_read():
    """Whether inv(assume_a="diagonal") has the other elements of the matrix in its result, as in SciPy 1.17."""
    return bool(scipy.linalg.inv(np.array([[1.0, 1.0], [0.0, 1.0]]), assume_a="diagonal")[0, 1] == 1.0)


@by_composition("det", "a", "Jacobi's formula, by cofactors", core="a(n,n)->()")
def _det(a):
    return ag.linalg.det(ag.asarray(a))


def _share(a, atol, rtol):
    """rtol= of the pseudo-inverse: what SciPy leaves out, as a share of the largest singular value."""
    if atol is None:
        return {} if rtol is None else {"rtol": rtol}
    values = np.linalg.svdvals(raw(a))
    own = max(raw(a).shape[-2:]) * np.finfo(values.dtype).eps
    return {
        "rtol": (own if rtol is None else rtol) + atol / np.max(values, axis=-1, initial=np.finfo(values.dtype).tiny)
    }


@by_composition("pinv", "a", "Golub and Pereyra (1973)", core="a(m,n)->(n,m)", inert="return_rank")
def _pinv(a, atol=None, rtol=None, return_rank=False):
    a = ag.asarray(a)
    found = ag.linalg.pinv(a, **_share(a, atol, rtol))
    return (found, None) if return_rank else found


@by_composition("pinvh", "a", "Golub and Pereyra (1973)", core="a(n,n)->(n,n)")
def _pinvh(a, atol=None, rtol=None, lower=True, return_rank=False):
    a = reading(ag.asarray(a), lower)
    found = ag.linalg.pinv(a, **_share(a, atol, rtol))
    return (found, None) if return_rank else found


@by_composition("lstsq", "a b", "Golub and Pereyra (1973)", core="a(m,n),b(m,k?)->?", each=True)
def _lstsq(a, b, cond=None, lapack_driver=None):
    a, b = ag.asarray(a), ag.asarray(b)
    m, n = shape_of(a)[-2:]
    x = ag.matmul(ag.linalg.pinv(a, **({} if cond is None else {"rtol": cond})), b)
    left = b - ag.matmul(a, x)
    driver = lapack_driver or getattr(scipy.linalg.lstsq, "default_lapack_driver", "gelsd")
    full = np.asarray(np.linalg.matrix_rank(raw(a)) == n) & (m > n) & (driver != "gelsy")  # which gives no residues
    if np.any(full) and not np.all(full):
        raise NotDifferentiable("arraygrad.scipy.linalg.lstsq: the matrices of a stack need one rank")
    squares = ag.real(left) ** 2 + ag.imag(left) ** 2 if is_complex(left) else left**2
    residue = ag.sum(squares, axis=-1 if b.ndim == 1 else -2) if np.all(full) else None
    return x, residue, None, ag.linalg.svdvals(a)


# -- factors that were computed before --------------------------------------------------------------------------------


@by_composition("cho_solve", "c_and_lower b", GILES, core="c_and_lower[(n,n),()],b(n,k?)->(n,k?)")
def _cho_solve(c_and_lower, b):
    c, lower = c_and_lower
    if np.any(lower) and not np.all(lower):
        raise NotDifferentiable("arraygrad.scipy.linalg.cho_solve: the factors of a stack are all lower or all upper")
    lower = bool(np.all(lower))  # of a stack cho_factor says it for each
    c, b = triangle(ag.asarray(c), lower), ag.asarray(b)
    first, second = (c, adjoint(c)) if lower else (adjoint(c), c)
    return ag.linalg.solve(second, ag.linalg.solve(first, b))


@plainly("linalg.cho_solve", "b")
def _cho_solve_again(g, c_and_lower):
    """The matrix is its own adjoint."""
    c, lower = c_and_lower
    if np.ndim(c) != 2 or not 1 <= g.ndim <= 2:
        return None
    return scipy.linalg.cho_solve((c, bool(lower)), g, check_finite=False)


def rows_of(piv, m):
    """The permutation of rows that LAPACK's exchanges `piv` make."""
    order = np.arange(m)
    for i, j in enumerate(np.asarray(piv)):
        order[[i, j]] = order[[j, i]]
    return order


@by_composition("lu_solve", "lu_and_piv b", GILES, core="lu_and_piv[(n,n),(n)],b(n,k?)->(n,k?)", each=True)
def _lu_solve(lu_and_piv, b, trans=0):
    lu, piv = lu_and_piv
    lu, b = ag.asarray(lu), ag.asarray(b)
    order = rows_of(raw(piv), shape_of(lu)[0])
    lower, upper = triangle(lu, True, True), ag.triu(lu)
    if trans == 0:
        return ag.linalg.solve(upper, ag.linalg.solve(lower, ag.take(b, order, axis=0)))
    found = ag.linalg.solve(turned(lower, trans), ag.linalg.solve(turned(upper, trans), b))
    return ag.take(found, np.argsort(order), axis=0)


@plainly("linalg.lu_solve", "b")
def _lu_solve_turned(g, lu_and_piv, trans=0):
    lu, piv = lu_and_piv
    if np.ndim(lu) != 2 or not 1 <= g.ndim <= 2 or not (is_real(lu) or trans in (0, 2)):
        return None
    return scipy.linalg.lu_solve((lu, piv), g, 2 if trans == 0 else 0, check_finite=False)


# -- banded matrices --------------------------------------------------------------------------------------------------


def _shifted(rows, shifts):
    """rows[r, j + shifts[r]] at [r, j], zero where that leaves the row."""
    n = shape_of(rows)[1]
    places = np.arange(n)[None, :] + np.asarray(shifts)[:, None]
    inside = (places >= 0) & (places < n)
    return ag.where(inside, ag.take_along_axis(ag.asarray(rows), np.clip(places, 0, n - 1), axis=1), 0.0)


@by_rule("solve_banded", "ab b", GILES, core="l_and_u[()],ab(u,n),b(n,k?)->(n,k?)", each=True)
def _solve_banded(g, ans, l_and_u, ab, b):
    below, above = l_and_u
    rows = np.arange(below + above + 1)
    # The transpose has the diagonals in the opposite order, each moved to its place.
    other = ag.conj(ag.asarray(ab)) if is_complex(ab) else ag.asarray(ab)
    other = _shifted(ag.flip(other, axis=0), rows - below)
    w = NAMES["solve_banded"]((above, below), other, g)
    x = ag.conj(ans) if is_complex(ans) else ans
    w_, x_ = (w[:, None], x[:, None]) if w.ndim == 1 else (w, x)
    n, k = shape_of(w_)
    places = np.arange(n)[None, :] + rows[:, None] - above
    inside = (places >= 0) & (places < n)
    taken = ag.reshape(ag.take(w_, np.clip(places, 0, n - 1).ravel(), axis=0), (rows.size, n, k))
    return {"ab": -ag.where(inside, ag.sum(taken * x_[None, :, :], axis=-1), 0.0), "b": w}


@by_composition("solveh_banded", "ab b", GILES, core="ab(u,n),b(n,k?)->(n,k?)", each=True)
def _solveh_banded(ab, b, lower=False):
    ab = ag.asarray(ab)
    width = shape_of(ab)[0] - 1
    if is_complex(ab):  # of the diagonal the real part is read
        own = np.arange(width + 1)[:, None] == (0 if lower else width)
        ab = ag.where(own, ag.astype(ag.real(ab), raw(ab).dtype), ab)
    if lower:
        below = ab
        above = _shifted(ag.flip(ab, axis=0), np.arange(-width, 1))[:-1]
    else:
        above = ab[:-1]
        below = _shifted(ag.flip(ab, axis=0), np.arange(width + 1))
    if is_complex(ab):
        above, below = (ag.conj(above), below) if lower else (above, ag.conj(below))
    return NAMES["solve_banded"]((width, width), ag.concat([above, below], axis=0), ag.asarray(b))


# -- Toeplitz and circulant matrices ----------------------------------------------------------------------------------


@by_composition("solve_toeplitz", "c_or_cr b", GILES, core="c_or_cr[(n)],b(n,k?)->(n,k?)")
def _solve_toeplitz(c_or_cr, b):
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return ag.linalg.solve(NAMES["toeplitz"](ag.asarray(c), r if r is None else ag.asarray(r)), ag.asarray(b))


@by_composition("matmul_toeplitz", "c_or_cr x", "definition", core="c_or_cr[(n)],x(n,k?)->(m,k?)")
def _matmul_toeplitz(c_or_cr, x):
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return ag.matmul(NAMES["toeplitz"](ag.asarray(c), r if r is None else ag.asarray(r)), ag.asarray(x))


@by_composition("solve_circulant", "c b", GILES)
def _solve_circulant(c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    c, b = np.moveaxis(np.atleast_1d(ag.asarray(c)), caxis, -1), np.moveaxis(np.atleast_1d(ag.asarray(b)), baxis, -1)
    real = not is_complex(c) and not is_complex(b)
    spectrum = np.fft.fft(c)
    size = np.abs(raw(spectrum))
    least = np.max(size, axis=-1, keepdims=True) * size.shape[-1] * np.finfo(np.float64).eps if tol is None else tol
    left_out = size <= least
    x = np.fft.ifft(ag.where(left_out, 0.0, np.fft.fft(b) / ag.where(left_out, 1.0, spectrum)))
    return np.moveaxis(ag.real(x) if real else x, -1, outaxis)
