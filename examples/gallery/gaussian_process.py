"""Gaussian process regression: length scale, amplitude and noise that make the data most likely. Imports: NumPy."""

import numpy as np

# Logarithms of length scale, amplitude and noise.
TRUTH = np.log([0.6, 1.5, 0.1])
START = np.log([1.5, 0.7, 0.5])
TOLERANCE = 0.3
POINTS = 80


def kernel(x, theta):
    length, amplitude, noise = np.exp(theta)
    distance = (x[:, None] - x[None, :]) / length
    return amplitude**2 * np.exp(-0.5 * distance**2) + noise**2 * np.eye(len(x))


def loss(theta, x, y):
    """Negative log marginal likelihood per point."""
    L = np.linalg.cholesky(kernel(x, theta))
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return (
        0.5 * y @ alpha
        + np.sum(np.log(np.diag(L)))
        + 0.5 * len(x) * np.log(2.0 * np.pi)
    ) / len(x)


def loss_and_gradient(theta, x, y):
    """The same with the gradient by hand.

    It is half the trace of (K^-1 - alpha alpha^T) dK/dtheta.
    """
    length, amplitude, noise = np.exp(theta)
    squares = ((x[:, None] - x[None, :]) / length) ** 2
    smooth = amplitude**2 * np.exp(-0.5 * squares)
    K = smooth + noise**2 * np.eye(len(x))
    L = np.linalg.cholesky(K)
    inverse = np.linalg.inv(K)
    alpha = inverse @ y
    value = (
        0.5 * y @ alpha
        + np.sum(np.log(np.diag(L)))
        + 0.5 * len(x) * np.log(2.0 * np.pi)
    )
    inner = 0.5 * (inverse - np.outer(alpha, alpha))
    gradient = [
        np.sum(inner * smooth * squares),
        2.0 * np.sum(inner * smooth),
        2.0 * noise**2 * np.trace(inner),
    ]
    return value / len(x), np.array(gradient) / len(x)


def data():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.0, 20.0, size=POINTS))
    y = np.linalg.cholesky(kernel(x, TRUTH)) @ rng.normal(size=POINTS)
    return x, y


if __name__ == "__main__":
    from examples.gallery.show import show

    show("gaussian_process")
