"""NumPy's ufuncs that are several table operations, and what all ufuncs share: where=, dtype= and the methods.

May import: numpy_api.functions, numpy_api.reductions, ops, core.decisions, core.tensor, numpy.

`where=` keeps the elements that are not chosen out of the derivative as well: they are replaced by one before the
ufunc sees them, so `numpy.log(x, out=zeros, where=x > 0)` has a finite gradient. `reduce`, `accumulate` and `reduceat`
use the table's reductions where there is one (add, multiply, maximum, minimum, logical_and, logical_or, logaddexp) and
apply the ufunc element by element along the axis otherwise; `reduceat` and `accumulate` of everyday ufuncs are one
operation on NumPy's arrays. `at` is exact where indices repeat.
"""

import math
import re

import numpy

from arraygrad.core.decisions import note_decision
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.inplace import add_at
from arraygrad.core.tensor import Tensor, apply_op, backend_of
from arraygrad.namespaces.bind import function_for
from arraygrad.numpy_api.functions import (
    F,
    axes_of,
    beside,
    core_axes,
    host,
    host_key,
    not_written,
    operands,
    tensor_of,
    tensors,
    with_bits,
)
from arraygrad.numpy_api.reductions import begun, masked
from arraygrad.ops import OPS
from arraygrad.ops._axes import at_axis, no_truth_values
from arraygrad.ops.kinds import folding

__all__ = ["METHODS", "UFUNCS", "call", "over_axes"]

# ufunc -> function over an axis, for its methods reduce and accumulate
_REDUCE, _ACCUMULATE = folding("reduction"), folding("scan")
# Ufuncs whose reduction depends on the order. Elements are operands on the right; of some ufuncs one changes nothing.
_RIGHT_NEUTRAL = {"subtract": 0, "divide": 1, "power": 1, "float_power": 1}
_IN_ORDER = frozenset("floor_divide remainder fmod copysign nextafter arctan2 heaviside ldexp".split()).union(
    _RIGHT_NEUTRAL
)
_NoValue = numpy._NoValue


# -- ufuncs that are several operations --------------------------------------------------------------------------------


def _floating(*operands):
    return any(backend_of(x).xp.isdtype(x.dtype, "real floating") for x in operands)


def _heaviside(x1, x2):
    x1, x2 = operands(x1, x2)
    numpy.heaviside(*[numpy.empty(0, host(x).dtype) for x in (x1, x2)])  # NumPy's error for complex numbers
    if not _floating(x1):
        x1 = x1.astype(F["result_type"](x1, x2) if _floating(x2) else backend_of(x1).xp.float64)
    found = F["where"](x1 == 0, x2, (F["sign"](x1) + 1) / 2)
    note_decision(x1, host(x1))
    return found


def _modf(x):
    x = tensor_of(x)
    whole = F["trunc"](x)
    fraction = F["where"](F["isinf"](x), F["copysign"](0.0, x.detach()), x - F["where"](F["isinf"](x), 0.0, whole))
    return fraction, whole


def _ldexp(x1, x2):
    x1, x2 = tensors(x1, x2)
    if not backend_of(x1).xp.isdtype(x1.dtype, "real floating"):
        x1 = x1.astype(backend_of(x1).xp.float64)
    dtype = host(x1).dtype
    exponent = host(x2)
    numpy.ldexp(numpy.zeros((), dtype), numpy.zeros((), exponent.dtype))  # raises NumPy's error for exponents of floats
    limits, exponent = numpy.finfo(dtype), exponent.astype(numpy.int64)
    # 2**x2 may have no number of this dtype where the result has one. What is beyond comes first, so that the
    # product that rounds is the last one.
    factors = []
    for _ in range(3):
        part = numpy.clip(exponent, limits.minexp, limits.maxexp - 1)
        factors.append(numpy.ldexp(numpy.ones((), dtype=dtype), part))
        exponent = exponent - part
        if not exponent.any():
            break
    for factor in reversed(factors):
        x1 = x1 * beside(factor, x1)
    return x1


def _frexp(x):
    x = tensor_of(x)
    exponent = beside(numpy.frexp(host(x))[1], x)
    return _ldexp(x, -exponent), exponent


def _spacing(x):
    x = tensor_of(x)
    return beside(numpy.spacing(host(x)), x) + F["sign"](x) * 0


def _divmod(x1, x2):
    return F["floor_divide"](x1, x2), F["remainder"](x1, x2)


def _constant(name):
    """An integer or boolean ufunc without a derivative, computed by NumPy."""
    ufunc = getattr(numpy, name)

    def constant(*inputs):
        like = next(x for x in inputs if isinstance(x, Tensor))
        return beside(ufunc(*[host(x) for x in inputs]), like)

    return constant


# name of a numpy ufunc -> function of Tensors
UFUNCS = {
    "divmod": _divmod,
    "frexp": _frexp,
    "heaviside": _heaviside,
    "ldexp": _ldexp,
    "modf": _modf,
    "rint": lambda x: F["round"](x),
    "spacing": _spacing,
    **{name: _constant(name) for name in ("gcd", "lcm", "bitwise_count") if hasattr(numpy, name)},
}


def _at_least_double(x):
    xp = backend_of(x).xp
    floating = xp.isdtype(x.dtype, ("real floating", "complex floating"))
    return x.astype(F["result_type"](x, xp.float64) if floating else xp.float64)


# -- where= and dtype= -------------------------------------------------------------------------------------------------


def call(function, inputs, dtype=None, where=True, out=None):
    """function(*inputs) in `dtype`; where `where` is false the elements are those of `out` (zero without it)."""
    if dtype is not None:
        inputs = [x.astype(dtype) if isinstance(x, Tensor) else host(x).astype(dtype) for x in tensors(*inputs)]
    if where is True:
        return function(*inputs)
    inputs = operands(*inputs)
    mask = tensors(where, *inputs)[0]
    # A one is in the domain of every ufunc but for arctanh's and the like, whose derivative there is not used either:
    # what is not chosen gets a zero at 1/2.
    safe = [F["where"](mask, x, _harmless(x)) for x in inputs]
    result = function(*safe)
    return tuple([_chosen(mask, r, out) for r in result]) if isinstance(result, tuple) else _chosen(mask, result, out)


def _harmless(x):
    xp = backend_of(x).xp
    if xp.isdtype(x.dtype, "bool"):
        return True
    return 1 if xp.isdtype(x.dtype, "integral") else 0.5


def _chosen(mask, result, out):
    if out is not None:
        return F["where"](mask, result, out)
    return F["where"](mask, result, F["zeros_like"](result.detach()))


# -- generalised ufuncs ------------------------------------------------------------------------------------------------


def over_axes(ufunc, function, axes=None, axis=None, keepdims=None):
    """`function`, that of a generalised ufunc, of arrays whose core axes stand where `axes` or `axis` say.

    NumPy's errors for axes that are none, of the call on arrays of the same numbers of dimensions.
    """

    def moved(*inputs):
        inputs = tensors(*inputs)
        options = {"axes": axes, "axis": axis, "keepdims": keepdims}
        probes = [numpy.empty([min(n, 1) for n in x.shape]) for x in inputs]
        ufunc(*probes, **{key: value for key, value in options.items() if value is not None})
        *taken, made = _core_counts(ufunc.signature, [x.ndim for x in inputs])
        made = taken[0] if keepdims else made  # the axes of the inputs stay, of length one
        places = [(axis,) * n for n in (*taken, made)] if axis is not None else list(axes or ())
        if not places:
            places = [tuple(range(-n, 0)) for n in taken]
        places = [tuple(p) if isinstance(p, tuple | list) else (p,) for p in places]
        places += [tuple(range(-made, 0))] * (len(inputs) + 1 - len(places))
        ends = [tuple(range(-len(p), 0)) for p in places]
        parts = zip(inputs, places, ends, strict=False)
        result = function(*[F["moveaxis"](x, _own(x, place), end) for x, place, end in parts])
        if keepdims:
            result = result[(..., *[None] * made)]
        return F["moveaxis"](result, ends[-1], _own(result, places[-1]))

    return moved


def _own(x, axes):
    """Core axes of an operand, from its end."""
    return tuple([core_axes("own", axis, x)[0] for axis in axes])


def _core_counts(signature, ndims):
    """How many core axes each operand of a signature, "(n?,k),(k,m?)->(n?,m?)", has, and the result."""
    *taken, made = [re.findall(r"[\w?]+", part) for part in re.findall(r"\(([^)]*)\)", signature)]
    left_out = {
        name for names, ndim in zip(taken, ndims, strict=True) if ndim < len(names) for name in names if name[-1] == "?"
    }
    return [len([name for name in names if name not in left_out]) for names in (*taken, made)]


# -- methods -----------------------------------------------------------------------------------------------------------


_ROUNDED = ("add", "multiply", "hypot", "logaddexp", "logaddexp2")  # the last bits depend on where a fold begins


def _reduce(ufunc, function, x, axis=0, dtype=None, keepdims=False, initial=_NoValue, where=True):
    no_truth_values(axis)
    x = tensors(x, where)[0] if where is not True else tensor_of(x)
    given, chosen = x, where
    if where is not True:
        name = ufunc.__name__
        if name in _IN_ORDER:
            neutral = _RIGHT_NEUTRAL.get(name)
            if neutral is None:
                raise TypeError(f"numpy.{name}.reduce: where= is not supported for Tensors: choose the elements first")
        else:
            neutral = ufunc.identity if ufunc.identity is not None else (None if initial is _NoValue else initial)
        if neutral is None or (name in _IN_ORDER and (initial is _NoValue or initial is None)):
            raise ValueError(
                f"numpy.{ufunc.__name__}.reduce: where= needs initial=, as {ufunc.__name__} has no neutral element"
            )
        # A recorded `initial` stays one: of what ties with it, its own share must not be lost.
        fill = neutral if isinstance(neutral, Tensor) else _fitting(neutral, x)
        x = masked(f"{ufunc.__name__}.reduce", x, where, fill)
    if not x.size and ufunc.__name__ not in ("add", "multiply"):
        axes = range(x.ndim) if axis is None else axes_of(axis, x.ndim)
        if not all(x.shape[i] for i in axes):
            return _of_nothing(ufunc, x, axis, dtype, keepdims, initial)
    begins = initial is not _NoValue and initial is not None
    if begins and ufunc.__name__ in _IN_ORDER and axis != ():
        keepdims = keepdims and x.ndim > 0
        x, begins = _behind(ufunc.__name__, initial, x, axis), False
    result = _reduced(ufunc.__name__, function, x, axis, dtype, keepdims)
    if begins:
        result = begun(f"{ufunc.__name__}.reduce", lambda last, first: function(first, last), result, initial)
    if begins and chosen is not True and ufunc.__name__ not in ("add", "multiply"):
        result = _begun_alone(result, initial, given, chosen, axis, keepdims)
    if ufunc.__name__ in _ROUNDED and (begins or (ufunc.__name__ in ("add", "multiply") and chosen is not True)):
        options = ({} if chosen is True else {"where": host(chosen)}) | ({"initial": host(initial)} if begins else {})
        with numpy.errstate(all="ignore"):  # the composition has said it
            values = numpy.asarray(ufunc.reduce(host(given), axis, dtype, None, keepdims, **options))
        return with_bits(result, values) if values.dtype == result.dtype else result
    if begins:
        return result
    # NumPy begins with the neutral element 0, which takes the sign from an element that is alone.
    result = F["abs"](result) if ufunc.__name__ == "hypot" and result.size == x.size else result
    if ufunc.__name__ not in _REDUCE and ufunc.__name__ != "subtract":
        begin = () if initial is _NoValue else (None if initial is None else host(initial),)
        options = {} if chosen is True else {"where": host(chosen)}
        return _as_numpys(ufunc, "reduce", result, (given, axis, dtype, None, keepdims, *begin), options)
    return result


def _begun_alone(result, initial, x, chosen, axis, keepdims):
    """`result` with `initial` itself where none of the elements is chosen, which numpy.hypot.reduce keeps negative."""
    some = numpy.any(numpy.broadcast_to(host(chosen), x.shape), axis=axis, keepdims=keepdims)
    if some.all():
        return result
    return F["where"](beside(some, result), result, tensors(initial, result)[0].astype(result.dtype))


def _behind(name, initial, x, axis):
    """`x` with `initial` before its elements along `axis`."""
    if x.ndim == 0:
        x, axis = x[None], 0
    axes = range(x.ndim) if axis is None else axes_of(axis, x.ndim)
    _check_order(name, axes)
    (axis,) = axes
    first = tensors(initial, x)[0].astype(x.dtype)
    return F["concat"]([F["broadcast_to"](first, (*x.shape[:axis], 1, *x.shape[axis + 1 :])), x], axis=axis)


def _of_nothing(ufunc, x, axis, dtype, keepdims, initial):
    """A reduction of no elements: the neutral element, or `initial`. NumPy says which there is, or raises its error."""
    begin = () if initial is _NoValue else (None if initial is None else host(initial),)
    values = beside(ufunc.reduce(host(x), axis, dtype, None, keepdims, *begin), x)
    if isinstance(initial, Tensor):
        values = F["broadcast_to"](initial.astype(values.dtype), values.shape)
    if not backend_of(x).xp.isdtype(x.dtype, ("real floating", "complex floating")) or values.dtype != x.dtype:
        return values
    return F["where"](beside(numpy.ones(values.shape, bool), x), values, x.sum(axis=axis, keepdims=keepdims))


def _fitting(value, x):
    """A neutral element as a Python scalar that keeps the dtype of `x`."""
    xp = backend_of(x).xp
    if xp.isdtype(x.dtype, "bool"):
        return bool(value)
    return (
        float(value)
        if xp.isdtype(x.dtype, ("real floating", "complex floating")) and not isinstance(value, complex)
        else value
    )


def _reduced(name, function, x, axis, dtype, keepdims):
    if name in ("add", "multiply"):
        return getattr(x, _REDUCE[name])(axis=axis, dtype=dtype, keepdims=keepdims)
    if dtype is not None and name not in ("logical_and", "logical_or"):
        x = x.astype(dtype)
    if name in _REDUCE:
        return F[_REDUCE[name]](x, axis=axis, keepdims=keepdims)
    if x.ndim == 0:
        _check_axis_of_scalar(axis)
        x, axis = x[None], 0
        keepdims = False
    axes = tuple(range(x.ndim)) if axis is None else axes_of(axis, x.ndim)
    _check_order(name, axes)
    if name == "subtract" and axes:
        found = _segmented(name, x, numpy.zeros(1, numpy.int64), axes[0])
        if found is not None:
            return found if keepdims else F["squeeze"](found, axis=axes[0])
    result = x
    for axis in sorted(axes, reverse=True):
        result = _folded(name, function, result, axis)[-1]
    return result.reshape([1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else result


def _check_order(name, axes):
    """NumPy's error for several axes of a ufunc whose order counts."""
    if len(axes) > 1 and name in _IN_ORDER:
        raise ValueError(
            f"reduction operation {name!r} is not reorderable, so at most one axis may be specified; reduce them one "
            "by one"
        )


def _folded(name, function, x, axis):
    """The results of applying a ufunc of two operands to the first, second, ... element along an axis."""
    parts = F["unstack"](x, axis=axis)
    if not parts:
        raise ValueError(f"numpy.{name}: zero-size array to an operation which has no identity")
    results = [parts[0]]
    for part in parts[1:]:
        results.append(function(results[-1], part))
    if name == "float_power":  # which has a wider result, where there is nothing to combine too
        results = [_at_least_double(part) for part in results]
    return results


def _accumulate(ufunc, function, x, axis=0, dtype=None):
    x = tensor_of(x)
    name = ufunc.__name__
    axis = _one_axis("accumulate", axis, x)
    if name in _ACCUMULATE:
        return function_for(OPS[_ACCUMULATE[name]], __name__)(x, axis=axis, dtype=dtype)
    x = x if dtype is None else x.astype(dtype)
    if not x.size:
        return function(x, x)
    if name in ("maximum", "minimum", "logaddexp") and _plain(x, "fd"):
        return apply_op(OPS["_running_folds"], (x, name, axis))
    if name == "subtract" and _plain(x, "fdFD"):
        return apply_op(OPS["_running_differences"], (x, axis))
    results = _folded(name, function, x, axis)
    results[0] = results[0].astype(results[-1].dtype)
    return _as_numpys(ufunc, "accumulate", F["stack"](results, axis=axis), (x, axis, dtype))


def _as_numpys(ufunc, method, found, arguments, options=None):
    """`found`, a fold of the elements in order, with the bits of NumPy's.

    Some of NumPy's vector loops (power, arctan2) compute several elements at a time though each needs the result
    before: elements are left out, depending on the processor and the layout. Such a value has no gradient here.
    """
    x, *rest = arguments
    if type(raw_array(x)) is not numpy.ndarray:
        return found
    with numpy.errstate(all="ignore"):
        values = numpy.asarray(getattr(ufunc, method)(raw_array(x), *rest, **(options or {})))
    ours = host(found)
    if values.shape != ours.shape or values.dtype != ours.dtype or values.dtype.kind not in "fc":
        return found
    with numpy.errstate(all="ignore"):
        # Rounding makes less, an element that is left out makes more.
        near = numpy.abs(values - ours) <= 4.0 * numpy.sqrt(numpy.finfo(values.dtype).eps) * numpy.abs(ours)
    same = near | (values == ours) | (numpy.isnan(values) & numpy.isnan(ours))
    if not same.all():
        if not found.requires_grad:
            return beside(values, found)
        name = ufunc.__name__
        raise TypeError(
            f"numpy.{name}.{method}: NumPy's loop leaves out elements here, so that its value is not the fold of all "
            f"and has no derivative in each of them: use functools.reduce(numpy.{name}, ...) over the elements"
        )
    return with_bits(found, values)


def _check_axis_of_scalar(axis):
    """NumPy's errors for axes of an array without axes, of which it takes 0, -1 and none."""
    if axis is not None and not (type(axis) is int and axis in (0, -1)):
        axes_of(axis, 0)


def _one_axis(name, axis, x):
    """The axis of a method that takes one; NumPy's error for several, and for those of an array without axes."""
    no_truth_values(axis)
    if not x.ndim:
        _check_axis_of_scalar(axis)
        raise TypeError(f"cannot {name} on a scalar")
    axes = tuple(range(x.ndim)) if axis is None else axes_of(axis, x.ndim)
    if len(axes) != 1:
        raise ValueError(f"{name} does not allow multiple axes")
    return axes[0]


def _reduceat(ufunc, function, x, indices, axis=0, dtype=None):
    x = tensor_of(x)
    axis = _one_axis("reduceat", axis, x)
    is_array = hasattr(indices, "dtype")
    indices = host(indices)
    found = _segmented(ufunc.__name__, x if dtype is None else x.astype(dtype), indices, axis)
    if found is not None:
        return found
    _check_places(ufunc.__name__, indices, x.shape[axis], is_array)
    if not indices.size:
        piece = x[at_axis(axis, slice(0))]
        return piece if dtype is None else piece.astype(dtype)
    parts = []
    for i, start in enumerate(indices):
        stop = indices[i + 1] if i + 1 < len(indices) else x.shape[axis]
        piece = x[at_axis(axis, slice(int(start), max(int(stop), int(start) + 1)))]
        parts.append(_reduced(ufunc.__name__, function, piece, axis, dtype, False))
    found = F["stack"](parts, axis=axis)
    if not found.requires_grad:
        return found
    return _as_numpys(ufunc, "reduceat", found, (x, indices.astype(numpy.intp), axis, dtype))


def _check_places(name, indices, n, is_array):
    """NumPy's errors for places that `reduceat` does not take. Lists of real numbers are truncated, arrays are not."""
    if indices.ndim != 1:
        raise ValueError(f"{name}.reduceat: expected a vector of indices, but got {indices.ndim} dimensions")
    if is_array and not numpy.can_cast(indices.dtype, numpy.intp, "safe"):
        raise TypeError(f"Cannot cast array data from {indices.dtype!r} to {numpy.dtype(numpy.intp)!r} safely")
    beyond = indices[(indices < 0) | (indices >= n)]
    if beyond.size:
        raise IndexError(f"index {beyond[0]} out-of-bounds in {name}.reduceat [0, {n})")


def _plain(x, dtypes):
    """Whether `x` is a Tensor over an array of NumPy's of one of these dtypes."""
    raw = raw_array(x)
    return type(raw) is numpy.ndarray and raw.dtype.isnative and raw.dtype.char in dtypes


def _segmented(name, x, indices, axis):
    """ufunc.reduceat in one step; None where it is composed: other libraries, and places that do not increase."""
    is_sum = name in ("add", "subtract")
    if not is_sum and name not in ("maximum", "minimum", "multiply", "logaddexp"):
        return None
    if not _plain(x, "fdFD" if is_sum else "fd"):
        return None
    if type(indices) is not numpy.ndarray or indices.ndim != 1 or indices.dtype.kind not in "iu" or not indices.size:
        return None
    starts = numpy.array(indices, numpy.int64)
    if starts[0] < 0 or starts[-1] >= x.shape[axis] or (starts[1:] <= starts[:-1]).any():
        return None
    if is_sum:
        return apply_op(OPS["_segment_sums"], (x, name, starts, axis))
    if not _divides(name, raw_array(x), indices, axis):
        return None
    return apply_op(OPS["_segment_folds"], (x, name, starts, axis))


def _divides(name, raw, indices, axis):
    """Whether a rule with differences (logaddexp) or quotients (multiply) serves the numbers of an array."""
    if name not in ("multiply", "logaddexp"):
        return True
    if not numpy.isfinite(raw).all():
        return False
    if name == "logaddexp":
        return True
    smallest = numpy.finfo(raw.dtype).tiny
    with numpy.errstate(all="ignore"):
        result = numpy.abs(numpy.multiply.reduceat(raw, indices, axis))
    return bool((numpy.abs(raw) >= smallest).all() and (result >= smallest).all() and numpy.isfinite(result).all())


def _outer(ufunc, function, a, b, dtype=None):
    a, b = tensors(a, b)
    return call(function, (a.reshape(a.shape + (1,) * b.ndim), b), dtype)


def _at(ufunc, function, a, indices, b=None):
    """ufunc.at: in place, once for every time an element is named. Returns None."""
    name = ufunc.__name__
    if not isinstance(a, Tensor):
        raise not_written(f"numpy.{name}.at", a)
    key = host_key(indices)
    kind = type(raw_array(a))  # no reference to the array is kept: a write asks who holds it
    b = b if b is None else tensors(b, a)[0]
    sums = b is not None and name in ("add", "subtract") and b.dtype == a.dtype
    if sums and issubclass(kind, numpy.ndarray) and add_at(a, key, b if name == "add" else -b):
        return
    values = None
    if kind is numpy.ndarray:  # NumPy's own, as its loops over places round otherwise than those over arrays
        values = raw_array(a).astype(a.dtype)
        ufunc.at(values, key, *(() if b is None else (host(b),)))
    positions = numpy.arange(a.size).reshape(a.shape)[key]
    if b is not None:
        b = F["broadcast_to"](b, positions.shape)
    if sums:
        added = _scattered(b, positions, a.shape)
        result = a + added if name == "add" else a - added
        a[...] = result if values is None else with_bits(result, values)
        return
    # Round by round: the first time each element is named, then the second, ...
    order = positions.reshape(-1)
    turn = numpy.zeros(order.size, dtype=numpy.int64)
    seen = {}
    for i, position in enumerate(order.tolist()):
        turn[i] = seen[position] = seen.get(position, -1) + 1
    flat, given = a.reshape(-1, copy=True), None if b is None else b.reshape(-1)
    for round_ in range(int(turn.max()) + 1 if turn.size else 0):
        (now,) = (turn == round_).nonzero()
        chosen = beside(order[now], a)
        old = flat[chosen]
        flat[chosen] = function(old) if given is None else function(old, given[beside(now, a)])
    result = flat.reshape(a.shape)
    a[...] = result if values is None else with_bits(result, values)


def _scattered(values, positions, shape):
    """Zeros of `shape` with `values` added at flat positions."""
    adjoint = function_for(OPS["_getitem_adjoint"], __name__)
    flat = adjoint(values.reshape(-1), (math.prod(shape),), beside(positions.reshape(-1), values))
    return flat.reshape(shape)


METHODS = {"reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat, "outer": _outer, "at": _at}
