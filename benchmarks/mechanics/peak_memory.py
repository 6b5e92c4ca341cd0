"""Peak resident memory above inputs and parameters: the large MLP at batch 4096, float32, one forward and backward.

The kernel's own peak (VmHWM), set back after a first run at a small batch, in which libraries load what they need.
May import: numpy, libraries, memory, the MLP workload.
"""

from __future__ import annotations

import gc

from ..libraries import LIBRARIES as CLASSES
from ..workloads.mlp import WORKLOADS, make
from . import memory

LIBRARIES = ("hand", "arraygrad", "torch", "autograd", "mygrad")
WIDTHS = (784, 1024, 1024, 10)


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """peak: MB above what was resident before."""
    workload = WORKLOADS[0]
    library = None if name == "hand" else CLASSES[name]()

    def prepare(data):
        return workload.hand(data) if library is None else workload.run_of(library, data)

    prepare(make(WIDTHS, 8, "float32"))()
    run = prepare(make(WIDTHS, 4096, "float32"))
    gc.collect()
    memory.reset_peak()
    before = memory.resident()
    results = run()
    found = memory.peak() - before
    del results
    return {"peak": found / 1e6}
