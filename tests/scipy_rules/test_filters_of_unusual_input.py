"""Filters whose weights or input are complex, and windows of an even length."""

import numpy as np
import pytest
from plain_slopes import agree

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import ndimage, signal

X = np.sin(np.arange(12.0) ** 2)
WEIGHTS = np.array([0.3 + 0.2j, 0.5 - 1.0j, 0.1j, 0.7])


@pytest.mark.parametrize("name", ["correlate1d", "convolve1d", "correlate", "convolve"])
@pytest.mark.parametrize("mode", ["reflect", "wrap", "constant"])
@pytest.mark.parametrize("size", [3, 4])
def test_complex_weights_of_image_filters(name, mode, size):
    run = getattr(ndimage, name)
    weights, factor = WEIGHTS[:size], np.exp(0.3j * np.arange(12.0))
    agree(lambda x: (run(x, weights, mode=mode) * factor).real.sum(), X)
    agree(lambda x: (run(x, weights, mode=mode) * factor).imag.sum(), X + 1j * X[::-1])
    agree(lambda w: (run(X, w, mode=mode) * factor).imag.sum(), weights)
    agree(lambda w: (run(X * factor, w, mode=mode) * factor).imag.sum(), weights)
    agree(lambda t: (run(X * factor, t * weights, mode=mode) * factor).imag.sum(), 0.7)
    agree(lambda w: (run(X * factor, w, mode=mode) * factor).imag.sum(), weights.real)


@pytest.mark.parametrize("mode", ["nearest", "mirror", "constant", "wrap", "interp"])
@pytest.mark.parametrize("window", [4, 5, 6])
@pytest.mark.parametrize("deriv", [0, 1])
def test_savgol_filter_of_odd_and_even_windows(mode, window, deriv):
    factor = np.cos(np.arange(12.0))
    agree(lambda x: (signal.savgol_filter(x, window, 2, deriv=deriv, mode=mode, cval=0.4) * factor).sum(), X)
    rows = np.stack([X, X[::-1]])
    agree(lambda x: (signal.savgol_filter(x.T, window, 2, axis=0, mode=mode)[:, 1] * factor).sum(), rows)


def test_savgol_filter_takes_the_real_part_as_scipy_does():
    agree(lambda x: (signal.savgol_filter(x * (1 + 1j), 5, 2) ** 2).sum(), X)
    agree(lambda x: (signal.savgol_filter(x, 5, 2) ** 2).sum(), X + 1j * X[::-1])
