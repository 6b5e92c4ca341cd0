"""Handwritten digits with a small neural network, in plain NumPy. Imports: numpy only.

This is the kind of code arraygrad is for: written before anyone thought of automatic derivatives, and not changed for
them. `python -m arraygrad demo` takes the gradient of `loss` with `arraygrad.value_and_grad(loss)` and holds it against
`loss_and_gradient`, in which the same derivatives are worked out by hand.

Shapes, all float64 unless the caller's arrays are float32: images X (n, 64) with values in 0..1, labels y (n,) of
integers 0..9, params a dict W1 (64, 48), b1 (48,), W2 (48, 10), b2 (10,).
"""

import numpy as np

PIXELS, HIDDEN, CLASSES = 64, 48, 10
WEIGHT_DECAY = 2e-3
ARCHITECTURE = f"{PIXELS} -> {HIDDEN} tanh -> {CLASSES}, softmax cross-entropy + L2"


def init(rng):
    """Random start: normal weights with variance 1 / fan-in, so that tanh begins in its linear part; zero biases."""
    return {
        "W1": rng.normal(size=(PIXELS, HIDDEN)) / np.sqrt(PIXELS),
        "b1": np.zeros(HIDDEN),
        "W2": rng.normal(size=(HIDDEN, CLASSES)) / np.sqrt(HIDDEN),
        "b2": np.zeros(CLASSES),
    }


def scores(params, X):
    """Unnormalised log-probabilities of the ten classes, (n, 10)."""
    hidden = np.tanh(X @ params["W1"] + params["b1"])
    return hidden @ params["W2"] + params["b2"]


def loss(params, X, y):
    """Mean cross-entropy of the labels plus the L2 penalty of the weights; a scalar."""
    z = scores(params, X)
    z = z - np.max(z, axis=1, keepdims=True)  # exp cannot overflow
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    cross_entropy = -np.mean(log_p[np.arange(len(y)), y])
    penalty = np.sum(params["W1"] ** 2) + np.sum(params["W2"] ** 2)
    return cross_entropy + 0.5 * WEIGHT_DECAY * penalty


def predict(params, X):
    """The most probable class of each image, (n,) integers."""
    return np.argmax(scores(params, X), axis=1)


def loss_and_gradient(params, X, y):
    """The same loss with its gradient worked out by hand: (scalar, dict of arrays shaped like params).

    Written as a careful user would: one forward pass, everything that is needed twice kept, dead arrays overwritten.
    """
    W1, W2 = params["W1"], params["W2"]
    n = len(y)
    rows = np.arange(n)

    hidden = X @ W1
    hidden += params["b1"]
    np.tanh(hidden, out=hidden)
    z = hidden @ W2
    z += params["b2"]
    z -= np.max(z, axis=1, keepdims=True)
    picked = z[rows, y]
    p = np.exp(z, out=z)
    total = np.sum(p, axis=1, keepdims=True)
    cross_entropy = np.mean(np.log(total[:, 0]) - picked)
    penalty = np.sum(W1 * W1) + np.sum(W2 * W2)
    value = cross_entropy + 0.5 * WEIGHT_DECAY * penalty

    # d value / d z is (softmax - one-hot) / n; the maximum cancels out of it.
    p /= total
    p[rows, y] -= 1.0
    p /= n
    g_hidden = p @ W2.T
    gradient = {"W2": hidden.T @ p + WEIGHT_DECAY * W2, "b2": np.sum(p, axis=0)}
    hidden *= hidden
    np.subtract(1.0, hidden, out=hidden)  # tanh' = 1 - tanh^2
    g_hidden *= hidden
    gradient["W1"] = X.T @ g_hidden + WEIGHT_DECAY * W1
    gradient["b1"] = np.sum(g_hidden, axis=0)
    return value, gradient
