"""Sparse matrices: a pattern of SciPy's, and values that are a Tensor.

May import: arraygrad, core.exports, core.tensor, scipy._conjugates, scipy._declare, scipy._guards, scipy._libraries,
scipy._plainly, scipy.sparse, numpy, SciPy.

`Matrix` is the one representation, of all formats. What moves elements (slices, transposes, conversions, stacks) goes
through `moved`: SciPy's own function runs on the values, and once more on their numbers in place of them; where a
number comes out, the value of this number belongs. What computes values works on (places, values), see `_places`.
Either way `matched` gives the values to the elements of SciPy's own result.

A zero that SciPy leaves out of a pattern because of its value (one of a dense array, a sum that cancels) still has a
derivative: it is kept beside the pattern, as `rest`, and takes part in all that follows.
"""

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.exports import lent_array
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import REGISTRY, Chapter, raw, ruled
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._libraries import is_foreign_matrix, library_of, serve
from arraygrad.scipy._plainly import plainly
from arraygrad.scipy.sparse._coordinates import (
    coordinates,
    elements,
    find_places,
    gathered,
    is_tracked,
    named_once,
    of_places,
    places_of,
    summed,
    summed_by_place,
    taken,
    with_values,
)  # fmt: skip
from arraygrad.scipy.sparse._devices import check_libraries, host, library_in, placed, structure_of, zeros
from arraygrad.scipy.sparse._grids import Grid, dense_of, like_matrix

__all__ = [
    "BILINEAR", "CHAPTER", "FORMATS", "NAMES", "Base", "entries", "follow", "full", "kept_copy", "kind_of_matrix",
    "matched", "moved", "native_of", "parts", "plain_of", "product", "recorded", "refuse_values", "set_class",
    "tracked",
]  # fmt: skip

CHAPTER = Chapter("sparse", sparse)
NAMES = CHAPTER.names
BILINEAR = "definition (bilinear)"
FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")
_OF_CELLS = ("lil", "dok")  # formats without an array of values: CSR holds them

_classes: dict = {}


def set_class(format, cls):
    """Register the class of recorded matrices of a format, "" for all others."""
    _classes[format] = cls


def kind_of_matrix(matrix):
    """Whether it is one of SciPy's "matrix" or "array" classes."""
    plain = matrix._structure if isinstance(matrix, Base) else matrix
    return "matrix" if isinstance(plain, sparse.spmatrix) else "array"


# -- the representation -----------------------------------------------------------------------------------------------


class Base:
    """A sparse matrix of SciPy's format with a Tensor of values.

    Attributes
    ----------
    _structure : sparse array or matrix of SciPy's
        Its indices hold; its values are those that it was made with.
    _values : Tensor
        In the order of `_structure.data`.
    _rest : (array, Tensor) or None
        Places that `_structure` leaves out, and their values, which are zero. It holds for the values that it was made
        with (`_beside`): where a program writes others in place, what these zeros would become is not known.
    format : str
        SciPy's name of the format; `_structure` is CSR for "lil" and "dok".
    _merged : bool
        SciPy's own result names elements twice; here their sums are named.
    """

    def __init__(self, pattern, data=None, **options):
        if isinstance(pattern, Base):
            vars(self).update(vars(pattern))
            return
        if is_foreign_matrix(pattern) and not options:
            pattern, data = structure_of(pattern), pattern.data if data is None else data
        if options or not sparse.issparse(pattern):
            raise NotDifferentiable(
                "arraygrad.scipy.sparse: a Matrix is made by the class of its format: csr_matrix(...) instead of "
                "A.__class__(...)"
            )
        self.format = pattern.format
        self._structure = pattern.tocsr() if pattern.format in _OF_CELLS else pattern
        self._values = lent_array(ag.asarray(self._structure.data)) if data is None else ag.asarray(data)
        self._beside(None)
        self._merged = False

    def _beside(self, rest):
        self._rest, self._made_with = rest, self._values.grad_fn

    @property
    def pattern(self):
        """SciPy's own matrix of the values, without the gradient; that of the library of the values."""
        return self._plain(raw)

    @property
    def _host(self):
        """SciPy's own matrix of the values, wherever they are."""
        return self._plain(host)

    def _plain(self, of_values):
        self._settle()
        plain = with_values(self._structure, of_values(self._values))
        return plain.asformat(self.format) if self.format in _OF_CELLS else plain

    @property
    def scipy_object(self):
        """SciPy's matrix; refused where its values require grad."""
        if tracked(self):
            raise NotDifferentiable(
                "arraygrad.scipy.sparse: the values of the matrix require grad, and this operation has no rule for "
                "them; use another operation or toarray(), or .pattern for the plain matrix"
            )
        return self.pattern

    def _settle(self):
        """Bring what was written into the arrays."""
        if self._rest is not None and self._values.grad_fn is not self._made_with:
            refuse_values()

    def _replace(self, other):
        """Become another matrix, in place."""
        vars(self).clear()
        vars(self).update(vars(other))


def refuse_values():
    raise NotDifferentiable(
        "arraygrad.scipy.sparse: values are written to a matrix that left out zeros because of their value, which have "
        "a derivative, too: make it of the elements that it shall have, csr_matrix((values, (rows, columns)))"
    )


def tracked(*matrices):
    """Whether any of them has values that require grad; Tensors and arrays count, too."""
    for one in matrices:
        if isinstance(one, Base):
            one._settle()
            if is_tracked(one._values) or (one._rest is not None and is_tracked(one._rest[1])):
                return True
        elif isinstance(one, Grid):
            if is_tracked(one.tensor):
                return True
        elif is_tracked(one):
            return True
    return False


def plain_of(value):
    """What SciPy is given for a matrix, an array, a Tensor."""
    if isinstance(value, Base):
        return value._host
    if is_foreign_matrix(value):
        return structure_of(value)
    if isinstance(value, Grid):
        return raw(value.tensor).view(np.matrix)
    return host(value)


def native_of(value):
    """What the library of a value is given for it: SciPy, or that of its arrays."""
    return value.pattern if isinstance(value, Base) else raw(value) if library_in((value,)) else plain_of(value)


def kept_copy(A):
    """A constant matrix as a rule keeps it: a copy, which the program cannot write. An operator is kept as it is."""
    A = native_of(A)
    return A.copy() if isinstance(A, np.ndarray) or sparse.issparse(A) or library_in((A,)) else A


def follow(A, plain):
    """Order the elements of A as SciPy has left those of `plain`, the copy of A that it was given.

    Some functions sort and sum the elements of their argument in place.
    """
    if isinstance(A, (list, tuple)):
        for one, of_one in zip(A, plain, strict=True):
            follow(one, of_one)
    elif isinstance(A, Base) and A.format not in _OF_CELLS:
        if not all(np.array_equal(a, b) for a, b in zip(_indices(A._structure), _indices(plain), strict=True)):
            A._replace(matched(plain, *entries(A)))


def _indices(pattern):
    return pattern.coords if hasattr(pattern, "coords") else [vars(pattern).get(n, 0) for n in ("indices", "indptr")]


def entries(A, unique=True):
    """(places, values) of a sparse matrix or a dense array, the zeros that have a derivative included."""
    if isinstance(A, Base):
        A._settle()
        coords, positions = elements(A._structure)
        places = places_of(coords, A._structure.shape)
        values = gathered(ag.reshape(A._values, (-1,)), positions)
        if A._rest is not None:
            places = np.concatenate([places, A._rest[0]])
            values = ag.concat([values, A._rest[1]])
    elif is_foreign_matrix(A):
        return entries(recorded(A), unique)
    elif sparse.issparse(A):
        A = A.tocsr() if A.format in _OF_CELLS else A
        coords, positions = elements(A)
        places, values = places_of(coords, A.shape), A.data.reshape(-1)[positions]
    else:
        A = dense_of(A)
        values = ag.reshape(ag.asarray(A), (-1,))
        places = np.arange(values.shape[0], dtype=np.int64)
        if not is_tracked(values):
            places = np.flatnonzero(host(values))
            values = gathered(values, places)
            values = values if library_in((values,)) else raw(values)
    return summed_by_place(places, values) if unique else (places, values)


def matched(plain, places, values):
    """The matrix of SciPy's result `plain`, whose values are recorded: `values` by their sorted `places`."""
    shape = plain.shape
    values = _cast(values, plain.dtype)
    structure = plain.tocsr() if plain.format in _OF_CELLS else plain
    own, positions = elements(structure)
    own, merged = places_of(own, shape), False
    if not named_once(own):
        structure, merged = structure.copy(), True
        structure.sum_duplicates()
        own, positions = elements(structure)
        own = places_of(own, shape)
    at, known = find_places(own, places)
    found = structure.data.reshape(-1)[positions]
    chosen = gathered(values, at[known])
    same = np.allclose(host(chosen), found[known], rtol=1e-3, atol=1e-6 * _size(found), equal_nan=True)
    if not same or np.any(found[~known] != 0):
        raise NotDifferentiable(
            "arraygrad.scipy.sparse: which elements the result has depends on the values in a way that has no rule; "
            "compute on toarray()"
        )
    n = structure.data.size
    if n != positions.size or not known.all() or not np.array_equal(positions, np.arange(n)):
        chosen = summed(chosen, positions[known], n)
    if chosen is values:  # which is written where others are not
        chosen = values.copy()
    cls = _classes.get(plain.format) or _classes[""]
    made = cls.__new__(cls)
    values_of_pattern = ag.reshape(chosen, structure.data.shape)
    vars(made).update(format=plain.format, _structure=structure, _values=values_of_pattern, _merged=merged)
    made._beside(None)
    if known.sum() < places.size and is_tracked(values):
        left = np.ones(places.size, dtype=bool)
        left[at[known]] = False
        others = taken(values, np.flatnonzero(left))
        if not np.allclose(host(others), 0.0, atol=1e-6 * _size(found)):
            raise NotDifferentiable(
                "arraygrad.scipy.sparse: SciPy's result lacks elements that are not zero; compute on toarray()"
            )
        made._beside((places[left], others))
    return made


def recorded(A):
    """A sparse matrix of SciPy's, or of another library, as one of ours."""
    if isinstance(A, Base):
        return A
    return (_classes.get(A.format) or _classes[""])(A)


def _size(found):
    finite = np.abs(found[np.isfinite(found)]) if found.size else found
    return float(finite.max()) if finite.size else 0.0


def _cast(values, dtype):
    values = ag.asarray(values)
    if raw(values).dtype == dtype:
        return values
    if is_tracked(values) and (dtype.kind not in "bfc" or (dtype.kind == "f" and raw(values).dtype.kind == "c")):
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse: the values require grad, but the matrix is of dtype {dtype}, which would drop "
            "the gradient or the imaginary part: make the matrix of a dtype that holds them"
        )
    return values.astype(dtype)


def full(A):
    """(values, pattern, what SciPy itself sees of the pattern or None) with the zeros that have a derivative."""
    A._settle()
    if A._rest is None:
        return A._values, A._structure, None
    coords, positions = elements(A._structure)
    places = np.concatenate([places_of(coords, A._structure.shape), A._rest[0]])
    values = ag.concat([gathered(ag.reshape(A._values, (-1,)), positions), A._rest[1]])
    return values, of_places(places, np.array(host(values)), A._structure.shape, kind_of_matrix(A)), positions.size


def parts(A):
    """(values, pattern, whether SciPy's own has fewer elements) of a matrix: sparse, or dense with all its elements."""
    if isinstance(A, Base):
        values, pattern, seen = full(A)
        return values, pattern, seen is not None
    if is_foreign_matrix(A):
        return A.data, structure_of(A), False
    if sparse.issparse(A):
        A = A.tocsr() if A.format in _OF_CELLS else A
        return A.data, A, False
    dense = dense_of(A)
    m, n = raw(dense).shape
    values = ag.reshape(ag.asarray(dense), (-1,))
    pattern = sparse.csr_array((np.array(host(values)), np.tile(np.arange(n), m), np.arange(m + 1) * n), shape=(m, n))
    return (values if isinstance(dense, Tensor) else raw(values)), pattern, True


# -- what moves elements ----------------------------------------------------------------------------------------------


class _Numbers:
    """Operands in whose place their elements' numbers stand, from 1 on."""

    def __init__(self):
        self.values, self.count = [], 0

    def of(self, operand):
        if isinstance(operand, (list, tuple)):
            return type(operand)([self.of(one) for one in operand])
        if operand is None:
            return None
        if isinstance(operand, Base) or sparse.issparse(operand) or is_foreign_matrix(operand):
            places, values = entries(operand)
            kind = "array" if kind_of_matrix(operand) == "array" else "matrix"
            return of_places(places, self._add(values), operand.shape, kind).asformat(operand.format)
        dense = dense_of(operand)
        values = ag.reshape(ag.asarray(dense), (-1,))
        numbers = self._add(values)
        if not is_tracked(values):
            numbers[host(values) == 0] = 0.0
        return numbers.reshape(np.shape(raw(dense)))

    def _add(self, values):
        n = int(raw(values).shape[0])
        self.values.append(values)
        self.count += n
        return np.arange(self.count - n + 1.0, self.count + 1.0)

    def all(self):
        on_device = [v for v in self.values if library_of((v,))]
        return ag.concat([ag.asarray(placed(v, on_device[0]) if on_device else v) for v in self.values])


def _plain_all(operand):
    if isinstance(operand, (list, tuple)):
        return type(operand)([_plain_all(one) for one in operand])
    return plain_of(operand)


def moved(function, *operands, numbered=None):
    """The result of a function of SciPy's that moves elements of its operands, recorded.

    Parameters
    ----------
    function : callable
        Takes the operands as SciPy's objects.
    *operands
        Matrices, arrays, numbers, None, or lists of them.
    numbered : callable, optional
        What runs on the numbers in place of `function`, where that casts values.
    """
    plains = _plain_all(operands)
    plain = function(*plains)
    follow(operands, plains)
    numbers = _Numbers()
    found = (numbered or function)(*numbers.of(operands))
    values = numbers.all()
    if sparse.issparse(plain):
        found = found.tocsr() if found.format in _OF_CELLS else found
        coords, positions = elements(found)
        chosen = found.data.reshape(-1)[positions].astype(np.int64) - 1
        kept = chosen >= 0
        places, chosen = places_of(coords, plain.shape)[kept], chosen[kept]
        order = np.argsort(places, kind="stable")
        made = matched(plain, places[order], gathered(values, chosen[order]))
        if len(operands) == 1 and isinstance(operands[0], Base):
            _share(made, operands[0], plain, plains[0])
        return made
    chosen = np.asarray(found).astype(np.int64)
    if np.any(chosen == 0):
        values, chosen = ag.concat([zeros(values, 1), values]), chosen + 1
    picked = taken(values, chosen.reshape(-1) - 1)
    return like_matrix(_cast(ag.reshape(picked, np.shape(plain)), np.asarray(plain).dtype), plain)


def _share(made, source, plain, given):
    """Hold the same Tensor where SciPy's own result shares the memory of values: both see what is written there."""
    if made.format in _OF_CELLS or source.format in _OF_CELLS or made._merged:
        return
    if np.may_share_memory(plain.data, given.data):
        same = plain.data.shape == given.data.shape and np.array_equal(host(made._values), host(source._values))
        labels = np.arange(given.data.size, dtype=float).reshape(given.data.shape)
        given.data[...] = labels  # the plain operand is a copy of ours
        if same and np.array_equal(plain.data, labels):
            made._values = source._values
            made._beside(made._rest)


# -- products with dense arrays ---------------------------------------------------------------------------------------


def _product(values, x, pattern, seen):
    """`seen`: how many of the values SciPy's own pattern has; the others are zeros."""
    if library_of((values, x)) is not None:
        check_libraries("the product", values, x)
        return with_values(pattern, values) @ x
    values = np.asarray(values)
    if seen is not None:
        rows, columns, positions = coordinates(pattern)
        kept = positions < seen
        shown = (values[positions[kept]], (rows[kept], columns[kept]))
        return sparse.csr_array(shown, shape=pattern.shape) @ x
    return _beside_values(pattern, values) @ x


def _beside_values(pattern, values):
    """SciPy's matrix with other values in the order of its own, for a product alone: nothing is copied."""
    if library_of((values,)) is not None:
        return with_values(pattern, values)
    matrix = type(pattern)(pattern)
    matrix.data = values.reshape(pattern.data.shape)
    return matrix


@ruled("sparse._product", _product, "values x", BILINEAR, inert="seen")
def _recorded_product(g, ans, values, x, pattern):
    """y = A x is bilinear: x gets A^H g, the value at (i, j) gets g_i conj(x_j), summed over columns of x.

    SciPy gives the product of a COO matrix of one row and a vector without axes.
    """
    x_shape = tuple(raw(x).shape)

    def by_values():
        rows, columns, places = coordinates(pattern)
        x_ = ag.asarray(x)
        g_ = ag.reshape(ag.asarray(g), (-1, *x_shape[1:]))
        terms = taken(g_, rows) * conj(taken(x_, columns))
        if terms.ndim == 2:
            terms = ag.sum(terms, axis=1)
        return ag.reshape(summed(terms, places, pattern.data.size), pattern.data.shape)

    def by_x():
        rows, columns, places = coordinates(pattern)
        turned = sparse.coo_array((np.ones(rows.size), (columns, rows)), shape=pattern.shape[::-1])
        chosen = taken(ag.reshape(ag.asarray(values), (-1,)), places)
        g_ = ag.reshape(ag.asarray(g), (-1, *x_shape[1:]))
        return ag.reshape(_recorded_product(conj(chosen), g_, turned, None), x_shape)

    return {"values": by_values, "x": by_x}


@plainly("sparse._product", "x")
def _turned_product(g, values, x, pattern, seen=None):
    """The gradient of x by SciPy's own product, with the values where the pattern has them."""
    if pattern.data.size != values.size:
        return None
    values = values if library_of((values,)) else np.asarray(values)
    turned = _beside_values(pattern, values.conj() if values.dtype.kind == "c" else values)
    return (turned.T @ g.reshape(-1, *x.shape[1:])).reshape(x.shape)


REGISTRY.pop("sparse._product")
serve("sparse._product", _product)


def product(A, x):
    """The dense array A @ x."""
    A._settle()
    if len(A.shape) != 2:
        return ag.matmul(A.toarray(), ag.asarray(x))
    values, pattern, seen = full(A)
    found = _recorded_product(values, x, pattern, seen)
    if seen is not None and A.format == "coo" and found.shape == (1,) and kind_of_matrix(A) == "array":
        return found[0]  # as SciPy has it
    return found
