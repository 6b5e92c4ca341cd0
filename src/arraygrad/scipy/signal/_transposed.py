"""Gradients of signals in plain backwards: the filter run backwards, or the turned correlation.

May import: scipy._plainly, scipy.signal._convolutions, scipy.signal._filters, numpy, SciPy.
"""

import numpy as np
from scipy import ndimage, signal

from arraygrad.scipy._plainly import folded, is_real, plainly
from arraygrad.scipy.signal._convolutions import PADDING, starts

__all__ = []


@plainly("signal.lfilter", "x")
def _lfilter(g, b, a, axis=-1):
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    return np.flip(signal.lfilter(np.conj(b), np.conj(a), np.flip(g, axis), axis), axis) if g.size else None


@plainly("signal.sosfilt", "x")
def _sosfilt(g, sos, axis=-1):
    return np.flip(signal.sosfilt(np.conj(sos), np.flip(g, axis), axis), axis) if g.size else None


@plainly("signal.convolve2d", "in1")
def _convolve2d(g, in1, in2, mode="full", boundary="fill"):
    return _turned_back(g, in1.shape, np.asarray(in2), mode, boundary, [(m - 1) // 2 for m in np.shape(in2)])


@plainly("signal.correlate2d", "in1")
def _correlate2d(g, in1, in2, mode="full", boundary="fill"):
    return _turned_back(g, in1.shape, np.flip(np.conj(in2)), mode, boundary, [m // 2 for m in np.shape(in2)])


def _turned_back(g, shape, weights, mode, boundary, same):
    """The transpose of the convolution of an image with `weights`, whose mode "same" begins at the places `same`."""
    size = weights.shape
    if not g.size or not is_real(weights) or (mode == "valid" and any(m > n for m, n in zip(size, shape, strict=True))):
        return None
    start = same if mode == "same" else [starts(mode, n, m) for n, m in zip(shape, size, strict=True)]
    extension = "constant" if mode == "valid" else PADDING[boundary]
    # The extended image begins m - 1 places before the image, and so does what each result is made of: what is added
    # to it is at its place and up to m - 1 before.
    around = [m - 1 if extension != "constant" else 0 for m in size]
    whole = np.zeros([n + 2 * e + m - 1 for n, e, m in zip(shape, around, size, strict=True)], dtype=g.dtype)
    whole[tuple(slice(e + s, e + s + k) for e, s, k in zip(around, start, g.shape, strict=True))] = g
    # out[i] = sum of weights[k] whole[i + k]: the window begins at its place.
    found = ndimage.correlate(whole, weights, mode="constant", origin=[-(m // 2) for m in size])
    for axis, (n, e) in enumerate(zip(shape, around, strict=True)):
        part = found[(slice(None),) * axis + (slice(0, n + 2 * e),)]
        found = folded(part, axis, e, n, extension)
    return found
