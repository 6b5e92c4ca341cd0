"""Cumulative sums and products and sorted values of 100 000 elements, each weighed and summed.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(n: int) -> Data:
    rng = np.random.default_rng(27)
    return Data([np.exp(rng.normal(size=n) / n)], SimpleNamespace(), rng.normal(size=n))


def cumsum(library, data):
    return lambda x: library.xp.cumsum(x, 0)


def hand_cumsum(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed
    return lambda: [np.cumsum(x), np.cumsum(seed[::-1])[::-1]]


def cumprod(library, data):
    return lambda x: library.xp.cumprod(x, 0)


def hand_cumprod(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed

    def run():
        y = np.cumprod(x)
        g = np.cumsum((seed * y)[::-1])[::-1]
        g /= x  # no zeros among them
        return [y, g]

    return run


def sort(library, data):
    return library.sort


def hand_sort(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed

    def run():
        order = np.argsort(x)
        g = np.empty_like(seed)
        g[order] = seed
        return [x[order], g]

    return run


def _row(name: str, how, hand, bar: float, without: dict[str, str]) -> Workload:
    return Workload(
        name=name,
        title=f"{name} of 100 000 elements, float64",
        bar=bar,
        moonshot=1.0,
        data=lambda: make(100_000),
        tiny=lambda: make(5),
        formula=how,
        hand=hand,
        without=without,
    )


WORKLOADS = [
    _row("cumsum", cumsum, hand_cumsum, 1.3, {}),
    _row("cumprod", cumprod, hand_cumprod, 1.3, {"autograd": "no cumprod"}),
    _row("sort", sort, hand_sort, 2.5, {"mygrad": "no sort"}),
]
