"""Count regression: negative binomial, with the gamma function of SciPy. Imports: NumPy, scipy.special."""

import numpy as np
from scipy.special import gammaln

TRUTH = {"b": np.array([1.0, 0.5, -0.7]), "log_size": np.log(3.0)}
START = {"b": np.zeros(3), "log_size": 0.0}
TOLERANCE = 0.25
ROWS = 600


def loss(params, X, counts):
    """Negative log likelihood per row.

    The mean is exp(X b), the variance mean + mean^2 / size.
    """
    size = np.exp(params["log_size"])
    mean = np.exp(X @ params["b"])
    likelihood = (
        gammaln(counts + size)
        - gammaln(size)
        - gammaln(counts + 1.0)
        + size * np.log(size / (size + mean))
        + counts * np.log(mean / (size + mean))
    )
    return -np.mean(likelihood)


def data():
    rng = np.random.default_rng(13)
    X = np.concatenate([np.ones((ROWS, 1)), rng.normal(size=(ROWS, 2))], axis=1)
    size, mean = np.exp(TRUTH["log_size"]), np.exp(X @ TRUTH["b"])
    return X, rng.negative_binomial(size, size / (size + mean)).astype(float)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("count_regression")
