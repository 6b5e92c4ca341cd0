"""Shapes and axes, for rules and forward functions.

May import: the standard library only. Every function that takes `xp` uses nothing but the Array API standard, so that
it runs on raw arrays and on Tensors alike.
"""

import math
import operator


def normalize_axes(axis, ndim):
    """`axis` (None, an int or a sequence of ints) as a tuple of non-negative ints; None means every axis."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)) and not getattr(axis, "ndim", 0):
        axis = (axis,)
    return tuple([i + ndim if i < 0 else i for i in map(operator.index, axis)])


def check_axes(name, axis, ndim):
    """Raises IndexError, naming the operation, for an axis that an array of `ndim` dimensions does not have.

    For operations whose library answers with "tuple index out of range", or not at all.
    """
    for a in (axis,) if not isinstance(axis, (tuple, list)) else axis:
        if a is not None and not -ndim <= a < ndim:
            raise IndexError(f"{name}: axis {a} is out of bounds for an array of {ndim} dimensions")


def normalize_shape(shape):
    """`shape` (an int or a sequence of ints, NumPy's too) as a tuple of ints."""
    return (int(shape),) if getattr(shape, "ndim", 0) == 0 and hasattr(shape, "__index__") else tuple(map(int, shape))


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


def at_axis(axis, part):
    """The key that takes `part` (a slice) of a non-negative axis and everything of all others."""
    return (slice(None),) * axis + (part, ...)


def device_of(a):
    """The device of an array, None for a library whose arrays do not say."""
    return getattr(a, "device", None)


def is_complex(xp, dtype):
    """Whether `dtype` is a complex floating-point dtype."""
    return xp.isdtype(dtype, "complex floating")


def unrecorded(a):
    """The values of an array as constants, for what a rule looks at without depending on it."""
    return a.detach() if type(a).__module__.partition(".")[0] == "arraygrad" else a


def adjoint(xp, a):
    """Conjugate transpose of the matrices in `a`, shape (..., m, n)."""
    a = xp.matrix_transpose(a)
    return xp.conj(a) if is_complex(xp, a.dtype) else a


def eye_mask(xp, rows, columns, offset, like):
    """Boolean (rows, columns), true on the diagonal `offset`, on the device of `like`."""
    return xp.eye(rows, columns, k=offset, dtype=xp.bool, device=device_of(like))


def real_part(xp, a):
    """The real part of a complex array; a real array as it is."""
    return xp.real(a) if is_complex(xp, a.dtype) else a


def over_nonzero(xp, g, x):
    """g / x, and zero where x is: there the function has no direction."""
    zero = x == 0
    return xp.where(zero, 0.0, g / xp.where(zero, 1.0, x))


def at_kinks(xp, ordinary, g, x, ans, spread=None, *, square=True, straight=False):
    """The gradient `ordinary` of a norm; where `ans` is zero its derivatives are those of Note [Kinks].

    The note, and the parameters, are in namespaces/kinks.py. Only recorded rules have derivatives.
    """
    recorded = getattr(xp, "_at_kinks", None)
    if recorded is None:
        return ordinary
    return recorded(ordinary, g, x, ans, spread, square=square, straight=straight)
