"""SciPy's sparse classes for constants, in classes of ours of the same names: what is done with a Tensor is recorded.

May import: arraygrad, core.tensor, engine, scipy._guards, scipy.sparse._matrices, numpy, SciPy.

Everything but an operator with a Tensor, or with a `Matrix` of one, is SciPy's own: indexing, powers, comparisons,
graph algorithms. What SciPy makes of such a matrix is of these classes again.
"""

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.engine.node import is_grad_enabled
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor, raw
from arraygrad.scipy.sparse._matrices import BILINEAR, CHAPTER, FORMATS, Matrix, from_tensors, of_triples

__all__ = ["CLASSES", "constant_of", "plain", "recorded_of"]

# "csr_array" -> our class.
CLASSES: dict = {}

_OPERATORS = {
    "matmul": "matmul", "multiply": "mul", "add": "add", "subtract": "sub", "divide": "truediv", "power": "pow",
}  # fmt: skip
_COMPARISONS = {
    "equal": "eq", "not_equal": "ne", "less": "gt", "less_equal": "ge", "greater": "lt", "greater_equal": "le",
}  # fmt: skip


class Constant:
    """What our classes add to SciPy's."""

    def __new__(cls, arg1=None, shape=None, dtype=None, copy=False, **options):
        if isinstance(arg1, (Matrix, Tensor)) or (isinstance(arg1, tuple) and arg1 and isinstance(arg1[0], Tensor)):
            return from_tensors(cls.__name__, arg1, shape, dtype)
        return super().__new__(cls)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        # Tensors leave an operator to an object that has this; arrays ask here.
        name = ufunc.__name__
        if method == "__call__" and not kwargs:
            if len(inputs) == 1 and hasattr(self, name):
                return getattr(self, name)()
            if len(inputs) == 2 and inputs[0] is not self and not sparse.issparse(inputs[0]):
                if name in _COMPARISONS:
                    return getattr(self, f"__{_COMPARISONS[name]}__")(inputs[0])
                if name in _OPERATORS:
                    return getattr(self, f"__r{_OPERATORS[name]}__")(inputs[0])
            elif len(inputs) == 2 and name in _OPERATORS:
                return getattr(inputs[0], f"__{_OPERATORS[name]}__")(inputs[1])
        return NotImplemented

    def multiply(self, other):
        """Elementwise product."""
        if isinstance(other, (Tensor, Matrix)) and holds_tensor(other, grad=True):
            return Matrix(self).multiply(other)
        return super().multiply(plain("multiply", other))

    def maximum(self, other):
        """Elementwise maximum, of constants."""
        return super().maximum(plain("maximum", other))

    def minimum(self, other):
        """Elementwise minimum, of constants."""
        return super().minimum(plain("minimum", other))

    def dot(self, other):
        """self @ other."""
        return self @ other


def _operator(name):
    def operator(self, other):
        if isinstance(other, (Tensor, Matrix)):
            return getattr(Matrix(self), name)(other)
        return getattr(super(Constant, self), name)(other)

    operator.__name__ = name
    return operator


for _name in ("matmul", "rmatmul", "mul", "rmul", "add", "radd", "sub", "rsub", "truediv"):
    setattr(Constant, f"__{_name}__", _operator(f"__{_name}__"))


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
    return raw(value)


def constant_of(found):
    """A sparse matrix of SciPy's as one of our class; anything else as it is."""
    if not sparse.issparse(found) or isinstance(found, Constant):
        return found
    ours = CLASSES.get(f"{found.format}_{_kind(found)}")
    return found if ours is None else ours(found)


def recorded_of(matrix):
    """A sparse matrix of SciPy's of any format as one whose products are recorded."""
    ours = constant_of(matrix)
    return ours if isinstance(ours, Constant) else constant_of(matrix.tocsr())


def _kind(matrix):
    return "matrix" if isinstance(matrix, sparse.spmatrix) else "array"


def _class(name, format, kind):
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return
    members = {"__module__": __name__, "__doc__": f"scipy.sparse.{name}, whose products with Tensors are recorded; "
               "a `Matrix` if its values are a Tensor.\n\n" + (theirs.__doc__ or "")}  # fmt: skip
    for other in FORMATS:  # what SciPy's conversions make
        members[f"_{other}_container"] = property(lambda self, key=f"{other}_{kind}": CLASSES[key])
    CLASSES[name] = globals()[name] = type(name, (Constant, theirs), members)
    CHAPTER.object(name, "arg1 (the values)", BILINEAR)(CLASSES[name])


for _format in FORMATS:
    for _of in ("array", "matrix"):
        _class(f"{_format}_{_of}", _format, _of)


def _maker(name):
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return

    def make(*args, **kwargs):
        return constant_of(theirs(*plain(name, args), **plain(name, kwargs)))

    make.__name__ = name
    make.__doc__ = f"scipy.sparse.{name}, of constants.\n\n{theirs.__doc__ or ''}"
    CHAPTER.names[name] = make


for _name in ("eye", "eye_array", "identity", "random", "random_array", "kron", "kronsum", "block_diag", "block_array",
              "bmat", "hstack", "vstack", "tril", "triu", "load_npz"):  # fmt: skip
    _maker(_name)


def _diagonals(name):
    theirs = getattr(sparse, name, None)
    if theirs is None:
        return

    def make(diagonals, /, *args, offsets=0, shape=None, format=None, dtype=None):
        if args:
            offsets, *args = args
        if args:
            shape, *args = args
        plain = [raw(d) for d in diagonals] if isinstance(diagonals, (list, tuple)) else raw(diagonals)
        made = theirs(plain, offsets=offsets, shape=shape, format=format, dtype=dtype)
        parts = diagonals if isinstance(diagonals, (list, tuple)) else [diagonals]
        if not any(isinstance(part, Tensor) for part in parts):
            return constant_of(made)
        single = np.ndim(offsets) == 0
        offsets = np.atleast_1d(offsets)
        if single and not (isinstance(diagonals, (list, tuple)) and np.ndim(raw(parts[0])) == 1):
            parts = [diagonals]
        elif isinstance(diagonals, Tensor):
            parts = [diagonals[i] for i in range(len(offsets))]
        triples = []
        m, n = made.shape
        for offset, part in zip(offsets, parts, strict=True):
            length = min(m + min(offset, 0), n - max(offset, 0))
            rows = np.arange(length) + max(-offset, 0)
            part = ag.asarray(part)
            if part.ndim == 0 or part.shape[0] == 1:
                part = ag.broadcast_to(part, (length,))
            triples.append((rows, rows + offset, part[:length]))
        return of_triples(triples, made.shape, format or "coo", type(made))

    make.__name__ = name
    make.__doc__ = f"scipy.sparse.{name} as a `Matrix`; the diagonals may be Tensors."
    CHAPTER.object(name, "diagonals", BILINEAR)(make)


_diagonals("diags")
_diagonals("diags_array")
