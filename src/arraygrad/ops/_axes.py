"""How `axis` is counted where a function has several operands: the codes, settled once.

May import: the standard library only.

Core axes have one normal form: negative, counted from the end of the operand. Axes that broadcasting puts in front do
not change such a number, so rules can use it for operands of other numbers of dimensions.
"""

import operator

__all__ = ["CODES", "counted_by", "from_end", "not_enlarged", "positions"]


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


def positions(code, axis, *ndims):
    """The core position of `axis` in each operand that it is counted by, from the end."""
    return tuple([from_end(axis, ndim) for ndim in counted_by(code, *ndims)])


def not_enlarged(name, what, shape, other):
    """ValueError if broadcasting with `other` makes `shape` larger. `what` names the argument of shape `other`."""
    fits = len(other) <= len(shape) and all(n in (1, m) for m, n in zip(reversed(shape), reversed(other), strict=False))
    if not fits:
        raise ValueError(f"{name}: {what} of shape {tuple(other)} must broadcast to the array's shape {tuple(shape)}")
