"""An inverse problem of heat conduction: the conductivity along a rod from temperatures at its end. Imports: NumPy.

Explicit finite differences in arrays that are made once and written step by step.
"""

import numpy as np

CELLS, STEPS = 8, 80
DT = 0.2  # in units of the cell's width squared
_x = (np.arange(CELLS) + 0.5) / CELLS
TRUTH = 1.0 + 0.6 * np.sin(np.pi * _x)
START = np.ones(CELLS)
TOLERANCE = 0.1
SMOOTHNESS = 1e-4


def temperatures(conductivity):
    """Temperatures (STEPS, CELLS) of a cold rod that is heated at its left end."""
    u = np.zeros(CELLS)
    inflow = np.zeros(
        CELLS
    )  # from the left into each cell; nothing leaves on the right
    outflow = np.zeros(CELLS)
    between = 0.5 * (conductivity[1:] + conductivity[:-1])
    rows = []
    for _ in range(STEPS):
        inflow[0] = conductivity[0] * (1.0 - u[0])
        inflow[1:] = between * (u[:-1] - u[1:])
        outflow[:-1] = inflow[1:]
        u += DT * (inflow - outflow)
        rows.append(u.copy())
    return np.stack(rows)


def data():
    rng = np.random.default_rng(2)
    exact = temperatures(TRUTH)
    return (exact + 1e-5 * rng.normal(size=exact.shape),)


def loss(conductivity, measured):
    misfit = temperatures(conductivity) - measured
    return 1e4 * np.mean(misfit**2) + SMOOTHNESS * np.sum(
        np.diff(conductivity) ** 2
    )


if __name__ == "__main__":
    from examples.gallery.show import show

    show("heat_inverse")
