"""Softmax written out, 256 x 1000, float32: max, exp, sum and division, with gradients through each.

The gradient of the result is given. hand uses p (g - sum(g p)); the maximum is constant for it, as it is in effect.
May import: numpy, workload.
"""

from __future__ import annotations

import numpy as np

from ..workload import Data, Run, Workload


def make(rows: int, classes: int, dtype: str) -> Data:
    rng = np.random.default_rng(9)
    x, seed = rng.normal(size=(2, rows, classes)).astype(dtype)
    return Data([x], seed=seed)


def formula(library, data):
    xp = library.xp
    # torch.max along an axis returns a pair, torch.amax is everybody else's max.
    largest = xp.amax if library.name == "torch" else xp.max

    def f(x):
        e = xp.exp(x - largest(x, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)

    return f


def hand(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed

    def run():
        p = x - np.maximum.reduce(x, axis=1, keepdims=True)
        np.exp(p, p)
        p /= np.add.reduce(p, axis=1, keepdims=True)
        dot = np.einsum("ij,ij->i", seed, p)[:, None]
        g = seed - dot
        g *= p
        return [p, g]

    return run


WORKLOADS = [
    Workload(
        name="softmax",
        title="softmax written out, 256 x 1000, float32",
        bar=1.3,
        moonshot=1.0,
        data=lambda: make(256, 1000, "float32"),
        tiny=lambda: make(3, 4, "float64"),
        formula=formula,
        hand=hand,
    )
]
