"""A chain of add, mul, sin, exp, tanh: what one elementwise operation costs, recorded and differentiated.

One block is y <- tanh(exp(sin((y + b) * a))); b and a are raw arrays of y's shape and dtype, only x requires grad.
The result's gradient is given (`y.backward(seed)`), so there is no reduction in it. Ten blocks, four at a million
elements. a and b keep the argument of sin near zero and the derivative of a block near one: nothing over- or underflows
however long the chain. `size 1` is shape (1,).
May import: numpy, workload.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..workload import Data, Run, Workload


def make(size: int, dtype: str, blocks: int) -> Data:
    rng = np.random.default_rng(1)
    x, seed = rng.normal(size=(2, size)).astype(dtype)
    a = rng.uniform(1.5, 2.5, size).astype(dtype)
    b = rng.uniform(-1.1, -0.7, size).astype(dtype)
    return Data([x], SimpleNamespace(a=a, b=b, blocks=range(blocks)), seed)


def formula(library, data):
    xp = library.xp
    a, b = library.constant(data.constants.a), library.constant(data.constants.b)
    blocks = data.constants.blocks

    def f(y):
        for _ in blocks:
            y = xp.tanh(xp.exp(xp.sin((y + b) * a)))
        return y

    return f


def hand_fresh(data: Data) -> Run:
    """Every result a new array: at size 1 an in-place ufunc call is the slow one (three times a fresh result)."""
    (x,), seed = data.leaves, data.seed
    a, b, blocks = data.constants.a, data.constants.b, data.constants.blocks
    one = np.ones_like(x)  # an array: a Python 1 would cost 190 ns a call

    def run():
        y, saved = x, []
        for _ in blocks:
            v = (y + b) * a
            e = np.exp(np.sin(v))
            y = np.tanh(e)
            saved.append((v, e, y))
        g = seed
        for v, e, t in reversed(saved):
            g = g * (one - t * t) * e * np.cos(v) * a
        return [y, g]

    return run


def hand_in_place(data: Data) -> Run:
    """Dead temporaries are overwritten: three new arrays per block in forward, none in backward after the first."""
    (x,), seed = data.leaves, data.seed
    a, b, blocks = data.constants.a, data.constants.b, data.constants.blocks
    one = np.ones((), x.dtype)

    def run():
        add, multiply, subtract, sin, cos, exp, tanh = (
            np.add, np.multiply, np.subtract, np.sin, np.cos, np.exp, np.tanh,
        )  # fmt: skip
        y, saved = x, []
        for _ in blocks:
            v = add(y, b)
            multiply(v, a, v)
            e = sin(v)
            exp(e, e)
            y = tanh(e)
            saved.append((v, e, y))
        g = None
        while saved:
            v, e, t = saved.pop()
            # The value itself is a result: its square goes to a new array, the other ones are dead.
            t = multiply(t, t) if g is None else multiply(t, t, t)
            subtract(one, t, t)
            g = multiply(seed, t, t) if g is None else multiply(g, t, g)
            multiply(g, e, g)
            cos(v, v)
            multiply(g, v, g)
            multiply(g, a, g)
        return [y, g]

    return run


def _row(label: str, size: int, dtype: str, blocks: int, bar: float, moonshot: float, hand) -> Workload:
    return Workload(
        name=f"chain-{label}-{dtype.replace('float', 'f')}",
        title=f"add, mul, sin, exp, tanh; size {size}, {dtype}",
        bar=bar,
        moonshot=moonshot,
        data=lambda: make(size, dtype, blocks),
        tiny=lambda: make(3, "float64", 2),
        formula=formula,
        hand=hand,
    )


# The bars of the three smallest are those "with direct loops"; without them they were 1.15 and 1.10.
WORKLOADS = [
    _row("1", 1, "float64", 10, 0.6, 0.35, hand_fresh),
    _row("100", 100, "float64", 10, 0.7, 0.5, hand_in_place),
    _row("100", 100, "float32", 10, 0.7, 0.5, hand_in_place),
    _row("10k", 10_000, "float32", 10, 1.0, 0.9, hand_in_place),
    _row("1m", 1_000_000, "float32", 4, 1.0, 0.8, hand_in_place),
]
