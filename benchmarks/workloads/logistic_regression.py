"""Logistic regression over 100 000 rows of 100 features, float64: two products with a tall matrix, bound by memory.

Labels are -1 and 1. loss = mean(log1p(exp(-y (X w)))).
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(rows: int, features: int) -> Data:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, features))
    w = rng.normal(size=features) / np.sqrt(features)
    y = np.sign(x @ rng.normal(size=features) + 0.5)
    return Data([w], SimpleNamespace(x=x, minus_y=-y))


def formula(library, data):
    xp = library.xp
    x, minus_y = library.constant(data.constants.x), library.constant(data.constants.minus_y)

    def f(w):
        return xp.mean(xp.log1p(xp.exp(minus_y * (x @ w))))

    return f


def hand(data: Data) -> Run:
    (w,), x, minus_y = data.leaves, data.constants.x, data.constants.minus_y
    scale = 1 / len(x)

    def run():
        m = x @ w
        m *= minus_y
        np.exp(m, m)
        loss = np.add.reduce(np.log1p(m)) * scale
        g = m + 1
        np.divide(m, g, g)
        g *= minus_y
        g *= scale
        return [loss, g @ x]

    return run


WORKLOADS = [
    Workload(
        name="logistic-regression",
        title="logistic regression, 100 000 x 100, float64",
        bar=1.05,
        moonshot=0.95,
        data=lambda: make(100_000, 100),
        tiny=lambda: make(7, 3),
        formula=formula,
        hand=hand,
    )
]
