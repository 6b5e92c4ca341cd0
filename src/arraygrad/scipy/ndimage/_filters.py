"""Filters of images: correlations of the extended image, and filters that select.

May import: arraygrad, namespaces.kinks, ops._axes, scipy._conjugates, scipy._declare, scipy.ndimage._chapter,
scipy.signal, numpy.

A filter is a correlation of the image, extended beyond its edges, of which the inner part is kept: its transpose
follows from those of the two (`scipy.signal`). Weights may be differentiated too.
"""

import importlib

import numpy as np

import arraygrad as ag
from arraygrad.namespaces.kinks import root_of_form
from arraygrad.ops._axes import along, from_start
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.ndimage._chapter import CHAPTER, axes_of, each, extended, shape_of

__all__ = ["gaussian_weights", "turned_origin", "windows_of"]

DEFINITION = "definition (bilinear)"


def _signal():
    """What declares convolutions: it loads scipy.signal, of which programs of filters need nothing themselves."""
    return importlib.import_module("arraygrad.scipy.signal._convolutions")


def _correlated(a, weights, modes, cval, origins):
    """The correlation with weights of as many axes; a window lies size // 2 + origin before its place."""
    width = []
    for size, origin in zip(shape_of(weights), origins, strict=True):
        before = size // 2 + origin
        width.append((before, size - 1 - before))
    for axis, pair in enumerate(width):
        a = extended(a, [pair if i == axis else (0, 0) for i in range(a.ndim)], modes[axis], cval)
    return _signal().NAMES["convolve"](a, ag.flip(weights), mode="valid")


def _along(weights, axis, ndim):
    return ag.reshape(weights, along(-1, axis, ndim))


def _correlated1d(a, weights, axis, mode, cval, origin):
    origins = [0] * a.ndim
    origins[axis] = int(origin)
    return _correlated(a, _along(weights, axis, a.ndim), [mode] * a.ndim, cval, origins)


def turned_origin(size, origin):
    """The origin of a convolution as that of the correlation with the weights turned round."""
    return -int(origin) - (1 if size % 2 == 0 else 0)


@CHAPTER.by_composition("correlate", "input weights", DEFINITION, refuse={"cval": "it has no rule"})
def _correlate(input, weights, mode="reflect", cval=0.0, origin=0, axes=None):
    return _correlated_along(input, conj(ag.asarray(weights)), mode, cval, origin, axes)


def _correlated_along(input, weights, mode, cval, origin, axes):
    """The correlation along some axes, with the weights as they are: SciPy's has their conjugates."""
    a = ag.asarray(input)
    axes = axes_of(axes, a.ndim)
    shape, origins, modes = [1] * a.ndim, [0] * a.ndim, [None] * a.ndim
    for i, axis in enumerate(axes):
        shape[axis], origins[axis] = shape_of(weights)[i], each(origin, len(axes))[i]
        modes[axis] = each(mode, len(axes))[i]
    return _correlated(a, ag.reshape(weights, tuple(shape)), modes, cval, origins)


@CHAPTER.by_composition("convolve", "input weights", DEFINITION)
def _convolve(input, weights, mode="reflect", cval=0.0, origin=0, axes=None):
    weights = ag.asarray(weights)
    origins = [turned_origin(n, o) for n, o in zip(shape_of(weights), each(origin, weights.ndim), strict=True)]
    return _correlated_along(input, ag.flip(weights), mode, cval, origins, axes)


@CHAPTER.by_composition("correlate1d", "input weights", DEFINITION)
def _correlate1d(input, weights, axis=-1, mode="reflect", cval=0.0, origin=0):
    return _correlated1d(ag.asarray(input), conj(ag.asarray(weights)), axis, mode, cval, origin)


@CHAPTER.by_composition("convolve1d", "input weights", DEFINITION)
def _convolve1d(input, weights, axis=-1, mode="reflect", cval=0.0, origin=0):
    weights = ag.asarray(weights)
    origin = turned_origin(shape_of(weights)[0], origin)
    return _correlated1d(ag.asarray(input), ag.flip(weights), axis, mode, cval, origin)


# -- Gaussian filters -------------------------------------------------------------------------------------------------


def gaussian_weights(sigma, order, radius):
    """Weights of the derivative of that order: a polynomial times the sampled Gaussian, whose sum is one."""
    x = np.arange(-radius, radius + 1.0)
    sigma = ag.asarray(sigma)
    phi = ag.exp(-0.5 * x * x / (sigma * sigma))
    phi = phi / ag.sum(phi)
    if order == 0:
        return phi
    # p' - x p / sigma^2 takes the polynomial of one derivative to the next.
    coefficients = [ag.asarray(np.ones(()))]
    for _ in range(order):
        grown = [0.0] * (len(coefficients) + 1)
        for k, c in enumerate(coefficients):
            if k:
                grown[k - 1] = grown[k - 1] + k * c
            grown[k + 1] = grown[k + 1] - c / (sigma * sigma)
        coefficients = grown
    return sum(c * x**k for k, c in enumerate(coefficients)) * phi


@CHAPTER.by_composition("gaussian_filter1d", "input sigma", "definition")
def _gaussian_filter1d(input, sigma, axis=-1, order=0, mode="reflect", cval=0.0, truncate=4.0, radius=None):
    deviation = float(raw(sigma))
    radius = int(truncate * deviation + 0.5) if radius is None else radius
    weights = gaussian_weights(sigma, order, radius)
    return _correlated1d(ag.asarray(input), ag.flip(weights), axis, mode, cval, 0)


@CHAPTER.by_composition("gaussian_filter", "input sigma", "definition")
def _gaussian_filter(input, sigma, order=0, mode="reflect", cval=0.0, truncate=4.0, radius=None, axes=None):
    a = ag.asarray(input)
    axes = axes_of(axes, a.ndim)
    n = len(axes)
    values = zip(axes, each(sigma, n), each(order, n), each(mode, n), each(radius, n), strict=True)
    found = a + 0.0
    for axis, deviation, derivative, extension, extent in values:
        if float(raw(deviation)) > 1e-15:
            found = _gaussian_filter1d(found, deviation, axis, derivative, extension, cval, truncate, extent)
    return found


def _derivatives(a, sigmas, order, mode, cval, axes, keywords):
    """The derivatives along each of the axes of the image smoothed along all, each with the mode of its own axis."""
    for axis, extension in zip(axes, each(mode, len(axes)), strict=True):
        orders = [order if other == axis else 0 for other in range(a.ndim)]
        yield _gaussian_filter(a, sigmas, orders, extension, cval, **keywords)


@CHAPTER.by_composition("gaussian_laplace", "input sigma", "definition")
def _gaussian_laplace(input, sigma, mode="reflect", cval=0.0, axes=None, **keywords):
    a = ag.asarray(input)
    axes = axes_of(axes, a.ndim)
    sigmas = each(sigma, len(axes))
    if len(axes) < a.ndim:  # of all axes SciPy takes them as they stand, whatever the order of `axes`
        by_axis = dict(zip(axes, sigmas, strict=True))
        sigmas = [by_axis.get(axis, 0.0) for axis in range(a.ndim)]
    return sum(_derivatives(a, sigmas, 2, mode, cval, axes, keywords)) if axes else a + 0.0


@CHAPTER.by_composition("gaussian_gradient_magnitude", "input sigma", "definition")
def _gaussian_gradient_magnitude(input, sigma, mode="reflect", cval=0.0, axes=None, **keywords):
    a = ag.asarray(input)
    axes = axes_of(axes, a.ndim)
    sigmas = each(sigma, a.ndim)  # SciPy smooths along all axes
    if not axes:
        return a + 0.0
    slopes = list(_derivatives(a, sigmas, 1, mode, cval, axes, keywords))
    return root_of_form(sum(d**2 for d in slopes), ag.stack(slopes, axis=-1))


# -- small kernels ----------------------------------------------------------------------------------------------------


@CHAPTER.by_composition("uniform_filter1d", "input", "definition")
def _uniform_filter1d(input, size, axis=-1, mode="reflect", cval=0.0, origin=0):
    return _correlated1d(ag.asarray(input), ag.asarray(np.full(size, 1.0 / size)), axis, mode, cval, origin)


@CHAPTER.by_composition("uniform_filter", "input", "definition")
def _uniform_filter(input, size=3, mode="reflect", cval=0.0, origin=0, axes=None):
    a = ag.asarray(input) + 0.0
    axes = axes_of(axes, a.ndim)
    n = len(axes)
    for axis, length, extension, shift in zip(axes, each(size, n), each(mode, n), each(origin, n), strict=True):
        if length > 1:
            a = _uniform_filter1d(a, int(length), axis, extension, cval, shift)
    return a


def _edges(name, smooth):
    @CHAPTER.by_composition(name, "input", "definition")
    def formula(input, axis=-1, mode="reflect", cval=0.0):
        a = ag.asarray(input)
        modes = each(mode, a.ndim)
        found = _correlated1d(a, ag.asarray(np.array([-1.0, 0.0, 1.0])), axis, modes[axis], cval, 0)
        for other in range(a.ndim):
            if other != from_start(axis, a.ndim):
                found = _correlated1d(found, ag.asarray(np.array(smooth)), other, modes[other], cval, 0)
        return found


_edges("sobel", [1.0, 2.0, 1.0])
_edges("prewitt", [1.0, 1.0, 1.0])


@CHAPTER.by_composition("laplace", "input", "definition")
def _laplace(input, mode="reflect", cval=0.0, axes=None):
    a = ag.asarray(input)
    axes, found = axes_of(axes, a.ndim), 0.0
    for axis, extension in zip(axes, each(mode, len(axes)), strict=True):
        found = found + _correlated1d(a, ag.asarray(np.array([1.0, -2.0, 1.0])), axis, extension, cval, 0)
    return found


# -- by selection -----------------------------------------------------------------------------------------------------


def _sorted_windows(a, size, footprint, mode, cval, origin, axes, turned=False):
    """Windows around every element in order, along the last axis."""
    return ag.sort(windows_of(a, size, footprint, mode, cval, origin, axes, turned), axis=-1)


def windows_of(a, size, footprint, mode, cval, origin, axes, turned=False):
    """Windows around every element, along the last axis."""
    axes = axes_of(axes, a.ndim)
    if footprint is None:
        footprint = np.ones([int(n) for n in each(size, len(axes))], dtype=bool)
    footprint = np.asarray(footprint, dtype=bool)
    origins = each(origin, len(axes))
    if turned:
        footprint, origins = np.flip(footprint), [turned_origin(n, o) for n, o in
                                                  zip(footprint.shape, origins, strict=True)]  # fmt: skip
    shape = [1] * a.ndim
    for i, (axis, extension) in enumerate(zip(axes, each(mode, len(axes)), strict=True)):
        n = shape[axis] = footprint.shape[i]
        before = n // 2 + origins[i]
        a = extended(a, [(before, n - 1 - before) if j == axis else (0, 0) for j in range(a.ndim)], extension, cval)
    windows = np.lib.stride_tricks.sliding_window_view(a, tuple(shape))
    windows = ag.reshape(windows, (*shape_of(windows)[: len(shape)], -1))
    return windows[..., np.flatnonzero(footprint)]


SELECTION = "by selection"


def _extreme(name, place):
    @CHAPTER.by_composition(name, "input", SELECTION)
    def formula(input, size=None, footprint=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        return _sorted_windows(ag.asarray(input), size, footprint, mode, cval, origin, axes)[..., place]

    @CHAPTER.by_composition(f"{name}1d", "input", SELECTION)
    def formula1d(input, size, axis=-1, mode="reflect", cval=0.0, origin=0):
        return _sorted_windows(ag.asarray(input), size, None, mode, cval, origin, axis)[..., place]


_extreme("minimum_filter", 0)
_extreme("maximum_filter", -1)


@CHAPTER.by_composition("median_filter", "input", SELECTION)
def _median_filter(input, size=None, footprint=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    found = _sorted_windows(ag.asarray(input), size, footprint, mode, cval, origin, axes)
    return found[..., shape_of(found)[-1] // 2]


@CHAPTER.by_composition("rank_filter", "input", SELECTION)
def _rank_filter(input, rank, size=None, footprint=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    return _sorted_windows(ag.asarray(input), size, footprint, mode, cval, origin, axes)[..., int(rank)]


@CHAPTER.by_composition("percentile_filter", "input", SELECTION)
def _percentile_filter(input, percentile, size=None, footprint=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    found = _sorted_windows(ag.asarray(input), size, footprint, mode, cval, origin, axes)
    n = shape_of(found)[-1]
    percentile = percentile + 100.0 if percentile < 0 else percentile
    return found[..., n - 1 if percentile == 100.0 else int(n * percentile / 100.0)]


def _flat_only(name, structure):
    if structure is not None:
        raise NotDifferentiable(f"arraygrad.scipy.ndimage.{name}: the derivative is known without a structure")


def _eroded(a, size, footprint, mode, cval, origin, axes=None):
    return _sorted_windows(a, size, footprint, mode, cval, origin, axes)[..., 0]


def _dilated(a, size, footprint, mode, cval, origin, axes=None):
    return _sorted_windows(a, size, footprint, mode, cval, origin, axes, turned=True)[..., -1]


def _morphological(name, formula):
    @CHAPTER.by_composition(name, "input", SELECTION)
    def composition(input, size=None, footprint=None, structure=None, mode="reflect", cval=0.0, origin=0, *,
                    axes=None):  # fmt: skip
        _flat_only(name, structure)
        return formula(ag.asarray(input), size, footprint, mode, cval, origin, axes)


def _opened(a, *how):
    return _dilated(_eroded(a, *how), *how)


def _closed(a, *how):
    return _eroded(_dilated(a, *how), *how)


_morphological("grey_erosion", _eroded)
_morphological("grey_dilation", _dilated)
_morphological("grey_opening", _opened)
_morphological("grey_closing", _closed)
_morphological("white_tophat", lambda a, *how: a - _opened(a, *how))
_morphological("black_tophat", lambda a, *how: _closed(a, *how) - a)
_morphological("morphological_gradient", lambda a, *how: _dilated(a, *how) - _eroded(a, *how))
_morphological("morphological_laplace", lambda a, *how: _dilated(a, *how) + _eroded(a, *how) - 2.0 * a)

# -- multipliers of spectra -------------------------------------------------------------------------------------------


def _multiplier(name, parameter):
    @CHAPTER.by_composition(name, "input", "definition (linear)", refuse={parameter: "it has no rule"})
    def formula(input, sigma=None, size=None, shift=None, n=-1, axis=-1):
        a = ag.asarray(input)
        value = {"sigma": sigma, "size": size, "shift": shift}[parameter]
        return a * CHAPTER.values(name)(np.ones(shape_of(a), dtype=raw(a).dtype), value, n, axis)


_multiplier("fourier_gaussian", "sigma")
_multiplier("fourier_uniform", "size")
_multiplier("fourier_ellipsoid", "size")
_multiplier("fourier_shift", "shift")

CHAPTER.constants("binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes", "binary_hit_or_miss",
                  "binary_opening", "binary_propagation", "label", "find_objects")  # fmt: skip
CHAPTER.no_rule("the function writes into plain arrays", "generic_filter1d", "generic_gradient_magnitude",
                "generic_laplace")  # fmt: skip
