"""Soft clustering: centres, width and shares of a mixture of round Gaussians, by maximum likelihood. Imports: NumPy."""

import numpy as np

TRUTH = {
    "centres": np.array([[0.0, 0.0], [4.0, 0.5], [1.5, 4.0]]),
    "log_width": np.log(0.7),
    "scores": np.zeros(3),
}
START = {
    "centres": np.array([[0.5, 1.0], [3.0, 1.5], [2.0, 2.5]]),
    "log_width": 0.0,
    "scores": np.zeros(3),
}
TOLERANCE = 0.25


def loss(params, points):
    """Negative log likelihood per point."""
    centres, scores = params["centres"], params["scores"]
    width = np.exp(params["log_width"])
    shares = scores - np.log(np.sum(np.exp(scores)))
    squares = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    logs = (
        shares
        - 0.5 * squares / width**2
        - 2.0 * params["log_width"]
        - np.log(2.0 * np.pi)
    )
    top = np.max(logs, axis=1, keepdims=True)
    likelihood = top[:, 0] + np.log(np.sum(np.exp(logs - top), axis=1))
    # The scores are known up to a constant: keep them near zero.
    return -np.mean(likelihood) + 1e-3 * np.sum(scores**2)


def data():
    rng = np.random.default_rng(6)
    which = rng.integers(3, size=400)
    return (
        TRUTH["centres"][which]
        + np.exp(TRUTH["log_width"]) * rng.normal(size=(400, 2)),
    )


if __name__ == "__main__":
    from examples.gallery.show import show

    show("soft_clustering")
