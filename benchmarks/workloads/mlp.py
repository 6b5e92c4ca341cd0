"""A multilayer perceptron with ReLU and softmax cross-entropy: matrix products with a little arithmetic around them.

Leaves are the three weight matrices and bias rows; the batch and its one-hot targets are constants. The loss is the
mean over the batch. hand uses what is known of the whole: the gradient of the logits is (softmax - targets) / batch.
May import: numpy, workload.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(widths: tuple[int, ...], batch: int, dtype: str) -> Data:
    rng = np.random.default_rng(2)
    leaves = []
    for n_in, n_out in pairwise(widths):
        leaves.append((rng.normal(size=(n_in, n_out)) * np.sqrt(2 / n_in)).astype(dtype))
        leaves.append((rng.normal(size=n_out) * 0.1).astype(dtype))
    x = rng.normal(size=(batch, widths[0])).astype(dtype)
    targets = np.eye(widths[-1], dtype=dtype)[rng.integers(0, widths[-1], batch)]
    return Data(leaves, SimpleNamespace(x=x, targets=targets))


def formula(library, data):
    xp = library.xp
    x, targets = library.constant(data.constants.x), library.constant(data.constants.targets)
    batch = data.constants.x.shape[0]

    def f(w1, b1, w2, b2, w3, b3):
        h = library.relu(x @ w1 + b1)
        h = library.relu(h @ w2 + b2)
        return -xp.sum(library.log_softmax(h @ w3 + b3) * targets) / batch

    return f


def hand(data: Data) -> Run:
    w1, b1, w2, b2, w3, b3 = data.leaves
    x, targets = data.constants.x, data.constants.targets
    batch = x.shape[0]
    labels = targets.argmax(axis=1)
    rows = np.arange(batch)
    scale = x.dtype.type(1 / batch)

    def run():
        h1 = x @ w1
        h1 += b1
        np.maximum(h1, 0, out=h1)
        h2 = h1 @ w2
        h2 += b2
        np.maximum(h2, 0, out=h2)
        z = h2 @ w3
        z += b3
        z -= np.maximum.reduce(z, axis=1, keepdims=True)
        picked = z[rows, labels]
        np.exp(z, z)
        total = np.add.reduce(z, axis=1, keepdims=True)
        loss = (np.add.reduce(np.log(total), axis=None) - np.add.reduce(picked)) * scale
        z /= total
        z -= targets
        z *= scale
        gw3, gb3 = h2.T @ z, np.add.reduce(z, axis=0)
        g = z @ w3.T
        g *= h2 > 0
        gw2, gb2 = h1.T @ g, np.add.reduce(g, axis=0)
        g = g @ w2.T
        g *= h1 > 0
        gw1, gb1 = x.T @ g, np.add.reduce(g, axis=0)
        return [loss, gw1, gb1, gw2, gb2, gw3, gb3]

    return run


def _row(name: str, widths: tuple[int, ...], batch: int, bar: float, moonshot: float) -> Workload:
    return Workload(
        name=name,
        title=f"MLP {'-'.join(map(str, widths))}, batch {batch}, softmax cross-entropy, float32",
        bar=bar,
        moonshot=moonshot,
        data=lambda: make(widths, batch, "float32"),
        tiny=lambda: make((3, 4, 5, 3), 4, "float64"),
        formula=formula,
        hand=hand,
    )


WORKLOADS = [
    _row("mlp-small", (64, 256, 256, 10), 32, 1.15, 1.0),
    _row("mlp-large", (784, 1024, 1024, 10), 128, 1.03, 1.0),
]
