"""Filters from the frequencies, ripples and gains that they are designed for.

May import: arraygrad, scipy._declare, scipy.signal, numpy, SciPy. Sources are named at each; "Oppenheim and Schafer" is
Discrete-Time Signal Processing (2010), "Orfanidis" Introduction to Signal Processing (1996).
"""

import math

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, shape_of
from arraygrad.scipy.signal._conversions import number, sections, to_digital, typed
from arraygrad.scipy.signal._waveforms import window_of

__all__ = []

BILINEAR = "the analog prototype, transformed (Oppenheim and Schafer, 7)"


# -- recursive filters ------------------------------------------------------------------------------------------------

_KINDS = {"butterworth": "butter", "chebyshev1": "cheby1", "chebyshevi": "cheby1", "chebyshev2": "cheby2",
          "chebyshevii": "cheby2", "elliptic": "ellip", "cauer": "ellip"}  # fmt: skip
_BANDS = {"band": "bandpass", "pass": "bandpass", "bp": "bandpass", "bs": "bandstop", "stop": "bandstop",
          "bands": "bandstop", "l": "lowpass", "low": "lowpass", "lp": "lowpass", "high": "highpass",
          "highp": "highpass", "h": "highpass", "hp": "highpass"}  # fmt: skip


def _differentiated(value):
    return isinstance(value, Tensor) and value.requires_grad


def _chebyshev(N, rp):
    """Poles on an ellipse, 1 / eps = sinh(N mu)."""
    if N == 0:
        return np.zeros(0), np.zeros(0), 10.0 ** (-ag.asarray(rp) / 20.0)
    eps = ag.sqrt(10.0 ** (0.1 * ag.asarray(rp)) - 1.0)
    mu = ag.asinh(1.0 / eps) / N
    theta = np.pi * np.arange(1 - N, N, 2) / (2 * N)
    p = -(ag.sinh(mu) * np.cos(theta) + 1j * (ag.cosh(mu) * np.sin(theta)))
    k = ag.real(ag.prod(-p))
    return np.zeros(0), p, k if N % 2 else k / ag.sqrt(1.0 + eps * eps)


def _inverse_chebyshev(N, rs):
    """The poles of the other kind are the inverses, its zeros lie on the axis."""
    if N == 0:
        return np.zeros(0), np.zeros(0), ag.asarray(1.0) + 0.0 * ag.asarray(rs)
    mu = ag.asinh(ag.sqrt(10.0 ** (0.1 * ag.asarray(rs)) - 1.0)) / N
    theta = np.pi * np.arange(1 - N, N, 2) / (2 * N)
    z = 1j / np.sin(theta[np.arange(1 - N, N, 2) != 0])
    p = -1.0 / (ag.sinh(mu) * np.cos(theta) + 1j * (ag.cosh(mu) * np.sin(theta)))
    return z, p, ag.real(ag.prod(-p) / np.prod(-z))


def _prototype(ftype, N, rp, rs):
    if ftype == "cheby1" and _differentiated(rp):
        return _chebyshev(N, rp)
    if ftype == "cheby2" and _differentiated(rs):
        return _inverse_chebyshev(N, rs)
    if ftype == "ellip" and (_differentiated(rp) or _differentiated(rs)):
        raise NotDifferentiable("arraygrad.scipy.signal: the ripples of an elliptic filter have no rule; its Wn has")
    # The plain prototype is what SciPy designs at the analog frequency 1.
    return signal.iirfilter(N, 1.0, raw(rp), raw(rs), "lowpass", True, ftype, "zpk")


def _designed(N, Wn, rp, rs, btype, analog, ftype, output, fs):
    ftype, btype, output = ftype.lower(), btype.lower(), output.lower()
    Wn = ag.astype(ag.asarray(Wn), ag.float64)
    plain = signal.iirfilter(N, raw(Wn), raw(rp), raw(rs), btype, analog, ftype, output, number(fs))
    z, p, k = _prototype(_KINDS.get(ftype, ftype), N, rp, rs)
    warped = Wn if analog else 4.0 * ag.tan(0.5 * math.pi * (Wn if fs is None else 2.0 * Wn / fs))
    btype = _BANDS.get(btype, btype)
    if btype in ("lowpass", "highpass"):
        z, p, k = NAMES["lp2lp_zpk" if btype == "lowpass" else "lp2hp_zpk"](z, p, k, wo=ag.reshape(warped, ()))
    else:
        middle, width = ag.sqrt(warped[0] * warped[1]), warped[1] - warped[0]
        z, p, k = NAMES["lp2bp_zpk" if btype == "bandpass" else "lp2bs_zpk"](z, p, k, wo=middle, bw=width)
    if not analog:
        z, p, k = to_digital(z, p, k, 2.0)
    if output == "zpk":
        return typed((z, p, k), plain)
    if output == "ba":
        return NAMES["zpk2tf"](z, p, k)
    return sections(z, p, k, plain)


@CHAPTER.by_composition("iirfilter", "Wn rp rs fs", BILINEAR)
def _iirfilter(N, Wn, rp=None, rs=None, btype="band", analog=False, ftype="butter", output="ba", fs=None):
    return _designed(N, Wn, rp, rs, btype, analog, ftype, output, fs)


@CHAPTER.by_composition("butter", "Wn fs", BILINEAR)
def _butter(N, Wn, btype="low", analog=False, output="ba", fs=None):
    return _designed(N, Wn, None, None, btype, analog, "butter", output, fs)


@CHAPTER.by_composition("cheby1", "rp Wn fs", BILINEAR)
def _cheby1(N, rp, Wn, btype="low", analog=False, output="ba", fs=None):
    return _designed(N, Wn, rp, None, btype, analog, "cheby1", output, fs)


@CHAPTER.by_composition("cheby2", "rs Wn fs", BILINEAR)
def _cheby2(N, rs, Wn, btype="low", analog=False, output="ba", fs=None):
    return _designed(N, Wn, None, rs, btype, analog, "cheby2", output, fs)


NO_ELLIPTIC = "elliptic functions of the modulus that the ripples give have no rule"


@CHAPTER.by_composition("ellip", "Wn fs", BILINEAR, refuse={"rp": NO_ELLIPTIC, "rs": NO_ELLIPTIC})
def _ellip(N, rp, rs, Wn, btype="low", analog=False, output="ba", fs=None):
    return _designed(N, Wn, rp, rs, btype, analog, "ellip", output, fs)


@CHAPTER.by_composition("bessel", "Wn fs", BILINEAR)
def _bessel(N, Wn, btype="low", analog=False, output="ba", norm="phase", fs=None):
    return _designed(N, Wn, None, None, btype, analog, f"bessel_{norm}", output, fs)


@CHAPTER.by_composition("cheb1ap", "rp", "definition")
def _cheb1ap(N, rp):
    return _chebyshev(N, rp)


@CHAPTER.by_composition("cheb2ap", "rs", "definition")
def _cheb2ap(N, rs):
    return _inverse_chebyshev(N, rs)


def _resonance(w0, Q, fs):
    """(cosine of the frequency, gain of the band) of second-order filters: Orfanidis, 11.3."""
    w0 = 2.0 * math.pi * ag.asarray(w0) / fs
    return ag.cos(w0), 1.0 / (1.0 + ag.tan(0.5 * w0 / Q))


def _row(*values):
    values = [ag.asarray(v) for v in values]
    return ag.stack([ag.astype(v, ag.float64) for v in values])


@CHAPTER.by_composition("iirnotch", "w0 Q fs", "Orfanidis, 11.3")
def _iirnotch(w0, Q, fs=2.0):
    cosine, gain = _resonance(w0, Q, fs)
    return gain * _row(1.0, -2.0 * cosine, 1.0), _row(1.0, -2.0 * gain * cosine, 2.0 * gain - 1.0)


@CHAPTER.by_composition("iirpeak", "w0 Q fs", "Orfanidis, 11.3")
def _iirpeak(w0, Q, fs=2.0):
    cosine, gain = _resonance(w0, Q, fs)
    return (1.0 - gain) * _row(1.0, 0.0, -1.0), _row(1.0, -2.0 * gain * cosine, 2.0 * gain - 1.0)


_WHOLE = "the sampling rate has to be a multiple of the frequency"


@CHAPTER.by_composition("iircomb", "Q", "Orfanidis, 11.5", refuse={"w0": _WHOLE, "fs": _WHOLE})
def _iircomb(w0, Q, ftype="notch", fs=2.0, pass_zero=False):
    n = round(float(fs) / float(w0))
    notch = ftype.lower() == "notch"
    beta = ag.tan(n * 2.0 * math.pi * w0 / fs / ag.asarray(Q) / 4.0)
    sign = -1.0 if notch != bool(pass_zero) else 1.0
    first, last = (1.0, 1.0) if notch else (beta, -beta)
    inner = [0.0] * (n - 1)
    down = 1.0 + beta
    return _row(first / down, *inner, sign * last / down), _row(1.0, *inner, sign * (1.0 - beta) / down)


_PATTERSON = "Patterson et al. (1992)"


@CHAPTER.by_composition("gammatone", "freq fs", _PATTERSON + "; Slaney (1993)")
def _gammatone(freq, ftype, order=None, numtaps=None, fs=None):
    fs = 2.0 if fs is None else fs
    freq = ag.asarray(freq) + 0.0
    width = 2.0 * math.pi * 1.019 * (freq / 9.26449 + 24.7)
    if ftype.lower() == "fir":
        n = 4 if order is None else order
        t = np.arange(max(int(float(raw(fs)) * 0.015), 15) if numtaps is None else numtaps) / fs
        b = t ** (n - 1) * ag.exp(-width * t) * ag.cos(2.0 * math.pi * freq * t)
        return b * (2.0 * width**n / math.factorial(n - 1) / fs), np.ones(1)
    # Four sections in a row, each (1 - u cos(w) / z) of z^4 powers over (1 - 2 u cos(w) / z + u^2 / z^2).
    period = 1.0 / ag.asarray(fs)
    u, w = ag.exp(-width * period), 2.0 * math.pi * freq * period
    turned = ag.cos(w) + 1j * ag.sin(w)
    gain = 1.0
    for factor in (math.sqrt(3.0 + 2.0**1.5), -math.sqrt(3.0 + 2.0**1.5), math.sqrt(3.0 - 2.0**1.5),
                   -math.sqrt(3.0 - 2.0**1.5)):  # fmt: skip
        square = turned * turned
        part = 2.0 * period * (u * turned * (ag.cos(w) + factor * ag.sin(w)) - square)
        gain = gain * part / (-2.0 * u * u - 2.0 * square + 2.0 * (1.0 + square) * u)
    size = ag.sqrt(ag.real(gain) ** 2 + ag.imag(gain) ** 2)
    scale = period**4 / size
    signs = (1.0, -4.0, 6.0, -4.0, 1.0)
    b = [scale * sign * u**i * ag.cos(i * w) for i, sign in enumerate(signs)]
    one = _row(1.0, -2.0 * u * ag.cos(w), u * u)
    a = np.convolve(np.convolve(one, one), np.convolve(one, one))
    return ag.stack(b), a


# -- filters without recursion ----------------------------------------------------------------------------------------


def _sinc_at(edge, m):
    """The ideal low pass: edge sinc(edge m), smooth in the edge."""
    zero = m == 0
    safe = np.where(zero, 1.0, m)
    return ag.where(zero, edge, ag.sin(math.pi * edge * safe) / (math.pi * safe))


@CHAPTER.by_composition("firwin", "cutoff width window fs", "Oppenheim and Schafer, 7.5")
def _firwin(numtaps, cutoff, width=None, window="hamming", pass_zero=True, scale=True, fs=None):
    nyquist = 1.0 if fs is None else 0.5 * fs
    cutoff = ag.reshape(ag.astype(ag.asarray(cutoff), ag.float64), (-1,)) / nyquist
    if width is not None:
        window = ("kaiser", NAMES["kaiser_beta"](NAMES["kaiser_atten"](numtaps, width / nyquist)))
    if isinstance(pass_zero, str):
        pass_zero = pass_zero in ("bandstop", "lowpass")
    edges = [cutoff[i] for i in range(shape_of(cutoff)[0])]
    edges = ([0.0] if pass_zero else []) + edges
    edges = edges + ([1.0] if len(edges) % 2 else [])
    m = np.arange(numtaps) - 0.5 * (numtaps - 1)
    h = 0.0
    for left, right in zip(edges[::2], edges[1::2], strict=True):
        h = h + _sinc_at(right, m) - _sinc_at(left, m)
    h = h * window_of(window, numtaps, False)
    if not scale:
        return h
    left, right = edges[:2]
    middle = 0.0 if pass_zero else 1.0 if len(edges) == 2 and isinstance(right, float) else 0.5 * (left + right)
    return h / ag.sum(h * ag.cos(ag.asarray(math.pi * m * middle)))


@CHAPTER.by_composition("firwin2", "gain", "Oppenheim and Schafer, 7.5", refuse={"freq": "it has no rule"})
def _firwin2(numtaps, freq, gain, nfreqs=None, window="hamming", antisymmetric=False, fs=None):
    nyquist = 1.0 if fs is None else 0.5 * fs
    freq = np.asarray(freq, dtype=float)
    count = 1 + 2 ** math.ceil(math.log2(numtaps)) if nfreqs is None else nfreqs
    same = np.flatnonzero(np.diff(freq) == 0)
    tiny = np.finfo(float).eps * nyquist
    freq[same] -= tiny
    freq[same + 1] += tiny
    x = np.linspace(0.0, nyquist, count)
    rows = np.stack([np.interp(x, freq, unit) for unit in np.eye(freq.size)], axis=1)
    turn = np.exp(-0.5j * (numtaps - 1) * math.pi * x / nyquist) * (1j if antisymmetric else 1.0)
    h = ag.fft.irfft(ag.matmul(ag.asarray(rows), ag.astype(ag.asarray(gain), ag.float64)) * turn)[:numtaps]
    h = h if window is None else h * window_of(window, numtaps, False)
    if antisymmetric and numtaps % 2:
        h = h * (np.arange(numtaps) != numtaps // 2)
    return h


@CHAPTER.by_composition("firls", "bands desired weight fs", "the normal equations")
def _firls(numtaps, bands, desired, weight=None, fs=None):
    nyquist = 1.0 if fs is None else 0.5 * fs
    half = (numtaps - 1) // 2
    bands, desired = (ag.reshape(ag.astype(ag.asarray(v), ag.float64), (-1, 2)) for v in (bands, desired))
    bands = bands / nyquist
    weight = np.ones(shape_of(bands)[0]) if weight is None else ag.asarray(weight)
    low, high = bands[:, 0], bands[:, 1]
    n = np.arange(numtaps)[:, None]
    # Integrals over each band of cos(pi n f), and of it times the line that is desired.
    q = ag.sum((_sinc_at(high, n) - _sinc_at(low, n)) * weight, axis=1)
    matrix = NAMES_OF_FORMS["toeplitz"](q[: half + 1]) + NAMES_OF_FORMS["hankel"](q[: half + 1], q[half:])
    slope = (desired[:, 1] - desired[:, 0]) / (high - low)
    start = desired[:, 0] - low * slope
    k = np.arange(half + 1)[:, None]
    safe = np.where(k == 0, 1, k) * math.pi

    def primitive(f):
        of_line = ag.where(k == 0, 0.5 * f * f, f * ag.sin(safe * f) / safe + ag.cos(safe * f) / safe**2)
        return slope * of_line + start * _sinc_at(f, k)

    right = ag.sum((primitive(high) - primitive(low)) * weight, axis=1)
    a = ag.linalg.solve(matrix, right)
    return ag.concat([ag.flip(a[1:]), 2.0 * a[:1], a[1:]])


class _Forms:
    """Matrices of a form, of scipy.linalg: loaded with the first least-squares filter."""

    def __getitem__(self, name):
        from arraygrad.scipy import linalg

        return getattr(linalg, name)


NAMES_OF_FORMS = _Forms()


@CHAPTER.by_composition("minimum_phase", "h", "Herrmann and Schuessler (1970), by the cepstrum")
def _minimum_phase(h, method="homomorphic", n_fft=None, half=True):
    if method != "homomorphic":
        raise NotDifferentiable("arraygrad.scipy.signal.minimum_phase: method='homomorphic' has derivatives")
    h = ag.asarray(h)
    n = shape_of(h)[0]
    count = 2 ** math.ceil(math.log2(2 * (n - 1) / 0.01)) if n_fft is None else int(n_fft)
    spectrum = ag.fft.fft(h, n=count)
    size = ag.sqrt(ag.real(spectrum) ** 2 + ag.imag(spectrum) ** 2)
    values = np.asarray(raw(size))
    least = int(np.argmin(np.where(values > 0, values, np.inf)))
    logs = ag.log(size + 1e-7 * size[least]) * (0.5 if half else 1.0)
    folding = np.zeros(count)
    folding[0] = 1.0
    folding[1 : count // 2] = 2.0
    folding[count // 2] = count % 2  # SciPy leaves the middle one of an even number out
    causal = ag.fft.fft(ag.real(ag.fft.ifft(ag.astype(logs, ag.complex128))) * folding)
    found = ag.real(ag.fft.ifft(ag.exp(causal)))
    return found[: n // 2 + n % 2] if half else found[:n]


@CHAPTER.by_composition("kaiser_beta", "a", "Kaiser (1974)")
def _kaiser_beta(a):
    a = ag.asarray(a)
    value = float(raw(a))
    if value > 50:
        return 0.1102 * (a - 8.7)
    return 0.5842 * (a - 21.0) ** 0.4 + 0.07886 * (a - 21.0) if value > 21 else 0.0 * a


@CHAPTER.by_composition("kaiser_atten", "width", "Kaiser (1974)")
def _kaiser_atten(numtaps, width):
    return 2.285 * (numtaps - 1) * math.pi * ag.asarray(width) + 7.95


@CHAPTER.by_composition("kaiserord", "ripple", "Kaiser (1974)", refuse={"width": "it gives an integer alone"})
def _kaiserord(ripple, width):
    return None, _kaiser_beta(ag.abs(ag.asarray(ripple)))


NO_SEARCH = "the order that it searches is an integer, and what goes with it has no rule"
CHAPTER.no_rule(NO_SEARCH, "buttord", "cheb1ord", "cheb2ord", "ellipord", "band_stop_obj", "iirdesign")
CHAPTER.no_rule("the exchange of extremal frequencies has no rule; firls has one", "remez")
CHAPTER.no_rule(NO_ELLIPTIC, "ellipap")
CHAPTER.no_rule("it has no rule; compose it of firwin and convolve", "firwin_2d")
CHAPTER.no_rule("frequencies that SciPy chooses are constant here", "findfreqs")
CHAPTER.no_rule("the contour is constant here", "czt_points")
CHAPTER.constants("buttap", "besselap", "max_len_seq", "unit_impulse", "correlation_lags", "check_COLA", "check_NOLA",
                  "find_peaks_cwt")  # fmt: skip


@CHAPTER.by_composition("savgol_coeffs", "delta", "Savitzky and Golay (1964)")
def _savgol_coeffs(window_length, polyorder, deriv=0, delta=1.0, pos=None, use="conv"):
    plain = signal.savgol_coeffs(window_length, polyorder, deriv, 1.0, pos, use)
    return plain / ag.asarray(delta) ** deriv
