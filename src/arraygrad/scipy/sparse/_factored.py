"""Solutions by the factors of a sparse matrix: one factorization serves the solutions and all of their gradients.

May import: arraygrad, autograd, core.tensor, engine, scipy._conjugates, scipy._guards, scipy._libraries, scipy.sparse,
numpy, SciPy.

With M x = b, where M is A, its transpose, its conjugate or both, and a gradient g of x: M^H w = g is solved by the same
factors, b gets w, and M gets -w x^H on the pattern (Giles 2008).
"""

import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._guards import NotDifferentiable, raw
from arraygrad.scipy._libraries import library_of
from arraygrad.scipy.sparse._coordinates import coordinates, summed, taken, with_values
from arraygrad.scipy.sparse._devices import check_libraries, library_in
from arraygrad.scipy.sparse._grids import dense_of

__all__ = ["Factors"]

# A side is what is done to A: nothing (N), transposed (T), conjugated (C), both (H). To the side of the adjoint:
_ADJOINT = {"N": "H", "T": "C", "C": "T", "H": "N"}
# Attributes that are integers, which no derivative reaches.
_INTEGERS = frozenset(("shape", "nnz", "perm_r", "perm_c"))


class Factors:
    """Factors of a sparse matrix, as scipy.sparse.linalg.SuperLU: `solve` is recorded.

    Parameters
    ----------
    values : array or Tensor
        Of the elements of `pattern`; they are copied, as the matrix may be written later.
    pattern : sparse array or matrix of SciPy's
    make : callable
        Gives SciPy's factors of a matrix.
    """

    def __init__(self, values, pattern, make):
        copied = isinstance(values, Tensor) or library_of((values,)) is not None
        self._values = ag.asarray(values, copy=True) if copied else np.array(values)
        self._pattern = pattern
        self._factors = make(with_values(pattern, raw(self._values)))
        self._found = None

    def solve(self, rhs, trans="N"):
        """The solution of A x = rhs, of the transpose ("T"), or the conjugate transpose ("H")."""
        rhs = dense_of(rhs)
        if not isinstance(rhs, Tensor) and not isinstance(self._values, Tensor):
            return self._factors.solve(np.asarray(rhs), trans)
        if trans not in ("N", "T", "H"):
            self._factors.solve(_plain(rhs), trans)  # SciPy's own error
        check_libraries("the solution", self._values, rhs)
        return _Solution.apply(self, trans, self._values, rhs)

    def _solved(self, b, side):
        if side == "C":
            return self._factors.solve(b.conj(), "N").conj()
        return self._factors.solve(b, side)

    def _coordinates(self):
        """(rows, columns, places of the values or None where they are in the same order)."""
        if self._found is None:
            rows, columns, places = coordinates(self._pattern)
            n = self._pattern.data.size
            self._found = rows, columns, None if places.size == n and np.array_equal(places, np.arange(n)) else places
        return self._found

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in _INTEGERS and isinstance(self._values, Tensor) and self._values.requires_grad:
            raise NotDifferentiable(
                f"arraygrad.scipy.sparse.linalg: the factors' {name} has no rule; for determinants take "
                "numpy.linalg.slogdet(A.toarray())"
            )
        return getattr(self._factors, name)


class _Solution(Function):
    """x of M x = b, where M is the side of A that is given."""

    _recorded_by_rule = True

    @staticmethod
    def forward(ctx, factors, side, values, b):
        x = ag.asarray(factors._solved(_plain(b), side))
        ctx.state = factors, side
        ctx.save_for_backward(values, b, x)
        return x

    @staticmethod
    def backward(ctx, g):
        factors, side = ctx.state
        values, b, x = ctx.saved_tensors
        if is_grad_enabled():
            w = _Solution.apply(factors, _ADJOINT[side], values, g)
        else:
            g = _plain(g)
            wide = np.result_type(g.dtype, factors._pattern.dtype)
            w, x = factors._solved(g.astype(wide, copy=False), _ADJOINT[side]), _plain(x)
            if library_of((w,)) is not None:
                w, x = ag.asarray(w), ag.asarray(x)
        of_values = _by_values(factors, side, w, x) if ctx.needs_input_grad[2] else None
        return None, None, _fitting(of_values, values), _fitting(w, b) if ctx.needs_input_grad[3] else None


def _plain(b):
    """The array of a right side, of the library that it has."""
    return raw(b) if library_in((b,)) is not None else np.asarray(raw(b))


def _fitting(gradient, of):
    """A gradient with the real part alone where its argument is real."""
    if gradient is None:
        return None
    real = raw(gradient).dtype.kind == "c" and raw(of).dtype.kind != "c"
    return ag.asarray(gradient.real if real else gradient)


def _by_values(factors, side, w, x):
    """-w x^H on the pattern of A."""
    rows, columns, places = factors._coordinates()
    pattern = factors._pattern
    left, right = (rows, columns) if side in ("N", "C") else (columns, rows)
    if isinstance(w, Tensor):
        terms = taken(w, left) * conj(taken(x, right))
        terms = -(ag.sum(terms, axis=1) if terms.ndim == 2 else terms)
        terms = conj(terms) if side in ("C", "H") else terms
    else:
        if x.ndim == 2:
            terms = -np.einsum("ij,ij->i", w[left], np.conj(x[right]))
        else:
            terms = w[left]
            terms *= np.conj(x[right]) if x.dtype.kind == "c" else x[right]
            np.negative(terms, out=terms)
        terms = np.conj(terms) if side in ("C", "H") else terms
    if places is not None:
        terms = summed(terms, places, pattern.data.size)
    return terms.reshape(pattern.data.shape)
