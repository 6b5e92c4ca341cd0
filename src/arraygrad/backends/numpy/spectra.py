"""What rules of Fourier transforms do with spectra of unusual layout or length.

May import: ops._axes, numpy, ops._fourier. The arrays were made by the rules themselves and may be written.
"""

import numpy

from arraygrad.ops._axes import at_axis
from arraygrad.ops._fourier import fitted

__all__ = ["fitted_axes", "weigh_axis"]


def fitted_axes(a, shape, axes):
    """`a` cut or filled with zeros at the end of each of `axes`; never a view of `a`."""
    out = fitted(numpy, a, shape, axes)
    return out.copy() if out.base is not None else out


def weigh_axis(spectrum, end, axis, weight):
    """Multiply the frequencies from 1 to `end` (exclusive) along an axis."""
    inner = spectrum[at_axis(axis, slice(1, end))]
    if inner.size and inner.strides[-1] == inner.itemsize:
        inner = inner.view(inner.real.dtype)  # a real factor needs no complex products
    numpy.multiply(inner, weight, inner)
