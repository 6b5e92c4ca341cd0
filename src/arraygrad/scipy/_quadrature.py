"""Tails of a distribution as integrals of its density, differentiable in what the density is differentiable in.

May import: arraygrad, autograd, core.tensor, scipy._declare, numpy.

The smaller tail beyond y is integrated by double exponential rules (Takahasi and Mori 1974), towards a finite end by
tanh-sinh nodes, which bear singularities at both ends, towards an infinite one by exp-sinh nodes, which bear tails as
heavy as a power. The integral is compared with SciPy's own value: where the two differ, the derivatives are nan.
"""

import itertools

import numpy as np

import arraygrad as ag
from arraygrad.autograd import Function, grad
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import raw

__all__ = ["LOG_NEAR", "MEAN", "NEAR", "NEAR_WEIGHTS", "REST", "expectation", "tail_of_density"]

# Reaches so far that a density like v^-0.95 has its integral from 0 on.
_REACH = 6.0


def _far(step):
    """v over (0, inf) and the logarithms of its weights."""
    u = np.arange(-_REACH, _REACH + 0.5 * step, step)
    v = np.exp(0.5 * np.pi * np.sinh(u))
    return v, np.log(step * 0.5 * np.pi * np.cosh(u)) + 0.5 * np.pi * np.sinh(u)


def _near(step):
    """s over (0, 1), its complement, weights."""
    u = np.arange(-_REACH, _REACH + 0.5 * step, step)
    s, rest = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(u))), 1.0 / (1.0 + np.exp(np.pi * np.sinh(u)))
    return s, rest, step * np.pi * np.cosh(u) * s * rest


FAR, FAR_LOGS = _far(1.0 / 16.0)
NEAR, REST, NEAR_WEIGHTS = _near(1.0 / 16.0)
LOG_NEAR = np.where(NEAR < 0.5, np.log(NEAR), np.log1p(-np.minimum(REST, 0.5)))
# Of expectations, whose densities may have an essential singularity at an end.
_FINE_FAR, _FINE_NEAR = _far(1.0 / 32.0), _near(1.0 / 32.0)

# How far the integral may be from SciPy's value, of the tail itself and beside it.
RELATIVE, ABSOLUTE = 1e-6, 1e-9


def tail_of_density(logpdf, y, shapes, cdf, sf, low, high, relative=RELATIVE):
    """(lower, log of the smaller tail).

    Parameters
    ----------
    logpdf : callable
        logpdf(t, *shapes), elementwise.
    y : Tensor or array
        The end points.
    shapes : sequence
    cdf, sf : callable
        SciPy's values, of raw arrays.
    low, high : Tensor or array
        Ends of the support; they may depend on the shapes.
    relative : float
        How far SciPy's values may be from the integral.
    """
    ry = np.asarray(raw(y), dtype=float)
    rshapes = [np.asarray(raw(s), dtype=float) for s in shapes]
    below, above = np.asarray(cdf(ry, *rshapes)), np.asarray(sf(ry, *rshapes))
    # An upper tail of SciPy's that is none (ncf's at nc = 0 is minus the lower one) is what the lower one leaves.
    with np.errstate(invalid="ignore"):
        above = np.where((above < 0) | (above > 1), 1.0 - below, above)
    lower = np.asarray(below <= above)
    known = np.where(lower, below, above)
    end = ag.where(lower, low, high)
    rend = np.asarray(raw(end), dtype=float)
    with np.errstate(all="ignore"):
        density = np.exp(np.asarray(raw(logpdf(ag.asarray(ry), *[ag.asarray(s) for s in rshapes]))))
        width = known / density
        width = np.where(np.isfinite(width) & (width > 0), width, 1.0)
        # An end that is a hundred widths away has no part in the tail.
        finite = np.asarray(np.abs(rend - ry) < 100.0 * width)
    shapes = [ag.asarray(s)[..., None] for s in shapes]
    y_ = ag.broadcast_to(ag.asarray(y), lower.shape)[..., None]
    finite_, lower_ = finite[..., None], lower[..., None]
    beside = ry[..., None] + np.where(lower_, -1.0, 1.0)
    end_ = ag.where(finite_, ag.broadcast_to(ag.asarray(end), lower.shape)[..., None], beside)
    away = np.where(lower_, -1.0, 1.0) * width[..., None] * FAR
    within = ag.where(np.asarray(NEAR < 0.5), y_ + (end_ - y_) * NEAR, end_ + (y_ - end_) * REST)
    t = ag.where(finite_, within, y_ + away)
    # Where a node has run into an end its weight is nothing, and the density may be infinite; where the density is
    # nothing its formula may overflow. Such nodes are moved to a harmless place before gradients are recorded.
    rt, rend, rstart = (np.asarray(raw(v)) for v in (t, end_, y_))
    weights = np.where(finite_, np.log(NEAR_WEIGHTS), np.log(width)[..., None] + FAR_LOGS)
    with np.errstate(all="ignore"), ag.no_grad():
        logs = np.asarray(raw(logpdf(ag.asarray(rt), *shapes))) + weights
    far = np.asarray(raw(ag.broadcast_to(ag.asarray(end), lower.shape)), dtype=float)[..., None]
    beyond = ~finite_ & np.where(lower_, rt <= far, rt >= far)
    dead = (finite_ & ((rt == rend) | (rt == rstart))) | beyond | ~(logs > -np.inf)
    top = np.max(np.where(dead, -np.inf, logs), axis=-1, keepdims=True, initial=-1e300)
    dead = np.asarray(dead | (logs < top - 700.0))
    t = ag.where(dead, np.where(finite_, 0.5 * (rstart + rend), rstart), t)
    logs = logpdf(t, *shapes) + weights
    if np.any(finite_):
        length = ag.where(finite_, ag.abs(end_ - y_), 1.0)
        logs, top = logs + ag.log(length), top + np.log(np.asarray(raw(length)))
    terms = ag.exp(ag.where(dead, -np.inf, logs - top))
    found = ag.log(ag.sum(terms, axis=-1)) + top[..., 0]
    with np.errstate(all="ignore"):
        right = np.abs(np.exp(np.asarray(raw(found))) - known) <= relative * known + ABSOLUTE
    if np.all(right):
        return lower, found
    return lower, _NoSlope.apply(found, np.asarray(~right))


# How far an expectation may be from SciPy's value, relative to the integral of the absolute values; some of SciPy's
# have few digits. How far the integral of the density may be from one: derivatives lose digits that the value has. How
# far derivatives may be from those of a rule with half of the nodes, whose error is larger.
MEAN, WHOLE, SLOPES = 1e-5, 1e-10, 1e-5


def expectation(h, logpdf, shapes, inside, low, high):
    """(integral of h(t, log-density) times the density over the support, that of its absolute values).

    The first one is recorded in the shapes; the second one is zero where the integral of the density is not one, or the
    derivatives in the shapes have too few digits.

    Parameters
    ----------
    h : callable
        h(t, logs): what is averaged, of the points and the log-density there, elementwise.
    logpdf : callable
        logpdf(t, *shapes), elementwise.
    shapes : sequence of Tensor or array
    inside : sequence of Tensor or array
        Points within the support, in ascending order, at which it is divided: all those at which the density has a kink
        or a jump, recorded where they depend on the shapes.
    low, high : Tensor or array
        Ends of the support; they may depend on the shapes.
    """
    given = shapes
    size_of = np.broadcast_shapes(*[np.shape(raw(s)) for s in (*shapes, *inside)])
    inside = [ag.broadcast_to(ag.asarray(point), size_of) for point in inside]
    shapes = [ag.asarray(s)[..., None] for s in shapes]
    total = half = size = whole = 0.0
    pieces = [(-1.0, inside[0], low), *[(1.0, *pair) for pair in itertools.pairwise(inside)], (1.0, inside[-1], high)]
    for sign, start, end in pieces:
        t, weights, logs, dead = _piece(logpdf, shapes, sign, start, end)
        shares = ag.where(dead, 0.0, ag.exp(ag.where(dead, -1.0, logs + weights)))
        terms = ag.where(dead, 0.0, h(t, logs)) * shares
        total = total + ag.sum(terms, axis=-1)
        half = half + 2.0 * ag.sum(terms[..., ::2], axis=-1)
        size = size + np.sum(np.abs(np.asarray(raw(terms))), axis=-1)
        whole = whole + np.sum(np.asarray(raw(shares)), axis=-1)
    known = (np.abs(whole - 1.0) <= WHOLE) & _slopes_are_near(total, half, given, size)
    for _, start, end in pieces:  # without a length a piece has no points, and may have a derivative
        known = known & np.asarray(raw(ag.asarray(start)) != raw(ag.asarray(end)))
    return total, np.where(known, size, 0.0)


def _piece(logpdf, shapes, sign, start, end):
    """(points, logarithms of their weights, of the density, where both are nothing) between a point and another one.

    `sign` says on which side of the start the other one is, if it is infinite.
    """
    (far, far_logs), (near, rest, near_weights) = _FINE_FAR, _FINE_NEAR
    rstart = np.asarray(raw(start), dtype=float)
    with np.errstate(all="ignore"):
        density = np.exp(np.asarray(raw(logpdf(ag.asarray(rstart), *[ag.asarray(raw(s))[..., 0] for s in shapes]))))
        width = 0.5 / density
    width = np.where(np.isfinite(width) & (width > 0), width, 1.0)[..., None]
    end = ag.broadcast_to(ag.asarray(end), rstart.shape)[..., None]
    start, rstart = start[..., None], rstart[..., None]
    rend = np.asarray(raw(end), dtype=float)
    finite = np.asarray(np.isfinite(rend))
    end = ag.where(finite, end, start + sign)
    within = ag.where(np.asarray(near < 0.5), start + (end - start) * near, end + (start - end) * rest)
    t = ag.where(finite, within, start + sign * width * far)
    length = ag.log(ag.where(np.asarray(rend == rstart), 1.0, ag.abs(end - start)))
    weights = ag.where(finite, np.log(near_weights) + length, np.log(width) + far_logs)
    rt = np.asarray(raw(t))
    with np.errstate(all="ignore"), ag.no_grad():
        logs = np.asarray(raw(logpdf(ag.asarray(rt), *shapes) + weights))
    dead = (finite & ((rt == rend) | (rt == rstart))) | ~(logs > -700.0) | ~np.isfinite(rt)
    harmless = np.where(finite, 0.5 * (np.asarray(raw(end)) + rstart), rstart + sign * width)
    t = ag.where(dead, harmless, t)
    return t, weights, logpdf(t, *shapes), dead


def _slopes_are_near(total, half, shapes, size):
    """Where two values of an integral, recorded, have the same derivatives in the shapes."""
    shapes = [s for s in shapes if isinstance(s, Tensor) and s.requires_grad]
    if not shapes or not total.requires_grad:
        return True
    near = np.ones(total.shape, dtype=bool)
    slopes = [
        grad(ag.sum(value), shapes, retain_graph=True, allow_unused=True) for value in (total, total - half)
    ]  # fmt: skip
    for s, one, away in zip(shapes, *slopes, strict=True):
        if one is None or away is None:
            continue
        scale = np.abs(np.asarray(raw(one))) + size / np.maximum(np.abs(np.asarray(raw(s))), 1.0)
        with np.errstate(invalid="ignore"):
            near &= ~(np.abs(np.asarray(raw(away))) > SLOPES * scale)
    return near


class _NoSlope(Function):
    """The argument; where it is `wrong`, some number with the derivative nan."""

    @staticmethod
    def forward(ctx, a, wrong):
        ctx.wrong = wrong
        return ag.where(wrong, -1.0, a)

    @staticmethod
    def backward(ctx, g):
        lost = np.asarray(ctx.wrong & (np.asarray(raw(g)) != 0.0))  # what does not count stays out of it
        return ag.where(lost, np.nan, g), None
