"""Slopes of hypergeometric functions by their parameters: of the power series, term by term.

May import: numpy, SciPy, scipy._guards. "DLMF" is the NIST Digital Library of Mathematical Functions, by equation.

A slope is refused where it would not have the digits that are promised: where the terms cancel, where the series
converges too slowly, or where its sum is not SciPy's value. Slopes are numbers: they have no derivatives.
"""

import math

import numpy as np
from scipy import special

from arraygrad.scipy._guards import NotDifferentiable

__all__ = []

_DIGITS = 1e-8  # relative, of the slopes
_TERMS = 8000


def _terms(upper, lower, z):
    """(sum, slopes by the upper and the lower parameters, digits that were lost) of a series (DLMF 16.2.1).

    A term is that before it times the product of (a + n) by that of (b + n), times z / (n + 1).
    """
    upper, lower, z = [np.asarray(a) for a in upper], [np.asarray(b) for b in lower], np.asarray(z)
    shape = np.broadcast_shapes(z.shape, *[p.shape for p in (*upper, *lower)])
    kind = np.result_type(float, z.dtype)
    term = np.ones(shape, kind)
    slopes = [np.zeros(shape, kind) for _ in (*upper, *lower)]
    totals = [term.copy(), *[s.copy() for s in slopes]]
    sizes = [np.ones(shape), *[np.zeros(shape) for _ in slopes]]
    # Slopes follow from the recurrence of the terms by the product rule, in the same pass: a quotient of a term by its
    # own factor would be 0 / 0 where a parameter is zero or a negative integer. `sizes` are the sums of absolute
    # values. They tell how many digits cancellation has cost, on which the caller decides whether a slope can be given.
    for n in range(_TERMS):
        above = [a + n for a in upper]
        below = [b + n for b in lower]
        by = z / (n + 1.0) / math.prod(below[1:], start=below[0]) if below else z / (n + 1.0)
        step = math.prod(above, start=1.0) * by
        for k in range(len(upper)):
            others = math.prod([a for i, a in enumerate(above) if i != k], start=1.0)
            slopes[k] = slopes[k] * step + term * others * by
        for k, b in enumerate(below, len(upper)):
            slopes[k] = (slopes[k] - term / b) * step
        term = term * step
        done = True
        for k, part in enumerate((term, *slopes)):
            totals[k] = totals[k] + part
            sizes[k] = sizes[k] + np.abs(part)
            done = done and not np.any(np.abs(part) > 1e-18 * sizes[k])
        if done and n > 3:
            break
    else:
        sizes = [np.inf * size for size in sizes]
    lost = [2.3e-16 * size / np.maximum(np.abs(total), 1e-300) for size, total in zip(sizes, totals, strict=True)]
    lost = [np.where(size == 0, 0.0, loss) for size, loss in zip(sizes, lost, strict=True)]
    return totals[0], totals[1:], lost[1:]


def _checked(name, value, ans, slope, lost):
    with np.errstate(all="ignore"):
        apart = np.abs(value - ans) > 1e-6 * np.abs(ans)
    if np.any(apart) or not np.all(lost < _DIGITS) or not np.all(np.isfinite(slope)):
        raise NotDifferentiable(
            f"arraygrad.scipy.special.{name}: the slope by a parameter is computed by a series, which has too few "
            "digits for some of these arguments; take differences of the values, or detach() the parameter"
        )
    return slope


def of_0f1(place, ans, v, z):
    """d/dv 0F1(; v; z)."""
    value, slopes, lost = _terms([], [v], z)
    return _checked("hyp0f1", value, ans, slopes[place], lost[place])


def of_1f1(place, ans, a, b, x):
    """d/da and d/db 1F1(a; b; x); for x < 0 by exp(x) 1F1(b - a; b; -x) (DLMF 13.2.39), whose terms cancel less."""
    a, b, x = np.broadcast_arrays(*(np.asarray(v) for v in (a, b, x)))
    left = np.real(x) < 0
    value, (by_upper, by_lower), (upper_lost, lower_lost) = _terms(
        [np.where(left, b - a, a)], [b], np.where(left, -x, x)
    )
    with np.errstate(over="ignore"):
        factor = np.where(left, np.exp(np.where(left, x, 0.0)), 1.0)
    if place == 0:
        slope, lost = np.where(left, -by_upper, by_upper), upper_lost
    else:
        slope = np.where(left, by_upper + by_lower, by_lower)
        sizes = upper_lost * np.abs(by_upper) + lower_lost * np.abs(by_lower)
        lost = np.where(left, sizes / np.maximum(np.abs(slope), 1e-300), lower_lost)
    return _checked("hyp1f1", factor * value, ans, factor * slope, lost)


def of_2f1(place, ans, a, b, c, z):
    """d/da, d/db and d/dc 2F1(a, b; c; z); left of -1/2 by (1 - z)^-a 2F1(a, c - b; c; z / (z - 1)) (DLMF 15.8.1)."""
    a, b, c, z = np.broadcast_arrays(*(np.asarray(v) for v in (a, b, c, z)))
    left = np.real(z) < -0.5
    with np.errstate(all="ignore"):
        inner = np.where(left, z / (z - 1.0), z)
        value, slopes, lost = _terms([a, np.where(left, c - b, b)], [c], inner)
        logs = np.where(left, np.log(np.where(left, 1.0 - z, 1.0)), 0.0)
        factor = np.exp(-a * logs)
        parts = {0: ((1.0, slopes[0], lost[0]), (-logs, value, 1e-15)),
                 1: ((np.where(left, -1.0, 1.0), slopes[1], lost[1]),),
                 2: ((1.0, slopes[2], lost[2]), (np.where(left, 1.0, 0.0), slopes[1], lost[1]))}[place]  # fmt: skip
        slope = sum(weight * part for weight, part, _ in parts)
        size = sum(np.abs(weight * part) * loss for weight, part, loss in parts)
        total = np.where(size == 0, 0.0, size / np.maximum(np.abs(slope), 1e-300))
    return _checked("hyp2f1", factor * value, ans, factor * slope, total)


def check_2f1_slope(ans, a, b, c, z, name="hyp2f1", why="where c is 2a or 2b, or there for c + 1 with a + 1 and b + 1"):
    """Refuse complex arguments at which SciPy's values of 2F1 are too far apart for a slope.

    SciPy sums a series around exp(+-i pi / 3), 0.9 <= |z| < 1.1 with Re z >= 0, which it ends too early where a term
    is zero, as all odd ones are for c = 2b: the value at (2.3, 1.5, 3) has one digit. The slope by DLMF 15.5.1 is
    compared with that of 15.5.19 and 15.5.20, which take 2F1 at other parameters.
    """
    if z.dtype.kind != "c":
        return
    ans, a, b, c, z = np.broadcast_arrays(ans, a, b, c, z)
    near = (np.abs(z) > 0.85) & (np.abs(z) < 1.15) & (z.real >= -0.05) & (z.imag != 0)
    if not near.any():
        return
    ans, a, b, c, z = [v[near] for v in (ans, a, b, c, z)]
    with np.errstate(all="ignore"):
        slope = a * b / c * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)
        other = ((c - a) * special.hyp2f1(a - 1.0, b, c, z) + (a - c + b * z) * ans) / (z * (1.0 - z))
        size = np.abs(ans) + np.abs(slope)
        apart = np.abs(slope - other) > (1e-6 if z.dtype == np.complex128 else 1e-3) * size
    if np.any(apart & np.isfinite(slope)):
        raise NotDifferentiable(
            f"arraygrad.scipy.special.{name}: SciPy's values of 2F1(a, b; c; z) near z = exp(+-i pi / 3) contradict "
            "each other for some of these parameters, so that no slope is known; change a parameter by a little "
            f"(SciPy's series fails {why}), or detach() the complex argument"
        )


# t = exp(s - exp(-s)) makes an integral over t > 0 one that the trapezoidal rule has all digits of.
_STEP = 1.0 / 32.0
_S = np.arange(-5.5, 9.0, _STEP)
_LOG_T = _S - np.exp(-_S)
_WEIGHT = _STEP * (1.0 + np.exp(-_S))  # dt / t


def of_u(place, ans, a, b, x):
    """d/da and d/db U(a, b, x) under the integral of DLMF 13.4.4, for a > 0 and x > 0."""
    a, b, x = (np.asarray(v, dtype=float)[..., None] for v in (a, b, x))
    if not (np.all(a > 0) and np.all(x > 0)):
        raise NotDifferentiable(
            "arraygrad.scipy.special.hyperu: the slope by a or b is known for a > 0 and x > 0, where U is an integral; "
            "use a recurrence in a, DLMF 13.3.7, to get there, or detach() the parameter"
        )
    with np.errstate(all="ignore"):
        more = np.logaddexp(0.0, _LOG_T)  # log(1 + t)
        logs = a * _LOG_T + (b - a - 1.0) * more - x * np.exp(_LOG_T)
        top = np.max(logs, axis=-1, keepdims=True)
        parts = np.exp(logs - top) * _WEIGHT
        scale = np.exp(top[..., 0] - special.gammaln(a[..., 0]))
        value = np.sum(parts, axis=-1) * scale
        if place == 0:
            slope = np.sum(parts * (_LOG_T - more - special.digamma(a)), axis=-1) * scale
            size = np.sum(parts * np.abs(_LOG_T - more - special.digamma(a)), axis=-1) * scale
        else:
            slope = size = np.sum(parts * more, axis=-1) * scale
        lost = 1e-15 * size / np.maximum(np.abs(slope), 1e-300)
    return _checked("hyperu", value, ans, slope, lost)
