"""Gradients computed by processes of the standard library's pool.

Imports examples/distributed/several_processes.py.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed" / "several_processes.py"


class HerePool:
    """A pool that computes in this process."""

    map = staticmethod(map)


def test_descent_over_parts_is_that_over_all_rows():
    spec = importlib.util.spec_from_file_location("several_processes", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    parts = [example.rows(part) for part in range(example.PARTS)]
    x, y = (np.concatenate(a) for a in zip(*parts, strict=True))
    w = np.zeros(x.shape[1])
    for _ in range(3):
        w = w - 0.2 * 2 * x.T @ (x @ w - y) / len(y)
    np.testing.assert_allclose(example.fit(HerePool, steps=3), w, rtol=1e-12)


def test_two_spawned_processes_find_the_weights():
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "[ 1.  -2.   0.5]\n"
