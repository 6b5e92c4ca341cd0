"""SciPy's functions along an axis that are declared by a signature: every axis, of both signs, in up to three axes.

The class: all functions whose declaration has a signature of core axes, and whose axis the declaration places. The
gradient is held to differences of SciPy's own values, along a random direction of all arrays together.
"""

import inspect

import numpy as np
import pytest
from scipy import signal as signal_of_scipy

import arraygrad as ag
import arraygrad.scipy
from arraygrad.scipy import fftpack, signal
from arraygrad.scipy._declare import REGISTRY

assert fftpack
assert signal

N = 12
B, A = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.4, 0.1])
SOS = np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.1], [1.0, 0.5, 0.0, 1.0, 0.2, 0.0]])
SEGMENTS = {"nperseg": 6, "noverlap": 3}

# name -> (arguments of a call on x, keywords, part of the result or None); x stands where None does
CALLS = {
    "signal.hilbert": ((None,), {"N": 10}, None),
    "signal.welch": ((None,), SEGMENTS, 1),
    "signal.csd": ((None, "y"), SEGMENTS, 1),
    "signal.coherence": ((None, "y"), SEGMENTS, 1),
    "signal.periodogram": ((None,), {}, 1),
    "signal.spectrogram": ((None,), SEGMENTS, 2),
    "signal.stft": ((None,), SEGMENTS, 2),
    "signal.upfirdn": ((B, None, 2, 3), {}, None),
    "signal.resample_poly": ((None, 3, 2), {}, None),
    "signal.resample": ((None, 7), {}, None),
    "signal.decimate": ((None, 2), {"ftype": "fir", "n": 4}, None),
    "signal.czt": ((None, 5), {}, None),
    "signal.zoom_fft": ((None, [0.2, 0.7], 5), {}, None),
    "signal.envelope": ((None,), {}, None),
    "signal.lfilter": ((B, A, None), {}, None),
    "signal.filtfilt": ((B, A, None), {"padlen": 4}, None),
    "signal.sosfilt": ((SOS, None), {}, None),
    "signal.sosfiltfilt": ((SOS, None), {"padlen": 4}, None),
    "signal.savgol_filter": ((None, 5, 2), {}, None),
    "signal.detrend": ((None,), {"bp": [5]}, None),
    "fftpack.rfft": ((None, 9), {}, None),
    "fftpack.irfft": ((None, 14), {}, None),
}
PLACES = [(ndim, axis) for ndim in (1, 2, 3) for axis in range(-ndim, ndim)]


def along_an_axis(rule):
    return rule.core and "axis" in inspect.signature(rule.values).parameters


def test_every_function_has_a_call():
    assert {name for name, rule in REGISTRY.items() if along_an_axis(rule)} == set(CALLS)


def shape_of(ndim, axis):
    shape = [2, 3, 2][:ndim]
    shape[axis] = N
    return tuple(shape)


@pytest.mark.parametrize(("ndim", "axis"), PLACES)
@pytest.mark.parametrize("name", CALLS)
def test_gradients_along_every_axis(name, ndim, axis):
    given, keywords, part = CALLS[name]
    draws = np.random.default_rng(ndim * 10 + axis)
    x, y = draws.normal(size=(2, *shape_of(ndim, axis)))

    def value(function, x, y):
        arrays = [x if a is None else y if isinstance(a, str) else a for a in given]
        found = function(*arrays, axis=axis, **keywords)
        return found if part is None else found[part]

    weights = draws.normal(size=value(REGISTRY[name].values, x, y).shape)

    def total(function):
        return lambda x, y: np.sum(np.abs(value(function, x, y) + 3.0) ** 2 * weights)

    dx, dy = draws.normal(size=(2, *x.shape))
    ours = ag.grad(total(REGISTRY[name].function), 0)(x, y), np.zeros(y.shape)
    if any(isinstance(a, str) for a in given):
        ours = ag.grad(total(REGISTRY[name].function), (0, 1))(x, y)
    plain, step = total(REGISTRY[name].values), 1e-5
    slope = (plain(x + step * dx, y + step * dy) - plain(x - step * dx, y - step * dy)) / (2 * step)
    np.testing.assert_allclose(np.sum(ours[0] * dx) + np.sum(ours[1] * dy), slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("ndim", "axis"), PLACES)
@pytest.mark.parametrize("name", ["lfilter", "sosfilt"])
def test_conditions_of_filters_stand_along_the_axis(name, ndim, axis):
    draws = np.random.default_rng(ndim * 10 + axis)
    shape = shape_of(ndim, axis)
    x, zi = draws.normal(size=shape), list(shape)
    zi[axis] = 2
    zi = draws.normal(size=zi if name == "lfilter" else (2, *zi))
    coefficients = (B, A) if name == "lfilter" else (SOS,)

    def total(function):
        def of(x, zi):
            y, ends = function(*coefficients, x, axis=axis, zi=zi)
            return np.sum(y**2) + np.sum(ends**3)

        return of

    gx, gz = ag.grad(total(REGISTRY[f"signal.{name}"].function), (0, 1))(x, zi)
    dx, dz, step = draws.normal(size=x.shape), draws.normal(size=zi.shape), 1e-5
    plain = total(REGISTRY[f"signal.{name}"].values)
    slope = (plain(x + step * dx, zi + step * dz) - plain(x - step * dx, zi - step * dz)) / (2 * step)
    np.testing.assert_allclose(np.sum(gx * dx) + np.sum(gz * dz), slope, rtol=1e-6)


def test_axes_of_signals_of_different_ndim_are_their_own():
    """csd counts the axis in each of its signals; what is left broadcasts."""
    draws = np.random.default_rng(1)
    x, y = draws.normal(size=(N, 3)), draws.normal(size=(2, N, 3))

    def total(function):
        return lambda x, y: np.sum(np.abs(function(x, y, axis=-2, **SEGMENTS)[1]) ** 2)

    found = ag.grad(total(REGISTRY["signal.csd"].function), (0, 1))(x, y)
    dx, dy, step, plain = draws.normal(size=x.shape), draws.normal(size=y.shape), 1e-5, total(signal_of_scipy.csd)
    slope = (plain(x + step * dx, y + step * dy) - plain(x - step * dx, y - step * dy)) / (2 * step)
    np.testing.assert_allclose(np.sum(found[0] * dx) + np.sum(found[1] * dy), slope, rtol=1e-6)


def test_the_setting_of_a_core_axis_is_scipys_default():
    assert arraygrad.scipy.signal.resample(ag.tensor(np.ones((4, 3)), requires_grad=True), 2).shape == (2, 3)
    found = ag.grad(lambda x: np.sum(signal.resample(x, 2) * np.array([[1.0, 2.0, 3.0]])))(np.ones((4, 3)))
    np.testing.assert_allclose(found, [[0.5, 1.0, 1.5]] * 4, atol=1e-12)
