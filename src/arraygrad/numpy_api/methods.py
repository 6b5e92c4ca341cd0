"""NumPy's everyday methods of Tensor, with NumPy's signatures, each a call of one or a few table operations.

May import: _hints, engine.node, core.convert, core.exposed_memory, core.inplace, ops, core.attributes, core.tensor,
core.views, namespaces.bind, numpy_api.more_methods, numpy. Operators, indexing and attributes are written in the core
(`tensor`).
"""

import functools
import inspect
import math
import operator

import numpy

from arraygrad._hints import HINTED, Hint, unexpected
from arraygrad.core.attributes import allow_attributes, document, install_hints
from arraygrad.core.convert import before_rounding
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.inplace import is_scalar
from arraygrad.core.tensor import Tensor, apply_op, backend_of, install_methods, metadata_of
from arraygrad.core.value import is_inference as _is_inference
from arraygrad.core.views import shape_op
from arraygrad.engine.node import MADE_BY
from arraygrad.namespaces.bind import function_for, to_tensor
from arraygrad.namespaces.docstrings import documented
from arraygrad.numpy_api.more_methods import MORE
from arraygrad.ops import OPS
from arraygrad.ops._axes import no_truth_values

__all__ = ["METHODS", "install"]


# Bound to names of their own: a look-up in OPS would cost as much as the call.
_ALL = OPS["all"]
_ANY = OPS["any"]
_ARGMAX = OPS["argmax"]
_ARGMIN = OPS["argmin"]
_CLIP = OPS["clip"]
_CONJ = OPS["conj"]
_CUMULATIVE_PROD = OPS["cumulative_prod"]
_CUMULATIVE_SUM = OPS["cumulative_sum"]
_DIAGONAL = OPS["diagonal"]
_MAX = OPS["max"]
_MEAN = OPS["mean"]
_MIN = OPS["min"]
_PERMUTE_DIMS = OPS["permute_dims"]
_PROD = OPS["prod"]
_RESHAPE = OPS["reshape"]
_ROUND = OPS["round"]
_SQUEEZE = OPS["squeeze"]
_STD = OPS["std"]
_SUM = OPS["sum"]
_TAKE = OPS["take"]
_TRACE = OPS["trace"]
_VAR = OPS["var"]


def _xp(t):
    """Raw namespace of the tensor's backend."""
    return backend_of(t).xp


def _cast(t, dtype):
    return t if dtype is None else t.astype(dtype)


def _cast_first(t, dtype):
    """A complex tensor in the `dtype` that a reduction is told, before it multiplies: TypeError for a real one."""
    if dtype is None:
        return t
    xp = backend_of(t).xp
    return t.astype(dtype) if xp.isdtype(t.dtype, "complex floating") else t


# -- rare keywords -----------------------------------------------------------------------------------------------------

# NumPy's keywords that few calls give, and their defaults. Methods take them as `**rare`: one dict costs a call less
# than a default for each.
_RARE = {
    "casting": "same_kind", "correction": None, "dtype": None, "initial": None, "mean": None, "order": "K",
    "out": None, "subok": True, "where": True,
}  # fmt: skip

_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _with(*names):
    """Decorate a method that takes these keywords as `**rare`: its signature names them.

    As many of them as `*rest` has room for (all before `where`, and that one) are positional as well, as in NumPy.
    """

    def decorate(method):
        code, defaults = method.__code__, method.__defaults__
        own = code.co_varnames[: code.co_argcount]  # *rest and **rare come after
        own = dict(zip(own, (inspect.Parameter.empty,) * (len(own) - len(defaults)) + defaults, strict=True))
        placed = names.index("where") + 1 if code.co_flags & inspect.CO_VARARGS else 0
        kinds = [_EITHER] * (len(own) + placed) + [inspect.Parameter.KEYWORD_ONLY] * (len(names) - placed)
        own.update({name: _RARE[name] for name in names})
        method.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind, default=own[name]) for name, kind in zip(own, kinds, strict=True)]
        )
        method._placed = names[:placed]
        return method

    return decorate


def _rarely(name, self, rare, rest=(), **given):
    """A method called with keywords of its `**rare`: by NumPy's function, which is recorded, if one has an effect."""
    method = METHODS[name]
    known = method.__signature__.parameters
    if len(rest) > len(method._placed):
        most = len(known) - len([p for p in known.values() if p.kind is p.KEYWORD_ONLY])
        raise TypeError(f"Tensor.{name}() takes at most {most} positional arguments, self among them")
    for keyword in rare:
        if keyword not in known:
            raise TypeError(unexpected(f"Tensor.{name}", keyword, known))
    for keyword, value in zip(method._placed, rest, strict=False):
        if keyword in rare:
            raise TypeError(f"Tensor.{name}() got multiple values for argument {keyword!r}")
        rare[keyword] = value
    if "correction" in rare:
        given["ddof"] = _correction(name, given["ddof"], rare.pop("correction"))
    rare["out"] = given.pop("out")
    rare = {keyword: value for keyword, value in rare.items() if not _is_default(keyword, value)}
    if rare:
        return getattr(numpy, name)(self, **given, **rare)
    return method(self, **given)


def _is_default(keyword, value):
    return value is _RARE[keyword] or (type(value) is str and value == _RARE[keyword])


def _is_whole(t, dtype):
    """Whether NumPy's array is to have a mean of integers, which is none of its elements in `dtype`."""
    return isinstance(raw_array(t), numpy.ndarray) and numpy.dtype(dtype).kind in "iub"


def _is_computed_otherwise(t, dtype):
    """Whether a variance in `dtype` is no operation of the table: NumPy's takes the differences in the array's own."""
    return isinstance(raw_array(t), numpy.ndarray) and (numpy.dtype(dtype) != t.dtype or numpy.dtype(dtype).kind == "c")


# -- reductions --------------------------------------------------------------------------------------------------------


@_with("initial", "where")
def sum(self, axis=None, dtype=None, out=None, keepdims=False, *rest, **rare):
    """Sum of the elements over `axis` (None: all); integers of a small dtype sum in the default integer."""
    if rare or rest or out is not None:
        return _rarely("sum", self, rare, rest, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    return apply_op(_SUM, (self, axis, dtype, keepdims))


@_with("initial", "where")
def prod(self, axis=None, dtype=None, out=None, keepdims=False, *rest, **rare):
    """Product of the elements over `axis` (None: all). Its derivative is right where elements are zero."""
    if rare or rest or out is not None:
        return _rarely("prod", self, rare, rest, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    return apply_op(_PROD, (_cast_first(self, dtype), axis, dtype, keepdims))


@_with("where")
def mean(self, axis=None, dtype=None, out=None, keepdims=False, **rare):
    """Mean of the elements over `axis` (None: all)."""
    if dtype is not None and _is_whole(self, dtype):
        return numpy.mean(self, axis, dtype, out=out, keepdims=keepdims, **rare)
    if rare or out is not None:
        return _rarely("mean", self, rare, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    return apply_op(_MEAN, (_cast(self, dtype), axis, keepdims))


@_with("initial", "where")
def max(self, axis=None, out=None, keepdims=False, *rest, **rare):
    """Largest element over `axis` (None: all). Elements that tie share the gradient evenly."""
    if rare or rest or out is not None:
        return _rarely("max", self, rare, rest, axis=axis, out=out, keepdims=keepdims)
    return apply_op(_MAX, (self, axis, keepdims))


@_with("initial", "where")
def min(self, axis=None, out=None, keepdims=False, *rest, **rare):
    """Smallest element over `axis` (None: all). Elements that tie share the gradient evenly."""
    if rare or rest or out is not None:
        return _rarely("min", self, rare, rest, axis=axis, out=out, keepdims=keepdims)
    return apply_op(_MIN, (self, axis, keepdims))


@_with("where", "mean", "correction")
def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **rare):
    """Variance over `axis` (None: all), divided by N - ddof. `correction` is the standard's name of ddof."""
    if dtype is not None and _is_computed_otherwise(self, dtype):
        return numpy.var(self, axis, dtype, out=out, ddof=ddof, keepdims=keepdims, **rare)
    if rare or out is not None:
        return _rarely("var", self, rare, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)
    return apply_op(_VAR, (_cast(self, dtype), axis, ddof, keepdims))


@_with("where", "mean", "correction")
def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **rare):
    """Standard deviation over `axis` (None: all); the gradient is 0 where it is 0, as in torch."""
    if dtype is not None and _is_computed_otherwise(self, dtype):
        return numpy.std(self, axis, dtype, out=out, ddof=ddof, keepdims=keepdims, **rare)
    if rare or out is not None:
        return _rarely("std", self, rare, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)
    return apply_op(_STD, (_cast(self, dtype), axis, ddof, keepdims))


@_with("where")
def any(self, axis=None, out=None, keepdims=False, **rare):
    """Whether an element over `axis` (None: all) is true."""
    if rare or out is not None:
        return _rarely("any", self, rare, axis=axis, out=out, keepdims=keepdims)
    return apply_op(_ANY, (self, axis, keepdims))


@_with("where")
def all(self, axis=None, out=None, keepdims=False, **rare):
    """Whether every element over `axis` (None: all) is true."""
    if rare or out is not None:
        return _rarely("all", self, rare, axis=axis, out=out, keepdims=keepdims)
    return apply_op(_ALL, (self, axis, keepdims))


def argmax(self, axis=None, out=None, *, keepdims=False):
    """Index of the largest element along `axis` (None: in the flattened tensor)."""
    if out is not None:
        return numpy.argmax(self, axis, out=out, keepdims=keepdims)
    return apply_op(_ARGMAX, (self, axis, keepdims))


def argmin(self, axis=None, out=None, *, keepdims=False):
    """Index of the smallest element along `axis` (None: in the flattened tensor)."""
    if out is not None:
        return numpy.argmin(self, axis, out=out, keepdims=keepdims)
    return apply_op(_ARGMIN, (self, axis, keepdims))


def cumsum(self, axis=None, dtype=None, out=None):
    """Running sum along `axis` (None: of the flattened tensor)."""
    if out is not None:
        return numpy.cumsum(self, axis, dtype, out=out)
    return _cumulative(_CUMULATIVE_SUM, self, axis, dtype)


def cumprod(self, axis=None, dtype=None, out=None):
    """Running product along `axis` (None: of the flattened tensor)."""
    if out is not None:
        return numpy.cumprod(self, axis, dtype, out=out)
    return _cumulative(_CUMULATIVE_PROD, self, axis, dtype)


# -- elementwise -------------------------------------------------------------------------------------------------------


@_with("where", "dtype", "casting", "order", "subok")
def clip(self, min=None, max=None, out=None, **rare):
    """Elements limited to [min, max]; a bound may be None, a scalar or an array, and has a gradient where it acts."""
    if rare or out is not None:
        return _rarely("clip", self, rare, min=min, max=max, out=out)
    if isinstance(min, list | tuple) or isinstance(max, list | tuple):  # which may hold Tensors
        backend = backend_of(self)
        min, max = (to_tensor(bound, backend) if isinstance(bound, list | tuple) else bound for bound in (min, max))
    return apply_op(_CLIP, (self, min, max))


def round(self, decimals=0, out=None):
    """Elements rounded to `decimals` digits, halves to even. The derivative is zero."""
    if out is not None:
        return numpy.round(self, decimals, out=out)
    decimals = operator.index(decimals)
    if metadata_of(self).is_complex:
        return numpy.round(self, decimals)
    if decimals == 0 or not _xp(self).isdtype(self.dtype, "real floating"):
        if decimals >= 0:
            return apply_op(_ROUND, (self,))
        raise TypeError("round() of an integer tensor takes decimals >= 0: convert it with astype(float) first")
    if decimals > 0:
        before_rounding(self, decimals)
    scale = 10.0 ** math.fabs(decimals)
    return apply_op(_ROUND, (self * scale,)) / scale if decimals > 0 else apply_op(_ROUND, (self / scale,)) * scale


def conj(self):
    """Complex conjugate; a real tensor as it is."""
    return apply_op(_CONJ, (self,)) if metadata_of(self).is_complex else self


# -- shape -------------------------------------------------------------------------------------------------------------


def reshape(self, *shape, order="C", copy=None):
    """The same elements in another shape; one dimension may be -1. A view where the memory allows it.

    `order` is "C" (row-major), "F" (column-major) or "A" (column-major if the memory is).
    """
    if len(shape) == 1 and not _is_index(shape[0]):
        shape = self.shape if shape[0] is None else tuple(shape[0])
    elif not shape:
        raise TypeError("Tensor.reshape() takes a shape: t.reshape(()) for one without axes")
    no_truth_values(shape)
    shape = tuple([operator.index(n) for n in shape])
    if order != "C" and _column_major("reshape", self, order):
        return shape_op(_RESHAPE, (transpose(self), shape[::-1], copy)).T
    return shape_op(_RESHAPE, (self, shape, copy))


def ravel(self, order="C"):
    """The elements in one dimension, row-major or in another `order`. A view where they lie so, as NumPy's."""
    source = self if order == "C" else _as_ordered("ravel", self, order)
    flags = getattr(raw_array(source), "flags", None)  # NumPy's and CuPy's: gaps and negative strides make it a copy
    copy = True if flags is not None and not flags.c_contiguous else None
    return shape_op(_RESHAPE, (source, (-1,), copy))


def flatten(self, order="C"):
    """A copy of the elements in one dimension, row-major or in another `order`."""
    source = self if order == "C" else _as_ordered("flatten", self, order)
    return shape_op(_RESHAPE, (source, (-1,), True))


def squeeze(self, axis=None):
    """Without axes of length 1: those in `axis`, or all of them."""
    if axis is None:
        axis = tuple([i for i, n in enumerate(self.shape) if n == 1])
    return shape_op(_SQUEEZE, (self, axis))


def transpose(self, *axes):
    """Axes in another order: transpose() reverses them, transpose(1, 0) and transpose((1, 0)) name it."""
    if len(axes) == 1 and (axes[0] is None or not _is_index(axes[0])):
        axes = () if axes[0] is None else tuple(axes[0])
    axes = tuple([a if type(a) is int else _place(a) for a in axes]) or tuple(range(self.ndim))[::-1]
    return shape_op(_PERMUTE_DIMS, (self, axes))


def swapaxes(self, axis1, axis2):
    """Axes `axis1` and `axis2` exchanged."""
    if self.ndim == 2 and type(axis1) is int and type(axis2) is int and -2 <= axis1 < 2 and -2 <= axis2 < 2:
        return self.T if (axis1 + axis2) % 2 else shape_op(_PERMUTE_DIMS, (self, (0, 1)))
    axes = list(range(self.ndim))
    a, b = _axis("swapaxes", self, axis1), _axis("swapaxes", self, axis2)
    axes[a], axes[b] = axes[b], axes[a]
    return shape_op(_PERMUTE_DIMS, (self, tuple(axes)))


def repeat(self, repeats, axis=None):
    """Each element `repeats` times along `axis` (None: of the flattened tensor)."""
    return _function("repeat")(self, repeats, axis=axis)


def diagonal(self, offset=0, axis1=0, axis2=1):
    """The diagonal of the matrices that axes `axis1` and `axis2` span, as the last axis."""
    matrices = self if axis1 == 0 and axis2 == 1 and self.ndim == 2 else _matrices("diagonal", self, axis1, axis2)
    return shape_op(_DIAGONAL, (matrices, offset))


def trace(self, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Sum along the diagonal of the matrices that axes `axis1` and `axis2` span."""
    if out is not None:
        return numpy.trace(self, offset, axis1, axis2, dtype, out=out)
    return apply_op(_TRACE, (_matrices("trace", self, axis1, axis2), offset, dtype))


# -- indexing, sorting, products ---------------------------------------------------------------------------------------


def take(self, indices, axis=None, out=None, mode="raise"):
    """Elements at `indices` along `axis` (None: of the flattened tensor); indices may have any number of dimensions.

    `mode` says what becomes of indices beyond the ends: "raise", "wrap" or "clip".
    """
    if out is not None or mode != "raise":
        return numpy.take(self, indices, axis, out=out, mode=mode)
    if axis in (0, -1) and self.ndim == 0:  # as NumPy, which takes it for one element
        axis = None
    source = self if axis is not None or self.ndim == 1 else ravel(self)
    axis = 0 if axis is None else _axis("take", self, _place(axis))
    kind = type(indices)
    if kind is numpy.ndarray and indices.ndim == 1 and indices.dtype.char in "lq":
        return apply_op(_TAKE, (source, indices, axis))
    if kind is list or kind is tuple:
        indices = _whole(indices)
    elif kind is range:
        indices = numpy.asarray(indices, numpy.intp)
    else:
        raw = raw_array(indices) if kind is Tensor else indices
        if kind is bool or (isinstance(raw, numpy.ndarray | numpy.generic) and raw.dtype.char == "?"):
            indices = numpy.asarray(raw, numpy.intp)  # numbers, as NumPy takes them
    indices = to_tensor(indices, backend_of(self))
    if indices.ndim > 1 and type(raw_array(self)) is numpy.ndarray:  # the standard has one dimension
        return apply_op(_TAKE, (source, indices, axis))
    picked = apply_op(_TAKE, (source, shape_op(_RESHAPE, (indices, (-1,), None)), axis))
    if indices.ndim == 1:
        return picked
    if not indices.ndim and picked.ndim == 1:
        return picked[0]  # a scalar, as NumPy gives
    return shape_op(_RESHAPE, (picked, (*source.shape[:axis], *indices.shape, *source.shape[axis + 1 :]), None))


def argsort(self, axis=-1, kind=None, order=None, *, stable=None):
    """Indices that sort along `axis` (None: the flattened tensor), ascending and stable, whatever `kind` says."""
    if kind is not None or order is not None or stable is not None:
        numpy.argsort((), kind=kind, order=order, stable=stable)  # raises NumPy's errors for kinds that are none
    source = ravel(self) if axis is None else self
    return _function("argsort")(source, axis=-1 if axis is None else axis)


def nonzero(self):
    """Tuple of index tensors of the elements that are not zero, one per axis."""
    return tuple(_function("nonzero")(self))


def dot(self, b, out=None):
    """The product as numpy.dot has it.

    With a scalar elementwise, of vectors the inner product, of matrices the matrix product; otherwise over the last
    axis of self and the last but one of `b`.
    """
    if out is not None:
        return numpy.dot(self, b, out=out)
    if hasattr(type(b), "_arraygrad_base"):  # of a class derived from arrays: the result has its class
        return b.__array_function__(numpy.dot, (), (self, b), {})
    other = b if isinstance(b, Tensor) else to_tensor(b, backend_of(self))
    if self.ndim == 0 or other.ndim == 0:
        return self * other
    return self @ other if self.ndim <= 2 and other.ndim <= 2 else numpy.dot(self, other)


def fill(self, value):
    """Write `value` to every element, in place. Of a scalar nothing is written, as in NumPy."""
    if self.ndim or not is_scalar(self) or not isinstance(raw_array(self), numpy.ndarray):
        self[...] = value


# -- helpers -----------------------------------------------------------------------------------------------------------


def is_inference(self):
    """Whether this tensor was made in `arraygrad.inference_mode()`: it can't be saved for backward."""
    return _is_inference(self)


def _correction(name, ddof, correction):
    if correction is None:
        return ddof
    if ddof:
        raise TypeError(f"{name}() got both ddof and correction, which mean the same: give one of them")
    return correction


def _cumulative(op, t, axis, dtype):
    if axis is None:
        t, axis = t if t.ndim == 1 else ravel(t), 0
    axis = _place(axis)
    return apply_op(op, (_cast_first(t, dtype), axis, dtype, False))


def _place(axis):
    """An axis as an int. TypeError, as NumPy's, for a truth value."""
    if isinstance(axis, bool | numpy.bool):
        raise TypeError("an integer is required for the axis")
    return operator.index(axis)


def _whole(indices):
    """A list of indices as NumPy takes it: of plain numbers, which are truncated."""
    try:
        return numpy.asarray(indices, numpy.intp)
    except (TypeError, ValueError):  # it holds Tensors
        return indices


def _column_major(name, t, order):
    if order is None:
        order = "C"
    if not isinstance(order, str):
        raise TypeError(f"{name}(): order must be str, not {type(order).__name__}")
    order = order.upper()
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"{name}(): order must be 'C', 'F', 'A' or 'K', got {order!r}")
    if order == "K" and name == "reshape":
        raise ValueError("reshape(): order 'K' is not permitted for reshaping")
    flags = getattr(raw_array(t), "flags", None)
    return order == "F" or (order != "C" and bool(getattr(flags, "fnc", False)))


def _as_ordered(name, t, order):
    """`t` with its axes in such an order that reading it row by row is reading it in `order`."""
    if _column_major(name, t, order):
        return transpose(t)
    strides = getattr(raw_array(t), "strides", None)
    if order != "K" or strides is None or callable(strides):
        return t
    axes = sorted(range(t.ndim), key=lambda i: -abs(strides[i]))  # as they lie in memory
    return transpose(t, axes) if axes != list(range(t.ndim)) else t


def _is_index(value):
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _axis(name, t, axis):
    position = operator.index(axis)
    if not -t.ndim <= position < t.ndim:
        raise numpy.exceptions.AxisError(f"{name}(): axis {axis} is out of bounds for a tensor of {t.ndim} dimensions")
    return position % t.ndim


def _matrices(name, t, axis1, axis2):
    """`t` with axes axis1 and axis2 moved to the end."""
    a, b = _axis(name, t, axis1), _axis(name, t, axis2)
    if a == b:
        raise ValueError(f"{name}(): axis1 and axis2 must differ, both are axis {a}")
    axes = tuple([i for i in range(t.ndim) if i not in (a, b)]) + (a, b)
    return t if axes == tuple(range(t.ndim)) else shape_op(_PERMUTE_DIMS, (t, axes))


@functools.cache
def _function(name):
    """The public function of an operation that a method calls with keywords, made when it is first called."""
    return function_for(OPS[name], __name__)


METHODS = {
    f.__name__: f
    for f in (
        sum,
        prod,
        mean,
        max,
        min,
        var,
        std,
        any,
        all,
        argmax,
        argmin,
        cumsum,
        cumprod,
        clip,
        round,
        conj,
        reshape,
        ravel,
        flatten,
        squeeze,
        transpose,
        swapaxes,
        repeat,
        diagonal,
        trace,
        take,
        argsort,
        nonzero,
        dot,
        fill,
        is_inference,
    )
}
METHODS["conjugate"] = conj
METHODS.update(MORE)


def install():
    """Put the methods into Tensor's type: those above, and every table entry that says it is a method too."""
    from_table = {}
    for op in OPS.values():
        if op.entry.method:
            name = op.entry.method if isinstance(op.entry.method, str) else op.name
            if name not in METHODS and not hasattr(Tensor, name):
                from_table[name] = function_for(op, Tensor.__module__)
    for name, function in METHODS.items():
        if not isinstance(function, property) and name == function.__name__:
            function.__qualname__ = f"Tensor.{name}"
            function.__module__ = Tensor.__module__
    install_methods({**from_table, **METHODS})
    install_hints({name: Hint(name) for name in HINTED})
    MADE_BY[Tensor] = (
        "use arraygrad.tensor(data) for a new leaf, and in a function that is differentiated arraygrad.asarray(data), "
        "which is recorded"
    )
    public = {name: member for name, member in vars(Tensor).items() if not name.startswith("_")}
    for member, name in {member: name for name, member in public.items()}.items():  # conj has two names
        document(member, documented(f"Tensor.{name}", member.__doc__, "numpy_api"))
    allow_attributes(Tensor)
