"""A Kalman filter's likelihood: three noise levels of a drifting trend, from a time series. Imports: NumPy."""

import numpy as np

# Logarithms of the standard deviations of observation, level and slope.
TRUTH = np.log([1.0, 0.5, 0.1])
START = np.log([0.3, 0.3, 0.3])
TOLERANCE = 0.4
LENGTH = 150
F = np.array([[1.0, 1.0], [0.0, 1.0]])
H = np.array([1.0, 0.0])


def loss(theta, series):
    """Negative log likelihood per observation, by prediction errors."""
    observed, level, slope = np.exp(2.0 * theta)
    Q = np.diag(np.stack([level, slope]))
    mean, cov = np.zeros(2), 10.0 * np.eye(2)
    total = 0.0
    for y in series:
        mean = F @ mean
        cov = F @ cov @ F.T + Q
        error = y - H @ mean
        variance = H @ cov @ H + observed
        gain = cov @ H / variance
        mean = mean + gain * error
        cov = cov - np.outer(gain, H @ cov)
        total = total + 0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
    return total / len(series)


def data():
    rng = np.random.default_rng(5)
    observed, level, slope = np.exp(TRUTH)
    slopes = np.cumsum(slope * rng.normal(size=LENGTH))
    levels = np.cumsum(slopes + level * rng.normal(size=LENGTH))
    return (levels + observed * rng.normal(size=LENGTH),)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("kalman")
