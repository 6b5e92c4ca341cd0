"""Scaled dot-product attention, 4 batches of 4 heads, spelled by matmul and by einsum; float32.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(batch: int, heads: int, length: int, depth: int, dtype: str) -> Data:
    rng = np.random.default_rng(21)
    shape = (batch, heads, length, depth)
    q, k, v, seed = rng.normal(size=(4, *shape)).astype(dtype)
    return Data([q, k, v], SimpleNamespace(scale=depth**-0.5), seed)


def by_matmul(library, data):
    xp, scale = library.xp, data.constants.scale

    def f(q, k, v):
        return xp.matmul(library.softmax(xp.matmul(q, xp.swapaxes(k, -1, -2)) * scale), v)

    return f


def by_einsum(library, data):
    xp, scale = library.xp, data.constants.scale

    def f(q, k, v):
        return xp.einsum("bhqk,bhkd->bhqd", library.softmax(xp.einsum("bhqd,bhkd->bhqk", q, k) * scale), v)

    return f


def hand(data: Data) -> Run:
    (q, k, v), seed, scale = data.leaves, data.seed, data.constants.scale
    scale = q.dtype.type(scale)

    def run():
        p = q @ k.swapaxes(-1, -2)
        p *= scale
        p -= p.max(axis=-1, keepdims=True)
        np.exp(p, p)
        p /= p.sum(axis=-1, keepdims=True)
        y = p @ v
        gv = p.swapaxes(-1, -2) @ seed
        g = seed @ v.swapaxes(-1, -2)
        g *= p
        p *= g.sum(axis=-1, keepdims=True)
        g -= p
        g *= scale
        return [y, g @ k, g.swapaxes(-1, -2) @ q, gv]

    return run


def _row(name: str, how, bar: float, without: dict[str, str]) -> Workload:
    return Workload(
        name=f"attention-{name}",
        title=f"attention of 4 x 4 heads, 64 places of 32, by {name}, float32",
        bar=bar,
        moonshot=1.0,
        data=lambda: make(4, 4, 64, 32, "float32"),
        tiny=lambda: make(2, 1, 3, 2, "float64"),
        formula=how,
        hand=hand,
        without=without,
    )


WORKLOADS = [
    _row("matmul", by_matmul, 1.15, {}),
    _row("einsum", by_einsum, 1.3, {"mygrad": "its einsum has no batches of this kind"}),
]
