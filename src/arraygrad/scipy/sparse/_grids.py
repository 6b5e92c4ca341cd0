"""numpy.matrix of a Tensor: what `csr_matrix.sum(axis=1)` and `todense()` are of a matrix whose values are a Tensor.

May import: arraygrad, core.tensor, scipy._guards, scipy._libraries, numpy.

Of numpy.matrix it has two axes always, `*` as the product of matrices, `A1`, `A`, `T` and elementwise functions. What
it does not have raises an error: a Tensor in its place would multiply element by element.
"""

import numpy as np

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._guards import NotDifferentiable, raw
from arraygrad.scipy._libraries import is_foreign

__all__ = ["Grid", "dense_of", "like_matrix"]


class Grid:
    """A recorded numpy.matrix.

    Attributes
    ----------
    tensor : Tensor
        With two axes.
    """

    __array_priority__ = 10.0

    def __init__(self, tensor):
        self.tensor = tensor

    def __recorded__(self):
        """What numpy.asarray makes of it in adopted calls."""
        return self.tensor

    shape = property(lambda self: self.tensor.shape)
    dtype = property(lambda self: self.tensor.dtype)
    size = property(lambda self: self.tensor.size)
    ndim = property(lambda self: 2)
    A = property(lambda self: self.tensor)
    A1 = property(lambda self: ag.reshape(self.tensor, (-1,)))
    T = property(lambda self: Grid(ag.matrix_transpose(self.tensor)))

    def getA(self):
        return self.A

    def getA1(self):
        return self.A1

    def transpose(self):
        return self.T

    def ravel(self):
        """All elements in one row, as numpy.matrix has them."""
        return Grid(ag.reshape(self.tensor, (1, -1)))

    def flatten(self):
        return self.ravel()

    def sum(self, axis=None):
        return ag.sum(self.tensor) if axis is None else Grid(ag.sum(self.tensor, axis=axis, keepdims=True))

    def tolist(self):
        return self.tensor.tolist()

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        found = self.tensor[key]
        if found.ndim == 0:
            return found
        if found.ndim == 2:
            return Grid(found)
        if isinstance(key, tuple):
            raise NotDifferentiable("arraygrad.scipy.sparse: a part of a numpy.matrix of Tensors; index its A")
        return Grid(ag.reshape(found, (1, -1)))

    def __array__(self, dtype=None, copy=None):
        if self.tensor.requires_grad:
            raise TypeError(
                "arraygrad.scipy.sparse: numpy.asarray of a numpy.matrix of Tensors would drop the gradient: take its "
                "A1 or A"
            )
        return np.asarray(raw(self.tensor), dtype)

    def __array_function__(self, function, types, args, kwargs):
        if args and args[0] is self and not kwargs and len(args) == 1:
            if function is np.ravel:
                return self.A1
            if function in (np.sum, np.linalg.norm, np.linalg.det, np.linalg.eigvals, np.linalg.eigvalsh):
                return function(self.A)
        if function in (np.linalg.solve, np.linalg.inv, np.linalg.pinv, np.linalg.cholesky) and not kwargs:
            found = function(*[dense_of(a) for a in args])
            return Grid(found) if isinstance(found, Tensor) and found.ndim == 2 else found
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse: numpy.{function.__name__} of a numpy.matrix of Tensors: take its A1 or A"
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc is np.matmul:
            return _product(*inputs)
        found = ufunc(*[dense_of(a) for a in inputs])
        return Grid(found) if isinstance(found, Tensor) else np.asarray(found).view(np.matrix)

    def __mul__(self, other):
        if np.ndim(raw(dense_of(other))) == 0:
            return Grid(self.tensor * other)
        return _product(self, other, rows=True)

    def __rmul__(self, other):
        if np.ndim(raw(dense_of(other))) == 0:
            return Grid(other * self.tensor)
        return _product(other, self, rows=True)

    def __matmul__(self, other):
        return _product(self, other)

    def __rmatmul__(self, other):
        return _product(other, self)

    def __pow__(self, exponent):
        return Grid(np.linalg.matrix_power(self.tensor, exponent))

    def __neg__(self):
        return Grid(-self.tensor)

    def __repr__(self):
        return f"<arraygrad numpy.matrix of {self.tensor!r}>"


def _elementwise(name, ufunc):
    def operator(self, other):
        if hasattr(type(other), "scipy_object"):  # a sparse matrix, which knows dense ones
            return NotImplemented
        return Grid(ufunc(self.tensor, dense_of(other)))

    def reflected(self, other):
        return Grid(ufunc(dense_of(other), self.tensor))

    setattr(Grid, f"__{name}__", operator)
    setattr(Grid, f"__r{name}__", reflected)


for _name, _ufunc in (("add", np.add), ("sub", np.subtract), ("truediv", np.true_divide)):
    _elementwise(_name, _ufunc)


def _product(a, b, rows=False):
    """The product of matrices; with `rows`, a vector is a row, as `*` of numpy.matrix has it."""
    if hasattr(type(a), "scipy_object") or hasattr(type(b), "scipy_object"):
        return NotImplemented
    a, b = (ag.asarray(dense_of(one)) for one in (a, b))
    if rows:
        a, b = (ag.reshape(one, (1, -1)) if one.ndim == 1 else one for one in (a, b))
    found = ag.matmul(a, b)
    return Grid(found if found.ndim == 2 else ag.reshape(found, (1, -1)))


def dense_of(value):
    """The Tensor of a `Grid`, an array of a list; anything else as it is."""
    if isinstance(value, Grid):
        return value.tensor
    if isinstance(value, np.matrix):
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        value = ag.asarray(value)
    if (
        isinstance(value, Tensor)
        and not isinstance(value.array, (np.ndarray, np.generic))
        and not is_foreign(value.array)
    ):
        raise TypeError(
            "arraygrad.scipy.sparse: matrices are SciPy's, of arrays of NumPy: move the values there "
            "(arraygrad.to_backend(x, 'numpy'))"
        )
    return value


def like_matrix(found, plain):
    """A recorded result as the kind of array that SciPy's own is."""
    return Grid(found) if isinstance(plain, np.matrix) and not is_foreign(raw(found)) else found
