"""Whole matrices of derivatives: the Hessian of a function of 50 numbers, and a Jacobian of 100 by 100.

Hand writes the matrix down; a library runs a backward for each row of it, unless it has a rule for many at once.
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def hessian_data(n: int) -> Data:
    rng = np.random.default_rng(32)
    return Data([rng.normal(size=n)], SimpleNamespace(a=rng.normal(size=(n + 10, n)) * n**-0.5))


def hessian_formula(library, data):
    xp, a = library.xp, library.constant(data.constants.a)

    def f(x):
        return xp.sum(xp.log(1.0 + xp.exp(xp.matmul(a, x))))

    return f


def hand_hessian(data: Data) -> Run:
    (x,), a = data.leaves, data.constants.a

    def run():
        s = 1.0 / (1.0 + np.exp(-(a @ x)))
        s *= 1.0 - s
        return [a.T @ (a * s[:, None])]

    return run


def jacobian_data(n: int) -> Data:
    rng = np.random.default_rng(33)
    return Data([rng.normal(size=n)], SimpleNamespace(w=rng.normal(size=(n, n)) * n**-0.5))


def jacobian_formula(library, data):
    xp, w = library.xp, library.constant(data.constants.w)

    def f(x):
        return xp.tanh(xp.matmul(w, x))

    return f


def hand_jacobian(data: Data) -> Run:
    (x,), w = data.leaves, data.constants.w

    def run():
        y = np.tanh(w @ x)
        y *= y
        np.subtract(1.0, y, y)
        return [y[:, None] * w]

    return run


WORKLOADS = [
    Workload(
        name="hessian-50",
        title="Hessian of log(1 + exp(A x)) summed, 50 numbers, float64",
        bar=20.0,
        moonshot=3.0,
        data=lambda: hessian_data(50),
        tiny=lambda: hessian_data(3),
        formula=hessian_formula,
        hand=hand_hessian,
        kind="hessian",
        without={"mygrad": "no second derivatives"},
    ),
    Workload(
        name="jacobian-100",
        title="Jacobian of tanh(W x), 100 by 100, float64",
        bar=20.0,
        moonshot=3.0,
        data=lambda: jacobian_data(100),
        tiny=lambda: jacobian_data(3),
        formula=jacobian_formula,
        hand=hand_jacobian,
        kind="jacobian",
        without={"mygrad": "has no transform of functions"},
    ),
]
