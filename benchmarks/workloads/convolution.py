"""A convolution without a convolution function: windows of a vector times a kernel, and slices of images.

May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def vector(n: int, width: int) -> Data:
    rng = np.random.default_rng(22)
    return Data([rng.normal(size=n), rng.normal(size=width)], SimpleNamespace(), rng.normal(size=n - width + 1))


def by_windows(library, data):
    width = len(data.leaves[1])

    def f(x, w):
        return library.xp.matmul(library.windows(x, width), w)

    return f


def hand_windows(data: Data) -> Run:
    (x, w), seed = data.leaves, data.seed

    def run():
        y = np.correlate(x, w)
        return [y, np.convolve(seed, w), np.correlate(x, seed)]

    return run


def images(batch: int, side: int, width: int, dtype: str) -> Data:
    rng = np.random.default_rng(23)
    x = rng.normal(size=(batch, side, side)).astype(dtype)
    w = rng.normal(size=(width, width)).astype(dtype)
    m = side - width + 1
    return Data([x, w], SimpleNamespace(), rng.normal(size=(batch, m, m)).astype(dtype))


def by_slices(library, data):
    width, m = data.leaves[1].shape[0], data.seed.shape[1]

    def f(x, w):
        y = None
        for i in range(width):
            for j in range(width):
                part = x[:, i : i + m, j : j + m] * w[i, j]
                y = part if y is None else y + part
        return y

    return f


def hand_slices(data: Data) -> Run:
    (x, w), seed = data.leaves, data.seed
    width, m = w.shape[0], seed.shape[1]

    def run():
        y, part = np.zeros_like(seed), np.empty_like(seed)
        gx, gw = np.zeros_like(x), np.empty_like(w)
        for i in range(width):
            for j in range(width):
                y += np.multiply(x[:, i : i + m, j : j + m], w[i, j], part)
        for i in range(width):
            for j in range(width):
                gw[i, j] = np.vdot(np.multiply(x[:, i : i + m, j : j + m], 1, part), seed)
                gx[:, i : i + m, j : j + m] += np.multiply(seed, w[i, j], part)
        return [y, gx, gw]

    return run


WORKLOADS = [
    Workload(
        name="conv-windows",
        title="16 wide kernel on 4096 places, by sliding windows, float64",
        bar=1.5,
        moonshot=1.0,
        data=lambda: vector(4096, 16),
        tiny=lambda: vector(6, 3),
        formula=by_windows,
        hand=hand_windows,
    ),
    Workload(
        name="conv-slices",
        title="3 x 3 kernel on 8 images of 64 x 64, by slices, float32",
        bar=1.3,
        moonshot=1.0,
        data=lambda: images(8, 64, 3, "float32"),
        tiny=lambda: images(2, 4, 2, "float64"),
        formula=by_slices,
        hand=hand_slices,
    ),
]
