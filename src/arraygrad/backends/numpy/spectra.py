"""Gradients of NumPy's real Fourier transforms over several axes: the table's rules, weights applied in place.

May import: numpy, ops._fourier. The spectrum that a rule weighs was made by the rule itself, or is copied here.
`weigh_rows` multiplies frequencies of the last axis of a plain array in place, and returns False for any other.
"""

import numpy

from arraygrad.ops._fourier import MIRRORED, fitted, transformed_axes

__all__ = ["irfftn_gradient", "rfftn_gradient"]


def irfftn_gradient(g, shape, s, axes, norm, weigh_rows):
    """The gradient of frequencies of `shape` for that of irfftn's result."""
    axes = transformed_axes(s, axes, g.ndim)
    spectrum = numpy.fft.rfftn(g, axes=axes, norm=MIRRORED[norm])
    _weigh(spectrum, g.shape[axes[-1]], axes[-1], 2.0, weigh_rows)
    return fitted(numpy, spectrum, shape, axes)


def rfftn_gradient(g, shape, s, axes, norm, weigh_rows):
    """The gradient of a real array of `shape` for that of rfftn's result."""
    axes = transformed_axes(s, axes, g.ndim)
    lengths = tuple(shape[axis] for axis in axes) if s is None else tuple(s)
    g = numpy.fft.ifftn(g, axes=axes[:-1], norm=MIRRORED[norm]) if len(axes) > 1 else g.copy()
    _weigh(g, lengths[-1], axes[-1], 0.5, weigh_rows)
    return fitted(numpy, numpy.fft.irfft(g, n=lengths[-1], axis=axes[-1], norm=MIRRORED[norm]), shape, axes)


def _weigh(spectrum, n, axis, weight, weigh_rows):
    """Multiply the frequencies that a half spectrum of n // 2 + 1 stands for twice: not the first, nor n / 2."""
    end = n // 2 + 1 - (1 if n % 2 == 0 and n > 1 else 0)
    if axis == spectrum.ndim - 1 and weigh_rows(spectrum, 1, end, weight):
        return
    inner = spectrum[(slice(None),) * axis + (slice(1, end),)]
    if inner.size and inner.strides[-1] == inner.itemsize:
        inner = inner.view(inner.real.dtype)  # a real factor needs no complex products
    numpy.multiply(inner, weight, inner)
