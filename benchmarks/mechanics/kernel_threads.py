"""The chain of large elementwise operations, forward and backward: one thread's time over two's (set_num_threads).

Results are compared bit by bit first. On a machine with one core, or one that others use, the figure says little.
May import: numpy, arraygrad.
"""

from __future__ import annotations

import statistics
from time import perf_counter_ns

LIBRARIES = ("arraygrad",)
SIZES = {"1m": 1_000_000, "10m": 10_000_000}
BLOCKS = 2


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """1m, 10m: wall time with one thread over that with two, at so many float32 elements, whatever `clock` says."""
    import numpy as np

    import arraygrad as ag

    rng = np.random.default_rng(0)
    found = {}
    for key, size in SIZES.items():
        start, a, b = (rng.uniform(0.1, 0.9, size).astype(np.float32) for _ in range(3))
        seed = ag.asarray(np.ones(size, np.float32))
        ratios = []
        for _ in range((3 if quick else 9) if size < 5_000_000 else 3):
            took, results = [], []
            for threads in (1, 2):
                with ag.set_num_threads(threads):
                    begin = perf_counter_ns()
                    y = x = ag.tensor(start, requires_grad=True)
                    for _ in range(BLOCKS):
                        y = ag.tanh(ag.exp(ag.sin((y + b) * a)))
                    y.backward(seed)
                    took.append(perf_counter_ns() - begin)
                results.append(x.grad.numpy())
            if not np.array_equal(*results):
                raise AssertionError("gradients by two threads are not those of one, bit by bit")
            ratios.append(took[0] / took[1])  # in rounds: what slows the machine for a moment slows both
        found[key] = statistics.median(ratios)
    return found
