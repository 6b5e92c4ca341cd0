"""The tests of compiled paths as they run on other processors than this one.

    python tools/processors.py                 every level of this machine, the tests that compare bits
    python tools/processors.py --list          the levels alone
    python tools/processors.py tests -x        other tests, options for pytest

NumPy takes its loops by what the processor can do, and OpenBLAS its kernels: loops of two levels differ in their last
bits. A level here is this machine without the features above it (NPY_DISABLE_CPU_FEATURES), or with the kernels of
another processor (OPENBLAS_CORETYPE; without effect where NumPy was built with another BLAS). Needs what the tests
need, with arraygrad installed or in PYTHONPATH. Exit status 0: the tests passed at every level.

tests/backends/test_replaced_loops.py, which is part of the suite, shows on any processor what differing loops would do.
"""

import glob
import os
import subprocess
import sys
import time
from pathlib import Path

from numpy._core import _multiarray_umath as umath

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "tests/ops/test_fast_*.py",
    "tests/backends/test_powers.py",
    "tests/backends/test_replaced_loops.py",
    "tests/ops/test_rule_limits.py",
    "tests/ops/test_special.py",
    "tests/ops/test_einsum.py",
    "tests/numpy_api",
    "tests/core/test_plain_*.py",
    "tests/threads/test_kernel_threads.py",
)
# OPENBLAS_CORETYPE -> what a processor must have to run these kernels
KERNELS = {"Prescott": "SSE3", "Sandybridge": "AVX", "Haswell": "AVX2", "Zen": "AVX2", "SkylakeX": "AVX512_SKX"}


def levels():
    """(what it is called, variables of its environment) of each level, this machine as it is first."""
    has = umath.__cpu_features__
    found = [("as it is", {})]
    off = []
    for feature in reversed(umath.__cpu_dispatch__):
        if has.get(feature):
            off.append(feature)
            found.append((f"without {' '.join(off)}", {"NPY_DISABLE_CPU_FEATURES": " ".join(off)}))
    found += [(f"OpenBLAS for {name}", {"OPENBLAS_CORETYPE": name}) for name in KERNELS if has.get(KERNELS[name])]
    return found


def main(arguments):
    """Run the tests at every level; returns the exit status."""
    if "--list" in arguments:
        for name, env in levels():
            print(name, *[f"{key}={value!r}" for key, value in env.items()])
        return 0
    if all(argument.startswith("-") for argument in arguments):
        files = [file for pattern in TESTS for file in sorted(glob.glob(pattern, root_dir=ROOT))]
        arguments = [*files, *arguments]
    failed = []
    for name, env in levels():
        print(f"==== {name}", flush=True)
        started = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "600", *arguments]
        if subprocess.run(command, cwd=ROOT, env={**os.environ, **env}).returncode != 0:
            failed.append(name)
        print(f"---- {name}: {time.monotonic() - started:.0f} s", flush=True)
    print("failed at: " + ", ".join(failed) if failed else "passed at every level")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
