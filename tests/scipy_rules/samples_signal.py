"""Samples of scipy.signal.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import M, X, sample, spread

LONG = spread(24, low=-1.0, high=1.0)
ROWS = spread(2, 24, low=-1.0, high=1.0, seed=4)
IMAGE, KERNEL, EVEN = spread(5, 4, seed=1), spread(3, 3, seed=2), spread(2, 4, seed=3)
COMPLEX = X[:3] + 1j * spread(3, seed=9)

for _mode in ("full", "same", "valid"):
    for _x, _h in ((LONG[:6], X), (X, LONG[:6])):
        sample("signal.convolve signal.correlate", _x, _h, call=lambda f, x, h, mode=_mode: f(x, h, mode))
    sample("signal.convolve signal.correlate signal.fftconvolve signal.oaconvolve", IMAGE, KERNEL,
           call=lambda f, x, h, mode=_mode: f(x, h, mode))  # fmt: skip
    sample("signal.fftconvolve signal.oaconvolve", ROWS, M[:2],
           call=lambda f, x, h, mode=_mode: f(x, h, mode, axes=1))  # fmt: skip
    for _boundary in ("fill", "wrap", "symm"):
        for _h in (KERNEL, EVEN) if _boundary == "symm" else (EVEN,):
            sample("signal.convolve2d signal.correlate2d", IMAGE, _h,
                   call=lambda f, x, h, mode=_mode, boundary=_boundary: f(x, h, mode, boundary))  # fmt: skip
sample("signal.convolve signal.correlate signal.fftconvolve", X, COMPLEX)
sample("signal.convolve2d", IMAGE, KERNEL, call=lambda f, x, h: f(x, h, "same", "fill", 0.7))
sample("signal.deconvolve", LONG[:6], np.array([1.0, 0.4, 0.2]))
sample("signal.medfilt", LONG, call=lambda f, x: f(x, 5), step=1e-4)
sample("signal.medfilt signal.medfilt2d", IMAGE, call=lambda f, x: f(x, [3, 3]), step=1e-4)
sample("signal.order_filter", IMAGE, call=lambda f, x: f(x, np.eye(3), 1), step=1e-4)
sample("signal.wiener", IMAGE, call=lambda f, x: f(x, (3, 3)), step=1e-4, rtol=1e-6)
sample("signal.wiener", LONG, 0.05, call=lambda f, x, noise: f(x, noise=noise), step=1e-4, rtol=1e-6)

B, A = np.array([0.3, 0.4, 0.2]), np.array([1.3, -0.5, 0.25])
FIR = spread(5, low=0.1, high=0.6)
SOS = np.array([[0.3, 0.4, 0.2, -0.5, 0.25], [0.5, 0.2, 0.1, 0.3, 0.1]])  # the coefficient a0 is 1


def whole(sos):
    return np.concatenate([sos[:, :3], np.ones((2, 1)), sos[:, 3:]], axis=1)


sample("signal.lfilter", B, A, LONG)
sample("signal.lfilter", FIR, A, ROWS.T, call=lambda f, b, a, x: f(b, a, x, axis=0))
sample("signal.lfilter", FIR, A, ROWS, spread(2, 4), call=lambda f, b, a, x, zi: f(b, a, x, zi=zi))
sample("signal.lfilter", B, A, LONG[:1], spread(2), call=lambda f, b, a, x, zi: f(b, a, x, zi=zi))
sample("signal.lfilter_zi", B, A)
sample("signal.lfilter_zi", FIR, A)
sample("signal.lfiltic", FIR, A, X[:2], X[2:])
sample("signal.filtfilt", B, A, LONG)
sample("signal.filtfilt", B, A, ROWS.T, call=lambda f, b, a, x: f(b, a, x, axis=0, padtype="even", padlen=4))
sample("signal.filtfilt", B, A, LONG, call=lambda f, b, a, x: f(b, a, x, padtype="constant"))
sample("signal.sosfilt signal.sosfiltfilt", SOS, LONG, call=lambda f, sos, x: f(whole(sos), x))
sample("signal.sosfilt", SOS, ROWS, spread(2, 2, 2), call=lambda f, sos, x, zi: f(whole(sos), x, zi=zi))
sample("signal.sosfilt signal.sosfiltfilt", SOS, ROWS.T, call=lambda f, sos, x: f(whole(sos), x, axis=0))
sample("signal.sosfilt_zi", SOS, call=lambda f, sos: f(whole(sos)))
for _mode in ("interp", "mirror", "nearest", "wrap", "constant"):
    sample("signal.savgol_filter", ROWS, call=lambda f, x, mode=_mode: f(x, 7, 3, mode=mode))
sample("signal.savgol_filter", ROWS.T, call=lambda f, x: f(x, 5, 2, deriv=1, delta=0.3, axis=0))
sample("signal.detrend", ROWS)
sample("signal.detrend", ROWS.T, call=lambda f, x: f(x, axis=0, bp=[7, 15]))
sample("signal.detrend", ROWS, call=lambda f, x: f(x, type="constant"))

sample("signal.upfirdn", FIR, ROWS)
sample("signal.upfirdn", FIR, LONG, call=lambda f, h, x: f(h, x, 3, 2))
sample("signal.resample_poly", LONG, call=lambda f, x: f(x, 3, 2))
sample("signal.resample_poly", ROWS, call=lambda f, x: f(x, 2, 6, axis=1))
for _num in (24, 30, 31, 11, 12):
    sample("signal.resample", LONG, call=lambda f, x, num=_num: f(x, num))
    sample("signal.resample", LONG + 1j * ROWS[0], call=lambda f, x, num=_num: f(x, num))
sample("signal.resample", ROWS[:, :23], call=lambda f, x: f(x, 17, axis=1))
sample("signal.decimate", np.tile(LONG, 3), call=lambda f, x: f(x, 2))
sample("signal.decimate", np.tile(LONG, 3), call=lambda f, x: f(x, 3, ftype="fir"))
sample("signal.decimate", np.tile(LONG, 3), call=lambda f, x: f(x, 3, ftype="fir", zero_phase=False))
sample("signal.decimate", np.tile(LONG, 3), call=lambda f, x: f(x, 3, n=4, zero_phase=False))

sample("signal.hilbert", LONG)
sample("signal.hilbert", ROWS[:, :7].T, call=lambda f, x: f(x, axis=0, N=9))
sample("signal.freqz signal.freqs", FIR, A, call=lambda f, b, a: f(b, a, worN=np.array([0.2, 0.7, 1.3]))[1])
sample("signal.freqz", FIR, call=lambda f, b: f(b, worN=6, fs=3.0)[1])
sample("signal.sosfreqz signal.freqz_sos", SOS, call=lambda f, sos: f(whole(sos), worN=6)[1])
sample("signal.freqz_zpk signal.freqs_zpk", X[:2], 0.3 * X[1:], 1.4,
       call=lambda f, z, p, k: f(z, p, k, worN=np.array([0.2, 0.7, 1.3]))[1])  # fmt: skip

sample("signal.welch signal.spectrogram signal.stft", LONG, call=lambda f, x: f(x, nperseg=8)[-1])
sample("signal.welch", ROWS.T, call=lambda f, x: f(x, fs=2.0, nperseg=8, noverlap=2, nfft=10, axis=0,
                                                   detrend="linear", scaling="spectrum", average="median")[1],
       step=1e-4)  # fmt: skip
sample("signal.csd", ROWS[0], ROWS[1], call=lambda f, x, y: f(x, y, nperseg=7)[1])
sample("signal.coherence", ROWS[0], ROWS[1], call=lambda f, x, y: f(x, y, nperseg=7)[1], step=1e-3)
sample("signal.periodogram", ROWS, call=lambda f, x: f(x, nfft=30, window="hann", detrend=False)[1])
sample("signal.periodogram", LONG, call=lambda f, x: f(x)[1])
sample("signal.spectrogram signal.stft", ROWS.T, call=lambda f, x: f(x, nperseg=6, noverlap=2, axis=0)[2])
sample("signal.stft", LONG, call=lambda f, x: f(x, nperseg=6, boundary="even", padded=False)[2])
sample("signal.stft", LONG + 1j * ROWS[0], call=lambda f, x: f(x, nperseg=6, return_onesided=False)[2])

UNEVEN = spread(9, low=0.0, high=7.0)
CLOSE = {"step": 1e-3, "loose": 1e-9, "rtol": 1e-6}

sample("signal.czt", LONG)
sample("signal.czt", ROWS.T + 1j, call=lambda f, x: f(x, 7, 0.98 * np.exp(-0.3j), 1.1 * np.exp(0.2j), axis=0), **CLOSE)
for _end in (False, True):
    sample("signal.zoom_fft", ROWS, call=lambda f, x, end=_end: f(x, [0.2, 0.9], 7, fs=3.0, endpoint=end), **CLOSE)
sample("signal.zoom_fft", ROWS, call=lambda f, x: f(x, 0.9), **CLOSE)
sample("signal.CZT", ROWS, call=lambda f, x: f(24, 7)(x), **CLOSE)
sample("signal.ZoomFFT", ROWS, call=lambda f, x: f(24, [0.1, 0.4], 7)(x), **CLOSE)
sample("signal.hilbert2", IMAGE, call=lambda f, x: f(x))
sample("signal.hilbert2", ROWS[:, :6], call=lambda f, x: f(x, (3, 8)))
for _residual in ("lowpass", "all", None):
    for _bp in ((1, None), (None, None), (2, 5), (-3, 4)):
        sample("signal.envelope", LONG, call=lambda f, x, r=_residual, b=_bp: f(x, b, residual=r), **CLOSE)
        sample(
            "signal.envelope", LONG + 1j * ROWS[0], call=lambda f, x, r=_residual, b=_bp: f(x, b, residual=r), **CLOSE
        )
sample("signal.envelope", ROWS.T, call=lambda f, x: f(x, (1, None), n_out=30, squared=True, axis=0), **CLOSE)
for _how in (False, True, "amplitude"):
    for _mean in (False, True):
        sample("signal.lombscargle", UNEVEN, spread(9), X, spread(9, seed=5), **CLOSE,
               call=lambda f, x, y, w, weights, how=_how, mean=_mean: f(
                   x, y, w, normalize=how, weights=weights, floating_mean=mean))  # fmt: skip
sample("signal.istft", spread(5, 4) + 1j * spread(5, 4, seed=3), call=lambda f, z: f(z)[1], **CLOSE)
sample("signal.istft", spread(4, 2, 5) + 1j * spread(4, 2, 5, seed=3), **CLOSE,
       call=lambda f, z: f(z, fs=2.0, nperseg=7, noverlap=4, time_axis=0, freq_axis=2, input_onesided=False, nfft=8,
                           boundary=False, scaling="psd", window="hamming")[1])  # fmt: skip
WINDOW = np.array([0.2, 0.7, 1.0, 0.8, 0.3])
for _mode, _pad in (("onesided", "zeros"), ("onesided2X", "even"), ("twosided", "odd"), ("centered", "edge")):
    for _phase in (0, None):
        _options = {"fft_mode": _mode, "scale_to": "psd" if _mode == "onesided2X" else None, "mfft": 6,
                    "phase_shift": _phase}  # fmt: skip
        sample("signal.ShortTimeFFT", ROWS.T, **CLOSE, call=lambda f, x, options=_options, pad=_pad: f(
            WINDOW, 2, 1.0, **options).stft(x, padding=pad, axis=0))  # fmt: skip
        sample("signal.ShortTimeFFT", spread(4 if "one" in _mode else 6, 9) + 1j, **CLOSE,
               call=lambda f, x, options=_options: f(WINDOW, 2, 1.0, **options).istft(x, 1, 12))  # fmt: skip
sample("signal.ShortTimeFFT", LONG, call=lambda f, x: f(WINDOW, 2, 1.0).spectrogram(x, detr="constant"), **CLOSE)
sample("signal.ShortTimeFFT", *ROWS, call=lambda f, x, y: f(WINDOW, 2, 1.0).spectrogram(x, y), **CLOSE)

sample("signal.cspline1d signal.qspline1d", LONG, **CLOSE)
sample("signal.cspline1d", LONG, call=lambda f, x: f(x, 2.0), **CLOSE)
PICTURE = spread(24, 20, low=-1.0, high=1.0)
sample("signal.cspline2d signal.qspline2d", PICTURE, **CLOSE)
sample(
    "signal.cspline2d signal.spline_filter", spread(32, 30, low=-1.0, high=1.0), call=lambda f, x: f(x, 0.1), **CLOSE
)
sample("signal.symiirorder1", LONG, 0.7, call=lambda f, x, c: f(x, c, 0.3), **CLOSE)
sample("signal.symiirorder2", LONG, call=lambda f, x: f(x, 0.4, 0.9, 1e-6), **CLOSE)
sample("signal.sepfir2d", ROWS.reshape(6, 8), X[:3], FIR, **CLOSE)
sample(
    "signal.cspline1d_eval signal.qspline1d_eval", X, np.array([-7.1, -0.4, 0.3, 1.7, 2.2, 3.4, 9.2]), 1.1, 0.2, **CLOSE
)
HILLS = np.array([0.1, 0.9, 0.4, 1.7, 1.1, 2.9, 0.3, 0.6, 0.2])
sample("signal.peak_prominences", HILLS, call=lambda f, x: f(x, [1, 3, 5, 7])[0], **CLOSE)
sample("signal.peak_widths", HILLS, 0.4, call=lambda f, x, h: f(x, [1, 3, 5, 7], h), **CLOSE)
sample("signal.find_peaks", HILLS, **CLOSE,
       call=lambda f, x: tuple(v for k, v in f(x, 0.0, 0.0, width=0.0)[1].items() if "bases" not in k))  # fmt: skip
