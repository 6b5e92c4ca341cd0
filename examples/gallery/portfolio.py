"""Portfolio of least variance: weights as a softmax, so that they are positive and sum to one. Imports: NumPy."""

import numpy as np

ASSETS = 10
_rng = np.random.default_rng(9)
_factors = 0.1 * _rng.normal(size=(ASSETS, 3))
COVARIANCE = np.diag(_rng.uniform(0.05, 0.3, size=ASSETS)) + _factors @ _factors.T
# The known solution: proportional to COVARIANCE^-1 1, and all positive here.
_solved = np.linalg.solve(COVARIANCE, np.ones(ASSETS))
WEIGHTS = _solved / _solved.sum()
# Scores are known up to a constant: with this one their mean is zero.
TRUTH = np.log(WEIGHTS) - np.mean(np.log(WEIGHTS))
START = np.zeros(ASSETS)
TOLERANCE = 1e-3


def weights(scores):
    e = np.exp(scores - np.max(scores))
    return e / np.sum(e)


def loss(scores, covariance):
    """Logarithm of the variance."""
    w = weights(scores)
    return np.log(w @ covariance @ w)


def loss_and_gradient(scores, covariance):
    """The same with the gradient by hand."""
    w = weights(scores)
    Cw = covariance @ w
    variance = w @ Cw
    g = 2.0 * Cw / variance
    return np.log(variance), w * (g - w @ g)


def data():
    return (COVARIANCE,)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("portfolio")
