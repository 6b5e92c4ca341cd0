"""Log likelihood of a hidden Markov model, 16 states, 100 observations: logsumexp off the last axis.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(states: int, length: int) -> Data:
    rng = np.random.default_rng(25)
    moves = rng.normal(size=(states, states))
    return Data([moves, rng.normal(size=(length, states))], SimpleNamespace())


def formula(library, data):
    def f(moves, seen):
        alpha = seen[0]
        for t in range(1, len(data.leaves[1])):
            alpha = library.logsumexp(alpha[:, None] + moves, 0) + seen[t]
        return library.logsumexp(alpha, 0)

    return f


def hand(data: Data) -> Run:
    moves, seen = data.leaves
    length = len(seen)

    def run():
        alpha, weights = seen[0], []
        for t in range(1, length):
            w = alpha[:, None] + moves
            most = w.max(axis=0)
            w -= most
            np.exp(w, w)
            total = w.sum(axis=0)
            w /= total
            weights.append(w)
            alpha = np.log(total, total)
            alpha += most
            alpha += seen[t]
        most = alpha.max()
        g = np.exp(alpha - most)
        total = g.sum()
        g /= total
        value = np.log(total) + most
        g_moves, g_seen = np.zeros_like(moves), np.empty_like(seen)
        for t in range(length - 1, 0, -1):
            g_seen[t] = g
            w = weights[t - 1]
            w *= g
            g_moves += w
            g = w.sum(axis=1)
        g_seen[0] = g
        return [value, g_moves, g_seen]

    return run


WORKLOADS = [
    Workload(
        name="hidden-markov",
        title="hidden Markov model, 16 states, 100 observations, float64",
        bar=1.3,
        moonshot=0.9,
        data=lambda: make(16, 100),
        tiny=lambda: make(3, 4),
        formula=formula,
        hand=hand,
    )
]
