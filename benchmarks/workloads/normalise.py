"""Columns brought to mean 0 and variance 1, 10 000 x 100, float64: mean, var and two broadcasts.

The gradient of the result is given. hand uses the closed form r (g - mean(g) - y mean(g y)).
May import: numpy, workload.
"""

from __future__ import annotations

import numpy as np

from ..workload import Data, Run, Workload

EPS = 1e-5


def make(rows: int, columns: int) -> Data:
    rng = np.random.default_rng(8)
    x, seed = rng.normal(size=(2, rows, columns))
    return Data([x], seed=seed)


def formula(library, data):
    xp = library.xp
    # torch divides by n - 1 unless told otherwise, everybody else by n.
    biased = {"correction": 0} if library.name == "torch" else {}

    def f(x):
        return (x - xp.mean(x, axis=0)) / xp.sqrt(xp.var(x, axis=0, **biased) + EPS)

    return f


def hand(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed
    scale = 1 / len(x)

    def run():
        mean = np.add.reduce(x, axis=0)
        mean *= scale
        y = x - mean
        r = np.einsum("ij,ij->j", y, y)
        r *= scale
        r += EPS
        np.sqrt(r, r)
        np.divide(1, r, r)
        y *= r
        slope = np.einsum("ij,ij->j", seed, y)
        slope *= scale
        mean = np.add.reduce(seed, axis=0)
        mean *= scale
        g = y * slope
        np.subtract(seed, g, g)
        g -= mean
        g *= r
        return [y, g]

    return run


WORKLOADS = [
    Workload(
        name="normalise",
        title="normalise columns, 10 000 x 100 (mean, var), float64",
        bar=1.3,
        moonshot=1.0,
        data=lambda: make(10_000, 100),
        tiny=lambda: make(5, 3),
        formula=formula,
        hand=hand,
    )
]
