"""A chain of a million additions of 0-d: does it survive, what does a node weigh, what do backward and freeing cost.

y <- y + c, c a raw 0-d array. An addition saves nothing, and every result but the last is dropped at once, so what
stays is the graph: bytes per node are the growth of resident memory over the recording, divided by the number of nodes
(allocator overhead and fragmentation included, as a user pays them). Backward keeps the graph, so that freeing is timed
alone, by dropping the last result. The garbage collector is on.
May import: numpy, libraries, harness, memory.
"""

from __future__ import annotations

import gc

import numpy as np

from ..harness import CLOCKS
from ..libraries import LIBRARIES as CLASSES
from .memory import resident

LIBRARIES = ("arraygrad", "torch", "autograd", "mygrad")


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """nodes: how many survived. bytes, backward (ns), free (ns): per node."""
    n = 100_000 if quick and name in ("autograd", "mygrad") else 1_000_000
    library, now = CLASSES[name](), CLOCKS[clock]
    if name == "autograd":
        return _autograd(library, n, now)
    c, one = library.constant(np.asarray(0.5)), library.constant(np.asarray(1.0))
    x = library.leaf(np.asarray(1.0))
    y = x
    for _ in range(1000):  # pools and freelists reach their size before the measurement
        y = y + c
    del y
    gc.collect()
    before = resident()
    y = x
    for _ in range(n):
        y = y + c
    weight = resident() - before
    start = now()
    if name == "mygrad":
        y.backward(1.0)  # mygrad drops the graph in backward; it cannot keep it
    elif name == "arraygrad":
        y.backward(library.ag.asarray(one), retain_graph=True)
    else:
        y.backward(one, retain_graph=True)
    middle = now()
    del y
    end = now()
    _verify(library.to_numpy(x.grad) if name != "mygrad" else x.grad)
    return {"nodes": n, "bytes": weight / n, "backward": (middle - start) / n, "free": (end - middle) / n}


def _autograd(library, n: int, now) -> dict[str, float]:
    c = np.asarray(0.5)

    def f(y):
        for _ in range(n):
            y = y + c
        return y

    gc.collect()
    before = resident()
    vjp, _ = library.autograd.make_vjp(f)(1.0)
    weight = resident() - before
    start = now()
    gradient = vjp(1.0)
    middle = now()
    del vjp
    end = now()
    _verify(gradient)
    return {"nodes": n, "bytes": weight / n, "backward": (middle - start) / n, "free": (end - middle) / n}


def _verify(gradient) -> None:
    if float(gradient) != 1.0:
        raise ArithmeticError(f"the gradient of a sum is {float(gradient)}, not 1")
