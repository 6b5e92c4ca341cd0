"""A 2-16-16-1 network on single numbers, micrograd's case: 337 parameters, each a 0-d float64, tanh, one sample.

hand works on Python floats, which no array library can match: the figure says what a graph of scalars costs.
May import: numpy, workload.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload

INPUTS = (0.3, -0.7)
TARGET = 0.5


def make(*widths: int) -> Data:
    rng = np.random.default_rng(15)
    leaves = []
    for n_in, n_out in zip((2, *widths), (*widths, 1), strict=True):
        for _ in range(n_out):
            leaves += [np.asarray(w) for w in rng.normal(size=n_in) / math.sqrt(n_in)]
            leaves.append(np.asarray(0.1 * rng.normal()))
    return Data(leaves, SimpleNamespace(widths=(*widths, 1)))


def formula(library, data):
    xp, widths = library.xp, data.constants.widths

    def f(*parameters):
        values, take = INPUTS, iter(parameters)
        for n_out in widths:
            layer = []
            for _ in range(n_out):
                z = next(take) * values[0]
                for v in values[1:]:
                    z = z + next(take) * v
                layer.append(xp.tanh(z + next(take)))
            values = layer
        error = values[0] - TARGET
        return error * error

    return f


def hand(data: Data) -> Run:
    parameters, widths = [float(p) for p in data.leaves], data.constants.widths

    def run():
        layers, at = [list(INPUTS)], 0
        for n_out in widths:
            before, layer = layers[-1], []
            for _ in range(n_out):
                z = 0.0
                for v in before:
                    z += parameters[at] * v
                    at += 1
                layer.append(math.tanh(z + parameters[at]))
                at += 1
            layers.append(layer)
        error = layers[-1][0] - TARGET
        gradients, g = [0.0] * len(parameters), [2 * error]
        for k in range(len(widths) - 1, -1, -1):
            before, layer = layers[k], layers[k + 1]
            at -= len(layer) * (len(before) + 1)
            position, below = at, [0.0] * len(before)
            for g_out, t in zip(g, layer, strict=True):
                gz = g_out * (1 - t * t)
                for i, v in enumerate(before):
                    gradients[position] = gz * v
                    below[i] += gz * parameters[position]
                    position += 1
                gradients[position] = gz
                position += 1
            g = below
        return [error * error, *gradients]

    return run


WORKLOADS = [
    Workload(
        name="scalar-graph",
        title="scalar graph: 2-16-16-1 MLP on 0-d values (hand: Python floats)",
        bar=20.0,
        moonshot=8.0,
        data=lambda: make(16, 16),
        tiny=lambda: make(2, 2),
        formula=formula,
        hand=hand,
    )
]
