"""Integrals of samples: linear in the values, rational in the places.

May import: arraygrad, ops._axes, numpy_api.primitive_rules, scipy._axes, scipy._declare, scipy._everyday,
scipy._plainly, scipy.integrate._chapter, numpy.
"""

import math

import numpy as np

import arraygrad as ag
from arraygrad.numpy_api import primitive_rules as rules
from arraygrad.ops._axes import along
from arraygrad.scipy._axes import back, own
from arraygrad.scipy._declare import raw
from arraygrad.scipy._everyday import everyday
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._plainly import plainly
from arraygrad.scipy.integrate._chapter import CHAPTER

__all__ = []

DEFINITION = "definition (linear in y)"


def _beside(a, axis, ndim):
    """A parameter beside values of `ndim` axes, with the axis at the end: a number, or what broadcasts with them."""
    a = ag.asarray(a)
    if not a.ndim:
        return a
    if a.ndim < ndim:
        a = ag.reshape(a, (*[1] * (ndim - a.ndim), *a.shape))
    return own(axis, a)[0]


def _gaps(x, dx, axis, ndim):
    """Differences of the places along the last axis, or dx; a vector of places belongs to the axis."""
    if x is None:
        return _beside(dx, axis, ndim)
    x = ag.asarray(x)
    return ag.diff(x if x.ndim == 1 else own(axis, x)[0], axis=-1)


@CHAPTER.by_composition("trapezoid", "y x dx", DEFINITION)
def _trapezoid(y, x=None, dx=1.0, axis=-1):
    y = ag.asarray(y)
    if x is not None and ag.asarray(x).ndim != 1:
        x = ag.broadcast_to(ag.asarray(x), y.shape)
    gaps = _gaps(x, dx, axis, y.ndim)
    (y,) = own(axis, y)
    return ag.sum(0.5 * (y[..., 1:] + y[..., :-1]) * gaps, axis=-1)


@CHAPTER.by_composition("cumulative_trapezoid", "y x dx", DEFINITION)
def _cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    (y,) = own(axis, y)
    return back(_cumulative_trapezoid_of(y, _gaps(x, dx, axis, y.ndim), initial), axis)


def _cumulative_trapezoid_of(y, gaps, initial=None):
    found = ag.cumulative_sum(0.5 * (y[..., 1:] + y[..., :-1]) * gaps, axis=-1)
    if initial is not None:
        start = ag.zeros((*found.shape[:-1], 1), dtype=found.dtype)
        found = ag.concat([start + initial, found], axis=-1)
    return found


@CHAPTER.by_composition("simpson", "y x dx", DEFINITION + "; Cartwright (2017) for an even number")
def _simpson(y, x=None, *, dx=1.0, axis=-1):
    (y,) = own(axis, y)
    n = raw(y).shape[-1]
    if x is None:  # a step for every integral
        dx = ag.asarray(dx)
        gaps = ag.broadcast_to(dx[..., None], (*np.broadcast_shapes(raw(y).shape[:-1], dx.shape), n - 1))
    else:
        gaps = _gaps(x, dx, axis, y.ndim)
    if n == 2:
        return 0.5 * gaps[..., 0] * (y[..., 0] + y[..., 1])
    total = 0.0
    count = n if n % 2 else n - 1
    h0, h1 = gaps[..., 0 : count - 1 : 2], gaps[..., 1:count:2]
    h0, h1 = h0[..., : (count - 1) // 2], h1[..., : (count - 1) // 2]
    whole = h0 + h1
    first, middle, last = y[..., 0 : count - 2 : 2], y[..., 1 : count - 1 : 2], y[..., 2:count:2]
    terms = first * (2.0 - h1 / h0) + middle * whole * whole / (h0 * h1) + last * (2.0 - h0 / h1)
    total = ag.sum(whole / 6.0 * terms, axis=-1)
    if n % 2 == 0:
        a, b = gaps[..., -2], gaps[..., -1]
        total = total + (2.0 * b * b + 3.0 * a * b) / (6.0 * (a + b)) * y[..., -1]
        total = total + (b * b + 3.0 * a * b) / (6.0 * a) * y[..., -2]
        total = total - b**3 / (6.0 * a * (a + b)) * y[..., -3]
    return total


@plainly("integrate.simpson", "y")
def _simpson_weights(g, y, x=None, dx=1.0, axis=-1):
    """g times the weights of the values, of equal or given places along one axis."""
    shape = np.shape(y)
    n = shape[axis]
    if n < 3 or (x is not None and np.ndim(x) != 1) or np.ndim(dx):
        return None
    gaps = np.full(n - 1, float(dx)) if x is None else np.diff(np.asarray(x, dtype=float))
    weights = np.zeros(n)
    count = n if n % 2 else n - 1
    h0, h1 = gaps[0 : count - 1 : 2], gaps[1:count:2]
    h0, h1 = h0[: (count - 1) // 2], h1[: (count - 1) // 2]
    whole = h0 + h1
    weights[0 : count - 2 : 2] = whole / 6.0 * (2.0 - h1 / h0)
    weights[1 : count - 1 : 2] = whole / 6.0 * (whole * whole / (h0 * h1))
    weights[2:count:2] += whole / 6.0 * (2.0 - h0 / h1)
    if n % 2 == 0:
        a, b = gaps[-2], gaps[-1]
        weights[-1] += (2.0 * b * b + 3.0 * a * b) / (6.0 * (a + b))
        weights[-2] += (b * b + 3.0 * a * b) / (6.0 * a)
        weights[-3] -= b**3 / (6.0 * a * (a + b))
    return np.expand_dims(g, axis) * weights.reshape(along(n, axis, len(shape)))


everyday("integrate.simpson", "y, *, dx=1.0, axis=-1", "y", numbers=(1, 2))
everyday("integrate.simpson", "y, x, *, dx=1.0, axis=-1", "y x", ndims=(-1, 1), numbers=(2, 3))
everyday("integrate.trapezoid", "y, *, dx=1.0, axis=-1", rules={"y": rules.trapezoid}, numbers=(1, 2))
everyday("integrate.trapezoid", "y, x", rules={"y": rules.trapezoid_at_y, "x": rules.trapezoid_at_x}, ndims=(1, 1))


def _subintegrals(y, gaps):
    """The integral over each first interval of the parabola through three places."""
    x21, x32 = gaps[..., :-1], gaps[..., 1:]
    x31 = x21 + x32
    f1, f2, f3 = y[..., :-2], y[..., 1:-1], y[..., 2:]
    share, square = x21 / x31, x21 * x21 / (x31 * x32)
    return x21 / 6.0 * ((3.0 - share) * f1 + (3.0 + square + share) * f2 - square * f3)


@CHAPTER.by_composition("cumulative_simpson", "y x dx", DEFINITION)
def _cumulative_simpson(y, *, x=None, dx=1.0, axis=-1, initial=None):
    (y,) = own(axis, y)
    n = raw(y).shape[-1]
    gaps = _gaps(x, dx, axis, y.ndim)
    if n < 3:  # by cumulative_trapezoid, where dx may have longer axes than y
        found = _cumulative_trapezoid_of(y, gaps)
    else:
        gaps = ag.broadcast_to(gaps, (*raw(y).shape[:-1], n - 1))
        ahead = _subintegrals(y, gaps)
        behind = ag.flip(_subintegrals(ag.flip(y, axis=-1), ag.flip(gaps, axis=-1)), axis=-1)
        # The parabola that begins at an even place serves two intervals; the last one serves the last.
        pieces = [ahead[..., i] if i % 2 == 0 and i < n - 2 else behind[..., i - 1] for i in range(n - 1)]
        found = ag.cumulative_sum(ag.stack(pieces, axis=-1), axis=-1)
    if initial is not None:
        start = ag.zeros((*found.shape[:-1], 1), dtype=found.dtype)
        found = ag.concat([start, found], axis=-1) + _beside(initial, axis, y.ndim)
    return back(found, axis)


@CHAPTER.by_composition("romb", "y dx", "Romberg (1955)", inert="show")
def _romb(y, dx=1.0, axis=-1):
    (y,) = own(axis, y)
    n = raw(y).shape[-1] - 1
    h = n * ag.asarray(dx)
    row = [0.5 * (y[..., 0] + y[..., -1]) * h]
    step = n
    for _ in range(round(math.log2(n))):
        h = 0.5 * h
        new = [0.5 * row[0] + h * ag.sum(y[..., step // 2 :: step], axis=-1)]
        step //= 2
        for j, before in enumerate(row):
            new.append(new[j] + (new[j] - before) / (4.0 ** (j + 1) - 1.0))
        row = new
    return row[-1]


@CHAPTER.by_composition("newton_cotes", "rn", "the moments of the weights")
def _newton_cotes(rn, equal=0):
    rn = ag.asarray(rn)
    if rn.ndim == 0:
        raise NotDifferentiable("arraygrad.scipy.integrate.newton_cotes: places have derivatives, their number none")
    n = raw(rn).shape[0] - 1
    at = 2.0 * rn / n - 1.0
    k = np.arange(n + 1)
    powers = ag.stack([ag.ones_like(at), *[at**i for i in range(1, n + 1)]])
    moments = np.where(k % 2 == 0, 2.0 / (k + 1), 0.0)
    weights = 0.5 * n * ag.linalg.solve(powers, ag.asarray(moments))
    even = n % 2 == 0 and (equal or np.all(np.diff(raw(rn)) == 1.0))
    power = n + 2 if even else n + 1
    error = n / (power + 1.0) - ag.sum((rn / n) ** power * weights)
    return weights, error * math.exp(power * math.log(n) - math.lgamma(power + 1))
