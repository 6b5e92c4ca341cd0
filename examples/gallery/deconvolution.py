"""Deconvolution: a signal of sharp lines from its blurred record, by Fourier transforms. Imports: NumPy."""

import numpy as np

N = 128
PENALTY = 1e-4
_t = np.arange(N)
BLUR = np.exp(-0.5 * (np.minimum(_t, N - _t) / 2.0) ** 2)
BLUR /= BLUR.sum()
TRUTH = np.exp(-0.5 * ((_t - 35) / 4.0) ** 2) + 0.6 * np.exp(
    -0.5 * ((_t - 80) / 6.0) ** 2
)
START = np.full(N, 0.1)
TOLERANCE = 0.15


def blurred(signal):
    return np.fft.irfft(np.fft.rfft(signal) * np.fft.rfft(BLUR), n=N)


def loss(signal, record):
    misfit = blurred(signal) - record
    roughness = np.diff(signal)
    return np.sum(misfit**2) + PENALTY * np.sum(roughness**2)


def loss_and_gradient(signal, record):
    """The same with the gradient by hand: the blur is its own adjoint."""
    misfit = blurred(signal) - record
    roughness = np.diff(signal)
    gradient = 2.0 * blurred(misfit)
    gradient[1:] += 2.0 * PENALTY * roughness
    gradient[:-1] -= 2.0 * PENALTY * roughness
    return np.sum(misfit**2) + PENALTY * np.sum(roughness**2), gradient


def data():
    rng = np.random.default_rng(1)
    return (blurred(TRUTH) + 1e-3 * rng.normal(size=N),)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("deconvolution")
