"""Sparse matrices: a pattern of SciPy's, and values that may be a Tensor.

May import: arraygrad, core.tensor, ops, scipy._declare, numpy, SciPy.

y = A x is bilinear in the values and x: x gets A^H g, the value at (i, j) gets g_i conj(x_j), summed over columns of x.
Only the elements of the pattern have gradients.
"""

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.ops import OPS
from arraygrad.scipy._declare import REGISTRY, Chapter, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable, guarded

__all__ = [
    "BILINEAR",
    "CHAPTER",
    "FORMATS",
    "NAMES",
    "Matrix",
    "conj",
    "coordinates",
    "from_tensors",
    "of_triples",
    "with_values",
]

CHAPTER = Chapter("sparse", sparse)
NAMES = CHAPTER.names
BILINEAR = "definition (bilinear)"
FORMATS = ("csr", "csc", "coo", "dia", "bsr")


def conj(a):
    return ag.conj(a) if getattr(raw(a), "dtype", np.dtype(float)).kind == "c" else a


def summed(values, places, count):
    """Sums of values by place: the transpose of a gather."""
    return apply_op(OPS["_take_adjoint"], (ag.asarray(values), places, (count,), 0))


def with_values(pattern, values):
    """SciPy's matrix with other values in the order of its own."""
    matrix = pattern.copy()
    matrix.data = np.asarray(values).reshape(pattern.data.shape)
    return matrix


def coordinates(pattern):
    """(rows, columns, places of the values in `data`) of the elements of a pattern of any format."""
    labels = with_values(pattern, np.arange(1.0, pattern.data.size + 1.0)).tocoo()
    rows, columns = labels.coords if hasattr(labels, "coords") else (labels.row, labels.col)
    kept = labels.data > 0
    return rows[kept], columns[kept], labels.data[kept].astype(int) - 1


def _product(values, x, pattern):
    return with_values(pattern, values) @ x


@ruled("sparse._product", _product, "values x", BILINEAR)
def _recorded_product(g, ans, values, x, pattern):
    def by_values():
        rows, columns, places = coordinates(pattern)
        x_ = ag.asarray(x)
        terms = ag.take(g, rows, axis=0) * conj(ag.take(x_, columns, axis=0))
        if terms.ndim == 2:
            terms = ag.sum(terms, axis=1)
        return ag.reshape(summed(terms, places, pattern.data.size), pattern.data.shape)

    def by_x():
        rows, columns, places = coordinates(pattern)
        turned = sparse.coo_array((np.ones(rows.size), (columns, rows)), shape=pattern.shape[::-1])
        taken = ag.take(ag.reshape(ag.asarray(values), (-1,)), places)
        return _recorded_product(conj(taken), g, turned)

    return {"values": by_values, "x": by_x}


REGISTRY.pop("sparse._product")


class Matrix:
    """A sparse matrix of SciPy's format, whose values may be a Tensor.

    Attributes
    ----------
    pattern : sparse array or matrix of SciPy's
        With plain values.
    data : array or Tensor
        The values, in the order of the format.
    """

    __array_ufunc__ = None  # a Tensor's operator and NumPy's arrays leave it to ours
    __array_priority__ = 1000.0

    def __init__(self, pattern, data=None):
        self.pattern = pattern
        self._values = data

    @property
    def data(self):
        """The values: a Tensor, or a plain array."""
        return self.pattern.data if self._values is None else self._values

    @property
    def scipy_object(self):
        """SciPy's matrix; refused where its values require grad."""
        if self._values is not None and self._values.requires_grad:
            raise TypeError(
                "arraygrad.scipy.sparse: the values of the matrix require grad, and this operation has no rule for "
                "them; use products, toarray() or arraygrad.scipy.sparse.linalg, or .pattern for the plain matrix"
            )
        return self.pattern

    shape = property(lambda self: self.pattern.shape)
    dtype = property(lambda self: self.pattern.dtype)
    format = property(lambda self: self.pattern.format)
    nnz = property(lambda self: self.pattern.nnz)
    ndim = property(lambda self: 2)

    def __matmul__(self, other):
        if isinstance(other, Matrix) or sparse.issparse(other):
            return Matrix(self.scipy_object @ raw(other))
        if not isinstance(other, Tensor) and self._values is None:
            return self.pattern @ other
        return _recorded_product(self.data, other if isinstance(other, Tensor) else np.asarray(other), self.pattern)

    def __rmatmul__(self, other):
        if sparse.issparse(other):
            return Matrix(other @ self.scipy_object)
        other = other if isinstance(other, Tensor) else np.asarray(other)
        if other.ndim == 1:
            return self.T @ other
        found = self.T @ (ag.matrix_transpose(other) if isinstance(other, Tensor) else other.T)
        return ag.matrix_transpose(found) if isinstance(found, Tensor) else found.T

    def dot(self, other):
        """self @ other."""
        return self @ other

    def matvec(self, x):
        """self @ x."""
        return self @ x

    def __mul__(self, other):
        if np.ndim(raw(other)) == 0:
            return self._scaled(other)
        if isinstance(self.pattern, sparse.spmatrix):
            return self @ other
        return self.multiply(other)

    def __rmul__(self, other):
        if np.ndim(raw(other)) == 0:
            return self._scaled(other)
        return self.__rmatmul__(other) if isinstance(self.pattern, sparse.spmatrix) else self.multiply(other)

    def multiply(self, other):
        """The elementwise product with an array, whose elements count on the pattern alone."""
        if isinstance(other, Matrix) or sparse.issparse(other):
            raise NotDifferentiable("arraygrad.scipy.sparse: products of two patterns have no rule; use toarray()")
        if np.ndim(raw(other)) == 0:
            return self._scaled(other)
        rows, columns, values = _triple(self)
        other = other if isinstance(other, Tensor) else ag.asarray(np.asarray(other))
        taken = ag.broadcast_to(other, self.shape)[rows, columns]
        return of_triples([(rows, columns, values * taken)], self.shape, self.format, type(self.pattern))

    def __truediv__(self, other):
        return self._scaled(1.0 / other)

    def __neg__(self):
        return self._scaled(-1.0)

    def _scaled(self, factor):
        if self._values is None and not isinstance(factor, Tensor):
            return Matrix(self.pattern * factor)
        data = ag.asarray(self.data) * factor
        return Matrix(with_values(self.pattern, raw(data)), data)

    def __add__(self, other):
        if isinstance(other, Tensor):
            raise NotDifferentiable("arraygrad.scipy.sparse: sums are known of sparse matrices; use toarray()")
        if self._values is None and not (isinstance(other, Matrix) and other._values is not None):
            return Matrix(self.pattern + raw(other))
        if not isinstance(other, Matrix) and not sparse.issparse(other):
            raise NotDifferentiable("arraygrad.scipy.sparse: sums are known of sparse matrices; use toarray()")
        other = other if isinstance(other, Matrix) else Matrix(other)
        return of_triples([_triple(self), _triple(other)], self.shape, self.format, type(self.pattern))

    __radd__ = __add__

    def __rsub__(self, other):
        return -self + other

    def __sub__(self, other):
        if isinstance(other, Tensor):
            raise NotDifferentiable("arraygrad.scipy.sparse: differences are known of sparse matrices; use toarray()")
        return self + (-(other if isinstance(other, Matrix) else Matrix(other)))

    @property
    def T(self):
        """The transpose."""
        if self._values is None:
            return Matrix(self.pattern.T)
        rows, columns, values = _triple(self)
        return of_triples([(columns, rows, values)], self.shape[::-1], _TURNED.get(self.format, "coo"),
                           type(self.pattern))  # fmt: skip

    def transpose(self):
        """The transpose."""
        return self.T

    def asformat(self, format):
        """The same matrix in another format of SciPy's."""
        if self._values is None:
            return Matrix(self.pattern.asformat(format))
        return of_triples([_triple(self)], self.shape, format, type(self.pattern))

    def toarray(self):
        """The dense array."""
        if self._values is None:
            return self.pattern.toarray()
        rows, columns, values = _triple(self)
        m, n = self.shape
        return ag.reshape(summed(values, rows * n + columns, m * n), (m, n))

    todense = toarray

    def diagonal(self, k=0):
        """A diagonal."""
        return self.pattern.diagonal(k) if self._values is None else ag.linalg.diagonal(self.toarray(), offset=k)

    def sum(self, axis=None):
        """Sums of the elements: of all, or along an axis."""
        if self._values is None:
            return self.pattern.sum(axis=axis)
        rows, columns, values = _triple(self)
        if axis is None:
            return ag.sum(values)
        at = columns if axis % 2 == 0 else rows
        return summed(values, at, self.shape[1 - axis % 2])

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name.startswith("to") and name[2:] in ("csr", "csc", "coo", "dia", "lil", "dok", "bsr"):
            return lambda *args, **kwargs: self.asformat(name[2:])
        value = getattr(self.scipy_object, name)
        if not callable(value):
            return Matrix(value) if sparse.issparse(value) else value

        return guarded(f"sparse.{type(self.pattern).__name__}.{name}", value, "the method has no rule here")

    # What has no rule: SciPy's own where the values require no grad, refused by `scipy_object` where they do.

    def __getitem__(self, key):
        return self.scipy_object[key]

    def __abs__(self):
        return abs(self.scipy_object)

    def __pow__(self, exponent):
        return self.scipy_object ** raw(exponent)

    def __iter__(self):
        return iter(self.scipy_object)

    def __bool__(self):
        return bool(self.pattern)

    # Comparisons are constant wherever they have a derivative.

    def __eq__(self, other):
        return self.pattern == _pattern_of(other)

    def __ne__(self, other):
        return self.pattern != _pattern_of(other)

    def __lt__(self, other):
        return self.pattern < _pattern_of(other)

    def __le__(self, other):
        return self.pattern <= _pattern_of(other)

    def __gt__(self, other):
        return self.pattern > _pattern_of(other)

    def __ge__(self, other):
        return self.pattern >= _pattern_of(other)

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<arraygrad {self.pattern!r}>"


def _pattern_of(other):
    return other.pattern if isinstance(other, Matrix) else raw(other)


_TURNED = {"csr": "csc", "csc": "csr", "coo": "coo", "dia": "coo"}


def _triple(matrix):
    rows, columns, places = coordinates(matrix.pattern)
    return rows, columns, ag.take(ag.reshape(ag.asarray(matrix.data), (-1,)), places)


def of_triples(triples, shape, format, kind):
    """The matrix of (rows, columns, values), sums where an element is named more than once."""
    rows, columns = (np.concatenate([np.asarray(t[i]) for t in triples]) for i in (0, 1))
    values = ag.concat([t[2] for t in triples])
    keys, places = np.unique(rows * shape[1] + columns, return_inverse=True)
    labels = sparse.coo_array((np.arange(1.0, keys.size + 1.0), (keys // shape[1], keys % shape[1])), shape=shape)
    if format not in ("csr", "csc", "coo"):
        format = "coo"
    pattern = labels.asformat(format)
    if issubclass(kind, sparse.spmatrix):
        pattern = getattr(sparse, f"{format}_matrix")(pattern)
    order = np.asarray(pattern.data).astype(int) - 1
    data = ag.take(summed(values, places, keys.size), order)
    return Matrix(with_values(pattern, raw(data)), data)


# -- constructors -----------------------------------------------------------------------------------------------------


def from_tensors(name, arg1, shape=None, dtype=None):
    """The `Matrix` that a constructor of SciPy's (`csr_array`, ...) makes of Tensors."""
    kind = getattr(sparse, name)
    format = name.split("_")[0]
    if isinstance(arg1, Matrix):
        return arg1.asformat(format)
    if isinstance(arg1, Tensor):
        rows, columns = np.nonzero(raw(arg1))
        return of_triples([(rows, columns, arg1[rows, columns])], tuple(raw(arg1).shape), format, kind)
    plain = kind(raw(arg1), shape=shape, dtype=dtype)
    if len(arg1) == 2 and isinstance(arg1[1], tuple) and format != "coo":
        rows, columns = (np.asarray(raw(a)) for a in arg1[1])
        return of_triples([(rows, columns, arg1[0])], plain.shape, format, kind)
    return Matrix(plain, arg1[0])
