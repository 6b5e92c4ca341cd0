"""Signals at other rates.

May import: arraygrad, scipy._declare, scipy.signal._chapter, numpy, SciPy.
"""

import math

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, is_complex, shape_of

__all__ = []


@CHAPTER.by_composition("upfirdn", "h x", "definition: insert zeros, convolve, keep every down-th",
                        core="x(n)->(m)")  # fmt: skip
def _upfirdn(h, x, up=1, down=1, mode="constant", cval=0):
    if (mode or "zero").lower() not in ("constant", "zero") or cval:
        raise NotDifferentiable("arraygrad.scipy.signal.upfirdn: the derivative is known for mode='constant', cval=0")
    h = ag.reshape(ag.asarray(h), (-1,))
    if up > 1:
        n = shape_of(x)[-1]
        x = ag.pad(x[..., None], (*[(0, 0)] * x.ndim, (0, up - 1)))
        x = ag.reshape(x, (*shape_of(x)[:-2], n * up))[..., : (n - 1) * up + 1]
    found = NAMES["fftconvolve"](x, ag.reshape(h, (1,) * (x.ndim - 1) + (-1,)), mode="full", axes=-1)
    return found[..., ::down]


@CHAPTER.by_composition("resample_poly", "x", "definition, by upfirdn", core="x(n)->(m)")
def _resample_poly(x, up, down, window=("kaiser", 5.0), padtype="constant", cval=None):
    if padtype != "constant" or cval:
        raise NotDifferentiable("arraygrad.scipy.signal.resample_poly: the derivative is known for zeros as padding")
    common = math.gcd(int(up), int(down))
    up, down = int(up) // common, int(down) // common
    if up == down == 1:
        return x + 0.0
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
    return _upfirdn(h, x, up, down)[..., removed : removed + wanted]


@CHAPTER.by_composition("resample", "x", "definition: the spectrum cut or filled with zeros", core="x(n)->(num)")
def _resample(x, num, window=None, domain="time"):
    if window is not None or domain != "time":
        raise NotDifferentiable("arraygrad.scipy.signal.resample: the derivative is known in time, without a window")
    n = shape_of(x)[-1]
    smaller = min(num, n)
    nyquist = smaller // 2 + 1
    if not is_complex(x):
        spectrum = ag.fft.rfft(x)[..., :nyquist]
        if smaller % 2 == 0 and num != n:
            factor = np.ones(nyquist)
            factor[-1] = 2.0 if num < n else 0.5
            spectrum = spectrum * factor
        return ag.fft.irfft(spectrum, n=num) * (num / n)
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
    return ag.fft.ifft(ag.concat(parts, axis=-1)) * (num / n)


@CHAPTER.by_composition("decimate", "x", "definition: a filter, then every q-th element", core="x(n)->(m)")
def _decimate(x, q, n=None, ftype="iir", zero_phase=True):
    if ftype == "fir":
        b = signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        if zero_phase:
            return NAMES["resample_poly"](x, 1, q, axis=-1, window=b)
        return _upfirdn(b, x, 1, q)[..., : shape_of(x)[-1] // q + bool(shape_of(x)[-1] % q)]
    if ftype == "iir":
        sos = signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
        return NAMES["sosfiltfilt" if zero_phase else "sosfilt"](sos, x, axis=-1)[..., ::q]
    raise NotDifferentiable("arraygrad.scipy.signal.decimate: the derivative is known for ftype 'iir' and 'fir'")
