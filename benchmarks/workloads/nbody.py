"""Potential energy of bodies under softened gravity, and the forces: differences of all pairs, sums over a short axis.

Hand takes the coordinates apart into planes and has the gradient without the differences: two products.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload

SOFT = 0.1


def make(n: int) -> Data:
    rng = np.random.default_rng(20)
    return Data([rng.normal(size=(n, 3))], SimpleNamespace(masses=rng.uniform(0.5, 1.5, n)))


def formula(library, data):
    xp, m = library.xp, data.constants.masses
    pairs = library.constant(-0.5 * m[:, None] * m[None, :])

    def f(x):
        d = x[:, None] - x[None]
        r2 = xp.sum(d * d, axis=-1) + SOFT
        return xp.sum(pairs / xp.sqrt(r2))

    return f


def hand(data: Data) -> Run:
    (x,), m = data.leaves, data.constants.masses
    pairs = -0.5 * m[:, None] * m[None, :]

    def run():
        r2 = None
        for k in range(3):
            d = x[:, k, None] - x[None, :, k]
            d *= d
            r2 = d if r2 is None else np.add(r2, d, r2)
        r2 += SOFT
        energy = np.sqrt(r2)
        np.divide(pairs, energy, energy)
        value = energy.sum()
        np.divide(energy, r2, r2)  # the weight of each pair, halved and negated
        g = r2.sum(axis=1)[:, None] * x
        g -= r2 @ x
        g *= -2.0
        return [value, g]

    return run


WORKLOADS = [
    Workload(
        name="n-body",
        title="energy and forces of 200 bodies, all pairs, float64",
        bar=1.2,
        moonshot=0.9,
        data=lambda: make(200),
        tiny=lambda: make(4),
        formula=formula,
        hand=hand,
    )
]
