"""100 explicit steps of the heat equation on 1000 places: written in place, and by padding the change.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload

RATE = 0.2


def make(n: int, steps: int) -> Data:
    rng = np.random.default_rng(24)
    return Data([rng.normal(size=n)], SimpleNamespace(steps=steps), rng.normal(size=n))


def in_place(library, data):
    steps = data.constants.steps

    def f(start):
        u = start * 1.0
        for _ in range(steps):
            u[1:-1] += RATE * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return u

    return f


def by_padding(library, data):
    steps = data.constants.steps

    def f(start):
        u = start
        for _ in range(steps):
            u = u + library.pad(RATE * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
        return u

    return f


def hand(data: Data) -> Run:
    (start,), seed, steps = data.leaves, data.seed, data.constants.steps

    def run():
        u, change, twice = start.copy(), np.empty(start.size - 2), np.empty(start.size - 2)
        for _ in range(steps):
            np.add(u[2:], u[:-2], change)
            change -= np.multiply(u[1:-1], 2.0, twice)
            change *= RATE
            u[1:-1] += change
        g = seed.copy()
        for _ in range(steps):
            np.multiply(g[1:-1], RATE, change)
            g[1:-1] -= np.multiply(change, 2.0, twice)
            g[2:] += change
            g[:-2] += change
        return [u, g]

    return run


def _row(name: str, title: str, how, bar: float, without: dict[str, str]) -> Workload:
    return Workload(
        name=f"heat-{name}",
        title=f"heat equation, 100 steps of 1000 places, {title}, float64",
        bar=bar,
        moonshot=1.0,
        data=lambda: make(1000, 100),
        tiny=lambda: make(6, 3),
        formula=how,
        hand=hand,
        without=without,
    )


NO_WRITES = "its arrays can't be written"
WORKLOADS = [
    _row("in-place", "written in place", in_place, 2.0, {"jax": NO_WRITES, "autograd": NO_WRITES}),
    _row("pad", "by padding", by_padding, 2.0, {"mygrad": "no pad"}),
]
