"""Spline fit: a natural cubic spline through unknown values at given knots, from scattered data. Imports: NumPy."""

import numpy as np

KNOTS = np.linspace(0.0, 10.0, 12)
TRUTH = np.sin(KNOTS) + 0.1 * KNOTS
START = np.zeros_like(KNOTS)
TOLERANCE = 0.08


def second_derivatives(values):
    """Of the natural spline through (KNOTS, values), at the knots."""
    h = np.diff(KNOTS)
    matrix = (
        np.diag((h[:-1] + h[1:]) / 3.0)
        + np.diag(h[1:-1] / 6.0, 1)
        + np.diag(h[1:-1] / 6.0, -1)
    )
    slopes = np.diff(values) / h
    inside = np.linalg.solve(matrix, np.diff(slopes))
    return np.concatenate([np.zeros(1), inside, np.zeros(1)])


def spline(values, x):
    i = np.clip(np.searchsorted(KNOTS, x) - 1, 0, len(KNOTS) - 2)
    h = KNOTS[i + 1] - KNOTS[i]
    a, b = (KNOTS[i + 1] - x) / h, (x - KNOTS[i]) / h
    m = second_derivatives(values)
    bend = ((a**3 - a) * m[i] + (b**3 - b) * m[i + 1]) * h**2 / 6.0
    return a * values[i] + b * values[i + 1] + bend


def loss(values, x, y):
    """Mean of log cosh: squares near zero, absolute values far out."""
    return np.mean(np.log(np.cosh(spline(values, x) - y)))


def data():
    rng = np.random.default_rng(8)
    x = rng.uniform(0.0, 10.0, size=400)
    y = spline(TRUTH, x) + 0.05 * rng.normal(size=400)
    y[::40] += 2.0  # outliers
    return x, y


if __name__ == "__main__":
    from examples.gallery.show import show

    show("spline_fit")
