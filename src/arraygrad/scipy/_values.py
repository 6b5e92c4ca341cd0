"""SciPy's values with gradients of ours, and places that have no derivative.

May import: arraygrad, autograd, core.inplace, scipy._guards, numpy.
"""

import warnings

import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function
from arraygrad.core.inplace import as_scalar
from arraygrad.scipy._guards import raw

__all__ = ["at_value", "like_plain", "undefined_where"]


def at_value(found, value):
    """A Tensor with the gradient of `found` and SciPy's value, which differs by rounding or by its tolerance."""
    value = np.asarray(value)
    return found + (value.reshape(np.shape(raw(found))) - np.asarray(raw(found)))


def like_plain(found, value):
    """A Tensor without axes as the array or the scalar that SciPy's result is: of a view the element is a scalar."""
    if found.ndim:
        return found
    return as_scalar(found, False) if isinstance(value, np.ndarray) else as_scalar(found[()])


class _Undefined(Function):
    """Values whose gradient is nan at some places, with a warning that says so when it is asked for."""

    @staticmethod
    def forward(ctx, a, mask, name, what):
        ctx.state = (mask, name, what)
        return ag.asarray(raw(a).copy())

    @staticmethod
    def backward(ctx, g):
        mask, name, what = ctx.state
        asked = mask & (np.asarray(raw(g)) != 0)
        if not np.any(asked):
            return g, None, None, None
        text = f"arraygrad.scipy.{name}: no derivative at {what}: the gradient is nan there"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return ag.where(asked, np.nan, g), None, None, None


def undefined_where(mask, a, name, what):
    """`a` with a gradient of nan, and a warning, where the mask is true and the gradient is asked for."""
    return _Undefined.apply(a, mask, name, what) if np.any(mask) else a
