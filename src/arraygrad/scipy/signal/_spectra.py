"""Analytic signals, frequency responses, and spectra of segments.

May import: arraygrad, scipy._declare, scipy.signal._chapter, numpy, SciPy.
"""

import math

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, is_complex, shape_of

__all__ = ["real_window"]


def _one_sided(n):
    """Weights of the frequencies of an analytic signal."""
    weights = np.zeros(n)
    weights[0] = 1.0
    weights[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        weights[n // 2] = 1.0
    return weights


@CHAPTER.by_composition("hilbert", "x", "Marple (1999)", core="x(n)->(N or n)")
def _hilbert(x, N=None):
    n = shape_of(x)[-1] if N is None else N
    return ag.fft.ifft(ag.fft.fft(x, n=n) * _one_sided(n))


# -- frequency responses: rational functions of exp(-j w) or j w ------------------------------------------------------


def _polynomial(c, at):
    """sum_k c[k] at ** k: axes of c behind the first broadcast with the places."""
    c = ag.astype(ag.asarray(c), ag.complex128)
    c = c if c.ndim else ag.reshape(c, (1,))
    if c.ndim == 1:
        return ag.tensordot(c, ag.asarray(at ** np.arange(shape_of(c)[0])[:, None]), axes=1)
    return sum(c[k] * at**k for k in range(shape_of(c)[0]))


def _response(b, a, w):
    at = np.exp(-1j * w)
    return _polynomial(b, at) / _polynomial(a, at)


def _radians(w, fs):
    return 2.0 * math.pi * np.asarray(w) / fs


@CHAPTER.by_composition("freqz", "b a", "definition", inert="include_nyquist plot")
def _freqz(b, a=1, worN=512, whole=False, fs=2.0 * math.pi, include_nyquist=False):
    w, _ = signal.freqz(raw(b), raw(a), worN, whole, fs=fs, include_nyquist=include_nyquist)
    return None, _response(b, a, _radians(w, fs))


def _sos_response(sos, worN=512, whole=False, fs=2.0 * math.pi):
    w, _ = getattr(signal, "freqz_sos", signal.sosfreqz)(raw(sos), worN, whole, fs)
    found, sos = 1.0, ag.asarray(sos)
    for i in range(shape_of(sos)[0]):
        found = found * _response(sos[i, :3], sos[i, 3:], _radians(w, fs))
    return None, found


CHAPTER.by_composition("sosfreqz", "sos", "definition")(_sos_response)
CHAPTER.by_composition("freqz_sos", "sos", "definition")(_sos_response)


@CHAPTER.by_composition("freqs", "b a", "definition", inert="plot")
def _freqs(b, a, worN=200):
    w, _ = signal.freqs(raw(b), raw(a), worN)
    b, a = (ag.flip(ag.asarray(c), axis=0) if np.ndim(raw(c)) else c for c in (b, a))
    return None, _polynomial(b, 1j * w) / _polynomial(a, 1j * w)


@CHAPTER.by_composition("freqz_zpk", "z p k", "definition")
def _freqz_zpk(z, p, k, worN=512, whole=False, fs=2.0 * math.pi):
    w, _ = signal.freqz_zpk(raw(z), raw(p), raw(k), worN, whole, fs)
    s = np.exp(1j * _radians(w, fs))
    return None, k * ag.prod(s - ag.asarray(z)[:, None], axis=0) / ag.prod(s - ag.asarray(p)[:, None], axis=0)


@CHAPTER.by_composition("freqs_zpk", "z p k", "definition")
def _freqs_zpk(z, p, k, worN=200):
    w, _ = signal.freqs_zpk(raw(z), raw(p), raw(k), worN)
    s = 1j * w
    return None, k * ag.prod(s - ag.asarray(z)[:, None], axis=0) / ag.prod(s - ag.asarray(p)[:, None], axis=0)


# -- spectra of segments ----------------------------------------------------------------------------------------------


def _window_of(window, nperseg, n, default=256):
    """(window, its length) as SciPy reads the two parameters."""
    if isinstance(window, (str, tuple)):
        length = min(default if nperseg is None else int(nperseg), n)
        return signal.get_window(window, length), length
    window = real_window(window)
    return window, window.size


def real_window(window):
    """A window that is given by its values."""
    window = np.asarray(window)
    if is_complex(window):
        raise NotDifferentiable(
            "arraygrad.scipy.signal: the derivative is known for real windows, of ShortTimeFFT for complex ones, too"
        )
    return window


def _segments(x, length, step):
    """(..., segments, length)."""
    count = (shape_of(x)[-1] - length) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(length)[None, :]
    return ag.reshape(ag.take(x, places.ravel(), axis=-1), (*shape_of(x)[:-1], count, length))


def _detrended(x, detrend):
    if not detrend:
        return x
    if callable(detrend):
        return detrend(x)
    return NAMES["detrend"](x, axis=-1, type=detrend)


def _transformed(x, window, nfft, detrend, two_sided):
    x = _detrended(x, detrend) * window
    return ag.fft.fft(x, n=nfft) if two_sided else ag.fft.rfft(x, n=nfft)


def _scale(window, fs, scaling):
    return 1.0 / (fs * np.sum(window * window)) if scaling == "density" else 1.0 / np.sum(window) ** 2


def _doubled(power, nfft, two_sided):
    """One-sided spectra hold the power of both signs."""
    if two_sided:
        return power
    weights = np.full(shape_of(power)[-1], 2.0)
    weights[0] = 1.0
    if nfft % 2 == 0:
        weights[-1] = 1.0
    return power * weights


def _cross(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling):
    """Cross spectra of segments (..., segments, frequencies) of signals along the last axis."""
    same = y is None
    y = x if same else y
    n = max(shape_of(x)[-1], shape_of(y)[-1])
    x, y = (ag.pad(a, (*[(0, 0)] * (a.ndim - 1), (0, n - shape_of(a)[-1]))) for a in (x, y))
    window, length = _window_of(window, nperseg, n)
    step = length - (length // 2 if noverlap is None else noverlap)
    nfft = length if nfft is None else nfft
    two_sided = not return_onesided or is_complex(x) or is_complex(y)
    first = _transformed(_segments(x, length, step), window, nfft, detrend, two_sided)
    second = first if same else _transformed(_segments(y, length, step), window, nfft, detrend, two_sided)
    power = ag.conj(first) * second * _scale(window, fs, scaling)
    return ag.real(_doubled(power, nfft, two_sided)) if same else _doubled(power, nfft, two_sided)


def _averaged(power, average):
    if average == "mean":
        return ag.mean(power, axis=-2)
    count = shape_of(power)[-2]
    odd = 2.0 * np.arange(1, (count - 1) // 2 + 1)
    bias = 1.0 + np.sum(1.0 / (odd + 1.0) - 1.0 / odd)
    if is_complex(power):
        return (np.median(ag.real(power), axis=-2) + 1j * np.median(ag.imag(power), axis=-2)) / bias
    return np.median(power, axis=-2) / bias


WELCH = "Welch (1967)"


@CHAPTER.by_composition("welch", "x", WELCH, core="x(n)->?,(p)")
def _welch(x, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, detrend="constant",
           return_onesided=True, scaling="density", average="mean"):  # fmt: skip
    power = _cross(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling)
    return None, _averaged(power, average)


@CHAPTER.by_composition("csd", "x y", WELCH, core="x(n),y(m)->?,(p)", counted="own")
def _csd(x, y, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, detrend="constant",
         return_onesided=True, scaling="density", average="mean"):  # fmt: skip
    power = _cross(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling)
    return None, _averaged(power, average)


@CHAPTER.by_composition("coherence", "x y", WELCH, core="x(n),y(m)->?,(p)", counted="own")
def _coherence(x, y, fs=1.0, window="hann_periodic", nperseg=None, noverlap=None, nfft=None, detrend="constant"):
    both = [_averaged(_cross(u, v, fs, window, nperseg, noverlap, nfft, detrend, True, "density"), "mean")
            for u, v in ((x, None), (y, None), (x, y))]  # fmt: skip
    return None, (ag.real(both[2]) ** 2 + ag.imag(both[2]) ** 2) / both[0] / both[1]


@CHAPTER.by_composition("periodogram", "x", WELCH, core="x(n)->?,(p)")
def _periodogram(x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True, scaling="density"):
    n = shape_of(x)[-1]
    if nfft is not None and nfft < n:
        x, n = x[..., :nfft], nfft
    window = "boxcar" if window is None else window
    return None, _cross(x, None, fs, window, n, 0, nfft, detrend, return_onesided, scaling)[..., 0, :]


@CHAPTER.by_composition("spectrogram", "x", WELCH, core="x(n)->?,?,(p,segments)")
def _spectrogram(x, fs=1.0, window=("tukey_periodic", 0.25), nperseg=None, noverlap=None, nfft=None,
                 detrend="constant", return_onesided=True, scaling="density", mode="psd"):  # fmt: skip
    if mode != "psd":
        raise NotDifferentiable("arraygrad.scipy.signal.spectrogram: the derivative is known for mode='psd'; use stft")
    taken, length = _window_of(window, nperseg, shape_of(x)[-1])
    noverlap = length // 8 if noverlap is None else noverlap
    power = _cross(x, None, fs, taken, None, noverlap, nfft, detrend, return_onesided, scaling)
    return None, None, ag.matrix_transpose(power)


_EXTENSIONS = {"zeros": "constant", "constant": "edge"}


@CHAPTER.by_composition("stft", "x", "Allen and Rabiner (1977)", core="x(n)->?,?,(p,segments)")
def _stft(x, fs=1.0, window="hann_periodic", nperseg=256, noverlap=None, nfft=None, detrend=False, return_onesided=True,
          boundary="zeros", padded=True, scaling="spectrum"):  # fmt: skip
    window, length = _window_of(window, nperseg, shape_of(x)[-1])
    noverlap = length // 2 if noverlap is None else noverlap
    step, nfft = length - noverlap, length if nfft is None else nfft
    if boundary in ("odd", "even"):
        from arraygrad.scipy.signal._filters import _extended

        x = _extended(x, boundary, length // 2)
    elif boundary is not None:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(length // 2, length // 2)], mode=_EXTENSIONS[boundary])
    if padded:
        extra = (-(shape_of(x)[-1] - length) % step) % length
        x = ag.pad(x, (*[(0, 0)] * (x.ndim - 1), (0, extra)))
    two_sided = not return_onesided or is_complex(x)
    found = _transformed(_segments(x, length, step), window, nfft, detrend, two_sided)
    scale = 1.0 / (fs * np.sum(window * window)) if scaling == "psd" else 1.0 / np.sum(window) ** 2
    return None, None, ag.matrix_transpose(found) * math.sqrt(scale)
