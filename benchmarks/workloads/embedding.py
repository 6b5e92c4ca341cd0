"""Rows of an embedding summed by segments, as bags of words are: a gather, and a scatter-add in the forward.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(rows: int, width: int, taken: int, segments: int) -> Data:
    rng = np.random.default_rng(26)
    segment = np.sort(np.concatenate([np.arange(segments), rng.integers(0, segments, taken - segments)]))
    constants = SimpleNamespace(index=rng.integers(0, rows, taken), segment=segment, count=segments)
    return Data([rng.normal(size=(rows, width))], constants)


def formula(library, data):
    c, xp = data.constants, library.xp
    index = library.constant(c.index)

    def f(table):
        bags = library.segment_sum(table[index], c.segment, c.count)
        return xp.sum(bags * bags)

    return f


def hand(data: Data) -> Run:
    (table,), c = data.leaves, data.constants
    starts = np.searchsorted(c.segment, np.arange(c.count))

    def run():
        bags = np.add.reduceat(table[c.index], starts, axis=0)
        value = np.vdot(bags, bags)
        bags *= 2.0
        g = np.zeros_like(table)
        np.add.at(g, c.index, bags[c.segment])
        return [value, g]

    return run


WORKLOADS = [
    Workload(
        name="embedding",
        title="20 000 rows of 10 000 x 32 summed in 1000 segments, float64",
        bar=0.9,
        moonshot=0.5,
        data=lambda: make(10_000, 32, 20_000, 1000),
        tiny=lambda: make(5, 2, 8, 3),
        formula=formula,
        hand=hand,
        without={"autograd": "no add.at", "mygrad": "no add.at"},
    )
]
