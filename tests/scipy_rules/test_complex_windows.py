"""Spectra of segments under a window of complex values, which SciPy takes: the right gradient, or a refusal by name.

The class: every function of scipy.signal with a window parameter, of real and complex signals and in both scalings.
The formulas are those of real windows.
"""

import numpy as np
import pytest

import arraygrad as ag

signal = pytest.importorskip("scipy.signal")

DRAWN = np.random.default_rng(3)
WINDOW = DRAWN.normal(size=8) + 1j * DRAWN.normal(size=8)
OTHER = DRAWN.normal(size=24)
SIGNALS = {"real": DRAWN.normal(size=24), "complex": DRAWN.normal(size=24) + 1j * DRAWN.normal(size=24)}


def framed(x):
    return signal.ShortTimeFFT(WINDOW, 3, 3.0, fft_mode="centered").stft(x)


def resynthesized(x):
    frames = signal.ShortTimeFFT(WINDOW, 3, 3.0, fft_mode="centered")
    return frames.istft(frames.stft(x) ** 2, 0, 20)


CALLS = {
    "welch": lambda x, s: signal.welch(x, window=WINDOW, nperseg=8, scaling=s)[1],
    "welch, two sides": lambda x, s: signal.welch(x, window=WINDOW, nperseg=8, scaling=s, return_onesided=False)[1],
    "csd": lambda x, s: signal.csd(x, OTHER, window=WINDOW, nperseg=8, scaling=s)[1],
    "coherence": lambda x, s: signal.coherence(x, OTHER, window=WINDOW, nperseg=8, noverlap=2)[1],
    "periodogram": lambda x, s: signal.periodogram(x[:8], window=WINDOW, scaling=s)[1],
    "spectrogram": lambda x, s: signal.spectrogram(x, window=WINDOW, nperseg=8, scaling=s)[2],
    "stft": lambda x, s: signal.stft(x, window=WINDOW, nperseg=8, scaling="psd" if s == "density" else s)[2],
    "istft": lambda x, s: signal.istft(
        np.reshape(x[:20], (5, 4)), window=WINDOW, nperseg=8, scaling="psd" if s == "density" else s
    )[1],
    "frames": lambda x, s: framed(x),
    "frames and back": lambda x, s: resynthesized(x),
}


def weighted(out):
    weights = np.cos(np.arange(1.0, out.size + 1))
    return (np.real(out).reshape(-1) * weights).sum() + (np.imag(out).reshape(-1) * weights**2).sum()


@pytest.mark.filterwarnings("ignore:NOLA condition failed", "ignore:Input data is complex", "ignore:Casting complex")
@pytest.mark.parametrize("scaling", ["density", "spectrum"])
@pytest.mark.parametrize("kind", SIGNALS)
@pytest.mark.parametrize("name", CALLS)
def test_gradient_or_refusal(name, kind, scaling):
    call, x = CALLS[name], SIGNALS[kind]
    try:
        call(x, scaling)
    except (TypeError, ValueError) as error:
        pytest.skip(f"SciPy: {error}")
    try:
        found = ag.grad(lambda x: weighted(call(x, scaling)))(x)
    except ag.scipy.NotDifferentiable as error:
        if name.startswith("frames") or "window" not in str(error):
            raise
        return
    direction = np.sin(np.arange(24.0) ** 2) * (1.0 if kind == "real" else 0.6 + 0.8j)
    ahead, behind = (weighted(call(x + s * direction, scaling)) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(np.vdot(found, direction).real, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-7)
