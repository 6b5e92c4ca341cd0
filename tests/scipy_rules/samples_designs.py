"""Samples of scipy.signal: conversions, filter design, waveforms and windows.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import X, sample, spread

B, A = np.array([0.3, 0.4, 0.2]), np.array([1.3, -0.5, 0.25, 0.1])
SOS = np.array([[0.3, 0.4, 0.2, -0.5, 0.25], [0.5, 0.2, 0.1, 0.3, 0.1]])  # the coefficient a0 is 1
CLOSE = {"step": 1e-3, "loose": 1e-9, "rtol": 1e-6}


def whole(sos):
    return np.concatenate([sos[:, :3], np.ones((2, 1)), sos[:, 3:]], axis=1)


def pairs(re, im):
    """Zeros in conjugated pairs."""
    return np.concatenate([re + 1j * im, re - 1j * im])


sample("signal.normalize signal.tf2zpk signal.tf2sos signal.tf2ss", B, A, **CLOSE)
sample("signal.zpk2tf signal.zpk2ss", X[:2], 0.3 * X[1:], 1.4, **CLOSE)
sample("signal.zpk2tf signal.zpk2sos", X[:2], 0.3 * X[2:], X[2:], 1.4, **CLOSE,
       call=lambda f, z, re, im, k: f(z, pairs(re, im), k))  # fmt: skip
sample("signal.sos2tf signal.sos2zpk", SOS, call=lambda f, sos: f(whole(sos)), **CLOSE)
sample("signal.lp2lp signal.lp2hp", B, A, 1.3, **CLOSE)
sample("signal.lp2bp signal.lp2bs", B, A, 1.3, 0.7, **CLOSE)
sample("signal.bilinear", B, A, 1.3, **CLOSE)
sample("signal.lp2lp_zpk signal.lp2hp_zpk signal.bilinear_zpk", X[:2], X[1:], 1.4, 1.3, **CLOSE)
sample("signal.lp2bp_zpk signal.lp2bs_zpk", X[:2], X[1:], 1.4, 3.1, 0.7, **CLOSE)
sample("signal.residue signal.residuez", B, A, call=lambda f, b, a: f(b, a)[:2], **CLOSE)
sample("signal.residue signal.residuez", spread(5), A, call=lambda f, b, a: f(b, a)[2], **CLOSE)
sample("signal.invres signal.invresz", X[:3], 0.5 * X[:3], X[2:], **CLOSE)
SYSTEM = (spread(3, 3, seed=5), spread(3, 1, seed=6), spread(1, 3, seed=7), spread(1, 1, seed=8))
sample("signal.ss2tf signal.ss2zpk signal.abcd_normalize", *SYSTEM, **CLOSE)

for _btype in ("low", "high"):
    for _output in ("ba", "zpk", "sos"):
        for _name in ("butter", "bessel"):
            sample(f"signal.{_name}", 0.31, **CLOSE, call=lambda f, wn, btype=_btype, output=_output: f(
                3, wn, btype, output=output))  # fmt: skip
        sample("signal.cheby1 signal.cheby2", 1.7, 0.31, **CLOSE, call=lambda f, r, wn, btype=_btype, output=_output: f(
            4, r, wn, btype, output=output))  # fmt: skip
for _btype in ("band", "bandstop"):
    for _output in ("ba", "sos"):
        sample("signal.butter", np.array([0.31, 0.55]), 1.3, **CLOSE,
               call=lambda f, wn, fs, btype=_btype, output=_output: f(2, wn, btype, output=output, fs=fs))  # fmt: skip
        sample("signal.ellip", np.array([0.31, 0.55]), **CLOSE,
               call=lambda f, wn, btype=_btype, output=_output: f(3, 1.0, 30.0, wn, btype, output=output))  # fmt: skip
sample("signal.iirfilter", np.array([0.31, 0.55]), **CLOSE, call=lambda f, wn: f(3, wn, analog=True))
sample("signal.iirfilter", np.array([0.31, 0.55]), 20.0, **CLOSE,
       call=lambda f, wn, rs: f(3, wn, rs=rs, ftype="cheby2", output="zpk"))  # fmt: skip
sample("signal.cheb1ap signal.cheb2ap", 1.7, call=lambda f, r: f(3, r), **CLOSE)
sample("signal.cheb1ap signal.cheb2ap", 1.7, call=lambda f, r: f(4, r), **CLOSE)
sample("signal.iirnotch signal.iirpeak", 0.31, 20.0, 2.2, **CLOSE)
for _kind in ("notch", "peak"):
    for _zero in (False, True):
        sample("signal.iircomb", 20.0, **CLOSE,
               call=lambda f, q, kind=_kind, zero=_zero: f(0.25, q, kind, pass_zero=zero))  # fmt: skip
sample("signal.gammatone", 44.0, 1600.0, call=lambda f, w, fs: f(w, "iir", fs=fs), **CLOSE)
sample("signal.gammatone", 44.0, call=lambda f, w: f(w, "fir", fs=1600.0), **CLOSE)
sample("signal.firwin", 0.31, call=lambda f, c: f(7, c), **CLOSE)
sample("signal.firwin", 0.31, 1.7, call=lambda f, c, fs: f(7, c, pass_zero="highpass", fs=fs), **CLOSE)
sample("signal.firwin", np.array([0.2, 0.5]), call=lambda f, c: f(8, c, pass_zero=False), **CLOSE)
sample("signal.firwin", np.array([0.2, 0.5]), 4.1, **CLOSE,
       call=lambda f, c, beta: f(9, c, window=("kaiser", beta), scale=False))  # fmt: skip
sample("signal.firwin", 0.31, 0.3, call=lambda f, c, width: f(11, c, width=width), **CLOSE)
sample("signal.firwin2", X, call=lambda f, gain: f(7, [0.0, 0.4, 0.6, 1.0], gain), **CLOSE)
sample("signal.firwin2", X, **CLOSE,
       call=lambda f, gain: f(7, [0.0, 0.2, 0.5, 0.5, 0.8, 1.0], np.concatenate([[0.0], gain, [0.0]]),
                              antisymmetric=True))  # fmt: skip
sample("signal.firls", np.array([0.0, 0.4, 0.6, 1.0]) * 0.9 + 0.05, X, X[:2], **CLOSE,
       call=lambda f, bands, desired, weight: f(7, bands, desired, weight=weight))  # fmt: skip
for _count, _half in ((64, True), (65, False)):
    sample("signal.minimum_phase", np.array([0.2, 0.5]), 1.9, **CLOSE,
           call=lambda f, h, middle, count=_count, half=_half: f(
               np.concatenate([h, middle[None], h[::-1]]), n_fft=count, half=half))  # fmt: skip
sample("signal.kaiser_beta", 60.0, **CLOSE)
sample("signal.kaiser_beta", 30.0, **CLOSE)
sample("signal.kaiser_atten", 0.3, call=lambda f, w: f(20, w), **CLOSE)
sample("signal.kaiserord", 40.0, call=lambda f, r: f(r, 0.2)[1], **CLOSE)

T = spread(5, low=0.1, high=5.8)
for _method in ("linear", "quadratic", "logarithmic", "hyperbolic"):
    sample("signal.chirp", T, 0.3, 1.9, 0.7, 20.0, **CLOSE,
           call=lambda f, t, f0, t1, f1, phi, m=_method: f(t, f0, t1, f1, m, phi))  # fmt: skip
sample("signal.chirp", T, 0.3, 1.9, 0.7, **CLOSE,
       call=lambda f, t, f0, t1, f1: f(t, f0, t1, f1, "quadratic", vertex_zero=False, complex=True))  # fmt: skip
sample("signal.sweep_poly", T, X[:3], 20.0, **CLOSE)
sample(
    "signal.gausspulse", 0.1 * T, 1.1, 0.4, -5.0, -50.0, call=lambda f, *a: f(*a, retquad=True, retenv=True), **CLOSE
)
sample("signal.gausspulse", 1.1, call=lambda f, fc: f("cutoff", fc), **CLOSE)
sample("signal.sawtooth", 2.0 * T, 0.4, **CLOSE)
sample("signal.gauss_spline", T, call=lambda f, t: f(t, 2), **CLOSE)
sample("signal.vectorstrength", T, X, **CLOSE)
sample("signal.vectorstrength", T, 0.7, **CLOSE)

for _sym in (True, False):
    for _name in ("kaiser", "gaussian", "general_hamming"):
        sample(f"signal.windows.{_name}", 1.3, call=lambda f, p, sym=_sym: f(7, p, sym), **CLOSE)
    sample("signal.windows.tukey", 0.41, call=lambda f, p, sym=_sym: f(9, p, sym), **CLOSE)
    sample("signal.windows.general_gaussian", 1.3, 2.1, call=lambda f, p, s, sym=_sym: f(7, p, s, sym), **CLOSE)
    sample("signal.windows.general_cosine", X, call=lambda f, a, sym=_sym: f(8, a, sym), **CLOSE)
    sample("signal.windows.exponential", 2.1, call=lambda f, tau, sym=_sym: f(8, None, tau, sym), **CLOSE)
sample("signal.windows.exponential", 2.3, 2.1, call=lambda f, c, tau: f(8, c, tau, False), **CLOSE)
sample("signal.get_window signal.windows.get_window", 2.1, call=lambda f, p: f(("gaussian", p), 8), **CLOSE)
sample("signal.savgol_coeffs", 0.7, call=lambda f, d: f(7, 3, 2, d), **CLOSE)
