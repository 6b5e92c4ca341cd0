"""`python -m benchmarks.instructions`: instructions per run of a few small kernels, counted by callgrind.

A count has no noise: it is the same on a busy machine as on an idle one. Each kernel is counted beside the same work
written by hand in NumPy, in processes that do nothing else, less a process that does neither; the ratio of the two is
compared with the one in `instructions.json`, so that another compiler or NumPy moves both sides.
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

RUNS = 400
KERNELS = {"block-1": 1, "block-100": 100}  # elements of one block of the chain: sin, exp, tanh, + and *
SIDES = ("arraygrad", "hand")


def available() -> bool:
    return shutil.which("valgrind") is not None


def run(kernel: str, side: str, runs: int) -> None:
    """The counted process: the kernel, again and again."""
    import numpy as np

    size = KERNELS[kernel]
    x, a, b, g = np.full(size, 0.3), np.full(size, 0.7), np.full(size, 0.2), np.ones(size)
    if side == "arraygrad":
        import arraygrad as ag

        t = ag.tensor(x, requires_grad=True)

        def once():
            t.grad = None
            np.tanh(np.exp(np.sin((t + b) * a))).backward(g)
    else:

        def once():
            u = (x + b) * a
            e = np.exp(np.sin(u))
            y = np.tanh(e)
            return g * (1 - y * y) * e * np.cos(u) * a

        import arraygrad  # noqa: F401 - both processes import the same
    for _ in range(1 + runs):  # the first makes what later ones find
        once()


def count(kernel: str, side: str, runs: int) -> int:
    """Instructions of a process with so many runs after a first one.

    Raises
    ------
    RuntimeError
        If valgrind fails, or does not say how many.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, "-m"]
        done = subprocess.run(
            [*command, "benchmarks.instructions", "--run", kernel, side, str(runs)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
            cwd=Path(__file__).parents[1],
        )
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if done.returncode or found is None:
        raise RuntimeError(f"callgrind of {kernel} ({side}): exit {done.returncode}: {done.stderr[-500:]}")
    return int(found.group(1))


def ratios(kernels=tuple(KERNELS)) -> dict[str, float]:
    """kernel -> instructions of arraygrad's run over those of hand's."""
    found = {}
    for kernel in kernels:
        spent = [count(kernel, side, RUNS) - count(kernel, side, 0) for side in SIDES]
        found[kernel] = spent[0] / spent[1]
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--run", nargs=3, metavar=("KERNEL", "SIDE", "RUNS"), help="be the counted process")
    parser.add_argument("--keep", action="store_true", help="write the ratios to instructions.json")
    options = parser.parse_args(arguments)
    if options.run:
        run(options.run[0], options.run[1], int(options.run[2]))
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
