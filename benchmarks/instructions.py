"""`python -m benchmarks.instructions`: instructions per run of a few small kernels, counted by callgrind.

A count has no noise: it is the same on a busy machine as on an idle one. Each kernel is counted beside the same work
written by hand in NumPy, in the same process, and without what the imports take; the ratio of the two is compared
with the one in `instructions.json`, so that another compiler or NumPy moves both sides.
May import: the standard library; NumPy and arraygrad only in the counted process.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = Path(__file__).with_name("instructions.json")

# How far above the kept ratio a ratio may lie. Other versions of Python and NumPy move it by some percent; a lost fast
# path moves it by more than half.
TOLERANCE = 0.25

RUNS = 100
# Elements of one block of the chain: sin, exp, tanh, + and *; rows of a logistic regression by `value_and_grad`.
KERNELS = {"block-1": 1, "block-100": 100, "logistic-32": 32}
MARK = "getppid"  # a function of the C library that nothing here calls but `run`


def available() -> bool:
    return shutil.which("valgrind") is not None


def run(kernel: str, runs: int) -> None:
    """The counted process: both sides, one after the other, with a mark before, between and after."""
    sides = logistic(KERNELS[kernel]) if kernel.startswith("logistic") else block(KERNELS[kernel])
    for once in sides:  # the first calls make what later ones find
        once()
        once()
    for once in sides:
        os.getppid()
        for _ in range(runs):
            once()
    os.getppid()


def block(size: int):
    """The two sides of one block of the chain."""
    import numpy as np

    import arraygrad as ag

    x, a, b, g = np.full(size, 0.3), np.full(size, 0.7), np.full(size, 0.2), np.ones(size)
    t = ag.tensor(x, requires_grad=True)

    def ours():
        t.grad = None
        np.tanh(np.exp(np.sin((t + b) * a))).backward(g)

    def by_hand():
        u = (x + b) * a
        e = np.exp(np.sin(u))
        y = np.tanh(e)
        return g * (1 - y * y) * e * np.cos(u) * a

    return ours, by_hand


def logistic(rows: int):
    """The two sides of the workload plain-logistic."""
    from .libraries import LIBRARIES
    from .workloads.plain_code import WORKLOADS, hand_logistic, logistic_data

    data = logistic_data(10, rows)
    return WORKLOADS[0].run_of(LIBRARIES["arraygrad"](), data), hand_logistic(data)


def count(kernel: str, runs: int = RUNS) -> tuple[int, int]:
    """Instructions of so many runs after a first one: arraygrad's, and those of the same work by hand.

    Raises
    ------
    RuntimeError
        If valgrind fails, or does not say how many.
    """
    with tempfile.TemporaryDirectory() as folder:
        # Callgrind starts a new count at each call of MARK, so that what the imports take is counted apart.
        command = ["valgrind", "--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run(
            [*command, sys.executable, "-m", "benchmarks.instructions", "--run", kernel, str(runs)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[1],
        )
        parts = [Path(folder, f"out.{part}") for part in (2, 3)]
        found = [re.search(r"^totals: (\d+)", p.read_text(), re.MULTILINE) if p.exists() else None for p in parts]
    if done.returncode or None in found:
        raise RuntimeError(f"callgrind of {kernel}: exit {done.returncode}: {done.stderr[-500:]}")
    ours, by_hand = (int(match.group(1)) for match in found)
    return ours, by_hand


def ratios(kernels=tuple(KERNELS)) -> dict[str, float]:
    """kernel -> instructions of arraygrad's run over those of hand's."""
    found = {}
    for kernel in kernels:
        ours, by_hand = count(kernel)
        found[kernel] = ours / by_hand
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--run", nargs=2, metavar=("KERNEL", "RUNS"), help="be the counted process")
    parser.add_argument("--keep", action="store_true", help="write the ratios to instructions.json")
    options = parser.parse_args(arguments)
    if options.run:
        run(options.run[0], int(options.run[1]))
        return 0
    if not available():
        print("valgrind is not installed: nothing is counted", file=sys.stderr)
        return 2
    expected = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    found = ratios()
    for kernel, ratio in found.items():
        print(f"{kernel:12} {ratio:.3f} times hand's instructions (kept: {expected.get(kernel, '-')})")
    if options.keep:
        EXPECTED.write_text(json.dumps({k: round(v, 3) for k, v in found.items()}, indent=1) + "\n", encoding="utf-8")
        return 0
    return 1 if any(found[k] > kept * (1 + TOLERANCE) for k, kept in expected.items()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
