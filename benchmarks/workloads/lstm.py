"""An LSTM cell over 100 steps, hidden 64, batch 8, 64 inputs, float32: gates as slices, weights used at every step.

Gates stand in the order input, forget, output (one sigmoid over the three), candidate (tanh). Leaves: the two weight
matrices and the bias row. The result is the last hidden state; its gradient is given.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(steps: int, batch: int, n_in: int, hidden: int, dtype: str) -> Data:
    rng = np.random.default_rng(4)
    w = (rng.normal(size=(n_in, 4 * hidden)) / np.sqrt(n_in)).astype(dtype)
    u = (rng.normal(size=(hidden, 4 * hidden)) / np.sqrt(hidden)).astype(dtype)
    b = (rng.normal(size=4 * hidden) * 0.1).astype(dtype)
    x = rng.normal(size=(steps, batch, n_in)).astype(dtype)
    seed = rng.normal(size=(batch, hidden)).astype(dtype)
    return Data([w, u, b], SimpleNamespace(x=x, zero=np.zeros((batch, hidden), dtype)), seed)


def formula(library, data):
    xp, sigmoid = library.xp, library.sigmoid
    x = [library.constant(step) for step in data.constants.x]
    zero = library.constant(data.constants.zero)
    n = data.constants.zero.shape[1]

    def f(w, u, b):
        h = c = zero
        for x_t in x:
            z = x_t @ w + h @ u + b
            s = sigmoid(z[:, : 3 * n])
            c = s[:, n : 2 * n] * c + s[:, :n] * xp.tanh(z[:, 3 * n :])
            h = s[:, 2 * n :] * xp.tanh(c)
        return h

    return f


def hand(data: Data) -> Run:
    w, u, b = data.leaves
    x, zero, seed = data.constants.x, data.constants.zero, data.seed
    n = zero.shape[1]
    half, one = np.asarray(0.5, w.dtype), np.asarray(1, w.dtype)

    def run():
        h = c = zero
        saved = []
        for x_t in x:
            z = x_t @ w
            z += h @ u
            z += b
            s, k = z[:, : 3 * n], z[:, 3 * n :]
            # sigmoid(v) = (tanh(v / 2) + 1) / 2: no overflow, and one pass of tanh over all the gates.
            s *= half
            np.tanh(z, z)
            s += one
            s *= half
            before, c = c, z[:, n : 2 * n] * c
            c += z[:, :n] * k
            t = np.tanh(c)
            saved.append((x_t, h, before, z, t))
            h = z[:, 2 * n : 3 * n] * t
        value, gh, gc = h, seed, None
        gw, gu, gb = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
        ut = u.T
        while saved:
            x_t, h, before, z, t = saved.pop()
            i, f, o, k = z[:, :n], z[:, n : 2 * n], z[:, 2 * n : 3 * n], z[:, 3 * n :]
            gz = np.empty_like(z)
            np.multiply(gh, t, gz[:, 2 * n : 3 * n])
            g = gh * o
            t *= t
            np.subtract(one, t, t)
            g *= t
            if gc is not None:
                g += gc
            np.multiply(g, k, gz[:, :n])
            np.multiply(g, before, gz[:, n : 2 * n])
            np.multiply(g, i, gz[:, 3 * n :])
            gc = np.multiply(g, f, g)
            # Through the gates' own derivatives, s (1 - s) and 1 - k k, all four at once.
            s = z[:, : 3 * n]
            gz[:, : 3 * n] *= s
            np.subtract(one, s, s)
            k *= k
            np.subtract(one, k, k)
            gz *= z
            gw += x_t.T @ gz
            gb += np.add.reduce(gz, axis=0)
            if saved:
                gu += h.T @ gz
                gh = gz @ ut
        return [value, gw, gu, gb]

    return run


WORKLOADS = [
    Workload(
        name="lstm",
        title="LSTM cell, 100 steps, hidden 64, batch 8, float32",
        bar=1.3,
        moonshot=0.8,
        data=lambda: make(100, 8, 64, 64, "float32"),
        tiny=lambda: make(3, 2, 2, 2, "float64"),
        formula=formula,
        hand=hand,
    )
]
