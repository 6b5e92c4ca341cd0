"""Molecules: the most stable shape of seven Lennard-Jones atoms, a pentagonal bipyramid. Imports: NumPy."""

import numpy as np

ATOMS = 7
# The known least energy, in depths of the pair potential (Hoare and Pal, 1971).
ENERGY = -16.505384
FIRST, SECOND = np.triu_indices(ATOMS, 1)


def loss(positions):
    """Potential energy of atoms at `positions` (n, 3)."""
    apart = positions[FIRST] - positions[SECOND]
    inverse6 = np.sum(apart**2, axis=1) ** -3
    return 4.0 * np.sum(inverse6**2 - inverse6)


def loss_and_gradient(positions):
    """The same with minus the forces by hand."""
    apart = positions[FIRST] - positions[SECOND]
    squares = np.sum(apart * apart, axis=1)
    inverse6 = squares**-3
    pull = (24.0 * (inverse6 - 2.0 * inverse6 * inverse6) / squares)[
        :, None
    ] * apart
    gradient = np.zeros_like(positions)
    np.add.at(gradient, FIRST, pull)
    np.subtract.at(gradient, SECOND, pull)
    return 4.0 * np.sum(inverse6 * inverse6 - inverse6), gradient


def _start():
    angles = 2.0 * np.pi * np.arange(5) / 5.0
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(5)], axis=1)
    poles = np.array([[0.0, 0.0, 0.7], [0.0, 0.0, -0.7]])
    return np.concatenate([ring, poles]) + 0.1 * np.random.default_rng(12).normal(
        size=(ATOMS, 3)
    )


START = _start()


def data():
    return ()


def recovered(positions):
    """Distance of the energy from the known one."""
    return abs(loss(positions) - ENERGY)


TOLERANCE = 1e-5


if __name__ == "__main__":
    from examples.gallery.show import show

    show("lennard_jones")
