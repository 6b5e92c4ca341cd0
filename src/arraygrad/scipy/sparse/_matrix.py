"""`Matrix`: the operators and methods of SciPy's sparse classes, recorded.

May import: arraygrad, core.tensor, scipy._guards, scipy._libraries, scipy._values, scipy.sparse, numpy, SciPy.
"""

import operator
import sys

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._guards import NotDifferentiable, guarded, raw
from arraygrad.scipy._libraries import chapter_of, is_foreign_matrix
from arraygrad.scipy._values import like_plain
from arraygrad.scipy.sparse._coordinates import (
    coordinates_of,
    find_places,
    gathered,
    places_of,
    summed,
    summed_by_place,
)  # fmt: skip
from arraygrad.scipy.sparse._devices import beside, host, indices_of, library_in, placed
from arraygrad.scipy.sparse._grids import Grid, dense_of, like_matrix
from arraygrad.scipy.sparse._in_place import claim, in_place
from arraygrad.scipy.sparse._matrix_base import (
    FORMATS,
    Base,
    entries,
    follow,
    kind_of_matrix,
    matched,
    moved,
    native_of,
    plain_of,
    product,
    recorded,
    refuse_values,
    set_class,
    tracked,
)  # fmt: skip

__all__ = [
    "Matrix",
    "is_sparse",
    "matrix_power",
    "recorded_beside",
    "refuse",
    "scipy_class",
    "sparse_product",
    "ufunc_of",
]

_OPERATORS = {
    "matmul": "matmul", "multiply": "mul", "add": "add", "subtract": "sub", "divide": "truediv", "power": "pow",
}  # fmt: skip
_METHODS = {"absolute": "__abs__", "negative": "__neg__", "positive": "__pos__", "conjugate": "conj"}
_COMPARISONS = {
    "equal": "eq", "not_equal": "ne", "less": "gt", "less_equal": "ge", "greater": "lt", "greater_equal": "le",
}  # fmt: skip


def scipy_class(matrix):
    """The class of SciPy's, or of the library of its values, that a matrix counts as."""
    library = library_in((matrix,))
    module = sparse if library is None else chapter_of(library, "sparse")
    return getattr(module, f"{matrix.format}_{kind_of_matrix(matrix)}")


def is_sparse(value):
    return isinstance(value, Base) or sparse.issparse(value) or is_foreign_matrix(value)


def ufunc_of(self, ufunc, method, *inputs, **kwargs):
    """`__array_ufunc__` of recorded matrices and of constants: arrays ask here for an operator."""
    name = _METHODS.get(ufunc.__name__, ufunc.__name__)
    if method == "__call__" and not kwargs:
        if len(inputs) == 1 and hasattr(self, name):
            return getattr(self, name)()
        if len(inputs) == 2 and inputs[0] is not self and not is_sparse(inputs[0]):
            if name in _COMPARISONS:
                return getattr(self, f"__{_COMPARISONS[name]}__")(inputs[0])
            if name in _OPERATORS and hasattr(self, f"__r{_OPERATORS[name]}__"):
                return getattr(self, f"__r{_OPERATORS[name]}__")(inputs[0])
        elif len(inputs) == 2 and name in _OPERATORS:
            return getattr(inputs[0], f"__{_OPERATORS[name]}__")(inputs[1])
    return NotImplemented


def refuse(what, instead="toarray()"):
    raise NotDifferentiable(f"arraygrad.scipy.sparse: {what} no rule; use {instead}")


def _zero_of(other):
    """Whether it is the number 0, which SciPy adds to a sparse matrix."""
    if is_sparse(other) or isinstance(other, Tensor):
        return False
    return np.ndim(raw(dense_of(other))) == 0 and other == 0


class Matrix(Base):
    """A sparse matrix of SciPy's format, whose values are a Tensor.

    It has the operators and methods of SciPy's classes. Those without a rule refuse values that require grad.

    Attributes
    ----------
    pattern : sparse array or matrix of SciPy's
        With plain values.
    data : Tensor
        The values, in the order of the format.
    """

    __array_priority__ = 1000.0
    __array_ufunc__ = ufunc_of
    __hash__ = object.__hash__

    # -- what it is made of -------------------------------------------------------------------------------------------

    @property
    def data(self):
        """The values, in the order of the format."""
        self._settle()
        if self.format in ("lil", "dok"):
            refuse(f"the values of a {self.format} matrix that require grad are not one array, which has", "tocsr()")
        self._check_named_once("data")
        return self._values

    @data.setter
    def data(self, values):
        values = values if isinstance(values, Tensor) else ag.asarray(values)
        if tuple(values.shape) != tuple(self._structure.data.shape):
            raise ValueError(
                f"the values of a {self.format} matrix have the shape {self._structure.data.shape}, got {values.shape}"
            )
        self._settle()
        if self._rest is not None:
            refuse_values()
        self._values = values
        self._beside(None)

    def _check_named_once(self, name):
        if self._merged:
            refuse(f"SciPy's result names elements more than once, and its {name} has", "tocsr() or sum_duplicates()")

    @property
    def shape(self):
        return self._structure.shape

    @property
    def dtype(self):
        return raw(self._values).dtype

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def nnz(self):
        self._settle()
        self._check_named_once("nnz")
        return self._structure.nnz

    @property
    def size(self):
        return self.nnz

    def getnnz(self, axis=None):
        """Numbers of elements of the pattern."""
        self._settle()
        self._check_named_once("getnnz")
        return self._structure.getnnz(axis)

    def __array__(self, dtype=None, copy=None):
        asking = sys._getframe(1)
        scipys = asking.f_globals["__name__"].startswith("scipy.sparse")
        if (dtype is None or np.dtype(dtype) == object) and (not scipys or asking.f_code.co_name == "_matmul_dispatch"):
            # As of SciPy's own matrices: an array of one object. So a table of blocks holds matrices, and SciPy's own
            # matrix leaves an operator to this one. Its methods would give NotImplemented.
            found = np.empty((), dtype=object)
            found[()] = self
            return found
        raise TypeError(
            "arraygrad.scipy.sparse: numpy.asarray of a sparse matrix whose values are a Tensor: use toarray() for a "
            "dense Tensor. Functions of scipy.sparse.csgraph have no derivative: give them the matrix of "
            "numpy.asarray(arraygrad.stop_gradient(values)), and sum the weights along the path that they find. Beside "
            "a matrix of SciPy's own, put this one first, or make that one by arraygrad.scipy.sparse"
        )

    # -- products -----------------------------------------------------------------------------------------------------

    def __matmul__(self, other):
        if is_sparse(other):
            return sparse_product(self, other)
        if isinstance(other, (Grid, np.matrix)):
            return Grid(ag.asarray(product(self, dense_of(other))))
        other = dense_of(other)
        if np.ndim(raw(other)) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return product(self, other if isinstance(other, Tensor) or library_in((other,)) else np.asarray(other))

    def __rmatmul__(self, other):
        if is_sparse(other):
            return sparse_product(other, self)
        if isinstance(other, (Grid, np.matrix)):
            return Grid(ag.matrix_transpose(product(self.T, ag.matrix_transpose(ag.asarray(dense_of(other))))))
        other = dense_of(other)
        if np.ndim(raw(other)) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if self.ndim != 2:
            return ag.matmul(ag.asarray(other), self.toarray())
        if other.ndim == 1:
            return self.T @ other
        return ag.matrix_transpose(self.T @ ag.matrix_transpose(ag.asarray(other)))

    def dot(self, other):
        """self @ other, or the multiple by a number."""
        return self * other if not is_sparse(other) and np.ndim(raw(dense_of(other))) == 0 else self @ other

    def matvec(self, x):
        """self @ x."""
        return self @ x

    def __mul__(self, other):
        if not is_sparse(other) and np.ndim(raw(dense_of(other))) == 0:
            return self._scaled(operator.mul, other)
        return self @ other if kind_of_matrix(self) == "matrix" else self.multiply(other)

    def __rmul__(self, other):
        if not is_sparse(other) and np.ndim(raw(dense_of(other))) == 0:
            return self._scaled(operator.mul, other)
        return self.__rmatmul__(other) if kind_of_matrix(self) == "matrix" else self.multiply(other)

    def _scaled(self, with_number, number):
        """A * number or A / number: the pattern stays."""
        self._settle()
        plain = with_number(self._host, host(number))
        if self.format in ("lil", "dok") or plain.data.shape != self._structure.data.shape:
            places, values = entries(self)
            return matched(plain, places, with_number(values, number))
        made = Matrix(self)
        made._structure, made._values = plain, with_number(self._values, number)
        made._beside(None if self._rest is None else (self._rest[0], with_number(self._rest[1], number)))
        return made

    def __imul__(self, other):
        return self._scaled_in_place(operator.mul, other)

    def __itruediv__(self, other):
        return self._scaled_in_place(operator.truediv, other)

    def _scaled_in_place(self, with_number, number):
        """SciPy writes a multiple by a number into the values, which other matrices may share."""
        if is_sparse(number) or np.ndim(raw(dense_of(number))) != 0:
            return NotImplemented
        self._settle()
        made = self._scaled(with_number, number)
        if made.dtype != self.dtype:
            refuse(f"a multiple of dtype {made.dtype} written into a matrix of {self.dtype} has", "A = A * x")
        if self.format in ("lil", "dok"):
            self._replace(made)
            return self
        rest = made._rest
        self._values[...] = made._values
        self._beside(rest)
        return self

    def multiply(self, other):
        """The elementwise product with a sparse matrix, or with an array, broadcast."""
        other = dense_of(other)
        if not is_sparse(other) and np.ndim(raw(other)) == 0:
            return self._scaled(operator.mul, other)
        plain = self._host.multiply(plain_of(other))
        shape = self.shape
        if not sparse.issparse(plain) or plain.shape != shape or (is_sparse(other) and other.shape != shape):
            dense = _dense(self) * _dense(other)
            return _like(plain, dense)
        places, values = entries(self)
        if is_sparse(other):
            theirs, factors = entries(other)
            at, known = find_places(places, theirs)
            places, values = places[known], gathered(values, np.flatnonzero(known))
            return matched(plain, places, values * gathered(factors, at[known]))
        other = ag.asarray(other)
        coords = coordinates_of(places, shape)[len(shape) - other.ndim :]
        coords = [np.zeros_like(c) if n == 1 else c for c, n in zip(coords, other.shape, strict=True)]
        factors = other[tuple(beside(other, c) for c in coords)]
        return matched(plain, places, values * factors)

    def __truediv__(self, other):
        if is_sparse(other):
            refuse("the quotient of two sparse matrices, whose zeros are divided by zeros, has")
        other = dense_of(other)
        if np.ndim(raw(other)) == 0:
            return self._scaled(operator.truediv, other)
        plain = self._host / host(other)
        found = self.multiply(1.0 / ag.asarray(other))
        return found if sparse.issparse(plain) else like_matrix(found.toarray(), plain)

    def __rtruediv__(self, other):
        return NotImplemented

    def __neg__(self):
        return self._scaled(operator.mul, -1)

    def __pos__(self):
        return self.copy()

    def power(self, n, dtype=None):
        """The elements to the power of `n`."""
        if np.ndim(raw(n)) != 0:
            self._host.power(host(n))  # SciPy's own error
            refuse("powers that are arrays have")
        if dtype is not None:
            return self.astype(dtype).power(n)
        return self._mapped(lambda m: m.power(host(n)), lambda values: values**n)

    def __pow__(self, exponent):
        return self.power(exponent) if kind_of_matrix(self) == "array" else matrix_power(self, exponent)

    # -- sums ---------------------------------------------------------------------------------------------------------

    def _added(self, other, sign):
        if _zero_of(other):
            return self.copy()
        other = dense_of(other)
        if not is_sparse(other):
            if np.ndim(raw(other)) == 0:
                self._host + host(other)  # SciPy's own error
                refuse("the sum with a number that is not zero has")
            dense = ag.asarray(other)
            found = _dense(self) + dense if sign > 0 else _dense(self) - dense
            return like_matrix(found, self._host + host(other))
        if self.shape != other.shape:
            refuse("sums of sparse matrices that are broadcast have")
        plain = self._host + plain_of(other) if sign > 0 else self._host - plain_of(other)
        (places, values), (theirs, more) = entries(self), entries(other)
        more = ag.asarray(more) if sign > 0 else -ag.asarray(more)
        both = np.concatenate([places, theirs]), ag.concat([ag.asarray(values), more])
        return matched(plain, *summed_by_place(*both))

    def __add__(self, other):
        return self._added(other, 1)

    __radd__ = __add__

    def __sub__(self, other):
        return self._added(other, -1)

    def __rsub__(self, other):
        if isinstance(other, (Grid, np.matrix)):
            return Grid(dense_of(other) - _dense(self))
        return (-self)._added(other, 1)

    def sum(self, axis=None, dtype=None, out=None):
        """Sums of the elements: of all, or along an axis."""
        return self._summed(axis, dtype, out, "sum")

    def mean(self, axis=None, dtype=None, out=None):
        """Means of the elements, zeros included: of all, or along an axis."""
        return self._summed(axis, dtype, out, "mean")

    def _summed(self, axis, dtype, out, name):
        if out is not None:
            refuse("out= has", "the result")
        plain = getattr(self._host, name)(axis=axis, dtype=dtype)
        places, values = entries(self, unique=False)
        values = ag.asarray(values)
        if raw(values).dtype != np.asarray(plain).dtype:
            values = values.astype(np.asarray(plain).dtype)
        axes = range(self.ndim) if axis is None else [a % self.ndim for a in np.atleast_1d(axis)]
        if name == "mean":
            values = values / float(np.prod([self.shape[a] for a in axes]))
        kept = [a for a in range(self.ndim) if a not in axes]
        if not kept:
            return like_matrix(ag.reshape(ag.sum(values), np.shape(plain)), plain)
        coords = coordinates_of(places, self.shape)
        shape = [self.shape[a] for a in kept]
        found = summed(values, places_of([coords[a] for a in kept], shape), int(np.prod(shape)))
        return like_matrix(ag.reshape(found, np.shape(plain)), plain)

    def trace(self, offset=0):
        """The sum along a diagonal."""
        return ag.sum(self.diagonal(offset))

    # -- by selection -------------------------------------------------------------------------------------------------

    def max(self, axis=None, out=None, *, explicit=False):
        """The largest element, or that along an axis."""
        return self._selected("max", axis, out, explicit)

    def min(self, axis=None, out=None, *, explicit=False):
        """The smallest element, or that along an axis."""
        return self._selected("min", axis, out, explicit)

    def _selected(self, name, axis, out, explicit):
        if out is not None:
            refuse("out= has", "the result")
        plain = self._host
        found = getattr(plain, name)(axis=axis, explicit=explicit)
        at = np.asarray(getattr(plain, f"arg{name}")(axis=axis, explicit=explicit)).reshape(-1)
        follow(self, plain)
        places, values = entries(self)
        if axis is None:
            wanted = at
        else:
            others = np.arange(at.size)
            wanted = places_of((at, others) if axis % self.ndim == 0 else (others, at), self.shape)
        index, known = find_places(wanted, places)
        chosen = gathered(values, index[known])
        if sparse.issparse(found):
            return matched(found, np.flatnonzero(known), chosen)
        made = ag.reshape(summed(chosen, np.flatnonzero(known), wanted.size), np.shape(found))
        return like_plain(made, found)

    def maximum(self, other):
        """The elementwise maximum with a sparse matrix or with a number that is not positive."""
        return self._extreme("maximum", other)

    def minimum(self, other):
        """The elementwise minimum with a sparse matrix or with a number that is not negative."""
        return self._extreme("minimum", other)

    def _extreme(self, name, other):
        chooses = getattr(ag, name)
        plain = getattr(self._host, name)(plain_of(other))
        places, values = entries(self)
        values = ag.asarray(values)
        if not is_sparse(other):
            number = dense_of(other)
            if np.ndim(raw(number)) != 0 or chooses(0.0, ag.asarray(raw(number))).numpy() != 0:
                refuse(f"{name} with what makes the matrix dense has")
            return matched(plain, places, chooses(values, number))
        theirs, more = entries(other)
        every = np.union1d(places, theirs)
        mine = summed(values, find_places(places, every)[0], every.size)
        more = summed(more, find_places(theirs, every)[0], every.size)
        return matched(plain, every, chooses(mine, more))

    # -- elements -----------------------------------------------------------------------------------------------------

    def __getitem__(self, key):
        key = _plain_key(key)
        found = moved(lambda m: m[key], self)
        return like_plain(found, None) if isinstance(found, Tensor) else found

    def __setitem__(self, key, value):
        key = _plain_key(key)
        if not is_sparse(value):
            value = dense_of(value)

        def written(matrix, value):
            matrix = matrix.copy()
            matrix[key] = value
            return matrix

        self._replace(moved(written, self, value))

    def setdiag(self, values, k=0):
        """Set the elements of a diagonal."""

        def written(matrix, values):
            matrix = matrix.copy()
            matrix.setdiag(values, k)
            return matrix

        values = dense_of(values)
        self._replace(moved(written, self, values))

    def diagonal(self, k=0):
        """A diagonal."""
        return moved(lambda m: m.diagonal(k), self)

    def toarray(self, order=None, out=None):
        """The dense array."""
        if out is not None:
            refuse("out= has", "the result")
        return _dense(self)

    def todense(self, order=None, out=None):
        """The dense array, of the matrix classes as a numpy.matrix."""
        found = self.toarray(order, out)
        return Grid(found) if kind_of_matrix(self) == "matrix" else found

    def nonzero(self):
        """Coordinates of the elements that are not zero."""
        return self.pattern.nonzero()

    def count_nonzero(self, axis=None):
        """How many elements are not zero."""
        return self.pattern.count_nonzero(axis)

    def argmax(self, *args, **options):
        return self.pattern.argmax(*args, **options)

    def argmin(self, *args, **options):
        return self.pattern.argmin(*args, **options)

    # -- the same elements otherwise ----------------------------------------------------------------------------------

    @property
    def T(self):
        """The transpose."""
        return self.transpose()

    @property
    def mT(self):
        return self.transpose()

    @property
    def H(self):
        return self.transpose().conj()

    def getH(self):
        return self.H

    def transpose(self, axes=None, copy=False):
        """The transpose."""
        return moved(lambda m: m.transpose(axes=axes, copy=copy), self)

    def asformat(self, format, copy=False):
        """The same matrix in another format of SciPy's."""
        if (format is None or format == self.format) and not self._merged:
            return self.copy() if copy else self
        return moved(lambda m: m.asformat(format, copy=copy), self)

    def reshape(self, *shape, order="C", copy=False):
        """Of another shape."""
        return moved(lambda m: m.reshape(*shape, order=order, copy=copy), self)

    def resize(self, *shape):
        """Cut or grow in place."""

        def resized(matrix):
            matrix = matrix.copy()
            matrix.resize(*shape)
            return matrix

        self._replace(moved(resized, self))

    def getrow(self, i):
        return moved(lambda m: m.getrow(i), self)

    def getcol(self, j):
        return moved(lambda m: m.getcol(j), self)

    def copy(self):
        """With values of its own."""
        self._settle()
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made._structure, made._values = self._structure.copy(), self._values.copy()
        made._beside(self._rest)
        return made

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def astype(self, dtype, casting="unsafe", copy=True):
        """Of another dtype; integers have no derivative."""
        plain = self._host.astype(dtype, casting=casting)
        if plain.dtype == self.dtype:
            return self.copy() if copy else self
        if plain.dtype.kind not in "fc":
            return self.pattern.astype(dtype) if library_in((self,)) else plain
        return matched(plain, *entries(self))

    def eliminate_zeros(self):
        """Take zeros out of the pattern; those that have a derivative stay beside it."""
        in_place(self, "eliminate_zeros")

    def sum_duplicates(self):
        """Name each element once."""
        in_place(self, "sum_duplicates")

    def sort_indices(self):
        """Sort the elements within rows or columns."""
        in_place(self, "sort_indices")

    def prune(self):
        """SciPy frees memory here."""

    def sorted_indices(self):
        found = self.copy()
        found.sort_indices()
        return found

    # -- elementwise functions that keep zeros ------------------------------------------------------------------------

    def _mapped(self, of_plain, function):
        given = self._host
        plain = of_plain(given)
        follow(self, given)
        places, values = entries(self)
        return matched(plain, places, function(ag.asarray(values)))

    def __abs__(self):
        return self._mapped(abs, ag.abs)

    def conj(self, copy=True):
        """The complex conjugate."""
        return self._mapped(lambda m: m.conj(), ag.conj) if self.dtype.kind == "c" else self.copy() if copy else self

    conjugate = conj

    @property
    def real(self):
        return self._mapped(lambda m: m.real, lambda v: v.real) if self.dtype.kind == "c" else self

    @property
    def imag(self):
        if self.dtype.kind != "c":
            return self._mapped(lambda m: m.imag, lambda v: 0.0 * v)
        return self._mapped(lambda m: m.imag, lambda v: v.imag)

    # -- the rest -----------------------------------------------------------------------------------------------------

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(self._of_private(name))
        if name in _INDICES:
            self._settle()
            self._check_named_once(name)
            return self._index_arrays(name)
        if name.startswith("to") and name[2:] in FORMATS:
            return lambda *args, **options: _converted(self, name, args, options)
        if not hasattr(scipy_class(self), name):
            raise AttributeError(f"{scipy_class(self).__name__!r} object has no attribute {name!r}")
        value = getattr(self.scipy_object, name)
        if not callable(value):
            return value
        return guarded(f"sparse.{self.format}_{kind_of_matrix(self)}.{name}", value, "the method has no rule here")

    def _of_private(self, name):
        """What is said of a private name that is missing here."""
        if name.startswith("__") or "_values" not in vars(self) or not hasattr(scipy_class(self), name):
            return name
        cls = scipy_class(self)
        return (
            f"arraygrad.scipy.sparse: {name!r} is private to {cls.__module__.partition('.')[0]}'s {cls.__name__}, and "
            "a matrix with a Tensor of values has the public names alone. A[i, j], A[i, j] = x, A.data, and a matrix "
            "made anew, csr_matrix((values, (rows, columns))), are recorded; A.pattern is a plain matrix, without a "
            "gradient"
        )

    def _index_arrays(self, name):
        found = getattr(self._structure, name)
        if library_in((self,)) is None or not isinstance(found, (np.ndarray, tuple)) or name == "blocksize":
            return found
        if name == "coords":
            return tuple(beside(self._values, one) for one in found)
        return indices_of(self._structure, self._values, name)

    def __setattr__(self, name, value):
        if name in _FLAGS and hasattr(self._structure, name):
            claim(self, name, value)
            return
        if name in _INDICES or name in ("shape", "dtype"):
            refuse(f"writing {name} of a matrix whose values are a Tensor has", "a new matrix")
        object.__setattr__(self, name, value)

    def __iter__(self):
        for i in range(self.shape[0]):
            yield self[i]

    def __len__(self):
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self):
        return bool(self.pattern)

    # Comparisons are constant wherever they have a derivative.

    def __eq__(self, other):
        return self.pattern == native_of(other)

    def __ne__(self, other):
        return self.pattern != native_of(other)

    def __lt__(self, other):
        return self.pattern < native_of(other)

    def __le__(self, other):
        return self.pattern <= native_of(other)

    def __gt__(self, other):
        return self.pattern > native_of(other)

    def __ge__(self, other):
        return self.pattern >= native_of(other)

    def __repr__(self):
        return f"<arraygrad {self.pattern!r}>"


_FLAGS = frozenset(("has_canonical_format", "has_sorted_indices"))
_INDICES = frozenset("indices indptr offsets row col coords blocksize has_canonical_format has_sorted_indices".split())
set_class("", Matrix)


def _elementwise(name):
    function = getattr(np, name)

    def method(self):
        return self._mapped(lambda m: getattr(m, name)(), function)

    method.__name__ = name
    method.__doc__ = f"numpy.{name} of the elements."
    setattr(Matrix, name, method)


for _name in ("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p", "deg2rad",
              "rad2deg", "sqrt", "sign", "rint", "floor", "ceil", "trunc"):  # fmt: skip
    _elementwise(_name)


def _converted(matrix, name, args, options):
    """What `tocsr` and its kin make, which copy by default or not."""
    if name[2:] == matrix.format and not matrix._merged and not args and not options:
        return matrix
    return moved(lambda m: getattr(m, name)(*args, **options), matrix)


def _dense(A):
    """The dense array of a matrix as a Tensor; of an array itself."""
    if not is_sparse(A):
        return ag.asarray(A)
    places, values = entries(A, unique=False)
    return ag.reshape(summed(values, places, int(np.prod(A.shape))), A.shape)


def _like(plain, dense):
    """A dense result as SciPy's own sparse or dense one."""
    if not sparse.issparse(plain):
        return like_matrix(ag.reshape(dense, np.shape(plain)), plain)
    return matched(plain, np.arange(int(np.prod(plain.shape))), ag.reshape(dense, (-1,)))


def _plain_key(key):
    """An index without Tensors, sparse truth values as SciPy takes them."""
    if isinstance(key, tuple):
        return tuple(plain_of(one) for one in key)
    return plain_of(key)


# -- products of sparse matrices --------------------------------------------------------------------------------------


def sparse_product(a, b):
    """a @ b of two sparse matrices: the terms of Gustavson (1978), summed by place."""
    if a.ndim != 2 or b.ndim != 2:
        return ag.matmul(_dense(a), _dense(b))
    plain = plain_of(a) @ plain_of(b)
    if (not tracked(a, b) or not is_grad_enabled()) and library_in((a, b)) is None:
        return recorded(plain)
    (left, u), (right, v) = entries(a), entries(b)
    i, k = coordinates_of(left, a.shape)
    row, column = coordinates_of(right, b.shape)  # sorted by row, as the places are
    start = np.searchsorted(row, np.arange(b.shape[0] + 1))
    counts = (start[1:] - start[:-1])[k]
    first = np.repeat(np.arange(left.size), counts)
    second = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(start[k], counts)
    places = places_of((i[first], column[second]), plain.shape)
    return matched(plain, *summed_by_place(places, gathered(u, first) * gathered(v, second)))


def matrix_power(A, n):
    """A @ A @ ... of a square matrix."""
    plain = sparse.linalg.matrix_power(plain_of(A), n)
    if not tracked(A) or n == 0:
        return recorded_beside(plain, A)
    found, square = None, A
    while n:
        if n & 1:
            found = square if found is None else sparse_product(found, square)
        n >>= 1
        square = sparse_product(square, square) if n else square
    if found is A:
        return A.copy()
    return _in_pattern(plain, found)


def recorded_beside(plain, like):
    """A constant matrix of SciPy's as one of ours, its values in the library of the matrix or array `like`."""
    values = getattr(like, "_values", getattr(like, "data", like) if is_foreign_matrix(like) else like)
    return recorded(plain) if library_in((values,)) is None else Matrix(plain, placed(plain.data, values))


def _in_pattern(plain, found):
    return matched(plain, *entries(found))
