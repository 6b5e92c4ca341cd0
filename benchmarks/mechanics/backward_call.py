"""The fixed cost of one backward(): a graph of one addition and one leaf, size 1, the gradient given, the graph kept.

The leaf's gradient is taken away before each call, so that none accumulates.
May import: numpy, libraries, harness.
"""

from __future__ import annotations

import statistics

import numpy as np

from ..harness import CLOCKS, calibrate, sample
from ..libraries import LIBRARIES as CLASSES

LIBRARIES = ("arraygrad", "torch")


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """fixed: us per call."""
    library, now = CLASSES[name](), CLOCKS[clock]
    x = library.leaf(np.asarray([1.5]))
    seed = library.ag.asarray(np.ones(1)) if name == "arraygrad" else library.constant(np.ones(1))
    y = x + library.constant(np.asarray([0.5]))

    def run() -> None:
        x.grad = None
        y.backward(seed, retain_graph=True)

    loops = calibrate(run, 5_000_000, now)
    return {"fixed": statistics.median(sample(run, loops, now) / loops for _ in range(5 if quick else 15)) / 1000}
