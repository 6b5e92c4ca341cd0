"""Hessian-vector product of a small MLP, 20-50-50-1, tanh, batch 32, squared error, float64.

Libraries differentiate the gradient once more (JAX: forward over reverse). hand carries the direction through forward
and backward by itself (Pearlmutter's R operator), which is the least work there is.
May import: numpy, workload.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(widths: tuple[int, ...], batch: int) -> Data:
    rng = np.random.default_rng(6)
    leaves = []
    for n_in, n_out in pairwise(widths):
        leaves += [rng.normal(size=(n_in, n_out)) / np.sqrt(n_in), rng.normal(size=n_out) * 0.1]
    vectors = [rng.normal(size=leaf.shape) for leaf in leaves]
    x, y = rng.normal(size=(batch, widths[0])), rng.normal(size=(batch, widths[-1]))
    return Data(leaves, SimpleNamespace(x=x, y=y), vectors=vectors)


def formula(library, data):
    xp = library.xp
    x, y = library.constant(data.constants.x), library.constant(data.constants.y)
    scale = 1 / data.constants.x.shape[0]

    def f(w1, b1, w2, b2, w3, b3):
        h = xp.tanh(x @ w1 + b1)
        h = xp.tanh(h @ w2 + b2)
        r = h @ w3 + b3 - y
        return xp.sum(r * r) * scale

    return f


def hand(data: Data) -> Run:
    w1, b1, w2, b2, w3, b3 = data.leaves
    v1, c1, v2, c2, v3, c3 = data.vectors
    x, y = data.constants.x, data.constants.y
    scale = 1 / x.shape[0]

    def layer(z, dz):
        """tanh in place; returns (h, direction of h, h')."""
        np.tanh(z, z)
        slope = z * z
        np.subtract(1, slope, slope)
        dz *= slope
        return z, dz, slope

    def back(g, dg, h, dh, slope):
        """Gradient and its direction through tanh, in place: (1 - h h)' = -2 h dh."""
        dg *= slope
        dh *= h
        dh *= g
        dh *= 2
        dg -= dh
        g *= slope
        return g, dg

    def run():
        z = x @ w1
        z += b1
        dz = x @ v1
        dz += c1
        h1, d1, s1 = layer(z, dz)
        z = h1 @ w2
        z += b2
        dz = d1 @ w2
        dz += h1 @ v2
        dz += c2
        h2, d2, s2 = layer(z, dz)
        r = h2 @ w3
        r += b3
        r -= y
        dr = d2 @ w3
        dr += h2 @ v3
        dr += c3
        value = np.vdot(r, r) * scale
        r *= 2 * scale
        dr *= 2 * scale
        p3 = h2.T @ dr
        p3 += d2.T @ r
        q3 = np.add.reduce(dr, axis=0)
        g, dg = r @ w3.T, dr @ w3.T
        dg += r @ v3.T
        g, dg = back(g, dg, h2, d2, s2)
        p2 = h1.T @ dg
        p2 += d1.T @ g
        q2 = np.add.reduce(dg, axis=0)
        dz = dg @ w2.T
        dz += g @ v2.T
        g, dg = back(g @ w2.T, dz, h1, d1, s1)
        return [value, x.T @ dg, np.add.reduce(dg, axis=0), p2, q2, p3, q3]

    return run


WORKLOADS = [
    Workload(
        name="hessian-vector",
        title="Hessian-vector product of an MLP 20-50-50-1, batch 32, float64",
        bar=2.0,
        moonshot=1.2,
        data=lambda: make((20, 50, 50, 1), 32),
        tiny=lambda: make((2, 3, 3, 1), 3),
        formula=formula,
        hand=hand,
        without={"mygrad": "no second derivatives"},
    )
]
