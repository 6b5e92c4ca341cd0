"""What must be set before NumPy is imported, and what a result file says about the machine.

May import: the standard library; NumPy only inside describe().
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
"""BLAS reads its thread count once, when it is loaded. Two threads slow small products down (409 to 602 us for the
small MLP), and they would hide what the library around them costs."""


def pin_threads() -> None:
    """One thread for every BLAS, for this process and its children. Raises RuntimeError if NumPy is there already."""
    if "numpy" in sys.modules and os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise RuntimeError("NumPy was imported before its threads could be pinned to one")
    os.environ.update(ONE_THREAD)


def describe() -> dict[str, Any]:
    """Versions and machine, for the result file."""
    import importlib.metadata as metadata

    versions = {}
    for name in ("arraygrad", "numpy", "torch", "jax", "autograd", "mygrad"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "machine": platform.machine(), "cpu": _cpu(), "versions": versions}


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        return platform.processor()
