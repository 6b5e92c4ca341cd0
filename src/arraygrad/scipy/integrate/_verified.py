"""The gradient under an integral beside a difference of integrals, and the function at a limit.

May import: scipy._declare, scipy.integrate._adaptive, numpy, SciPy.

Leibniz' rule takes the integrand to be differentiable in the parameters at almost every x and continuous where the
limits are. Neither is so for np.where(x < a, ...) with a parameter a: the place of the jump moves with a, and no
derivative of the integrand knows. Integrals with other arguments tell. They are taken by `quad_vec`, which halves
intervals until the jump has no weight: the extrapolation of `quad` may miss how far it moved.
"""

import numpy as np
from scipy import integrate

from arraygrad.scipy._declare import raw
from arraygrad.scipy.integrate._adaptive import MATH_ERRORS, ROUNDING

__all__ = ["is_refuted", "one_sided"]

# Steps of the arguments, relative: a claim made with the first is to be confirmed with the second.
_STEPS = (2.0**-13, 2.0**-17)
# Places, of the interval, where it is halved first. A jump between the last node of a piece and its end is not seen:
# of integrals over different pieces the middle one counts.
_APART = (0.38196601125010515, 0.7071067811865476, 0.5772156649015329)
_LIMIT, _TOLERANCES = 300, {"epsabs": 1e-12, "epsrel": 1e-9}
# How far the differences may be apart: beside their own error, relative.
_MARGIN, _RELATIVE = 10.0, 5e-3
# Distances from a limit, relative to the interval, and how different the differences from the value there are to be for
# a jump: those of a continuous function become smaller, those of a jump stay.
_NEAR, _NEARER = 2.0**-30, 2.0**-50
_JUMP, _SAME = 1e-5, 0.1


def one_sided(f, limit, other):
    """Where to evaluate a function for its value at a limit, taken from within the interval.

    Parameters
    ----------
    f : callable
        f(x) for a float x: a raw array.
    limit, other : float
        The limit in question and the other one.

    Returns
    -------
    float or None
        The distance from the limit: 0.0 where the function is continuous, one so small that it changes no digit where
        it jumps. None where it has no value: it is not finite near the limit, or grows without bound.
    """
    if not (np.isfinite(limit) and np.isfinite(other)) or limit == other:
        return 0.0
    with np.errstate(all="ignore"):
        at, near, nearer = (np.asarray(f(limit + (other - limit) * d)) for d in (0.0, _NEAR, _NEARER))
        first, second = float(np.max(np.abs(near - at), initial=0.0)), float(np.max(np.abs(nearer - at), initial=0.0))
        size = float(np.max(np.abs(at), initial=0.0)) + float(np.max(np.abs(nearer), initial=0.0))
    if not second > _JUMP * size:  # also where the function is infinite or nan at its limit, which is its value
        return 0.0
    if abs(first - second) <= _SAME * first:
        return (other - limit) * _NEARER
    return 0.0 if second < first else None


def is_refuted(f, arguments, g, gradients):
    """Whether differences of integrals say for certain that a gradient is wrong.

    Parameters
    ----------
    f : callable
        f(x, *parameters), the integrand.
    arguments : Arguments
        The limits and the parameters; equal ones are moved alike, as they may be one Tensor.
    g : array
        The cotangent.
    gradients : sequence of array
        One for each argument that is differentiated.

    Returns
    -------
    bool
        False where nothing can be said: at a kink, with complex numbers, where the integral has no value close by or
        is not known well enough.
    """
    arrays = [np.asarray(raw(t)) for t in arguments.tensors]
    g, gradients = np.asarray(raw(g)), [np.asarray(raw(part)) for part in gradients]
    every = [g, *arrays, *gradients]
    if any(v.dtype.kind != "f" or not np.all(np.isfinite(v)) for v in every):
        return False
    a, b, *_ = arguments.raw()
    width = abs(float(b) - float(a))
    # All arguments are moved at once in one random direction, so that a wrong gradient of any of them almost surely
    # shows, at the price of a few integrals. The seed is fixed: the same program is refuted always or never. Arguments
    # of one content may be one Tensor, whose gradient is then in one of them alone or in each, so they share a move.
    random = np.random.default_rng(7)
    known = {}
    for array in arrays:
        size = np.where(array == 0.0, width if np.isfinite(width) and width else 1.0, np.abs(array))
        move = size * random.uniform(0.5, 1.0, array.shape) * random.choice([-1.0, 1.0], array.shape)
        known.setdefault((array.shape, array.tobytes()), move)
    moves = [known[array.shape, array.tobytes()] for array in arrays]
    slope = sum(float(np.sum(part * move)) for part, move in zip(gradients, moves, strict=True))

    def change(step):
        """(g times the integral, an estimate of its error) that many moves away."""
        a, b, *rest = arguments.rebuilt([
            (array + step * move).astype(array.dtype, copy=False) for array, move in zip(arrays, moves, strict=True)
        ])  # fmt: skip
        low, high = float(a), float(b)
        if not (np.isfinite(low) and np.isfinite(high)):
            return integral(low, high, rest, None)
        (below, _), (value, error), (above, _) = sorted(
            integral(low, high, rest, [low + (high - low) * place]) for place in _APART
        )
        return value, error + min(above - value, value - below)

    def integral(low, high, rest, places):
        value, error, info = integrate.quad_vec(
            lambda x: np.asarray(raw(f(x, *rest))), low, high, points=places, limit=_LIMIT, full_output=True,
            **_TOLERANCES,
        )  # fmt: skip
        known = info.success or info.status == ROUNDING
        return float(np.sum(g * value)), float(error) * float(np.sqrt(np.sum(g * g))) if known else np.inf

    with np.errstate(all="ignore"):
        try:
            here = change(0.0)
            return np.isfinite(here[1]) and all(_differs(change, here, step, slope) for step in _STEPS)
        except (*MATH_ERRORS, TypeError, IndexError, FloatingPointError):  # the integrand has no value there
            return False


def _differs(change, here, step, slope):
    """Whether the differences over one step, forwards and backwards, agree on another slope than the given one."""
    above, below = change(step), change(-step)
    forwards, backwards, expected = above[0] - here[0], here[0] - below[0], slope * step
    error = here[1] + above[1] + below[1]
    size = max(abs(forwards), abs(backwards), abs(expected))
    apart = abs(0.5 * (forwards + backwards) - expected)
    return apart > _MARGIN * (abs(forwards - backwards) + error) + _RELATIVE * size  # False for nan
