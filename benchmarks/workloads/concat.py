"""concat and stack of 100 vectors of 100, float64: operations with a hundred inputs and a hundred gradients.

result = concat(pieces) * a + reshape(stack(pieces), flat) * b, a and b raw; the gradient of the result is given.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(pieces: int, size: int) -> Data:
    rng = np.random.default_rng(13)
    leaves = list(rng.normal(size=(pieces, size)))
    a, b, seed = rng.normal(size=(3, pieces * size))
    return Data(leaves, SimpleNamespace(a=a, b=b), seed)


def formula(library, data):
    xp = library.xp
    a, b = library.constant(data.constants.a), library.constant(data.constants.b)

    def f(*pieces):
        return library.concat(pieces) * a + xp.reshape(xp.stack(pieces), (-1,)) * b

    return f


def hand(data: Data) -> Run:
    pieces, seed = data.leaves, data.seed
    a, b = data.constants.a, data.constants.b
    n, shape = len(pieces), (len(pieces), len(pieces[0]))

    def run():
        value = np.concatenate(pieces)
        value *= a
        stacked = np.stack(pieces).reshape(-1)
        stacked *= b
        value += stacked
        # Each piece has a gradient of its own to keep, as leaves have: an addition each, not a view of one array.
        ga, gb = (seed * a).reshape(shape), (seed * b).reshape(shape)
        return [value, *[ga[i] + gb[i] for i in range(n)]]

    return run


WORKLOADS = [
    Workload(
        name="concat-stack",
        title="concat + stack of 100 pieces of 100, float64",
        bar=1.5,
        moonshot=1.1,
        data=lambda: make(100, 100),
        tiny=lambda: make(3, 2),
        formula=formula,
        hand=hand,
    )
]
