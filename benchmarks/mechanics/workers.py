"""Three large independent branches (a chain of matrix products each): one thread's time over that with CPU workers.

BLAS is held to one thread, so that the gain is the branches' own. Results are compared bit by bit first.
May import: numpy, arraygrad.
"""

from __future__ import annotations

import os
import statistics
from time import perf_counter_ns

LIBRARIES = ("arraygrad",)
SIZE, LENGTH, BRANCHES = 512, 4, 3


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """gain: wall time of the backward without workers over that with two, whatever `clock` says."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    import numpy as np

    import arraygrad as ag
    from arraygrad.autograd import set_cpu_workers

    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(SIZE, SIZE)) / SIZE**0.5 for _ in range(BRANCHES)]
    start = rng.normal(size=(SIZE, SIZE))

    def backward_time(workers: int) -> tuple[int, list[np.ndarray]]:
        leaves = [ag.tensor(w, requires_grad=True) for w in weights]
        total = None
        for w in leaves:
            x = ag.asarray(start)
            for _ in range(LENGTH):
                x = x @ w
            total = x if total is None else total + x
        loss = total.sum()
        with set_cpu_workers(workers):
            begin = perf_counter_ns()
            loss.backward()
            took = perf_counter_ns() - begin
        return took, [w.grad.numpy() for w in leaves]

    _, alone = backward_time(0)
    _, shared = backward_time(2)
    for a, b in zip(alone, shared, strict=True):
        if not np.array_equal(a, b):
            raise AssertionError("gradients with CPU workers are not those of one thread, bit by bit")
    gains = [backward_time(0)[0] / backward_time(2)[0] for _ in range(5 if quick else 15)]
    return {"gain": statistics.median(gains)}
