"""10 000 rows of a 50 000 x 64 table, with repetitions, float64: indexing forward, scatter-add backward.

The gradient of the result is given. hand scatters with np.add.at, which is what a careful user writes; performance.md
knows better ways, and the bar asks for one of them.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(rows: int, columns: int, picks: int) -> Data:
    rng = np.random.default_rng(11)
    table, seed = rng.normal(size=(rows, columns)), rng.normal(size=(picks, columns))
    return Data([table], SimpleNamespace(index=rng.integers(0, rows, picks)), seed)


def formula(library, data):
    index = library.constant(data.constants.index)

    def f(table):
        return table[index]

    return f


def hand(data: Data) -> Run:
    (table,), index, seed = data.leaves, data.constants.index, data.seed

    def run():
        value = table[index]
        g = np.zeros_like(table)
        np.add.at(g, index, seed)
        return [value, g]

    return run


WORKLOADS = [
    Workload(
        name="gather",
        title="gather 10 000 of 50 000 x 64 rows (hand: np.add.at), float64",
        bar=0.55,
        moonshot=0.35,
        data=lambda: make(50_000, 64, 10_000),
        tiny=lambda: make(5, 2, 8),
        formula=formula,
        hand=hand,
    )
]
