"""B-splines at places: their values by the recursion of Cox and de Boor, and coefficients of recorded abscissae.

May import: arraygrad, core.tensor, core.containers, scipy._declare, scipy._guards, scipy.interpolate._chapter,
scipy.linalg, numpy.

Knots are an array of constants or a Tensor; the formulas are the same. Where the abscissae or the knots require grad,
the knots are recorded in the abscissae as SciPy places them, and the coefficients are the solution of the recorded
linear system of collocation. Source: de Boor (2001), A Practical Guide to Splines, IX, X, XIII and XIV.
"""

import numpy as np

import arraygrad as ag
from arraygrad.core.containers import flatten
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._chapter import at_value, floating, shape_of
from arraygrad.scipy.linalg import _solve as _declared  # noqa: F401 (declares solve_banded)
from arraygrad.scipy.linalg._chapter import NAMES as LINALG

__all__ = [
    "augmented", "basis", "chords", "clamped_knots", "evaluated", "interpolating", "is_settled", "knots_of",
    "least_squares", "lowered", "not_a_knot", "periodic_coefficients", "periodic_knots", "recorded", "settled",
]  # fmt: skip


def recorded(*values):
    """Whether a Tensor among the values, or in one of them, requires grad."""
    return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(values)[0])


def knots_of(t):
    """Knots or abscissae as a vector in double precision: a Tensor where it requires grad, else an array."""
    if not recorded(t):
        return np.asarray(raw(t), dtype=float)
    return floating(t if isinstance(t, Tensor) else ag.stack([floating(one) for one in t]))


# -- values of B-splines ----------------------------------------------------------------------------------------------


def _reciprocal(width):
    """1 / width, and 0 for a width of 0."""
    positive = np.asarray(raw(width)) > 0
    if isinstance(width, Tensor):
        return ag.where(positive, 1.0 / ag.where(positive, width, 1.0), 0.0)
    return np.where(positive, 1.0 / np.where(positive, width, 1.0), 0.0)


def _interval(t, k, values):
    """The number i of the interval t[i] <= value < t[i + 1] of each value; those outside belong to the outermost."""
    t = np.asarray(raw(t))
    return np.clip(np.searchsorted(t, values, side="right") - 1, k, t.size - k - 2)


def basis(t, k, points, places):
    """The k + 1 B-splines that are not zero at each point, recorded in the points, and in the knots if these are."""
    found = [points * 0.0 + 1.0]
    for order in range(1, k + 1):
        grown = [0.0] * (order + 1)
        for i in range(order):
            left, right = t[places + i + 1 - order], t[places + i + 1]
            share = _reciprocal(right - left)
            grown[i] = grown[i] + (right - points) * share * found[i]
            grown[i + 1] = grown[i + 1] + (points - left) * share * found[i]
        found = grown
    return found


def _basis_derivatives(t, k, points, places, nu):
    """The derivatives of order nu of those B-splines: B'_jk = k (B_j / (t_j+k - t_j) - B_j+1 / (t_j+k+1 - t_j+1))."""
    found = basis(t, k - nu, points, places)
    for degree in range(k - nu + 1, k + 1):
        grown = [0.0] * (degree + 1)
        for i in range(degree):
            part = degree * _reciprocal(t[places + i + 1] - t[places + i + 1 - degree]) * found[i]
            grown[i], grown[i + 1] = grown[i] - part, grown[i + 1] + part
        found = grown
    return found


def evaluated(t, c, k, points):
    """sum_j c[j] B_j at a vector of points; the outermost polynomials go on beyond the knots."""
    n = shape_of(c)[0]
    places = np.clip(np.searchsorted(np.asarray(raw(t)), np.asarray(raw(points)), side="right") - 1, k, n - 1)
    trailing = [1] * (c.ndim - 1)
    total = 0.0
    for i, weight in enumerate(basis(t, k, points, places)):
        total = total + ag.reshape(weight, (-1, *trailing)) * ag.take(c, places - k + i, axis=0)
    return total


def lowered(t, c, k):
    """(knots, coefficients, degree) of the derivative."""
    n = shape_of(c)[0]
    width = t[k + 1 : n + k] - t[1:n]
    positive, trailing = np.asarray(raw(width)) > 0, [1] * (c.ndim - 1)
    if isinstance(width, Tensor):
        width = ag.reshape(ag.where(positive, width, np.inf), (-1, *trailing))
    else:
        width = np.where(positive, width, np.inf).reshape((-1, *trailing))
    return t[1:-1], k * ag.diff(c, axis=0) / width, k - 1


# -- knots of abscissae -----------------------------------------------------------------------------------------------


def clamped_knots(low, inner, high, k):
    """The inner knots between k + 1 knots at each of the ends, which are vectors of one number."""
    return ag.concat([*[floating(low)] * (k + 1), floating(inner), *[floating(high)] * (k + 1)])


def not_a_knot(x, k, low=None, high=None):
    """The knots that SciPy and FITPACK choose for the abscissae x.

    Odd degrees have knots at the abscissae, even ones between them; (k + 1) // 2 at each end are left out. `low` and
    `high`, vectors of one number, are the ends of the interval if they are not the first and the last abscissa. Source:
    de Boor, XIII (12).
    """
    if k == 0:
        return ag.concat([x, x[-1:]])
    inner = (x if k % 2 else 0.5 * (x[1:] + x[:-1]))[(k + 1) // 2 : -((k + 1) // 2)]
    return clamped_knots(x[:1] if low is None else low, inner, x[-1:] if high is None else high, k)


def augmented(x, k):
    """The knots that SciPy chooses where derivatives at the ends are given: all abscissae, the ends k times more."""
    return ag.concat([*[x[:1]] * k, x, *[x[-1:]] * k])


def periodic_knots(x, k):
    """The knots that SciPy chooses for a periodic spline: the gaps between them go on beyond both ends."""
    n = shape_of(x)[0]
    if k % 2 == 0:
        x = ag.concat([x[:1], 0.5 * (x[1:-1] + x[:-2]), x[-1:]])
    turn = np.arange(k) % (n - 1)
    gaps = ag.diff(x)
    below = x[:1] - ag.flip(ag.cumulative_sum(ag.take(gaps, n - 2 - turn)))
    return ag.concat([below, x, x[-1:] + ag.cumulative_sum(ag.take(gaps, turn))])


def chords(rows):
    """The parameter of a curve by its coordinates, a row each: the lengths of its chords, summed, from 0 to 1."""
    lengths = ag.cumulative_sum(ag.sqrt(ag.sum(ag.diff(rows, axis=1) ** 2, axis=0)))
    return ag.concat([ag.asarray(np.zeros(1)), lengths / lengths[-1]])


# -- coefficients -----------------------------------------------------------------------------------------------------


def _rows(t, k, points, nu=0, places=None):
    """Rows of the matrix of collocation: (the weights of k + 1 B-splines, the number of the first of them)."""
    points = floating(points)
    places = _interval(t, k, np.asarray(raw(points))) if places is None else places
    weights = _basis_derivatives(t, k, points, places, nu)
    return ag.stack([ag.asarray(weight) for weight in weights], axis=1), places - k


def _laid(weights, index, places, shape):
    """The elements of `weights` at the flat places that `index` names, in an array of zeros."""
    size = int(np.prod(shape_of(weights)))
    source = np.full(int(np.prod(shape)), size)
    source[index] = places
    flat = ag.concat([ag.reshape(weights, (-1,)), ag.asarray(np.zeros(1))])
    return ag.reshape(ag.take(flat, source), shape)


def _matrix(weights, first, n):
    """The rows as a whole matrix of n columns."""
    m, count = shape_of(weights)
    columns = first[:, None] + np.arange(count)
    return _laid(weights, (np.arange(m)[:, None] * n + columns).ravel(), np.arange(m * count), (m, n))


def _solved(weights, first, b):
    """The solution of the banded system of the rows."""
    n, count = shape_of(weights)
    row, column = np.repeat(np.arange(n), count), (first[:, None] + np.arange(count)).ravel()
    above, below = max(0, int(np.max(column - row))), max(0, int(np.max(row - column)))
    flat = (above + row - column) * n + column
    ab = _laid(weights, flat, np.arange(n * count), (above + below + 1, n))
    found = LINALG["solve_banded"]((below, above), ab, ag.reshape(b, (n, -1)))
    return ag.reshape(found, shape_of(b))


def interpolating(x, y, t, k, start=(), end=()):
    """Coefficients of the spline with the values y at x, along the first axis.

    `start` and `end` are lists of (order, value): derivatives at the first and the last abscissa.
    """
    parts, values = [], []
    for conditions, place in ((start, x[:1]), (None, x), (end, x[-1:])):
        if conditions is None:
            parts.append(_rows(t, k, place))
            values.append(y)
            continue
        for order, value in conditions:
            parts.append(_rows(t, k, place, order))
            values.append(ag.reshape(floating(value), (1, *shape_of(y)[1:])))
    weights, first = ag.concat([one for one, _ in parts], axis=0), np.concatenate([one for _, one in parts])
    return _solved(weights, first, ag.concat(values, axis=0))


def periodic_coefficients(x, y, t, k):
    """Coefficients of the periodic spline: y without its last value, which is the first."""
    n = shape_of(t)[0] - k - 1
    turns = []
    for nu in range(k):
        start, end = (_matrix(*_rows(t, k, x[at : at + 1], nu, np.array([place])), n)
                      for at, place in ((0, k), (shape_of(x)[0] - 1, n - 1)))  # fmt: skip
        turns.append(start - end)
    matrix = ag.concat([*turns, _matrix(*_rows(t, k, x[:-1]), n)], axis=0)
    b = ag.concat([ag.asarray(np.zeros((k, *shape_of(y)[1:]))), y], axis=0)
    return ag.reshape(ag.linalg.solve(matrix, ag.reshape(b, (n, -1))), shape_of(b))


def least_squares(name, x, y, t, k, w, value):
    """Coefficients of the spline with the least sum of (w (y - spline at x)) ** 2, `settled` at SciPy's `value`."""
    n = shape_of(t)[0] - k - 1
    matrix = _matrix(*_rows(t, k, x), n)
    b = ag.reshape(y, (shape_of(y)[0], -1))
    if w is not None:
        w = floating(w)[:, None]
        matrix, b = w * matrix, w * b
    q, r = ag.linalg.qr(matrix)
    try:
        found = ag.linalg.solve(r, ag.matmul(ag.matrix_transpose(q), b))
    except np.linalg.LinAlgError:
        raise _another_spline(name) from None
    return settled(name, ag.reshape(found, (n, *shape_of(y)[1:])), value)


def _another_spline(name):
    return NotDifferentiable(
        f"arraygrad.scipy.interpolate.{name}: abscissae, knots or weights require grad, but SciPy has made another "
        "spline of them than the formula, whose system is singular or nearly so. Pass abscissae that differ, and knots "
        "with an abscissa, of a weight other than zero, between each and the one k + 1 further on; or pass detach() of "
        "them if their gradient is not wanted"
    )


def settled(name, found, value):
    """`found` with SciPy's values, which it has but for rounding.

    Raises
    ------
    NotDifferentiable
        If it has not: SciPy has computed another spline than the formula describes.
    """
    if not is_settled(found, value):
        raise _another_spline(name)
    return at_value(found, np.asarray(value))


def is_settled(found, value):
    """Whether what a formula has `found` is SciPy's value, but for rounding."""
    value = np.asarray(value)
    size = np.max(np.abs(value), initial=0.0)
    return shape_of(found) == value.shape and np.allclose(np.asarray(raw(found)), value, rtol=1e-3, atol=1e-3 * size)
