"""Breast-cancer table with logistic regression, in plain NumPy. Imports: numpy only.

The second model of `python -m arraygrad demo`, which differentiates `loss` as it stands and holds the result against
`loss_and_gradient`, in which the derivatives are worked out by hand.

Shapes, all float64 unless the caller's arrays are float32: measurements X (n, 30), standardised by the caller; labels
y (n,) of integers 0 and 1; params a dict w (30,), b ().
"""

import numpy as np

FEATURES = 30
WEIGHT_DECAY = 1e-2
ARCHITECTURE = f"{FEATURES} -> 1, logistic regression + L2"


def init(rng):
    """Random start close to zero. (At exactly zero every score would sit on the kink of `np.maximum`.)"""
    return {"w": 0.1 * rng.normal(size=FEATURES), "b": np.zeros(())}


def scores(params, X):
    """Log-odds of label 1, (n,)."""
    return X @ params["w"] + params["b"]


def loss(params, X, y):
    """Mean of log(1 + exp(z)) - y z, written so that exp cannot overflow, plus the L2 penalty of w; a scalar."""
    z = scores(params, X)
    softplus = np.maximum(z, 0.0) + np.log(1.0 + np.exp(np.where(z > 0.0, -z, z)))
    return np.mean(softplus - y * z) + 0.5 * WEIGHT_DECAY * np.sum(params["w"] ** 2)


def predict(params, X):
    """The more probable label of each row, (n,) integers."""
    return (scores(params, X) > 0.0).astype(np.int64)


def loss_and_gradient(params, X, y):
    """The same loss with its gradient worked out by hand: (scalar, dict of arrays shaped like params)."""
    w = params["w"]
    z = X @ w
    z += params["b"]
    small = np.exp(-np.abs(z))  # exp(-|z|) lies in 0..1
    value = np.mean(np.maximum(z, 0.0) + np.log(1.0 + small) - y * z) + 0.5 * WEIGHT_DECAY * np.sum(w * w)
    # d value / d z is (sigmoid(z) - y) / n, and sigmoid(z) is 1 / (1 + small) or small / (1 + small).
    g = np.where(z > 0.0, 1.0, small)
    small += 1.0
    g /= small
    g -= y
    g /= len(y)
    return value, {"w": X.T @ g + WEIGHT_DECAY * w, "b": np.sum(g)}
