"""Orbit determination: place and speed of a satellite from distances to three stations, by a leapfrog integration.

Imports: NumPy. Lengths in radii of the planet, times in units in which its gravity at the surface is one.
"""

import numpy as np

TRUTH = np.array([1.5, 0.1, -0.05, 0.85])  # x, y, dx/dt, dy/dt
START = np.array([1.4, 0.2, 0.0, 0.8])
TOLERANCE = 0.01
STATIONS = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, -0.8]])
DT, STEPS, EVERY = 0.02, 200, 10


def ranges(state):
    """Distances (STEPS // EVERY, 3) to the stations."""
    place, speed = state[:2], state[2:]
    rows = []
    pull = -place / np.linalg.norm(place) ** 3
    for step in range(1, STEPS + 1):
        speed = speed + 0.5 * DT * pull
        place = place + DT * speed
        pull = -place / np.linalg.norm(place) ** 3
        speed = speed + 0.5 * DT * pull
        if step % EVERY == 0:
            rows.append(np.sqrt(np.sum((place - STATIONS) ** 2, axis=1)))
    return np.stack(rows)


def data():
    rng = np.random.default_rng(14)
    exact = ranges(TRUTH)
    return (exact + 1e-3 * rng.normal(size=exact.shape),)


def loss(state, measured):
    return np.mean((ranges(state) - measured) ** 2)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("orbit")
