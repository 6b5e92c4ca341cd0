"""200 sums of a 1000 x 100 array, float64: reduction to 0-d forward, broadcast and accumulation backward.

total <- total + sum(x) * c_i with Python floats c_i. hand adds a number to the whole gradient 200 times, in place, as
the reductions ask for it; who keeps the gradients 0-d until they have met does less.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(rows: int, columns: int, times: int) -> Data:
    rng = np.random.default_rng(10)
    return Data([rng.normal(size=(rows, columns))], SimpleNamespace(c=rng.normal(size=times).tolist()))


def formula(library, data):
    xp, c = library.xp, data.constants.c

    def f(x):
        total = xp.sum(x) * c[0]
        for factor in c[1:]:
            total = total + xp.sum(x) * factor
        return total

    return f


def hand(data: Data) -> Run:
    (x,), c = data.leaves, data.constants.c

    def run():
        total = 0.0
        for factor in c:
            total += float(np.add.reduce(x, axis=None)) * factor
        g = np.zeros_like(x)
        for factor in c:
            g += factor
        return [total, g]

    return run


WORKLOADS = [
    Workload(
        name="reductions",
        title="200 reductions of 1000 x 100, float64",
        bar=1.1,
        moonshot=0.6,
        data=lambda: make(1000, 100, 200),
        tiny=lambda: make(4, 3, 3),
        formula=formula,
        hand=hand,
    )
]
