"""A process that does everything again and again does not grow: tools/workload.py, which the leak checkers run too.

Imports arraygrad only to find it: the work is done in a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import arraygrad

WORKLOAD = Path(__file__).parents[2] / "tools" / "workload.py"


def run(*arguments, code=None):
    """The workload in a process of its own; `code` runs in its place, with the workload imported."""
    folders = [str(Path(arraygrad.__file__).parents[1]), str(WORKLOAD.parent), os.environ.get("PYTHONPATH", "")]
    command = ["-c", code] if code else [str(WORKLOAD), *arguments]
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=110,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )


def test_doing_everything_again_adds_no_objects_and_no_memory():
    pytest.importorskip("array_api_strict")
    done = run("40")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("leak", ["kept.append(workload.leaf(2) * 2.0)", "kept.append(bytearray(1 << 20))"])
def test_the_check_sees_a_leak(leak):
    pytest.importorskip("array_api_strict")
    if "ASAN_OPTIONS" in os.environ and "workload" not in leak:
        pytest.skip("the allocator of AddressSanitizer does not tell how much memory is in use")
    done = run(
        code=f"""
import sys, workload
kept = []
def leak(): {leak}
workload.PARTS = (leak,) * 5
sys.exit(workload.main(30))
"""
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "that is a leak" in done.stdout
