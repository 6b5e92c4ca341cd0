"""One leaf used 10 000 times, then summed: 20 000 nodes, and 10 000 gradients that meet in one leaf.

total <- total + x * c, c a raw array. Hand does every product and every sum as well, forward and backward.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(size: int, uses: int) -> Data:
    rng = np.random.default_rng(3)
    x, c, seed = rng.normal(size=(3, size))
    return Data([x], SimpleNamespace(c=c, uses=uses), seed)


def formula(library, data):
    c, more = library.constant(data.constants.c), range(data.constants.uses - 1)

    def f(x):
        total = x * c
        for _ in more:
            total = total + x * c
        return total

    return f


def hand_fresh(data: Data) -> Run:
    """At size 1, where an in-place call is slower than a new result."""
    (x,), seed = data.leaves, data.seed
    c, more = data.constants.c, range(data.constants.uses - 1)

    def run():
        total = x * c
        for _ in more:
            total = total + x * c
        g = seed * c
        for _ in more:
            g = g + seed * c
        return [total, g]

    return run


def hand_in_place(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed
    c, more = data.constants.c, range(data.constants.uses - 1)

    def run():
        add, multiply = np.add, np.multiply
        total, product = x * c, np.empty_like(x)
        for _ in more:
            add(total, multiply(x, c, product), total)
        g = seed * c
        for _ in more:
            add(g, multiply(seed, c, product), g)
        return [total, g]

    return run


def _row(size: int, bar: float, hand) -> Workload:
    return Workload(
        name=f"fan-out-{size}",
        title=f"one leaf used 10 000 times, then summed (20 000 nodes), size {size}, float64",
        bar=bar,
        moonshot=0.4,
        data=lambda: make(size, 10_000),
        tiny=lambda: make(3, 5),
        formula=formula,
        hand=hand,
        without={"jax": "compiling 20 000 operations takes minutes"},
    )


WORKLOADS = [_row(1, 1.0, hand_fresh), _row(100, 1.1, hand_in_place)]
