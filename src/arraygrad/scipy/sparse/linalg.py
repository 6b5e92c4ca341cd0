"""scipy.sparse.linalg: solutions of sparse systems, direct and iterative, in the values and the right side.

May import: arraygrad, core.constant_checks, core.tensor, implicit.common, scipy._conjugates, scipy._declare,
scipy._libraries, scipy._told, scipy.sparse, numpy, SciPy.

With A x = b and a gradient g, A^H w = g is solved the same way: b gets w, the value at (i, j) gets -w_i conj(x_j).
"""

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as _linalg

import arraygrad as ag
from arraygrad.core.constant_checks import Contents
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.implicit.common import Called, ConvergenceError
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import REGISTRY, Chapter, mirror, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy._libraries import is_foreign_matrix, library_of, serve
from arraygrad.scipy._told import telling
from arraygrad.scipy.sparse import _functions_of_matrices
from arraygrad.scipy.sparse._constants import CLASSES
from arraygrad.scipy.sparse._coordinates import coordinates, summed, taken, with_values
from arraygrad.scipy.sparse._devices import check_libraries, library_in, on_host_only, sum_of_squares, theirs
from arraygrad.scipy.sparse._factored import Factors
from arraygrad.scipy.sparse._grids import Grid, dense_of
from arraygrad.scipy.sparse._matrix import Matrix, is_sparse
from arraygrad.scipy.sparse._matrix_base import NAMES, follow, matched, parts, plain_of, tracked
from arraygrad.scipy.sparse._operators import (
    OWN_ADJOINT,
    LinearOperator,
    Operator,
    as_dense,
    depends,
    has_adjoint,
    ours,
    over,
    plain_operator,
    solved,
)  # fmt: skip
from arraygrad.scipy.sparse._spectra import declare

__all__ = ["Operator"]

_CHAPTER = Chapter("sparse.linalg", _linalg)
GILES = "Giles (2008), on the pattern"
# How far an iterative solution may be from the exact one, relative, that the gradient is of; tolerance of the latter.
_NEAR, _EXACT = 1e-3, 1e-13


class _System:
    """A pattern and how systems with it are solved: `solve(matrix, b)` on SciPy's own objects.

    `pruned`: zeros of the pattern are left out for it. `name`: of an iterative solver, whose result is looked at.
    """

    def __init__(self, pattern, solve, pruned=False, name=""):
        self.pattern, self.solve, self.pruned, self.name = pattern, solve, pruned, name
        self.called = name and Called(f"scipy.sparse.linalg.{name}")

    def check(self, values, b, x):
        """Refuse the gradient of what is no solution. All raw."""
        matrix = self.pattern if values is None else with_values(self.pattern, values)
        left, given = (sum_of_squares(v) ** 0.5 for v in (matrix @ x - b, b))
        if not left <= _NEAR * given:
            raise ConvergenceError(
                f"{self.called}: the result is no solution: |A x - b| is {left:.3g} for |b| {given:.3g}, but the "
                "gradient is that of the solution: pass a smaller rtol, or allow more iterations"
            )

    def adjoint(self):
        """The system of an operator's conjugate transpose."""
        if self.name in OWN_ADJOINT:  # they take A to be its own
            return _System(self.pattern, self.solve)
        try:
            self.pattern.H @ np.zeros(self.pattern.shape[0])
        except (TypeError, NotImplementedError):
            raise NotDifferentiable(
                f"arraygrad.scipy.sparse.linalg.{self.name}: the gradient takes products with the operator's conjugate "
                "transpose: pass rmatvec to LinearOperator"
            ) from None
        return _System(self.pattern.H, self.solve)

    def turned(self, places_of):
        """The system of the conjugate transpose, with values in the order of the coordinates."""
        rows, columns, _ = places_of
        turned = sparse.coo_array((np.ones(rows.size), (columns, rows)), shape=self.pattern.shape[::-1])
        return _System(turned, self.solve, self.pruned)


def _solution(values, b, system):
    if values is None:
        return system.solve(system.pattern, b)
    check_libraries("the solution", values, b)
    return system.solve(_pruned(with_values(system.pattern, values), system.pruned), b)


def _pruned(matrix, wanted):
    if wanted and not is_foreign_matrix(matrix):
        matrix = matrix.tocsc()
        matrix.eliminate_zeros()
    return matrix


@ruled("sparse.linalg._solution", _solution, "values b", GILES)
def _recorded_solution(g, ans, values, b, system):
    if system.name:
        system.check(*[raw(v) if library_of((v,)) or v is None else np.asarray(raw(v)) for v in (values, b, ans)])
    if isinstance(system.pattern, _linalg.LinearOperator):
        return {"b": _recorded_solution(None, g, system.adjoint())}
    places_of = coordinates(system.pattern)
    rows, columns, places = places_of
    chosen = conj(taken(ag.reshape(ag.asarray(values), (-1,)), places))
    w = _recorded_solution(chosen, g, system.turned(places_of))

    def by_values():
        terms = -(taken(w, rows) * conj(taken(ans, columns)))
        if terms.ndim == 2:
            terms = ag.sum(terms, axis=1)
        return ag.reshape(summed(terms, places, system.pattern.data.size), system.pattern.data.shape)

    return {"values": by_values, "b": w}


REGISTRY.pop("sparse.linalg._solution")
serve("sparse.linalg._solution", _solution)


def _parts(A):
    """(values, pattern, whether to prune it) of a matrix of ours, of SciPy's, a dense one, or an operator."""
    A = A.matrix if isinstance(A, Operator) else A
    return (None, A, False) if isinstance(A, _linalg.LinearOperator) else parts(A)


def _vector(b):
    """A right side as SciPy's solvers take it, which make a vector of a single column."""
    b = dense_of(b)
    return ag.reshape(ag.asarray(b), (-1,)) if np.ndim(raw(b)) == 2 and raw(b).shape[1] == 1 else b


def _solved(A, b, solve, name=""):
    values, pattern, pruned = _parts(A)
    b = _vector(b)
    return _recorded_solution(values, b, _System(pattern, solve, pruned, name))


def _wanted(A, b):
    return (
        isinstance(b, (Tensor, Grid, Matrix))
        or isinstance(A, (Tensor, Grid, Matrix, Operator))
        or library_in((A, b)) is not None
    )


def _chosen(given, defaults):
    """The arguments of a call that are not their default, which the namesake of another library has to know."""
    return {key: value for key, value in given.items() if value is not defaults.get(key)}


@_CHAPTER.object("spsolve", "A b", GILES)
def spsolve(A, b, permc_spec=None, use_umfpack=True):
    """scipy.sparse.linalg.spsolve, differentiable in the values of A and in the right side."""
    if not _wanted(A, b):
        return _linalg.spsolve(A, b, permc_spec, use_umfpack)
    if is_sparse(b) and library_in((A, b)) is not None:
        raise NotDifferentiable(
            "arraygrad.scipy.sparse.linalg.spsolve: the right side of a system on a device is an array: take "
            "b.toarray()"
        )
    if is_sparse(b):
        plain = _linalg.spsolve(plain_of(A), plain_of(b), permc_spec, use_umfpack)
        x = spsolve(A, Matrix(b).toarray(), permc_spec, use_umfpack)
        return matched(plain, np.arange(x.size, dtype=np.int64), ag.reshape(x, (-1,))) if is_sparse(plain) else x
    _sorted(A, ("csc", "csr"))
    given = _chosen({"permc_spec": permc_spec, "use_umfpack": use_umfpack}, {"permc_spec": None, "use_umfpack": True})

    def solve(A, b):
        if library_of((b,)) is not None:
            return theirs("spsolve", _linalg.spsolve, b, given)(A.tocsr(), b)
        return _linalg.spsolve(A.tocsc(), b, permc_spec, use_umfpack)

    return _solved(A, b, solve)


def _sorted(A, formats):
    """SciPy's direct solvers sort and sum the elements of a matrix in place."""
    if isinstance(A, Matrix) and A.format in formats:
        given = A._host
        given.sum_duplicates()
        follow(A, given)


def _by_products(name, A, b):
    """Whether the gradient takes the operator's recorded products: they depend on Tensors, or it has no adjoint."""
    if not isinstance(A, _linalg.LinearOperator) or isinstance(A, Operator) or not is_grad_enabled():
        return False
    if depends(A):
        return True
    return _wanted(A, b) and name not in OWN_ADJOINT and not has_adjoint(A)


def _iterative(name):
    own = getattr(_linalg, name)

    def function(A, b, *args, **options):
        A = ours(A)
        if options.get("M") is not None:
            options["M"] = plain_operator(ours(options["M"]), b)  # the solution does not depend on it
        by_products = _by_products(name, A, b)
        if not by_products and not _wanted(A, b):
            return own(A, b, *args, **options)
        flags = []
        x0 = options.pop("x0", args[0] if args else None)
        told = options.pop("callback", None)
        tensors = [t for t in (_parts(A)[0], dense_of(b)) if isinstance(t, Tensor) and t.requires_grad]

        def solve(A, b):
            # The starting point is that of the solution, not of the gradient's system.
            start = {"x0": raw(x0)} if x0 is not None and not flags else {}
            if told is not None and not flags:  # nor is the callback
                start["callback"] = telling(f"sparse.linalg.{name}", told, tensors)
            if (isinstance(A, _linalg.LinearOperator) or is_sparse(A)) and b.ndim == 2:
                raise NotDifferentiable(f"arraygrad.scipy.sparse.linalg.{name}: one right side has a derivative")
            solver = theirs(name, own, b, {**start, **options})
            x, info = solver(A.tocsr() if is_sparse(A) else A, b, **start, **options)
            if flags and info:
                raise RuntimeError(
                    f"arraygrad.scipy.sparse.linalg.{name}: the gradient's system did not converge (info={info})"
                )
            flags.append(info)
            return x

        if by_products:
            if x0 is not None:
                options["x0"] = raw(x0)
            if told is not None:
                options["callback"] = telling(f"sparse.linalg.{name}", told, tensors)
            return solved(name, A, _vector(b), theirs(name, own, b, options), options)
        x = _solved(A, b, solve, name)
        return x, flags[0]

    function.__name__ = name
    _CHAPTER.object(name, "A b", GILES)(function)


for _name in ("cg", "gmres", "bicg", "bicgstab", "cgs", "minres", "lgmres", "gcrotmk", "qmr", "tfqmr"):
    if hasattr(_linalg, _name):
        _iterative(_name)


@_CHAPTER.object("splu", "A b", GILES)
def splu(A, *args, **options):
    """scipy.sparse.linalg.splu; the result's `solve` is differentiable in the values of A and in the right side."""
    _sorted(A, ("csc",))
    values, pattern, pruned = _parts(A)
    make = theirs("splu", _linalg.splu, values, options)
    return Factors(values, pattern, lambda A: make(_pruned(A, pruned).tocsc(), *args, **options))


@_CHAPTER.object("factorized", "A b", GILES)
def factorized(A):
    """scipy.sparse.linalg.factorized: a function that solves systems with A."""
    return splu(A).solve


@_CHAPTER.object("lsqr", "A b", "Golub and Pereyra (1973), on the pattern")
@on_host_only("lsqr")
def lsqr(A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, iter_lim=None, show=False, calc_var=False, x0=None):
    """scipy.sparse.linalg.lsqr of a matrix of full rank, without damping.

    Of the results x and r1norm are recorded; other norms are None where a gradient is recorded.
    """
    A = as_dense("lsqr", A)
    if not _wanted(A, b) and not holds_tensor((damp, x0), grad=True):
        return _linalg.lsqr(A, b, damp, atol, btol, conlim, iter_lim, show, calc_var, x0)
    if holds_tensor(damp) or damp or x0 is not None or isinstance(A, _linalg.LinearOperator):
        raise NotDifferentiable("arraygrad.scipy.sparse.linalg.lsqr: damp, x0 and operators have no rule")
    values, pattern, _ = _parts(A)
    b = dense_of(b)
    plain = _linalg.lsqr(with_values(pattern, raw(values)), raw(b), damp, atol, btol, conlim, iter_lim, show)
    x = _recorded_least_squares(values, b, pattern, {"name": Called("scipy.sparse.linalg.lsqr"), "found": plain[0]})
    left = ag.asarray(b) - Matrix(pattern, values) @ x
    return (x, plain[1], plain[2], ag.sqrt(ag.sum(left * left)), *[None] * 6)


def _least_squares(values, b, pattern, settings):
    """What was found, or the solution to the last digits, which the gradient is of."""
    if "found" in settings:
        return np.array(settings["found"])
    return _linalg.lsqr(with_values(pattern, values), b, atol=_EXACT, btol=_EXACT, conlim=0.0)[0]


def _refuse_unless_near(name, found, exact):
    """A gradient is that of the exact solution: refuse it for a result that is another."""
    apart, size = (float(np.max(np.abs(v), initial=0.0)) for v in (found - exact, exact))
    if not apart <= _NEAR * (1.0 + size):
        raise ConvergenceError(
            f"{name}: the result differs from the solution by {apart:.3g}, but the gradient is that of the solution: "
            "pass smaller tolerances, or allow more iterations"
        )


@ruled("sparse.linalg._least_squares", _least_squares, "values b", "Golub and Pereyra (1973)")
def _recorded_least_squares(g, ans, values, b, pattern, settings):
    """dx = A^+ (db - dA x) + A^+ A^+T dA^T r + (1 - A^+ A) dA^T A^+T x, for a matrix of full rank.

    The residual r is zero for more columns than rows, 1 - A^+ A is for more rows than columns.
    """
    rows, columns, places = coordinates(pattern)
    m, n = pattern.shape
    chosen = ag.take(ag.reshape(ag.asarray(values), (-1,)), places)
    if "found" in settings:
        exact = _least_squares(np.asarray(raw(values)), np.asarray(raw(b)), pattern, {})
        _refuse_unless_near(settings["name"], np.asarray(raw(ans)), exact)
        settings = {}
    upright = sparse.coo_array((np.ones(rows.size), (rows, columns)), shape=(m, n))
    turned = sparse.coo_array((np.ones(rows.size), (columns, rows)), shape=(n, m))
    w = _recorded_least_squares(chosen, g, turned, settings)

    def times(x):
        return Matrix(with_values(upright, raw(chosen)), chosen) @ x

    def by_values():
        terms = -(ag.take(w, rows) * ag.take(ans, columns))
        if m > n:
            z = _recorded_least_squares(chosen, w, upright, settings)
            terms = terms + ag.take(ag.asarray(b) - times(ans), rows) * ag.take(z, columns)
        elif n > m:
            u = _recorded_least_squares(chosen, ans, turned, settings)
            outside = g - _recorded_least_squares(chosen, times(g), upright, settings)
            terms = terms + ag.take(u, rows) * ag.take(outside, columns)
        return ag.reshape(summed(terms, places, pattern.data.size), pattern.data.shape)

    return {"values": by_values, "b": w}


REGISTRY.pop("sparse.linalg._least_squares")
declare(_CHAPTER, _recorded_least_squares, _wanted)


_CHAPTER.object("LinearOperator", "matvec rmatvec", "definition (what they read)")(LinearOperator)


@_CHAPTER.object("aslinearoperator", "A (the values)", "definition (bilinear)")
def aslinearoperator(A):
    """scipy.sparse.linalg.aslinearoperator, whose products are recorded for a matrix of Tensors."""
    contents = ()
    if isinstance(A, (Grid, Tensor)) and tracked(A):
        contents = (Contents({"the matrix": A}, tensors=True),)
        A = CLASSES["csr_array"](A)
    if is_foreign_matrix(A) or (isinstance(A, Matrix) and (tracked(A) or library_in((A,)))):
        return Operator(A if isinstance(A, Matrix) else Matrix(A), contents)
    return over(_linalg.aslinearoperator(plain_of(A)))


@_CHAPTER.object("spsolve_triangular", "A b", GILES)
def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    """scipy.sparse.linalg.spsolve_triangular, differentiable in the values of A and in the right side."""
    if not _wanted(A, b):
        return _linalg.spsolve_triangular(A, b, lower, overwrite_A, overwrite_b, unit_diagonal)
    if unit_diagonal and library_in((A, b)) is not None:
        raise NotDifferentiable(
            "arraygrad.scipy.sparse.linalg.spsolve_triangular: unit_diagonal has no rule for arrays on a device"
        )
    if library_in((A, b)) is not None:
        shape = raw(dense_of(b)).shape
    else:
        given = plain_of(A), plain_of(dense_of(b)), lower
        shape = np.shape(_linalg.spsolve_triangular(*given, unit_diagonal=unit_diagonal))
    # Zeros on the other side are not read.
    if is_sparse(A):
        part = NAMES["tril"] if lower else NAMES["triu"]
        A = part(A, -1 if lower else 1) + sparse.eye_array(A.shape[0]) if unit_diagonal else part(A)
    elif library_in((A, b)) is None:
        part, A = ag.tril if lower else ag.triu, ag.asarray(A)
        A = part(A, k=-1 if lower else 1) + np.eye(A.shape[0]) if unit_diagonal else part(A)

    def solve(A, b):
        if library_of((b,)) is not None:
            return theirs("spsolve", _linalg.spsolve, b)(A.tocsr(), b)
        return _linalg.spsolve(A.tocsc(), b)

    return ag.reshape(_solved(A, b, solve), shape)


_CHAPTER.constants("spbandwidth", "is_sptriangular")
_CHAPTER.no_rule("incomplete factors are a preconditioner, which a solution does not depend on", "spilu")
_functions_of_matrices.declare(_CHAPTER, spsolve)

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _linalg)
