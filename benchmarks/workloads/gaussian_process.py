"""Negative log marginal likelihood of a Gaussian process, n = 200, float64: cholesky, solve, log of a diagonal.

Leaves: logarithms of length scale, amplitude and noise level, each 0-d. K = exp(2 a - d / exp(2 l)) + exp(2 s) I with d
half the matrix of squared distances. hand knows that K's gradient is (K^-1 - alpha alpha^T) / 2 and needs no rule of
the cholesky decomposition.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(n: int) -> Data:
    rng = np.random.default_rng(5)
    points = rng.uniform(0, 10, (n, 2))
    y = np.sin(points[:, 0]) + 0.1 * rng.normal(size=n)
    d = 0.5 * np.sum((points[:, None] - points[None]) ** 2, axis=2)
    leaves = [np.asarray(v) for v in (0.3, 0.1, -1.5)]
    return Data(leaves, SimpleNamespace(y=y, d=d, identity=np.eye(n)))


def formula(library, data):
    xp = library.xp
    y, d, identity = (library.constant(c) for c in (data.constants.y, data.constants.d, data.constants.identity))

    def f(length, amplitude, noise):
        k = xp.exp(2 * amplitude - d * xp.exp(-2 * length)) + xp.exp(2 * noise) * identity
        lower = xp.linalg.cholesky(k)
        alpha = xp.linalg.solve(k, y)
        return 0.5 * xp.sum(y * alpha) + xp.sum(xp.log(library.diagonal(lower)))

    return f


def hand(data: Data) -> Run:
    y, d = data.constants.y, data.constants.d
    n = len(y)

    def run():
        length, amplitude, noise = data.leaves
        inverse_square, level = np.exp(-2 * length), np.exp(2 * noise)
        scaled = d * inverse_square
        signal = np.subtract(2 * amplitude, scaled)
        np.exp(signal, signal)
        k = signal.copy()
        k.ravel()[:: n + 1] += level
        lower = np.linalg.cholesky(k)
        inverse = np.linalg.inv(k)
        alpha = inverse @ y
        value = 0.5 * (y @ alpha) + np.add.reduce(np.log(lower.ravel()[:: n + 1]))
        inverse -= np.multiply(alpha[:, None], alpha, k)
        g_noise = level * np.add.reduce(inverse.ravel()[:: n + 1])
        inverse *= signal
        flat = inverse.ravel()
        return [value, flat @ scaled.ravel(), np.add.reduce(flat), g_noise]

    return run


WORKLOADS = [
    Workload(
        name="gaussian-process",
        title="GP marginal likelihood, n = 200 (cholesky, solve, log-diag), float64",
        bar=1.2,
        moonshot=1.0,
        data=lambda: make(200),
        tiny=lambda: make(5),
        formula=formula,
        hand=hand,
        without={"mygrad": "no linear algebra"},
    )
]
