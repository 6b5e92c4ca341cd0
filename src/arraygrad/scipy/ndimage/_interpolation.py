"""Spline interpolation of images: in the image, the coordinates, and the parameters of a transformation.

May import: arraygrad, ops._axes, scipy._declare, scipy.ndimage._chapter, scipy.special, numpy, SciPy.

The image's spline coefficients are a linear map along each axis (`spline_filter1d`, applied once to the unit vectors);
their sum with the B-splines' weights at the coordinates is what is differentiated (Unser 1999).
"""

import itertools
import math

import numpy as np
from scipy import ndimage

import arraygrad as ag
from arraygrad.ops._axes import normalize_axes
from arraygrad.scipy import special
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.ndimage._chapter import CHAPTER, each, extended, shape_of

__all__ = []

UNSER = "Unser (1999)"
# SciPy extends images by so many elements before it filters them for these extensions.
_EXTENDED_BY = 12


def _filtered1d(a, order, axis, mode):
    """Spline coefficients along one axis, by the map's matrix."""
    n = shape_of(a)[axis]
    if order < 2 or n < 2:
        return a
    matrix = ndimage.spline_filter1d(np.eye(n), order, axis=0, output=np.float64, mode=mode)
    return ag.moveaxis(ag.tensordot(ag.asarray(matrix), a, axes=((1,), (axis,))), 0, axis)


@CHAPTER.by_composition("spline_filter1d", "input", UNSER)
def _spline_filter1d(input, order=3, axis=-1, mode="mirror"):
    return _filtered1d(ag.asarray(input), order, axis, mode) + 0.0


@CHAPTER.by_composition("spline_filter", "input", UNSER)
def _spline_filter(input, order=3, mode="mirror"):
    a = ag.asarray(input) + 0.0
    for axis in range(a.ndim):
        a = _filtered1d(a, order, axis, mode)
    return a


def _basis(order, t):
    """Weights of the order + 1 neighbours at t in [0, 1) within the first interval: Cox and de Boor's recursion."""
    weights = [t * 0.0 + 1.0]
    for k in range(1, order + 1):
        weights = _raised(weights, t, k)
    return weights


def _raised(weights, t, k):
    """B-splines of order k at t + i, from those of order k - 1."""
    grown = []
    for i in range(k + 1):
        u = t + (k - i)
        value = 0.0
        if i >= 1:
            value = value + u * weights[i - 1] / k
        if i < k:
            value = value + (k + 1.0 - u) * weights[i] / k
        grown.append(value)
    return grown


_FOLDS = {
    "mirror": lambda i, n: _mirrored(i, n),
    "reflect": lambda i, n: _reflected(i, n),
    "grid-mirror": lambda i, n: _reflected(i, n),
    "grid-wrap": lambda i, n: i % n,
}


def _mirrored(i, n):
    if n == 1:
        return np.zeros_like(i)
    m = np.abs(i) % (2 * n - 2)
    return np.where(m >= np.where(i < 0, n - 1, n), 2 * n - 2 - m, m)  # as SciPy turns fractions


def _reflected(i, n):
    i = i % (2 * n)
    return np.where(i >= n, 2 * n - 1 - i, i)


def _interpolated(a, coordinates, order, mode, cval, prefilter):
    """Values at coordinates (ndim arrays of one shape)."""
    if mode not in ("constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap"):
        raise NotDifferentiable(f"arraygrad.scipy.ndimage: interpolation has no derivative for mode={mode!r}")
    a = ag.asarray(a)
    original = shape_of(a)
    shift = 0
    if prefilter and order > 1:
        if mode == "nearest":
            a = extended(a, [(_EXTENDED_BY, _EXTENDED_BY)] * a.ndim, "nearest")
            shift = _EXTENDED_BY
        a = _spline_filter(a, order, "mirror" if mode in ("constant", "nearest") else mode)
    fold = _FOLDS.get(mode, _mirrored)
    shape = shape_of(coordinates[0])
    inside = np.ones(shape, dtype=bool)
    places, weights = [], []
    for axis, c in enumerate(coordinates):
        n, whole = original[axis], shape_of(a)[axis]
        values = np.asarray(raw(c), dtype=float)
        if mode == "constant":
            inside &= (values >= 0) & (values <= n - 1)
            c, values = ag.where(inside, c, 0.0), np.where(inside, values, 0.0)
        elif mode == "nearest":
            low, high = -float(shift), n - 1.0 + shift
            kept = (values >= low) & (values <= high)
            c, values = ag.where(kept, c, np.clip(values, low, high)), np.clip(values, low, high)
        if order == 0:  # SciPy folds coordinates, of which a half may become one that is rounded to the other side
            values = fold(values, whole)
        start = np.floor(values) if order % 2 else np.floor(values + 0.5)
        t = c - start if order % 2 else c - start + 0.5
        first = start.astype(int) - order // 2 + shift
        weights.append(_basis(order, t))
        places.append([fold(first + k, whole) for k in range(order + 1)])
    strides = [math.prod(shape_of(a)[axis + 1 :]) for axis in range(a.ndim)]
    flat, total = ag.reshape(a, (-1,)), 0.0
    for chosen in itertools.product(range(order + 1), repeat=a.ndim):
        at = sum(places[axis][k] * strides[axis] for axis, k in enumerate(chosen))
        term = ag.reshape(ag.take(flat, np.asarray(at).ravel()), shape)
        for axis, k in enumerate(chosen):
            term = term * weights[axis][k]
        total = total + term
    return ag.where(inside, total, cval)


@CHAPTER.by_composition("map_coordinates", "input coordinates", UNSER)
def _map_coordinates(input, coordinates, order=3, mode="constant", cval=0.0, prefilter=True):
    coordinates = ag.asarray(coordinates)
    return _interpolated(input, [coordinates[i] for i in range(shape_of(coordinates)[0])], order, mode, cval, prefilter)


def _grid(shape):
    return np.meshgrid(*[np.arange(n, dtype=float) for n in shape], indexing="ij")


@CHAPTER.by_composition("shift", "input shift", UNSER)
def _shift(input, shift, order=3, mode="constant", cval=0.0, prefilter=True):
    a = ag.asarray(input)
    moved = [g - s for g, s in zip(_grid(shape_of(a)), each(shift, a.ndim), strict=True)]
    return _interpolated(a, [ag.asarray(m) for m in moved], order, mode, cval, prefilter)


@CHAPTER.by_composition("affine_transform", "input matrix offset", UNSER)
def _affine_transform(input, matrix, offset=0.0, output_shape=None, order=3, mode="constant", cval=0.0, prefilter=True):
    a, matrix = ag.asarray(input), ag.asarray(matrix)
    shape = shape_of(a) if output_shape is None else tuple(output_shape)
    n = a.ndim
    if matrix.ndim == 2 and shape_of(matrix)[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    offsets = each(offset, n)
    grid = _grid(shape)
    if matrix.ndim == 1:
        coordinates = [(grid[i] + offsets[i] / matrix[i]) * matrix[i] for i in range(n)]
    else:
        coordinates = [_affine(matrix[i], offsets[i], grid) for i in range(n)]
    return _interpolated(a, coordinates, order, mode, cval, prefilter)


def _affine(factors, offset, grid):
    """Summed in SciPy's order: its rounding decides what lies inside of the image."""
    for j, along in enumerate(grid):
        offset = offset + factors[j] * along
    return offset


@CHAPTER.by_composition("zoom", "input", UNSER, refuse={"zoom": "the result's size depends on it"})
def _zoom(input, zoom, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False):
    a = ag.asarray(input)
    shape = tuple(round(n * z) for n, z in zip(shape_of(a), each(zoom, a.ndim), strict=True))
    if grid_mode:
        raise NotDifferentiable("arraygrad.scipy.ndimage.zoom: the derivative is known for grid_mode=False")
    factors = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(shape_of(a), shape, strict=True)]
    coordinates = [ag.asarray(g * f) for g, f in zip(_grid(shape), factors, strict=True)]
    return _interpolated(a, coordinates, order, mode, cval, prefilter)


@CHAPTER.by_composition("rotate", "input angle", UNSER)
def _rotate(input, angle, axes=(1, 0), reshape=True, order=3, mode="constant", cval=0.0, prefilter=True):
    a = ag.asarray(input)
    first, second = sorted(normalize_axes(axes, a.ndim))
    c, s = special.cosdg(angle), special.sindg(angle)
    plane = np.array([shape_of(a)[first], shape_of(a)[second]])
    shape = list(shape_of(a))
    if reshape:
        turn = np.array([[raw(c), raw(s)], [-raw(s), raw(c)]], dtype=float)
        bounds = turn @ np.array([[0, 0, plane[0], plane[0]], [0, plane[1], 0, plane[1]]])
        shape[first], shape[second] = (np.ptp(bounds, axis=1) + 0.5).astype(int)
    y, x = (shape[first] - 1) / 2.0, (shape[second] - 1) / 2.0
    offsets = (plane - 1) / 2.0
    grid = _grid(shape)
    coordinates = [ag.asarray(g) for g in grid]
    turning = [grid[first], grid[second]]
    coordinates[first] = ag.asarray(_affine((c, s), offsets[0] - (c * y + s * x), turning))
    coordinates[second] = ag.asarray(_affine((-s, c), offsets[1] - (c * x - s * y), turning))
    return _interpolated(a, coordinates, order, mode, cval, prefilter)
