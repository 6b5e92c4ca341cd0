"""Small models as plain NumPy functions, whose value and gradient a transform gives: what the transform itself costs.

Logistic regression and an MLP on 32 rows, float64.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload

ROWS = 32


def logistic_data(columns: int, rows: int = ROWS) -> Data:
    rng = np.random.default_rng(30)
    x, y = rng.normal(size=(rows, columns)), (rng.random(rows) < 0.5).astype(float)
    return Data([rng.normal(size=columns), np.array(0.3)], SimpleNamespace(x=x, y=y))


def logistic(library, data):
    np, x, y = library.plain, data.constants.x, data.constants.y

    def f(w, b):
        z = np.dot(x, w) + b
        return np.mean(np.logaddexp(0.0, z) - y * z)

    return f


def hand_logistic(data: Data) -> Run:
    (w, b), x, y = data.leaves, data.constants.x, data.constants.y

    def run():
        z = x @ w
        z += b
        losses = np.logaddexp(0.0, z)
        losses -= y * z
        np.negative(z, z)
        np.exp(z, z)
        z += 1.0
        np.reciprocal(z, z)
        z -= y
        z /= y.size
        return [np.add.reduce(losses) / y.size, z @ x, np.add.reduce(z)]

    return run


def mlp_data(columns: int, hidden: int, rows: int = ROWS) -> Data:
    rng = np.random.default_rng(31)
    leaves = [
        rng.normal(size=(columns, hidden)) * 0.3, rng.normal(size=hidden) * 0.1,
        rng.normal(size=(hidden, 1)) * 0.3, rng.normal(size=1) * 0.1,
    ]  # fmt: skip
    return Data(leaves, SimpleNamespace(x=rng.normal(size=(rows, columns)), y=rng.normal(size=(rows, 1))))


def mlp(library, data):
    np, x, y = library.plain, data.constants.x, data.constants.y

    def f(w1, b1, w2, b2):
        h = np.tanh(np.dot(x, w1) + b1)
        return np.mean((np.dot(h, w2) + b2 - y) ** 2)

    return f


def hand_mlp(data: Data) -> Run:
    (w1, b1, w2, b2), x, y = data.leaves, data.constants.x, data.constants.y
    xt = x.T

    def run():
        h = x @ w1
        h += b1
        np.tanh(h, h)
        e = h @ w2
        e += b2
        e -= y
        value = np.vdot(e, e) / e.size
        e *= 2.0 / e.size
        g_w2 = h.T @ e
        g = e @ w2.T
        h *= h
        np.subtract(1.0, h, h)
        g *= h
        return [value, xt @ g, np.add.reduce(g), g_w2, np.add.reduce(e)]

    return run


WITHOUT = {"torch": "does not run NumPy code", "mygrad": "has no transform of functions"}
WORKLOADS = [
    Workload(
        name="plain-logistic",
        title="value_and_grad of logistic regression in plain NumPy, 32 x 10, float64",
        bar=1.25,
        moonshot=1.0,
        data=lambda: logistic_data(10),
        tiny=lambda: logistic_data(2, 4),
        formula=logistic,
        hand=hand_logistic,
        kind="function",
        without=WITHOUT,
    ),
    Workload(
        name="plain-mlp",
        title="value_and_grad of an MLP 20-32-1 in plain NumPy, 32 rows, float64",
        bar=1.25,
        moonshot=1.0,
        data=lambda: mlp_data(20, 32),
        tiny=lambda: mlp_data(2, 3, 4),
        formula=mlp,
        hand=hand_mlp,
        kind="function",
        without=WITHOUT,
    ),
]
