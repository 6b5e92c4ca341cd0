"""SciPy's sparse classes for constants, in classes of ours of the same names: what is done with a Tensor is recorded.

May import: arraygrad, core.tensor, engine, scipy._guards, scipy._libraries, scipy.sparse, numpy, SciPy.

Everything but an operator with a Tensor, or with a `Matrix` of one, is SciPy's own: indexing, powers, comparisons,
graph algorithms. What SciPy makes of such a matrix is of these classes again. A Tensor of values makes a `Matrix`, and
so does one that is written into a constant: the object itself becomes one.
"""

import abc
import copy
import inspect

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._declare import REGISTRY, Rule
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor, kind_of, raw
from arraygrad.scipy._libraries import chapter_of, host_array, is_foreign_matrix, namesake
from arraygrad.scipy.sparse._coordinates import places_of, summed_by_place, taken
from arraygrad.scipy.sparse._devices import beside, host, library_in, placed
from arraygrad.scipy.sparse._grids import Grid, dense_of
from arraygrad.scipy.sparse._matrix import Matrix, is_sparse, recorded_beside, ufunc_of
from arraygrad.scipy.sparse._matrix_base import (
    BILINEAR,
    CHAPTER,
    FORMATS,
    Base,
    entries,
    kind_of_matrix,
    matched,
    moved,
    plain_of,
    recorded,
    tracked,
)  # fmt: skip
from arraygrad.scipy.sparse._written import become

__all__ = ["CLASSES", "constant_of", "has_values_of_tensors", "plain", "recorded_of"]

# "csr_array" -> our class.
CLASSES: dict = {}


class _Kind(abc.ABCMeta):
    """The type of our classes: a `Matrix` counts as an instance of the class of its format."""

    def __instancecheck__(cls, obj):
        if isinstance(obj, Base):
            return cls.__name__ == f"{obj.format}_{kind_of_matrix(obj)}"
        return super().__instancecheck__(obj)

    def __call__(cls, arg1=None, *args, **kwargs):
        if is_foreign_matrix(arg1) or (not has_values_of_tensors(arg1) and library_in(_values_in(arg1))):
            library = library_in(_values_in(arg1))
            given = {key: value for key, value in kwargs.items() if value is not None}
            return namesake(f"sparse.{cls.__name__}", library, given)(arg1, *args, **given)
        if not has_values_of_tensors(arg1):  # places, lengths and a shape may be Tensors: they have no derivative
            arg1 = _plain_places(arg1)
            args, kwargs = tuple(map(_plain_places, args)), {key: _plain_places(v) for key, v in kwargs.items()}
        return super().__call__(arg1, *args, **kwargs)


def _plain_places(value):
    """The arrays and numbers that Tensors hold, in a tuple or list of them too."""
    if isinstance(value, Tensor):
        return raw(value) if value.ndim else raw(value)[()]
    if isinstance(value, (tuple, list)) and holds_tensor(value):
        return type(value)([_plain_places(one) for one in value])
    return value


def _values_in(arg1):
    """The values, or the matrix, in a constructor's argument."""
    return arg1[:1] if isinstance(arg1, tuple) else (arg1,)


class Constant:
    """What our classes add to SciPy's."""

    def __new__(cls, arg1=None, shape=None, dtype=None, copy=False, **options):
        if has_values_of_tensors(arg1):
            return from_tensors(cls.__name__, arg1, shape, dtype, copy, options)
        return super().__new__(cls)

    __array_ufunc__ = ufunc_of

    def multiply(self, other):
        """Elementwise product."""
        if isinstance(other, (Tensor, Matrix, Grid)):
            return recorded(self).multiply(other)
        return super().multiply(other)

    def maximum(self, other):
        """Elementwise maximum."""
        return recorded(self).maximum(other) if tracked(other) else super().maximum(plain_of(other))

    def minimum(self, other):
        """Elementwise minimum."""
        return recorded(self).minimum(other) if tracked(other) else super().minimum(plain_of(other))

    def power(self, n, dtype=None):
        """Elements to a power."""
        return recorded(self).power(n, dtype) if tracked(n) else super().power(raw(n), dtype)

    def dot(self, other):
        """self @ other, or the multiple by a number."""
        if isinstance(other, (Tensor, Matrix, Grid)):
            return recorded(self).dot(other)
        return super().dot(other)

    def setdiag(self, values, k=0):
        """Set the elements of a diagonal."""
        values = dense_of(values)
        if not tracked(values):
            super().setdiag(raw(values), k)
            return
        made = recorded(self.copy())
        made.setdiag(values, k)
        become(self, made)


def _in_place(name):
    def operator(self, other):
        if tracked(other) and not is_sparse(other) and is_grad_enabled() and np.ndim(raw(dense_of(other))) == 0:
            made = getattr(recorded(self.copy()), name)(other)
            become(self, made)
            return self
        other = raw(other) if isinstance(other, Tensor) else other
        return getattr(super(Constant, self), name)(other)

    operator.__name__ = name
    return operator


for _name in ("imul", "itruediv"):
    setattr(Constant, f"__{_name}__", _in_place(f"__{_name}__"))


def has_values_of_tensors(arg1):
    """Whether a constructor's argument holds Tensors of values."""
    if isinstance(arg1, (Base, Tensor, Grid)):
        return True
    if isinstance(arg1, (tuple, list)) and arg1:
        if isinstance(arg1, tuple) and _is_shape(arg1):
            return False
        values = arg1[0] if isinstance(arg1, tuple) else arg1
        return isinstance(values, (Tensor, Grid)) or holds_tensor(values)
    return False


def _is_shape(arg1):
    """Whether a tuple holds integers alone. An integer may be a Tensor: a shape that was computed."""
    return all(isinstance(one, (int, np.integer)) or (_is_integer(one) and one.ndim == 0) for one in arg1)


def _is_integer(value):
    return isinstance(value, Tensor) and kind_of(value) in ("i", "u")


def _operator(name):
    def operator(self, other):
        other = constant_of(other) if _has_tensor(other) else other
        if isinstance(other, (Tensor, Matrix, Grid)):
            return getattr(recorded(self), name)(other)
        return getattr(super(Constant, self), name)(other)

    operator.__name__ = name
    return operator


for _name in ("matmul", "rmatmul", "mul", "rmul", "add", "radd", "sub", "rsub", "truediv", "pow"):
    setattr(Constant, f"__{_name}__", _operator(f"__{_name}__"))


def _indexed(theirs):
    """`__getitem__` and `__setitem__` of a class that is indexed."""

    def __setitem__(self, key, value):
        if not holds_tensor(value) and not isinstance(value, (Base, Grid)):
            super(CLASSES[f"{self.format}_{_kind(self)}"], self).__setitem__(key, value)
        elif not tracked(dense_of(value)) or not is_grad_enabled():
            super(CLASSES[f"{self.format}_{_kind(self)}"], self).__setitem__(key, plain_of(dense_of(value)))
        else:
            made = recorded(self.copy())
            made[key] = value
            become(self, made)

    return {"__setitem__": __setitem__} if hasattr(theirs, "__setitem__") else {}


def _written_values(theirs):
    """`data`: assigned a Tensor, the matrix becomes a recorded one."""

    def get(self):
        try:
            return vars(self)["data"]
        except KeyError:
            raise AttributeError("data") from None

    def put(self, values):
        if tracked(values) and is_grad_enabled():
            made = recorded(self.copy())
            made.data = values
            become(self, made, written=False)
        else:
            vars(self)["data"] = raw(values)

    return {"data": property(get, put)}


def plain(name, value):
    """SciPy's own objects in a value; refused where a gradient would be lost."""
    if isinstance(value, (list, tuple)):
        return type(value)([plain(name, one) for one in value])
    if isinstance(value, dict):
        return {key: plain(name, one) for key, one in value.items()}
    if is_grad_enabled() and isinstance(value, Tensor) and holds_tensor(value, grad=True):
        raise NotDifferentiable(
            f"arraygrad.scipy.sparse.{name}: an argument requires grad, but the function has no rule here. Pass its "
            "detach() if no gradient is wanted"
        )
    return host(value)


def _has_tensor(matrix):
    """Whether it is a matrix of SciPy's own class to whose `data` the program has assigned a Tensor."""
    own = sparse.issparse(matrix) and not isinstance(matrix, (Constant, Base))
    return own and isinstance(vars(matrix).get("data"), Tensor)


def constant_of(found):
    """A sparse matrix of SciPy's as one of our class; anything else as it is."""
    if not sparse.issparse(found) or isinstance(found, (Constant, Base)):
        return found
    ours = CLASSES.get(f"{found.format}_{_kind(found)}")
    if ours is None:
        return found
    if not _has_tensor(found):
        return ours(found)
    values = found.data
    found = copy.copy(found)
    found.data = raw(values)
    made = ours(found)
    made.data = values
    return made


_of_operator = None


def set_of_operator(function):
    """Have `function(operator)` make an operator of ours of one of SciPy's: _operators.py."""
    global _of_operator
    _of_operator = function


def recorded_of(matrix):
    """A sparse matrix of any format, of SciPy or another library, as one whose products are recorded."""
    if is_foreign_matrix(matrix):
        return recorded(matrix)
    if isinstance(matrix, sparse.linalg.LinearOperator):
        return _of_operator(matrix)
    ours = constant_of(matrix)
    return ours if isinstance(ours, (Constant, Base)) else constant_of(matrix.tocsr())


def _kind(matrix):
    return "matrix" if isinstance(matrix, sparse.spmatrix) else "array"


def _class(name, format, kind):
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return
    members = {"__module__": __name__, "__doc__": f"scipy.sparse.{name}, whose products with Tensors are recorded; "
               "a `Matrix` if its values are a Tensor.\n\n" + (theirs.__doc__ or ""), **_indexed(theirs)}  # fmt: skip
    if format not in ("lil", "dok"):
        members.update(_written_values(theirs))
    for other in FORMATS:  # what SciPy's conversions make
        members[f"_{other}_container"] = property(lambda self, key=f"{other}_{kind}": CLASSES[key])
    CLASSES[name] = globals()[name] = _Kind(name, (Constant, theirs), members)
    CHAPTER.object(name, "arg1 (the values)", BILINEAR)(CLASSES[name])


for _format in FORMATS:
    for _of in ("array", "matrix"):
        _class(f"{_format}_{_of}", _format, _of)


class _Type(type):
    def __instancecheck__(cls, obj):
        if isinstance(obj, Base):
            return cls.__name__ == {"matrix": "spmatrix", "array": "sparray"}[kind_of_matrix(obj)]
        return isinstance(obj, getattr(sparse, cls.__name__))

    def __subclasscheck__(cls, other):
        return issubclass(other, getattr(sparse, cls.__name__))


# -- values that are Tensors ------------------------------------------------------------------------------------------


def from_tensors(name, arg1, shape=None, dtype=None, copy=False, options=None):
    """The `Matrix` that a constructor of SciPy's (`csr_array`, ...) makes of Tensors."""
    theirs = getattr(sparse, name)
    format = name.split("_")[0]
    library = library_in(_values_in(arg1))
    if library is not None:
        namesake(f"sparse.{name}", library, {})  # refuses a class that the library has not
    options = {"shape": shape, "dtype": dtype, "copy": copy, **(options or {})}
    if isinstance(arg1, Base):
        same = {key: value for key, value in options.items() if key != "dtype"}
        return moved(lambda m: theirs(m, **options), arg1, numbered=lambda m: theirs(m, **same))
    if isinstance(arg1, (Tensor, Grid, list)):
        dense = ag.asarray(dense_of(arg1))
        made = theirs(host(dense), **options)
        return matched(made, np.arange(dense.size, dtype=np.int64), ag.reshape(dense, (-1,)))
    # What is left is (values, places) in one of SciPy's forms. SciPy makes the pattern of the plain values. Where it
    # sorts or adds up what stands at one place, values are matched to the result by their places. Where it takes them
    # over in their order, they need only the dtype and the shape that SciPy gave its own.
    values = ag.asarray(dense_of(arg1[0]))
    if values.ndim and isinstance(arg1[0], Grid):
        raise NotDifferentiable(f"arraygrad.scipy.sparse.{name}: values as a numpy.matrix; take its A1")
    arg1 = (values, *arg1[1:])
    options["shape"] = _plain_places(options["shape"])
    made = theirs((host(values), *[_raw_indices(one) for one in arg1[1:]]), **options)
    if format in ("lil", "dok") or (len(arg1) == 2 and isinstance(arg1[1], tuple) and format != "coo"):
        coords = [np.asarray(host(a)) for a in arg1[1]]
        places, values = summed_by_place(places_of(coords, made.shape), values)
        return matched(made, places, values)
    if raw(values).size != made.data.size:
        values = values[: made.data.shape[0]] if values.ndim == made.data.ndim else values
    if raw(values).dtype != made.dtype:
        if made.dtype.kind not in "fc" or (made.dtype.kind == "f" and raw(values).dtype.kind == "c"):
            raise (
                NotDifferentiable(
                    f"arraygrad.scipy.sparse.{name}: values that require grad in a matrix of dtype {made.dtype}, which "
                    "would drop their gradient or imaginary part"
                )
                if tracked(values)
                else TypeError(f"cannot cast the values to {made.dtype}")
            )
        values = values.astype(made.dtype)
    if tuple(values.shape) != made.data.shape:
        values = ag.reshape(values, made.data.shape)
    return Matrix(made, values.copy() if copy else values)


def _raw_indices(value):
    value = _plain_places(value)
    if isinstance(value, tuple):
        return tuple(np.asarray(host_array(one)) for one in value)
    return np.asarray(host_array(value))


# -- functions --------------------------------------------------------------------------------------------------------


def _leaves(value):
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [leaf for one in value for leaf in _leaves(one)]
    if isinstance(value, dict):
        return _leaves(list(value.values()))
    return [value]


def _recorded_here(*values):
    """Whether our own function is called: a gradient is recorded, or SciPy does not know where the values lie."""
    leaves = _leaves(values)
    return library_in(leaves) is not None or (is_grad_enabled() and any(tracked(leaf) for leaf in leaves))


def _all_plain(value):
    """SciPy's objects in a value that requires no gradient, in a tree of lists."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim:
        made = np.empty(value.shape, dtype=object)
        for at in np.ndindex(value.shape):
            made[at] = plain_of(value[at])
        return made
    if isinstance(value, (list, tuple)):
        return type(value)([_all_plain(one) for one in value])
    if isinstance(value, dict):
        return {key: _all_plain(one) for key, one in value.items()}
    return plain_of(value)


def _maker(name):
    """A function of numbers alone, or one without a rule."""
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return

    def make(*args, **kwargs):
        return constant_of(theirs(*plain(name, args), **plain(name, kwargs)))

    make.__name__ = name
    make.__doc__ = f"scipy.sparse.{name}, of constants.\n\n{theirs.__doc__ or ''}"
    CHAPTER.names[name] = make
    REGISTRY[f"sparse.{name}"] = Rule(
        f"sparse.{name}", (), "", "", theirs, make, reason="it is constant: numbers determine it"
    )


for _name in ("eye", "eye_array", "identity", "random", "random_array", "rand", "load_npz"):
    _maker(_name)


def _move(name, of, cast=("dtype",)):
    """A function that moves elements of its first argument, a matrix or a list of them."""
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return

    def function(first, *args, **kwargs):
        if not _recorded_here(first):
            return constant_of(theirs(_all_plain(first), *plain(name, args), **plain(name, kwargs)))
        args, kwargs = plain(name, args), plain(name, kwargs)
        if name == "permute_dims" and first.format == "coo" and not (kwargs.get("copy") or args[1:]):
            raise NotDifferentiable(
                "arraygrad.scipy.sparse.permute_dims: SciPy permutes a COO matrix itself, too; pass copy=True"
            )
        first = _as_parts(name, first)
        rest = {key: value for key, value in kwargs.items() if key not in cast}
        uncast = _uncast(name, args)
        return moved(lambda a: theirs(a, *args, **kwargs), first, numbered=lambda a: theirs(a, *uncast, **rest))

    function.__name__ = name
    function.__doc__ = f"scipy.sparse.{name}, differentiable in the values.\n\n{theirs.__doc__ or ''}"
    CHAPTER.object(name, of, "definition")(function)


def _uncast(name, args):
    """Positional arguments without the dtype, which would round numbers of elements."""
    return args[:1] if name in ("hstack", "vstack", "block_diag", "bmat", "block_array") else args


def _as_parts(name, first):
    """Blocks that are numbers or lists of numbers as arrays."""
    if isinstance(first, np.ndarray) and first.dtype == object:  # a table of blocks
        first = first.tolist()
    if name == "block_diag":
        return [one if is_sparse(one) else dense_of(one) for one in first]
    return list(first) if isinstance(first, tuple) else first


for _name in ("hstack", "vstack", "block_diag", "bmat", "block_array"):
    _move(_name, "blocks")
for _name in ("tril", "triu", "expand_dims", "permute_dims", "swapaxes"):
    _move(_name, "A (the values)")


@CHAPTER.object("find", "A (the values)", "definition; by selection")
def find(A):
    """scipy.sparse.find: rows, columns and values of the elements that are not zero."""
    if not _recorded_here(A):
        return sparse.find(_all_plain(A))
    A = coo_array(A) if not is_sparse(A) else A  # noqa: F821 (made by _class)
    rows, columns, _ = sparse.find(plain_of(A))
    places, values = entries(recorded(A).tocsr())
    at = np.searchsorted(places, places_of((rows, columns), A.shape))
    return beside(values, rows), beside(values, columns), taken(values, at)


@CHAPTER.object("kron", "A B", "definition (bilinear)")
def kron(A, B, format=None):
    """scipy.sparse.kron, differentiable in the values of both."""
    plain_found = sparse.kron(_all_plain(A), _all_plain(B), format)
    if not _recorded_here(A, B):
        return constant_of(plain_found)
    (left, u), (right, v) = entries(A), entries(B)
    shape = np.shape(raw(dense_of(A))) if not is_sparse(A) else A.shape
    other = np.shape(raw(dense_of(B))) if not is_sparse(B) else B.shape
    if len(shape) != 2 or len(other) != 2:
        raise NotDifferentiable("arraygrad.scipy.sparse.kron: matrices with two axes have a rule")
    i, j = np.unravel_index(left, shape)
    k, m = np.unravel_index(right, other)
    rows = (i[:, None] * other[0] + k).reshape(-1)
    columns = (j[:, None] * other[1] + m).reshape(-1)
    if plain_found.format == "bsr" and library_in((A, B)) is not None:  # cupyx gives COO
        plain_found = plain_found.tocoo()
    terms = ag.reshape(ag.reshape(ag.asarray(placed(u, v)), (-1, 1)) * ag.asarray(placed(v, u)), (-1,))
    return matched(plain_found, *summed_by_place(places_of((rows, columns), plain_found.shape), terms))


@CHAPTER.object("kronsum", "A B", "definition")
def kronsum(A, B, format=None):
    """scipy.sparse.kronsum, differentiable in the values of both."""
    plain_found = sparse.kronsum(_all_plain(A), _all_plain(B), format)
    if not _recorded_here(A, B):
        return constant_of(plain_found)
    m, n = (one.shape[0] if is_sparse(one) else np.shape(raw(dense_of(one)))[0] for one in (A, B))
    like = next((one for one in (A, B) if library_in((one,))), A)
    found = recorded_beside(sparse.coo_array((m * n, m * n)), like)
    found = found + kron(sparse.eye_array(n), A) + kron(B, sparse.eye_array(m))
    return matched(plain_found, *entries(found))


def _diagonals(name, shown):
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return

    parameter = next(iter(inspect.signature(theirs).parameters))

    def make(*args, **kwargs):
        diagonals, *args = (kwargs.pop(parameter), *args) if parameter in kwargs else args
        diagonals = dense_of(diagonals) if isinstance(diagonals, (Grid, Tensor)) else diagonals
        if not _recorded_here(diagonals):
            return constant_of(theirs(_all_plain(diagonals), *plain(name, args), **plain(name, kwargs)))
        args, kwargs = plain(name, args), plain(name, kwargs)
        if name == "spdiags":
            diagonals = ag.asarray(diagonals)
        elif isinstance(diagonals, (list, tuple)):
            diagonals = [ag.asarray(dense_of(one)) for one in diagonals]
            if all(one.ndim == 0 for one in diagonals):  # a sequence of numbers: one diagonal, or one number each
                diagonals = ag.stack(diagonals) if np.ndim(_offsets(args, kwargs)) == 0 else diagonals
        numbers = {key: value for key, value in kwargs.items() if key != "dtype"}
        return moved(
            lambda d: theirs(d, *args, **kwargs), diagonals, numbered=lambda d: theirs(d, *args[:3], **numbers)
        )

    make.__name__ = name
    make.__doc__ = f"scipy.sparse.{name} as a `Matrix`; the diagonals may be Tensors.\n\n{theirs.__doc__ or ''}"
    CHAPTER.object(name, shown, BILINEAR)(make)


def _offsets(args, kwargs):
    return args[0] if args else kwargs.get("offsets", 0)


_diagonals("diags", "diagonals")
_diagonals("diags_array", "diagonals")
_diagonals("spdiags", "data")


# -- questions --------------------------------------------------------------------------------------------------------


def _question(name, answers):
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return

    def function(x):
        if is_foreign_matrix(x):
            asked = getattr(chapter_of(library_in((x,)), "sparse"), name, None)
            return asked is not None and asked(x)
        return answers(x) if isinstance(x, Base) else theirs(raw(x))

    def of_scipy(x):  # in adopted calls: matrices of another library's are none of SciPy's
        return library_in((x,)) is None and function(x)

    for one in (function, of_scipy):
        one.__name__, one.__doc__ = name, theirs.__doc__
    CHAPTER.names[name] = function
    REGISTRY[f"sparse.{name}"] = Rule(f"sparse.{name}", (), "", "", theirs, of_scipy, reason="constant")


_question("issparse", lambda x: True)
_question("isspmatrix", lambda x: kind_of_matrix(x) == "matrix")
for _format in FORMATS:
    _question(f"isspmatrix_{_format}", lambda x, f=_format: kind_of_matrix(x) == "matrix" and x.format == f)
for _name in ("spmatrix", "sparray"):
    CHAPTER.names[_name] = _Type(_name, (), {"__doc__": f"scipy.sparse.{_name}, and every `Matrix` of that kind."})
    REGISTRY[f"sparse.{_name}"] = Rule(f"sparse.{_name}", (), "", "", getattr(sparse, _name), CHAPTER.names[_name],
                                       reason="it is constant: numbers determine it")  # fmt: skip
