"""Predator and prey: the four rates of the Lotka-Volterra equations from noisy counts, by least squares.

The equations are integrated by Runge and Kutta's method, one step after the other. Imports: NumPy.
"""

import numpy as np

# Logarithms, as all six are positive.
TRUTH = {"rates": np.log([1.1, 0.4, 0.4, 0.1]), "start": np.log([10.0, 5.0])}
START = {"rates": np.log([1.05, 0.38, 0.42, 0.09]), "start": np.log([9.5, 5.3])}
TOLERANCE = 0.05
STEP, STEPS, EVERY = 0.1, 60, 3


def slope(y, rates):
    """dy/dt of prey y[0] and predators y[1]."""
    birth, eaten, death, fed = rates
    prey, predators = y
    return np.stack(
        [
            birth * prey - eaten * prey * predators,
            fed * prey * predators - death * predators,
        ]
    )


def simulate(params):
    """Counts (STEPS // EVERY, 2), one row every EVERY steps."""
    rates, y = np.exp(params["rates"]), np.exp(params["start"])
    rows = []
    for step in range(1, STEPS + 1):
        k1 = slope(y, rates)
        k2 = slope(y + 0.5 * STEP * k1, rates)
        k3 = slope(y + 0.5 * STEP * k2, rates)
        k4 = slope(y + STEP * k3, rates)
        y = y + STEP / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        if step % EVERY == 0:
            rows.append(y)
    return np.stack(rows)


def data():
    rng = np.random.default_rng(0)
    counts = simulate(TRUTH)
    return (counts * np.exp(0.02 * rng.normal(size=counts.shape)),)


def loss(params, counts):
    residual = simulate(params) - counts
    return np.mean(residual**2)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("ode_fit")
