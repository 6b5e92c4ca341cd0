"""Time of `import` in a process of its own that has imported nothing but NumPy. May import: the standard library."""

from __future__ import annotations

import os
import subprocess
import sys

CLOCKS = {"wall": "perf_counter_ns", "cpu": "process_time_ns"}

LIBRARIES = ("arraygrad", "torch", "jax", "autograd", "mygrad")

PROGRAM = """
import numpy
from time import {clock} as now
start = now()
import {name}
print(now() - start)
"""


def probe(name: str, quick: bool, clock: str) -> dict[str, float]:
    """time: ms, the second of two runs (the first fills the file cache and writes byte code)."""
    # Without byte code this would measure the compiler.
    surroundings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(name=name, clock=CLOCKS[clock])],
            capture_output=True,
            text=True,
            check=True,
            env=surroundings,
        )
    return {"time": int(done.stdout) / 1e6}
