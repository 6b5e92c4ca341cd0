"""Time of `import` in a process of its own that has imported nothing but NumPy. May import: the standard library."""

from __future__ import annotations

import subprocess
import sys

LIBRARIES = ("arraygrad", "torch", "jax", "autograd", "mygrad")

PROGRAM = """
import numpy
from time import perf_counter_ns
start = perf_counter_ns()
import {name}
print(perf_counter_ns() - start)
"""


def probe(name: str, quick: bool) -> dict[str, float]:
    """time: ms, the second of two runs (the first fills the file cache and writes byte code)."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, check=True
        )
    return {"time": int(done.stdout) / 1e6}
