"""Gradients of filters' images in plain backwards: correlations with the weights turned round, borders folded back.

May import: ops._axes, scipy._everyday, scipy._plainly, scipy._guards, scipy.ndimage._chapter, scipy.ndimage._filters,
numpy, SciPy.
"""

import functools

import numpy as np
from scipy import ndimage

from arraygrad.ops._axes import from_start
from arraygrad.scipy._everyday import everyday
from arraygrad.scipy._guards import raw
from arraygrad.scipy._plainly import folded, is_real, plainly
from arraygrad.scipy.ndimage._chapter import PADDING, axes_of, each
from arraygrad.scipy.ndimage._filters import gaussian_weights, turned_origin

__all__ = []


def _padded(g, width):
    """g with zeros around it."""
    out = np.zeros([n + before + after for n, (before, after) in zip(g.shape, width, strict=True)], dtype=g.dtype)
    out[tuple(slice(before, before + n) for n, (before, _) in zip(g.shape, width, strict=True))] = g
    return out


def _turned_back(g, weights, modes, origins):
    """The transpose of the correlation with weights of as many axes as g."""
    width = [(n // 2 + origin, n - 1 - n // 2 - origin) for n, origin in zip(weights.shape, origins, strict=True)]
    # A window of the turned weights lies `after` elements before its place.
    places = [after - n // 2 for n, (_, after) in zip(weights.shape, width, strict=True)]
    found = ndimage.correlate(_padded(g, width), np.flip(weights), mode="constant", origin=places)
    for axis, (before, _) in enumerate(width):
        if weights.shape[axis] > 1:
            found = folded(found, axis, before, g.shape[axis], PADDING[modes[axis]])
    return found


def _turned_back1d(g, weights, axis, mode, origin):
    """The same along one axis."""
    n = weights.shape[0]
    before = n // 2 + int(origin)
    after = n - 1 - before
    width = [(before, after) if i == from_start(axis, g.ndim) else (0, 0) for i in range(g.ndim)]
    whole = ndimage.correlate1d(_padded(g, width), weights[::-1], axis, mode="constant", origin=after - n // 2)
    return folded(whole, axis, before, g.shape[axis], PADDING[mode])


def _served(g, *weights):
    return g.size and is_real(*weights) and g.dtype.char in "fdFD"


@plainly("ndimage.correlate", "input")
def _correlate(g, weights, mode="reflect", origin=0, axes=None):
    weights = np.asarray(weights)
    if not _served(g, weights) or not weights.size:
        return None
    axes = axes_of(axes, g.ndim)
    shape, origins, modes = [1] * g.ndim, [0] * g.ndim, ["constant"] * g.ndim
    given = zip(axes, weights.shape, each(origin, len(axes)), each(mode, len(axes)), strict=True)
    for axis, n, shift, extension in given:
        shape[axis], origins[axis], modes[axis] = n, shift, extension
    return _turned_back(g, weights.reshape(shape), modes, origins)


@plainly("ndimage.convolve", "input")
def _convolve(g, weights, mode="reflect", origin=0, axes=None):
    weights = np.asarray(weights)
    origins = [turned_origin(n, o) for n, o in zip(weights.shape, each(origin, weights.ndim), strict=True)]
    return _correlate(g, np.flip(weights), mode, origins, axes)


@plainly("ndimage.correlate1d", "input")
def _correlate1d(g, weights, axis=-1, mode="reflect", origin=0):
    weights = np.asarray(weights)
    return _turned_back1d(g, weights, axis, mode, origin) if _served(g, weights) else None


@plainly("ndimage.convolve1d", "input")
def _convolve1d(g, weights, axis=-1, mode="reflect", origin=0):
    weights = np.asarray(weights)
    return _correlate1d(g, weights[::-1], axis, mode, turned_origin(len(weights), origin))


# -- of one axis after the other --------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _gaussian_weights(deviation, order, radius):
    """Those of numbers, which one filter asks for along each axis and in each step of a program."""
    weights = np.asarray(raw(gaussian_weights(deviation, order, radius)))
    weights.flags.writeable = False
    return weights


@plainly("ndimage.gaussian_filter1d", "input")
def _gaussian1d(g, sigma, axis=-1, order=0, mode="reflect", truncate=4.0, radius=None):
    if not _served(g, sigma):
        return None
    deviation = float(sigma)
    radius = int(truncate * deviation + 0.5) if radius is None else radius
    weights = _gaussian_weights(deviation, int(order), int(radius))
    return _turned_back1d(g, weights[::-1], axis, mode, 0)


@plainly("ndimage.gaussian_filter", "input")
def _gaussian(g, sigma, order=0, mode="reflect", truncate=4.0, radius=None, axes=None):
    if not _served(g):
        return None
    axes = axes_of(axes, g.ndim)
    n = len(axes)
    values = zip(axes, each(sigma, n), each(order, n), each(mode, n), each(radius, n), strict=True)
    for axis, deviation, derivative, extension, extent in [*values][::-1]:
        if float(deviation) > 1e-15:
            g = _gaussian1d(g, deviation, axis, derivative, extension, truncate, extent)
    return g


@plainly("ndimage.gaussian_laplace", "input")
def _gaussian_laplace(g, sigma, mode="reflect", axes=None, truncate=4.0, radius=None):
    if not _served(g):
        return None
    axes = axes_of(axes, g.ndim)
    parts = [
        _gaussian(g, sigma, [2 if other == axis else 0 for other in axes], mode, truncate, radius, axes)
        for axis in axes
    ]
    return sum(parts[1:], parts[0])


@plainly("ndimage.uniform_filter1d", "input")
def _uniform1d(g, size, axis=-1, mode="reflect", origin=0):
    return _turned_back1d(g, np.full(int(size), 1.0 / size), axis, mode, origin) if _served(g) else None


@plainly("ndimage.uniform_filter", "input")
def _uniform(g, size=3, mode="reflect", origin=0, axes=None):
    if not _served(g):
        return None
    axes = axes_of(axes, g.ndim)
    n = len(axes)
    values = zip(axes, each(size, n), each(mode, n), each(origin, n), strict=True)
    for axis, length, extension, shift in [*values][::-1]:
        if length > 1:
            g = _uniform1d(g, int(length), axis, extension, shift)
    return g


def _edges(name, smooth):
    @plainly(f"ndimage.{name}", "input")
    def formula(g, axis=-1, mode="reflect"):
        if not _served(g):
            return None
        modes = each(mode, g.ndim)
        for other in range(g.ndim):
            if other != from_start(axis, g.ndim):
                g = _turned_back1d(g, np.array(smooth), other, modes[other], 0)
        return _turned_back1d(g, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], 0)


_edges("sobel", [1.0, 2.0, 1.0])
_edges("prewitt", [1.0, 1.0, 1.0])


@plainly("ndimage.laplace", "input")
def _laplace(g, mode="reflect", axes=None):
    if not _served(g):
        return None
    axes, weights = axes_of(axes, g.ndim), np.array([1.0, -2.0, 1.0])
    parts = [_turned_back1d(g, weights, axis, extension, 0)
             for axis, extension in zip(axes, each(mode, len(axes)), strict=True)]  # fmt: skip
    return sum(parts[1:], parts[0])


# Calls that are recorded as one node: of filters whose gradient is computed here.

_EXTENDED = "*, mode='reflect', cval=0.0"
for _name, _of, _parameters in (
    ("correlate", "input weights", f"input, weights, {_EXTENDED}, origin=0"),
    ("convolve", "input weights", f"input, weights, {_EXTENDED}, origin=0"),
    ("correlate1d", "input weights", f"input, weights, axis=-1, {_EXTENDED}, origin=0"),
    ("convolve1d", "input weights", f"input, weights, axis=-1, {_EXTENDED}, origin=0"),
    ("gaussian_filter1d", "input", f"input, sigma, axis=-1, order=0, {_EXTENDED}, truncate=4.0, radius=None"),
    ("gaussian_filter", "input", f"input, sigma, order=0, {_EXTENDED}, truncate=4.0, radius=None"),
    ("gaussian_laplace", "input", f"input, sigma, {_EXTENDED}"),
    ("uniform_filter1d", "input", f"input, size, axis=-1, {_EXTENDED}, origin=0"),
    ("uniform_filter", "input", f"input, size=3, {_EXTENDED}, origin=0"),
    ("sobel", "input", f"input, axis=-1, {_EXTENDED}"),
    ("prewitt", "input", f"input, axis=-1, {_EXTENDED}"),
    ("laplace", "input", f"input, {_EXTENDED}"),
):
    everyday(f"ndimage.{_name}", _parameters, _of)
