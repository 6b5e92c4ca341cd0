"""Convolutions, correlations, and filters that select: each gradient is a convolution of the same kind.

May import: arraygrad, scipy._axes, scipy._conjugates, scipy._declare, scipy.signal._chapter, numpy.

y = x * h (all of it) is linear in both: the gradient of x is the valid part of g * conj(flip(h)), so that one rule and
its own second derivative need nothing but the function itself.
"""

import numpy as np

import arraygrad as ag
from arraygrad.scipy._axes import places
from arraygrad.scipy._conjugates import conj
from arraygrad.scipy._declare import raw
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, shape_of

__all__ = ["PADDING", "starts"]

DEFINITION = "definition (bilinear)"


def starts(mode, n, m):
    """Where the result of a mode begins within the whole convolution."""
    if mode == "full":
        return 0
    return (m - 1) // 2 if mode == "same" else min(n, m) - 1


def _whole(g, mode, shape1, shape2, axes):
    """The gradient of the whole convolution: g with zeros around it."""
    width = []
    for axis, (n, m) in enumerate(zip(shape1, shape2, strict=True)):
        if axis in axes:
            whole, start = n + m - 1, starts(mode, n, m)
        else:  # broadcast; "same" keeps as many as in1 has
            whole = max(n, m) if n and m else 0
            start = (whole - n) // 2 if mode == "same" else 0
        width.append((start, whole - start - shape_of(g)[axis]))
    return g if all(w == (0, 0) for w in width) else ag.pad(g, tuple(width))


def _convolution(name, **fixed):
    def rule(g, in1, in2, mode="full", axes=None):
        in1, in2 = ag.asarray(in1), ag.asarray(in2)
        ndim = in1.ndim
        along = places(axes, ndim)
        further = {} if axes is None else {"axes": axes}
        if not (g.size and in1.size and in2.size):
            return {"in1": ag.zeros_like(in1), "in2": ag.zeros_like(in2)}
        g = _whole(ag.asarray(g), mode, shape_of(in1), shape_of(in2), along)
        if ndim == 0:
            return {"in1": g * conj(in2), "in2": g * conj(in1)}

        def with_other(other):
            return NAMES[name](g, conj(ag.flip(other, axis=along)), mode="valid", **further)

        return {"in1": lambda: with_other(in2), "in2": lambda: with_other(in1)}

    return rule


@CHAPTER.by_rule("convolve", "in1 in2", DEFINITION, inert="method")
def _convolve(g, ans, in1, in2, mode="full"):
    return _convolution("convolve")(g, in1, in2, mode)


@CHAPTER.by_rule("fftconvolve", "in1 in2", DEFINITION)
def _fftconvolve(g, ans, in1, in2, mode="full", axes=None):
    return _convolution("fftconvolve")(g, in1, in2, mode, axes)


@CHAPTER.by_rule("oaconvolve", "in1 in2", DEFINITION)
def _oaconvolve(g, ans, in1, in2, mode="full", axes=None):
    return _convolution("oaconvolve")(g, in1, in2, mode, axes)


def _turned(a):
    a = ag.asarray(a)
    return conj(ag.flip(a)) if a.ndim else conj(a)


@CHAPTER.by_composition("correlate", "in1 in2", DEFINITION, inert="method")
def _correlate(in1, in2, mode="full"):
    return NAMES["convolve"](ag.asarray(in1), _turned(in2), mode=mode)


PADDING = {"fill": "constant", "wrap": "wrap", "symm": "symmetric", 0: "constant", 1: "symmetric", 2: "wrap"}


def _of_nothing(name, in1, in2, *options):
    """SciPy's result where one has no elements, which depends on no element."""
    value = CHAPTER.values(name)(raw(in1), raw(in2), *options)
    return ag.asarray(value) + 0.0 * (ag.sum(in1) + ag.sum(in2))


@CHAPTER.by_composition("convolve2d", "in1 in2", DEFINITION)
def _convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    in1, in2 = ag.asarray(in1), ag.asarray(in2)
    if not (in1.size and in2.size):
        return _of_nothing("convolve2d", in1, in2, mode, boundary, fillvalue)
    shape1, shape2 = shape_of(in1), shape_of(in2)
    if mode == "valid" or (PADDING[boundary] == "constant" and fillvalue == 0):
        return NAMES["convolve"](in1, in2, mode=mode)
    width = [(m - 1, m - 1) for m in shape2]
    further = {"constant_values": fillvalue} if PADDING[boundary] == "constant" else {}
    whole = NAMES["convolve"](np.pad(in1, width, mode=PADDING[boundary], **further), in2, mode="valid")
    if mode == "full":
        return whole
    (top, left), (rows, columns) = ((m - 1) // 2 for m in shape2), shape1
    return whole[top : top + rows, left : left + columns]


@CHAPTER.by_composition("correlate2d", "in1 in2", DEFINITION)
def _correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    in1, in2 = ag.asarray(in1), ag.asarray(in2)
    if not (in1.size and in2.size):
        return _of_nothing("correlate2d", in1, in2, mode, boundary, fillvalue)
    if mode == "valid" and any(n < m for n, m in zip(shape_of(in1), shape_of(in2), strict=True)):
        # SciPy swaps them, and conjugates the one that is then the second.
        return _convolve2d(conj(in1), ag.flip(in2), mode)
    if mode == "same" and any(m % 2 == 0 for m in shape_of(in2)):
        # An even filter is centred the other way round than in a convolution.
        whole = _convolve2d(in1, _turned(in2), "full", boundary, fillvalue)
        (top, left), (rows, columns) = (m // 2 for m in shape_of(in2)), shape_of(in1)
        return whole[top : top + rows, left : left + columns]
    return _convolve2d(in1, _turned(in2), mode, boundary, fillvalue)


@CHAPTER.by_composition("deconvolve", "signal divisor", "long division: the quotient is the divisor's impulse response")
def _deconvolve(signal, divisor):
    signal, divisor = ag.asarray(signal), ag.asarray(divisor)
    n = shape_of(signal)[0] - shape_of(divisor)[0] + 1
    if n <= 0:
        return 0.0 * signal[:0], signal
    impulse = np.zeros(n)
    impulse[0] = 1.0
    quotient = NAMES["lfilter"](signal, divisor, impulse)
    return quotient, signal - NAMES["convolve"](divisor, quotient, mode="full")


# -- by selection -----------------------------------------------------------------------------------------------------


def _windows(a, size):
    """Windows around every element, with zeros beyond the edges, their elements along the last axis."""
    padded = ag.pad(a, tuple((n // 2, n // 2) for n in size))
    found = np.lib.stride_tricks.sliding_window_view(padded, size)
    return ag.reshape(found, (*shape_of(a), -1))


def _sizes(kernel_size, ndim):
    size = np.asarray(3 if kernel_size is None else kernel_size)
    return tuple(int(n) for n in (np.repeat(size, ndim) if size.size == 1 else size))


@CHAPTER.by_composition("medfilt", "volume", "by selection")
def _medfilt(volume, kernel_size=None):
    volume = ag.asarray(volume)
    windows = ag.sort(_windows(volume, _sizes(kernel_size, volume.ndim)), axis=-1)
    return windows[..., shape_of(windows)[-1] // 2]


@CHAPTER.by_composition("medfilt2d", "input", "by selection")
def _medfilt2d(input, kernel_size=3):
    return _medfilt(input, kernel_size)


@CHAPTER.by_composition("order_filter", "a", "by selection")
def _order_filter(a, domain, rank):
    a, domain = ag.asarray(a), np.asarray(domain)
    windows = _windows(a, domain.shape)
    return ag.sort(windows[..., np.flatnonzero(domain)], axis=-1)[..., rank]


@CHAPTER.by_composition("wiener", "im noise", "Lim (1990)")
def _wiener(im, mysize=None, noise=None):
    im = ag.asarray(im)
    size = _sizes(mysize, im.ndim)
    window, count = np.ones(size), float(np.prod(size))
    mean = NAMES["convolve"](im, window, mode="same") / count
    spread = NAMES["convolve"](im * im, window, mode="same") / count - mean * mean
    noise = ag.mean(spread) if noise is None else noise
    flat = np.asarray(raw(spread) < raw(noise))
    return ag.where(flat, mean, mean + (1.0 - noise / ag.where(flat, 1.0, spread)) * (im - mean))
