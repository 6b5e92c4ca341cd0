"""Everyday calls of equations, inverses, determinants and Cholesky factors of one real matrix.

May import: arraygrad, ops, scipy._everyday, scipy.linalg._chapter, scipy.linalg._factors, scipy.linalg._solve, numpy,
SciPy. Where SciPy's function is an operation of the table, the table's rules serve; triangles and factors that are
given are solved with by LAPACK, which takes a row-major matrix as its transpose, without a copy.
"""

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

import arraygrad as ag
from arraygrad.ops import OPS
from arraygrad.scipy._everyday import everyday
from arraygrad.scipy.linalg._chapter import NAMES
from arraygrad.scipy.linalg._factors import _cholesky as _declared  # noqa: F401 (declares what is served here)
from arraygrad.scipy.linalg._solve import triangle, turned

__all__ = []

_PLAIN = (0, "N")  # trans= of the matrix itself


def _of_equations(args, kwargs):
    """All calls of solve but those with one number, by which SciPy divides right sides of any length."""
    return None if args and getattr(args[0], "shape", None) == (1, 1) else (args, kwargs)


for _name, _parameters, _ndims, _served in (
    ("inv", "x, /", (2,), None), ("det", "x, /", (2,), None),
    ("solve", "x1, x2, /", (2, 1), _of_equations), ("solve", "x1, x2, /", (2, 2), _of_equations),
):  # fmt: skip
    everyday(f"linalg.{_name}", _parameters, rules=OPS[_name].entry.rules, like=_name, ndims=_ndims, served=_served)


# -- Cholesky factors -------------------------------------------------------------------------------------------------


def _upper(args, kwargs):
    """A call of cholesky(a, lower=False) as the table's (x, upper)."""
    if kwargs.keys() - {"lower"} or len(args) != (1 if kwargs else len(args)) or not 1 <= len(args) <= 2:
        return None
    lower = kwargs.get("lower", args[1] if len(args) == 2 else False)
    return (args[:1], {"upper": not lower}) if type(lower) is bool else None


def _factor(x, upper):
    return scipy.linalg.cholesky(x, lower=not upper)


everyday("linalg.cholesky", "x, /, *, upper=False", rules=OPS["cholesky"].entry.rules, like="cholesky", ndims=(2,),
         values=_factor, served=_upper)  # fmt: skip


def _parted(args, kwargs):
    """A call of cho_solve((c, lower), b) with its three parts apart."""
    if kwargs or len(args) != 2 or type(args[0]) is not tuple or len(args[0]) != 2:
        return None
    (c, lower), b = args
    return ((c, b, lower), {}) if type(lower) is bool else None


def _cho_solve(c, b, lower):
    return scipy.linalg.cho_solve((c, lower), b)


def _with_factor(g, c, lower):
    """The solution with the matrix of a factor."""
    if type(g) is not np.ndarray:
        return NAMES["cho_solve"]((c, lower), g)
    if not g.size:
        return g.copy()
    solve = lapack.dpotrs if g.dtype == np.float64 else lapack.spotrs
    found, _ = solve(c.T, g, lower=not lower) if c.flags.c_contiguous else solve(c, g, lower=lower)
    return found


def _cho_solve_b(g, c, lower):
    return _with_factor(g, c, lower)


def _columns(a):
    return a[:, None] if a.ndim == 1 else a


def _cho_solve_c(xp, g, ans, c, lower):
    """With the gradient S = -(w x^T + x w^T) of the matrix: tril(S c), triu(c S). What stands beside c is not read."""
    c = xp.tril(c) if lower else xp.triu(c)
    w, x = _columns(_with_factor(g, c, lower)), _columns(ans)
    if lower:
        wc, xc = (xp.matmul(xp.matrix_transpose(c), v) for v in (w, x))
        found = xp.matmul(w, xp.matrix_transpose(xc)) + xp.matmul(x, xp.matrix_transpose(wc))
        return -xp.tril(found)
    cw, cx = xp.matmul(c, w), xp.matmul(c, x)
    return -xp.triu(xp.matmul(cw, xp.matrix_transpose(x)) + xp.matmul(cx, xp.matrix_transpose(w)))


for _ndim in (1, 2):
    everyday("linalg.cho_solve", "c, b, lower, /", rules={"c": _cho_solve_c, "b": _cho_solve_b}, ndims=(2, _ndim),
             values=_cho_solve, served=_parted)  # fmt: skip


# -- triangles --------------------------------------------------------------------------------------------------------


def _solved_back(g, a, trans, lower, unit_diagonal):
    """The solution with the transposed triangle."""
    if type(g) is not np.ndarray:
        other = 1 if trans in _PLAIN else 0
        return ag.linalg.solve(turned(triangle(a, lower, unit_diagonal), other), g)
    if not g.size:
        return g.copy()
    solve = lapack.dtrtrs if g.dtype == np.float64 else lapack.strtrs
    if a.flags.c_contiguous:
        found, _ = solve(a.T, g, lower=not lower, trans=0 if trans in _PLAIN else 1, unitdiag=unit_diagonal)
    else:
        found, _ = solve(a, g, lower=lower, trans=1 if trans in _PLAIN else 0, unitdiag=unit_diagonal)
    return found


def _solve_triangular_b(g, a, trans, lower, unit_diagonal):
    return _solved_back(g, a, trans, lower, unit_diagonal)


def _solve_triangular_a(xp, g, ans, a, trans, lower, unit_diagonal):
    w, x = _columns(_solved_back(g, a, trans, lower, unit_diagonal)), _columns(ans)
    w, x = (w, x) if trans in _PLAIN else (x, w)
    found = -xp.matmul(w, xp.matrix_transpose(x))
    k = 1 if unit_diagonal else 0
    return xp.tril(found, k=-k) if lower else xp.triu(found, k=k)


for _ndim in (1, 2):
    everyday("linalg.solve_triangular", "a, b, trans=0, lower=False, unit_diagonal=False",
             rules={"a": _solve_triangular_a, "b": _solve_triangular_b}, ndims=(2, _ndim))  # fmt: skip
