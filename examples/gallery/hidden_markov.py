"""A hidden Markov model: transition and emission probabilities by the forward algorithm. Imports: NumPy."""

import numpy as np

# Unnormalised log-probabilities; each row's first is the reference and stays zero.
TRUTH = {"stay": np.array([2.5, 2.0]), "emit": np.array([[1.5, -0.5], [-1.5, 0.8]])}
START = {"stay": np.array([1.0, 1.0]), "emit": np.array([[0.5, 0.0], [-0.5, 0.0]])}
TOLERANCE = 0.5
LENGTH = 600


def softmax(z, axis):
    z = z - np.max(z, axis=axis, keepdims=True)
    e = np.exp(z)
    return e / np.sum(e, axis=axis, keepdims=True)


def probabilities(params):
    """Transitions (2, 2) and emissions (2, 3)."""
    stay = 1.0 / (1.0 + np.exp(-params["stay"]))
    transitions = np.stack(
        [np.stack([stay[0], 1.0 - stay[0]]), np.stack([1.0 - stay[1], stay[1]])]
    )
    emissions = softmax(
        np.concatenate([np.zeros((2, 1)), params["emit"]], axis=1), axis=1
    )
    return transitions, emissions


def loss(params, symbols):
    """Negative log likelihood per symbol."""
    transitions, emissions = probabilities(params)
    forward = np.array([0.5, 0.5]) * emissions[:, symbols[0]]
    total = 0.0
    for symbol in symbols[1:]:
        scale = np.sum(forward)
        total = total + np.log(scale)
        forward = (forward / scale) @ transitions * emissions[:, symbol]
    return -(total + np.log(np.sum(forward))) / len(symbols)


def data():
    rng = np.random.default_rng(7)
    transitions, emissions = probabilities(TRUTH)
    state, symbols = 0, []
    for _ in range(LENGTH):
        symbols.append(rng.choice(3, p=emissions[state]))
        state = rng.choice(2, p=transitions[state])
    return (np.array(symbols),)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("hidden_markov")
