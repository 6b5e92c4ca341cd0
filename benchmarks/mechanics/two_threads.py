"""Two threads, each running its own small forward and backward (the small MLP): throughput over one thread.

2 is perfect; what is lost is time with the GIL held, and the GIL's hand-over. Both sides do the same work per thread.
May import: numpy, libraries, harness, the MLP workload.
"""

from __future__ import annotations

import statistics
import threading
from time import perf_counter_ns

from ..harness import calibrate
from ..libraries import LIBRARIES as CLASSES
from ..workloads.mlp import WORKLOADS

LIBRARIES = ("hand", "arraygrad", "torch", "autograd", "mygrad")


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """throughput: runs per second of two threads over those of one, by the clock on the wall whatever `clock` says."""
    workload = WORKLOADS[0]
    library = None if name == "hand" else CLASSES[name]()

    def prepare():
        data = workload.data()
        return workload.hand(data) if library is None else workload.run_of(library, data)

    runs = [prepare(), prepare()]
    loops = calibrate(runs[0], 100_000_000)
    calibrate(runs[1], 1)
    gains = []
    for _ in range(3 if quick else 9):
        one = _together(runs[:1], loops)
        two = _together(runs, loops)
        gains.append(2 * one / two)
    return {"throughput": statistics.median(gains)}


def _together(runs, loops: int) -> int:
    """Nanoseconds until every thread has made `loops` runs, all starting at a barrier."""
    barrier = threading.Barrier(len(runs) + 1)

    def work(run) -> None:
        barrier.wait()
        for _ in range(loops):
            run()

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = perf_counter_ns()
    for thread in threads:
        thread.join()
    return perf_counter_ns() - start
