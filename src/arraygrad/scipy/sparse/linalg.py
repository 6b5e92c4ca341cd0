"""scipy.sparse.linalg: solutions of sparse systems, direct and iterative, in the values and the right side.

May import: arraygrad, core.tensor, scipy._declare, scipy.sparse._matrices, numpy, SciPy.

With A x = b and a gradient g, A^H w = g is solved the same way: b gets w, the value at (i, j) gets -w_i conj(x_j).
"""

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as _linalg

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, Chapter, mirror, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.sparse._matrices import Matrix, conj, coordinates, summed, with_values
from arraygrad.scipy.sparse._spectra import declare

__all__ = []

_CHAPTER = Chapter("sparse.linalg", _linalg)
GILES = "Giles (2008), on the pattern"


class _System:
    """A pattern and how systems with it are solved: `solve(matrix, b)` on SciPy's own objects."""

    def __init__(self, pattern, solve):
        self.pattern, self.solve = pattern, solve

    def turned(self, places_of):
        """The system of the conjugate transpose, with values in the order of the coordinates."""
        rows, columns, _ = places_of
        turned = sparse.coo_array((np.ones(rows.size), (columns, rows)), shape=self.pattern.shape[::-1])
        return _System(turned.asformat("coo"), self.solve)


def _solution(values, b, system):
    matrix = system.pattern if values is None else with_values(system.pattern, values)
    return system.solve(matrix, b)


@ruled("sparse.linalg._solution", _solution, "values b", GILES)
def _recorded_solution(g, ans, values, b, system):
    if isinstance(system.pattern, _linalg.LinearOperator):
        other = _System(system.pattern.H, system.solve)
        return {"b": _recorded_solution(None, g, other)}
    places_of = coordinates(system.pattern)
    rows, columns, places = places_of
    taken = conj(ag.take(ag.reshape(ag.asarray(values), (-1,)), places))
    w = _recorded_solution(taken, g, system.turned(places_of))

    def by_values():
        terms = -(ag.take(w, rows, axis=0) * conj(ag.take(ans, columns, axis=0)))
        if terms.ndim == 2:
            terms = ag.sum(terms, axis=1)
        return ag.reshape(summed(terms, places, system.pattern.data.size), system.pattern.data.shape)

    return {"values": by_values, "b": w}


REGISTRY.pop("sparse.linalg._solution")


def _parts(A):
    """(values, pattern) of a matrix of ours, of SciPy's, a dense one, or an operator."""
    if isinstance(A, Matrix):
        return A.data, A.pattern
    if isinstance(A, _linalg.LinearOperator):
        return None, A
    if sparse.issparse(A):
        return A.data, A
    made = Matrix(sparse.csr_array(np.asarray(A))) if not isinstance(A, Tensor) else _of_dense(A)
    return made.data, made.pattern


def _of_dense(A):
    m, n = raw(A).shape
    pattern = sparse.csr_array(np.ones((m, n)))
    data = ag.reshape(A, (-1,))
    return Matrix(with_values(pattern, raw(data)), data)


def _solved(A, b, solve):
    values, pattern = _parts(A)
    return _recorded_solution(values, b, _System(pattern, solve))


def _wanted(A, b):
    return isinstance(b, Tensor) or isinstance(A, Tensor) or isinstance(A, Matrix)


@_CHAPTER.object("spsolve", "A b", GILES)
def spsolve(A, b, permc_spec=None, use_umfpack=True):
    """scipy.sparse.linalg.spsolve, differentiable in the values of A and in the right side."""
    if not _wanted(A, b):
        return _linalg.spsolve(A, b, permc_spec, use_umfpack)
    if isinstance(b, Matrix) or sparse.issparse(b):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.spsolve: sparse right sides have no rule; use toarray()")
    return _solved(A, b, lambda A, b: _linalg.spsolve(A.tocsc(), b, permc_spec, use_umfpack))


def _iterative(name):
    theirs = getattr(_linalg, name)

    def function(A, b, *args, **options):
        if not _wanted(A, b):
            return theirs(A, b, *args, **options)
        flags = []
        x0 = options.pop("x0", args[0] if args else None)

        def solve(A, b):
            # The starting point is that of the solution, not of the gradient's system.
            start = {"x0": raw(x0)} if x0 is not None and not flags else {}
            if isinstance(A, (_linalg.LinearOperator, sparse.sparray, sparse.spmatrix)) and b.ndim == 2:
                raise NotDifferentiable(f"arraygrad.scipy.sparse.linalg.{name}: one right side has a derivative")
            x, info = theirs(A if isinstance(A, _linalg.LinearOperator) else A.tocsr(), b, **start, **options)
            if flags and info:
                raise RuntimeError(
                    f"arraygrad.scipy.sparse.linalg.{name}: the gradient's system did not converge (info={info})"
                )
            flags.append(info)
            return x

        if "M" in options and options["M"] is not None:
            options["M"] = raw(options["M"])
        x = _solved(A, b, solve)
        return x, flags[0]

    function.__name__ = name
    _CHAPTER.object(name, "A b", GILES)(function)


for _name in ("cg", "gmres", "bicg", "bicgstab", "cgs", "minres", "lgmres", "gcrotmk", "qmr", "tfqmr"):
    if hasattr(_linalg, _name):
        _iterative(_name)


class _Factors:
    """Factors of a sparse matrix, as scipy.sparse.linalg.SuperLU: `solve` is recorded."""

    def __init__(self, A, make):
        self._values, self._pattern = _parts(A)
        self._factors = make(with_values(self._pattern, raw(self._values)).tocsc())

    def solve(self, rhs, trans="N"):
        """The solution of A x = rhs, of the transpose ("T"), or the conjugate transpose ("H")."""
        if not isinstance(rhs, Tensor) and not isinstance(self._values, Tensor):
            return self._factors.solve(np.asarray(rhs), trans)
        values, pattern = self._values, self._pattern
        if trans != "N":
            turned = Matrix(pattern, values if isinstance(values, Tensor) else None).T
            values, pattern = turned.data, turned.pattern
            if trans == "H":
                values = conj(values)
        own, opposite = {"N": ("N", "H"), "T": ("T", None), "H": ("H", "N")}[trans]
        calls = []

        def solve(matrix, b):
            # The factors at hand serve the solution; the gradient's system has others where there are none.
            side = own if not calls else opposite
            calls.append(side)
            if len(calls) > 2 or side is None:
                return _linalg.spsolve(matrix.tocsc(), b)
            return self._factors.solve(np.asarray(b), side)

        return _recorded_solution(values, rhs, _System(pattern, solve))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if isinstance(self._values, Tensor) and self._values.requires_grad:
            raise NotDifferentiable(f"arraygrad.scipy.sparse.linalg: the factors' {name} has no rule")
        return getattr(self._factors, name)


@_CHAPTER.object("splu", "A b", GILES)
def splu(A, *args, **options):
    """scipy.sparse.linalg.splu; the result's `solve` is differentiable in the values of A and in the right side."""
    return _Factors(A, lambda A: _linalg.splu(A, *args, **options))


@_CHAPTER.object("factorized", "A b", GILES)
def factorized(A):
    """scipy.sparse.linalg.factorized: a function that solves systems with A."""
    return splu(A).solve


@_CHAPTER.object("lsqr", "A b", "Golub and Pereyra (1973), on the pattern")
def lsqr(A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, iter_lim=None, show=False, calc_var=False, x0=None):
    """scipy.sparse.linalg.lsqr of a matrix of full rank, without damping.

    Of the results x and r1norm are recorded; other norms are None where a gradient is recorded.
    """
    if not _wanted(A, b):
        return _linalg.lsqr(A, b, damp, atol, btol, conlim, iter_lim, show, calc_var, x0)
    if damp or x0 is not None or isinstance(A, _linalg.LinearOperator):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.lsqr: damp, x0 and operators have no rule")
    values, pattern = _parts(A)
    settings = {"atol": atol, "btol": btol, "conlim": conlim, "iter_lim": iter_lim}
    plain = _linalg.lsqr(with_values(pattern, raw(values)), raw(b), **settings)
    x = _recorded_least_squares(values, b, pattern, settings)
    left = ag.asarray(b) - Matrix(pattern, values if isinstance(values, Tensor) else None) @ x
    return (x, plain[1], plain[2], ag.sqrt(ag.sum(left * left)), *[None] * 6)


def _least_squares(values, b, pattern, settings):
    return _linalg.lsqr(with_values(pattern, values), b, **settings)[0]


@ruled("sparse.linalg._least_squares", _least_squares, "values b", "Golub and Pereyra (1973)")
def _recorded_least_squares(g, ans, values, b, pattern, settings):
    """dx = A^+ (db - dA x) + A^+ A^+T dA^T r + (1 - A^+ A) dA^T A^+T x, for a matrix of full rank.

    The residual r is zero for more columns than rows, 1 - A^+ A is for more rows than columns.
    """
    rows, columns, places = coordinates(pattern)
    m, n = pattern.shape
    taken = ag.take(ag.reshape(ag.asarray(values), (-1,)), places)
    upright = sparse.coo_array((np.ones(rows.size), (rows, columns)), shape=(m, n))
    turned = sparse.coo_array((np.ones(rows.size), (columns, rows)), shape=(n, m))
    w = _recorded_least_squares(taken, g, turned, settings)

    def times(x):
        return Matrix(with_values(upright, raw(taken)), taken) @ x

    def by_values():
        terms = -(ag.take(w, rows) * ag.take(ans, columns))
        if m > n:
            z = _recorded_least_squares(taken, w, upright, settings)
            terms = terms + ag.take(ag.asarray(b) - times(ans), rows) * ag.take(z, columns)
        elif n > m:
            u = _recorded_least_squares(taken, ans, turned, settings)
            outside = g - _recorded_least_squares(taken, times(g), upright, settings)
            terms = terms + ag.take(u, rows) * ag.take(outside, columns)
        return ag.reshape(summed(terms, places, pattern.data.size), pattern.data.shape)

    return {"values": by_values, "b": w}


REGISTRY.pop("sparse.linalg._least_squares")
declare(_CHAPTER, _recorded_least_squares, _wanted)


@_CHAPTER.object("spsolve_triangular", "A b", GILES)
def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    """scipy.sparse.linalg.spsolve_triangular, differentiable in the values of A and in the right side."""
    if not _wanted(A, b):
        return _linalg.spsolve_triangular(A, b, lower, overwrite_A, overwrite_b, unit_diagonal)
    if unit_diagonal:
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.spsolve_triangular: unit_diagonal has no rule")
    return _solved(A, b, lambda A, b: _linalg.spsolve(A.tocsc(), b))


@_CHAPTER.object("norm", "x (the values)", "definition")
def norm(x, ord=None, axis=None):
    """scipy.sparse.linalg.norm, differentiable in the values for Frobenius' norm."""
    if not isinstance(x, Matrix) or not isinstance(x.data, Tensor):
        return _linalg.norm(raw(x), ord, axis)
    if ord not in (None, "fro") or axis is not None:
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.norm: Frobenius' norm has a derivative")
    return ag.sqrt(ag.sum(x.data * conj(x.data)))


_CHAPTER.constants("spbandwidth", "is_sptriangular")
_CHAPTER.no_rule("incomplete factors are a preconditioner, which a solution does not depend on", "spilu")
_CHAPTER.no_rule("it has no rule; use expm_multiply, or scipy.linalg of toarray()", "expm", "inv", "matrix_power",
                 "funm_multiply_krylov", "onenormest")  # fmt: skip

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _linalg)
