"""How axes are counted, and what keys and shapes follow from them: for the table, NumPy's functions and SciPy's.

May import: the standard library only.

Core axes have one normal form: negative, counted from the end of the operand. Axes that broadcasting puts in front do
not change such a number, so rules can use it for operands of other numbers of dimensions. Keys and shapes of one array
are made with axes from its start. Where a function has several operands, a code says by which of them axes are counted.
"""

import math
import operator

__all__ = [
    "CODES", "along", "at_axis", "check_axes", "count", "counted_by", "expand_reduced", "from_end", "from_start",
    "keepdims_shape", "lengths", "no_truth_values", "normalize_axes", "not_enlarged", "positions",
]  # fmt: skip


# Code -> by what an axis is counted.
CODES = {
    "own": "each operand's number of dimensions; the rest broadcasts (`vecdot`, `cross`, ufuncs with `axes=`)",
    "equal": "either operand's: the numbers must agree (`take_along_axis`, `concat`, `append`, `diff` with ends)",
    "first": "the first operand's; the others must fit it (`take`, `compress`, weights, `where=`, `gradient`)",
    "joint": "the shape that all broadcast to (`logsumexp(b=)`, SciPy's `trapezoid`)",
    "ones": "as joint, but an operand that lacks the axis has length one there (`scipy.stats`)",
    "raw": "whatever each step of a composition gets (`numpy.trapezoid`, `var(mean=)`)",
    "result": "the result's number of dimensions (`stack`, `expand_dims`, `linspace` and its kin)",
}


def lengths(shape):
    """A shape or a number of repetitions as a tuple: NumPy takes one length for it, whatever has `__index__`."""
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(shape)


def no_truth_values(numbers):
    """NumPy's error for one among axes or lengths, of which some of its functions take no truth value for an int."""
    if bool in [type(number) for number in (numbers if isinstance(numbers, (list, tuple)) else (numbers,))]:
        raise TypeError("an integer is required")


def counted_by(code, *ndims):
    """The number of dimensions by which each operand counts an axis. `result` is given that of the result alone."""
    if code in ("own", "raw", "result"):
        return ndims
    if code == "equal":
        if len(set(ndims)) > 1:
            raise ValueError(f"operands must have the same number of dimensions, got {', '.join(map(str, ndims))}")
        return ndims
    if code == "first":
        return ndims[:1]
    if code in ("joint", "ones"):
        return (max(ndims),) * len(ndims)
    raise ValueError(f"{code!r} counts no axis, expected one of {', '.join(CODES)}")


def from_end(axis, ndim):
    """`axis` of an operand of `ndim` dimensions, counted from its end: -ndim to -1. IndexError for one that is none."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis if axis < 0 else axis - ndim


def from_start(axis, ndim):
    """`axis`, which an operand of `ndim` dimensions has, counted from its start; None is the one of a vector."""
    axis = 0 if axis is None else operator.index(axis)
    return axis + ndim if axis < 0 else axis


def normalize_axes(axis, ndim):
    """`axis` (None, an int or a sequence of ints) as a tuple of axes counted from the start; None means every axis.

    Axes that an array of `ndim` dimensions does not have stay so: the library that gets them raises its error.
    """
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)) and not getattr(axis, "ndim", 0):
        axis = (axis,)
    return tuple([from_start(i, ndim) for i in axis])


def check_axes(name, axis, ndim):
    """Raises IndexError, naming the operation, for an axis that an array of `ndim` dimensions does not have.

    For operations whose library answers with "tuple index out of range", or not at all.
    """
    for a in axis if isinstance(axis, (tuple, list)) or getattr(axis, "ndim", 0) else (axis,):
        try:
            if a is not None:
                from_end(a, ndim)
        except IndexError as error:
            raise IndexError(f"{name}: {error}") from None


def count(shape, axis):
    """How many elements a reduction of `shape` over `axis` joins into one."""
    return math.prod(shape[a] for a in normalize_axes(axis, len(shape)))


def keepdims_shape(shape, axis):
    """`shape` with a one in the place of each axis in `axis`."""
    axes = normalize_axes(axis, len(shape))
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def expand_reduced(xp, a, shape, axis, keepdims):
    """A reduction's result (or its gradient) `a` with the reduced axes of `shape` back, each of length one."""
    return a if keepdims else xp.reshape(a, keepdims_shape(shape, axis))


def along(n, axis, ndim):
    """The shape of a vector of `n` elements along one of `ndim` axes, the others of length one."""
    axis = from_start(axis, ndim)
    return (1,) * axis + (n,) + (1,) * (ndim - axis - 1)


def at_axis(axis, part):
    """The key that takes `part` (a slice) of an axis counted from the start, and everything of all others."""
    return (slice(None),) * axis + (part, ...)


def positions(code, axis, *ndims):
    """The core position of `axis` in each operand that it is counted by, from the end."""
    return tuple([from_end(axis, ndim) for ndim in counted_by(code, *ndims)])


def not_enlarged(name, what, shape, other):
    """ValueError if broadcasting with `other` makes `shape` larger. `what` names the argument of shape `other`."""
    fits = len(other) <= len(shape) and all(n in (1, m) for m, n in zip(reversed(shape), reversed(other), strict=False))
    if not fits:
        raise ValueError(f"{name}: {what} of shape {tuple(other)} must broadcast to the array's shape {tuple(shape)}")
