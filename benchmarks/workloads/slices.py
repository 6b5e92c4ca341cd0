"""100 slices that tile a vector, each multiplied and added up, float64: every slice adds to one gradient.

total <- total + x[i n : (i + 1) n] * c_i; the gradient of the result is given. A rule that makes a zero-filled array
per slice does 100 times the work.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(size: int, pieces: int) -> Data:
    rng = np.random.default_rng(12)
    x = rng.normal(size=size)
    c, seed = rng.normal(size=(pieces, size // pieces)), rng.normal(size=size // pieces)
    return Data([x], SimpleNamespace(c=c), seed)


def formula(library, data):
    n = data.constants.c.shape[1]
    c = [library.constant(row) for row in data.constants.c]

    def f(x):
        total = x[:n] * c[0]
        for i in range(1, len(c)):
            total = total + x[i * n : (i + 1) * n] * c[i]
        return total

    return f


def hand(data: Data) -> Run:
    (x,), seed = data.leaves, data.seed
    n = data.constants.c.shape[1]
    c = list(data.constants.c)

    def run():
        multiply = np.multiply
        total = x[:n] * c[0]
        product = np.empty_like(total)
        for i in range(1, len(c)):
            multiply(x[i * n : (i + 1) * n], c[i], product)
            total += product
        g = np.empty_like(x)
        for i in range(len(c)):
            multiply(seed, c[i], g[i * n : (i + 1) * n])
        return [total, g]

    return run


def _row(label: str, size: int, bar: float, moonshot: float) -> Workload:
    return Workload(
        name=f"slices-{label}",
        title=f"100 slices of a vector of {size}, float64",
        bar=bar,
        moonshot=moonshot,
        data=lambda: make(size, 100),
        tiny=lambda: make(12, 3),
        formula=formula,
        hand=hand,
    )


WORKLOADS = [_row("10k", 10_000, 2.0, 1.2), _row("1m", 1_000_000, 1.5, 1.1)]
