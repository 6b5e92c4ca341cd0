"""Gradients of signals in plain backwards: the filter run backwards, or the turned correlation.

May import: ops._axes, scipy._everyday, scipy._plainly, scipy.signal._convolutions, scipy.signal._filters, numpy, SciPy.
"""

import numpy as np
from scipy import ndimage, signal

from arraygrad.ops._axes import at_axis
from arraygrad.scipy._everyday import everyday
from arraygrad.scipy._plainly import folded, is_real, plainly
from arraygrad.scipy.signal._convolutions import PADDING, starts

__all__ = []


@plainly("signal.lfilter", "b a x")
def _lfilter(g, ans, needs, b, a, x, axis=-1):
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), np.asarray(x)
    found = {}
    if not g.size or ("x" not in needs and g.ndim != 1):
        return None
    if "x" in needs:
        found["x"] = np.flip(signal.lfilter(np.conj(b), np.conj(a), np.flip(g, axis), axis), axis)
    if needs != {"x"}:
        if g.ndim != 1 or b.ndim != 1 or a.ndim != 1 or not is_real(b, a, x, g):
            return None
        # The equations a * y = b * x as they are: what a[0] is divides nothing here.
        w = signal.lfilter([1.0], a, g[::-1])[::-1]
        for key, sign, signals, taps in (("b", 1.0, x, b.size), ("a", -1.0, ans, a.size)):
            if key in needs:
                lags = [np.dot(w[k:], signals[: g.size - k]) if k < g.size else 0.0 for k in range(taps)]
                found[key] = sign * np.array(lags)
    return found


@plainly("signal.sosfilt", "x")
def _sosfilt(g, sos, axis=-1):
    return np.flip(signal.sosfilt(np.conj(sos), np.flip(g, axis), axis), axis) if g.size else None


_MOST_PRODUCTS = 1 << 20  # of a sum of products that is faster than a transform


def _of_vectors(g, needs, in1, in2, mode="full"):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    if g.ndim != 1 or not g.size or mode not in ("full", "same", "valid") or not is_real(in1, in2, g):
        return None
    n, m = in1.shape[0], in2.shape[0]
    if n * m > _MOST_PRODUCTS and min(n, m) > 64:
        return None
    whole = _among_zeros(g, mode, in1.shape, in2.shape)
    return {key: np.correlate(whole, other, "valid") for key, other in (("in1", in2), ("in2", in1)) if key in needs}


plainly("signal.convolve", "in1 in2")(_of_vectors)
plainly("signal.fftconvolve", "in1 in2")(_of_vectors)

_MOST_DIRECT = 30_000  # products of a correlation that one call of SciPy's direct loop is fastest for
_MOST_TAPS = 400  # of a filter whose gradient is one sum of products for each


@plainly("signal.convolve2d", "in1 in2")
def _convolve2d(g, needs, in1, in2, mode="full", boundary="fill", fillvalue=0):
    in1, in2 = np.asarray(in1), np.asarray(in2)
    zeros = mode == "valid" or (PADDING[boundary] == "constant" and fillvalue == 0)
    larger = all(n >= m for n, m in zip(in1.shape, in2.shape, strict=True))
    found = {}
    if zeros and larger and g.size and in2.size and is_real(g, in1, in2):
        whole = _among_zeros(g, mode, in1.shape, in2.shape) if mode != "valid" else g
        if "in1" in needs and g.size * in2.size <= _MOST_DIRECT:
            found["in1"] = signal.correlate2d(whole, in2, "full" if mode == "valid" else "valid")
        if "in2" in needs and in2.size <= _MOST_TAPS:
            found["in2"] = _slid(in1, g)[::-1, ::-1] if mode == "valid" else _slid(whole, in1)
    if "in1" in needs and "in1" not in found:
        found["in1"] = _turned_back(g, in1.shape, in2, mode, boundary, [(m - 1) // 2 for m in in2.shape])
    return found if all(found.get(key) is not None for key in needs) else None


def _among_zeros(g, mode, shape, size):
    """The gradient of the whole convolution, of which a mode keeps a part."""
    full = tuple(n + m - 1 for n, m in zip(shape, size, strict=True))
    if g.shape == full:
        return g
    whole = np.zeros(full, dtype=g.dtype)
    begin = [starts(mode, n, m) for n, m in zip(shape, size, strict=True)]
    whole[tuple(slice(s, s + k) for s, k in zip(begin, g.shape, strict=True))] = g
    return whole


def _slid(image, part):
    """The sums of products of `part` with all pieces of the image of its shape."""
    rows, columns = (n - k + 1 for n, k in zip(image.shape, part.shape, strict=True))
    if rows * columns * part.size <= _MOST_DIRECT:
        return signal.correlate2d(image, part, "valid")
    found = np.empty((rows, columns), dtype=np.result_type(image, part))
    part = part.ravel()
    height = part.size // (image.shape[1] - columns + 1)
    for j in range(columns):
        # Rows of one strip follow each other in memory.
        strip = np.ascontiguousarray(image[:, j : j + part.size // height])
        for i in range(rows):
            found[i, j] = np.dot(strip[i : i + height].ravel(), part)
    return found


@plainly("signal.correlate2d", "in1")
def _correlate2d(g, in1, in2, mode="full", boundary="fill"):
    return _turned_back(g, in1.shape, np.flip(np.conj(in2)), mode, boundary, [m // 2 for m in np.shape(in2)])


def _turned_back(g, shape, weights, mode, boundary, same):
    """The transpose of the convolution of an image with `weights`, whose mode "same" begins at the places `same`."""
    size = weights.shape
    if (
        not (g.size and weights.size)
        or not is_real(weights)
        or (mode == "valid" and any(m > n for m, n in zip(size, shape, strict=True)))
    ):
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
        part = found[at_axis(axis, slice(n + 2 * e))]
        found = folded(part, axis, e, n, extension)
    return found


# Calls that are recorded as one node.

everyday("signal.lfilter", "b, a, x, axis=-1", "b a x")
everyday("signal.sosfilt", "sos, x, axis=-1", "sos x", ndims=(2, -1))
everyday("signal.convolve", "in1, in2, mode='full', method='auto'", "in1 in2", ndims=(1, 1))
everyday("signal.fftconvolve", "in1, in2, mode='full'", "in1 in2", ndims=(1, 1))
everyday("signal.convolve2d", "in1, in2, mode='full', boundary='fill', fillvalue=0", "in1 in2", ndims=(2, 2))
everyday("signal.correlate2d", "in1, in2, mode='full', boundary='fill', fillvalue=0", "in1 in2", ndims=(2, 2))
