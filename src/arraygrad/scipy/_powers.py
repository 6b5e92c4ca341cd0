"""Powers and logarithms of what may be zero, differentiable there as often as they are.

May import: arraygrad, autograd, scipy._declare, numpy.
"""

from collections import namedtuple

import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function
from arraygrad.scipy._declare import raw

__all__ = ["Power", "abs_power", "xlog1py", "xlogy"]


class Power(namedtuple("Power", "u p v both", defaults=(None, False))):
    """The factor |u|^p of a density. `v` is u - 1 where that has more digits; `both`: u has both signs."""

    def log(self):
        if self.v is not None:
            return xlog1py(self.p, self.v)
        return xlogy(self.p, ag.abs(self.u) if self.both else self.u)

    def value(self):
        return abs_power(self.u, self.p)


class _Power(Function):
    """|y|^p log|y|^k, times the sign of y if `odd`, of arrays of one shape.

    The derivative in y is p |y|^(p - 1) log|y|^k + k |y|^(p - 1) log|y|^(k - 1) with the other parity, the one in p has
    k + 1. At y = 0 that is 2 twice for p = 2, and for p = 1 the choice 0, whose own derivative is nan.
    """

    @staticmethod
    def forward(ctx, y, p, k, odd):
        ctx.k, ctx.odd = k, odd
        ctx.save_for_backward(y, p)
        y, p = np.asarray(raw(y)), np.asarray(raw(p))
        with np.errstate(all="ignore"):
            size = np.abs(y)
            found = size**p if k == 0 else np.where((size == 0) & (p > 0), 0.0, size**p * np.log(size) ** k)
            if odd:
                found = np.sign(y) * found
        return ag.asarray(found.astype(y.dtype))

    @staticmethod
    def backward(ctx, g):
        y, p = ctx.saved_tensors
        k, odd = ctx.k, ctx.odd
        of_y = of_p = None
        with np.errstate(all="ignore"):
            if ctx.needs_input_grad[0]:
                of_y = p * _Power.apply(y, p - 1.0, k, not odd)
                if k:
                    of_y = of_y + k * _Power.apply(y, p - 1.0, k - 1, not odd)
                of_y = _times(g, of_y)
            if ctx.needs_input_grad[1]:
                of_p = _times(g, _Power.apply(y, p, k + 1, odd))
        return of_y, of_p, None, None


def _times(g, slope):
    """g * slope; zero where g is, also of an infinite slope: what does not count stays out of it.

    A zero of g keeps its derivative elsewhere, which is the slope: that of a square is zero where the square is.
    """
    still = np.asarray((np.asarray(raw(g)) == 0.0) & ~np.isfinite(np.asarray(raw(slope))))
    return g * (ag.where(still, 0.0, slope) if still.any() else slope)


def abs_power(y, p=1.0, logs=0):
    """|y|^p log|y|^logs, elementwise.

    Parameters
    ----------
    y, p : Tensor or array
        They are broadcast.
    logs : int
    """
    y = ag.asarray(y)
    return _Power.apply(*ag.broadcast_arrays(y, ag.asarray(p, dtype=y.dtype)), logs, False)


class _Pole(Function):
    """Zero, with the derivative minus infinity: of a log(y) in a, where a and y are zero."""

    @staticmethod
    def forward(ctx, a):
        return a * 0.0

    @staticmethod
    def backward(ctx, g):
        return ag.where(np.asarray(np.asarray(raw(g)) == 0.0), 0.0, g * -np.inf)  # what does not count stays out of it


def _at_pole(power, a, at):
    """a log(y), whose derivative in a at the pole of the logarithm is that where a is zero as well."""
    at = np.asarray(at & (np.asarray(raw(a)) == 0.0))
    if not np.any(at):
        return power
    return power + ag.where(at, _Pole.apply(a), 0.0)


def xlogy(a, y):
    return _at_pole(ag.special.xlogy(a, y), a, np.asarray(raw(y)) == 0.0)


def xlog1py(a, y):
    return _at_pole(ag.special.xlog1py(a, y), a, np.asarray(raw(y)) == -1.0)
