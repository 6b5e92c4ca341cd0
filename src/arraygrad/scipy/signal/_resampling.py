"""Signals at other rates.

May import: arraygrad, scipy._declare, scipy.signal._chapter, numpy, SciPy.
"""

import math

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, cut, is_complex, shape_of

__all__ = []


@CHAPTER.by_composition("upfirdn", "h x", "definition: insert zeros, convolve, keep every down-th")
def _upfirdn(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    if mode not in (None, "constant", "zero") or cval:
        raise NotDifferentiable("arraygrad.scipy.signal.upfirdn: the derivative is known for mode='constant', cval=0")
    h, x = ag.reshape(ag.asarray(h), (-1,)), ag.moveaxis(ag.asarray(x), axis, -1)
    if up > 1:
        n = shape_of(x)[-1]
        x = ag.pad(x[..., None], (*[(0, 0)] * x.ndim, (0, up - 1)))
        x = ag.reshape(x, (*shape_of(x)[:-2], n * up))[..., : (n - 1) * up + 1]
    found = NAMES["fftconvolve"](x, ag.reshape(h, (1,) * (x.ndim - 1) + (-1,)), mode="full", axes=-1)
    return ag.moveaxis(cut(found, None, None, -1, down), -1, axis)


@CHAPTER.by_composition("resample_poly", "x", "definition, by upfirdn")
def _resample_poly(x, up, down, axis=0, window=("kaiser", 5.0), padtype="constant", cval=None):
    if padtype != "constant" or cval:
        raise NotDifferentiable("arraygrad.scipy.signal.resample_poly: the derivative is known for zeros as padding")
    x = ag.moveaxis(ag.asarray(x), axis, -1)
    common = math.gcd(int(up), int(down))
    up, down = int(up) // common, int(down) // common
    if up == down == 1:
        return ag.moveaxis(x + 0.0, -1, axis)
    n = shape_of(x)[-1]
    wanted = -(-n * up // down)
    if isinstance(window, (list, np.ndarray)):
        h = np.asarray(window)
        half = (h.size - 1) // 2
    else:
        half = 10 * max(up, down)
        h = signal.firwin(2 * half + 1, 1.0 / max(up, down), window=window)
    h = h * up
    before = down - half % down
    removed = (half + before) // down
    after = 0
    while -(-((n - 1) * up + h.size + before + after) // down) < wanted + removed:
        after += 1
    h = np.concatenate([np.zeros(before), h, np.zeros(after)])
    return ag.moveaxis(_upfirdn(h, x, up, down)[..., removed : removed + wanted], -1, axis)


@CHAPTER.by_composition("resample", "x", "definition: the spectrum cut or filled with zeros")
def _resample(x, num, axis=0, window=None, domain="time"):
    if window is not None or domain != "time":
        raise NotDifferentiable("arraygrad.scipy.signal.resample: the derivative is known in time, without a window")
    x = ag.moveaxis(ag.asarray(x), axis, -1)
    n = shape_of(x)[-1]
    smaller = min(num, n)
    nyquist = smaller // 2 + 1
    if not is_complex(x):
        spectrum = ag.fft.rfft(x)[..., :nyquist]
        if smaller % 2 == 0 and num != n:
            factor = np.ones(nyquist)
            factor[-1] = 2.0 if num < n else 0.5
            spectrum = spectrum * factor
        return ag.moveaxis(ag.fft.irfft(spectrum, n=num) * (num / n), -1, axis)
    spectrum = ag.fft.fft(x)
    low, high = spectrum[..., :nyquist], spectrum[..., n - (smaller - nyquist) :] if smaller > nyquist else None
    zeros = np.zeros((*shape_of(x)[:-1], num - smaller), dtype=complex)
    if smaller % 2 == 0 and num < n:
        extra = spectrum[..., n - smaller // 2 : n - smaller // 2 + 1]
        low = ag.concat([low[..., :-1], low[..., -1:] + extra], axis=-1)
    elif smaller % 2 == 0 and num > n:
        middle = 0.5 * low[..., -1:]
        low = ag.concat([low[..., :-1], middle], axis=-1)
        zeros = ag.concat([ag.asarray(zeros[..., :-1]), middle], axis=-1)
    parts = [low, ag.asarray(zeros)] + ([] if high is None else [high])
    return ag.moveaxis(ag.fft.ifft(ag.concat(parts, axis=-1)) * (num / n), -1, axis)


@CHAPTER.by_composition("decimate", "x", "definition: a filter, then every q-th element")
def _decimate(x, q, n=None, ftype="iir", axis=-1, zero_phase=True):
    x = ag.moveaxis(ag.asarray(x), axis, -1)
    if ftype == "fir":
        b = signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        if zero_phase:
            found = NAMES["resample_poly"](x, 1, q, axis=-1, window=b)
        else:
            found = _upfirdn(b, x, 1, q)[..., : shape_of(x)[-1] // q + bool(shape_of(x)[-1] % q)]
    elif ftype == "iir":
        sos = signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
        found = NAMES["sosfiltfilt" if zero_phase else "sosfilt"](sos, x, axis=-1)[..., ::q]
    else:
        raise NotDifferentiable("arraygrad.scipy.signal.decimate: the derivative is known for ftype 'iir' and 'fir'")
    return ag.moveaxis(found, -1, axis)
