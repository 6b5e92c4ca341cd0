"""The tests written for a device, run on the stand-in: they are right as they stand, whenever a device is at hand.

Left out is what the stand-in has not: CuPy's memory pool, special functions, CUDA C++ and cuTENSOR.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
LEFT_OUT = "erf or out_of_memory or pool or test_examples"

PROGRAM = f"""
import contextlib, sys
sys.path.insert(0, {str(FOLDER)!r})
from stand_in import cupy, cupyx, races, with_functions
with_functions()
cupyx.allow_synchronize = lambda allowed: contextlib.nullcontext()
cupyx.DeviceSynchronized = type("DeviceSynchronized", (RuntimeError,), {{}})
import pytest
FOLDER = {str(FOLDER)!r}
chosen = ["--thin", "2", "-k", "not ({LEFT_OUT})"]  # of tests of many cases half will do
status = pytest.main([f"{{FOLDER}}/{{sys.argv[1]}}", "-q", "-p", "no:cacheprovider", *chosen])
if sys.argv[2:] and races:
    sys.exit("\\n".join(races))
sys.exit(status)
"""


# The others end without waiting for what their streams do, or read without an order; they compare values.
ORDERED = ("test_peer_copies.py",)


FILES = [
    "test_adopted_cupy.py",
    "test_computed_ahead.py",
    "test_constants.py",
    "test_cupy.py",
    "test_data_parallel.py",
    "test_graphs.py",
    "test_in_place.py",
    "test_losses.py",
    "test_mapped_rows.py",
    "test_prepared.py",
    "test_products.py",
    "test_row_plans.py",
    "test_summed.py",
    "test_parameter_updates.py",
]


@pytest.mark.slow
@pytest.mark.parametrize("file", [*FILES, *ORDERED])
def test_they_pass_on_the_stand_in(file):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-c", PROGRAM, file, *(["ordered"] if file in ORDERED else [])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "passed" in done.stdout
