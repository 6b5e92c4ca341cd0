"""What promises NumPy's bits asks NumPy's loops: fast and plain agree whatever the last bits of those loops are.

Each test runs a process in which NumPy's loops of power, float_power, square and arctan2 were replaced before
arraygrad was imported (replaced_loops.py). So this holds on any processor what only some would show.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

CHOSEN = {
    "tests/backends/test_powers.py": "bits or operator or rule or float_power",
    "tests/backends/test_fast_paths.py": "pow or atan2 or square or errors",
    "tests/backends/test_fast_rules.py": "pow or square or atan2",
    "tests/backends/test_fast_random.py": "pow or atan2 or square or var or std",
    "tests/numpy_api/test_array_ufunc.py": "values and (power or square or arctan2)",
}


def run(*arguments):
    path = os.pathsep.join([str(HERE), *sys.path])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_fast_and_plain_agree_with_replaced_loops():
    chosen = " or ".join(f"({Path(file).stem} and ({words}))" for file, words in CHOSEN.items())
    out = run("-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "replaced_loops", *CHOSEN, "-k", chosen)
    for file in CHOSEN:
        assert f"PASSED {file}" in out


STEPS = """
import numpy as np, replaced_loops
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.ops import OPS

many = np.arange(1.0, 41.0)
operands = {
    "0-d": np.array(2.0), "one": many[:1].copy(), "one of every third": many[::3][:1], "one backwards": many[::-1][:1],
    "one, no step": np.broadcast_to(np.array(2.0), (1,)), "one, two axes": np.ones((1, 1)),
    "one, three axes": np.ones((1, 1, 1)), "number": 2.5, "row": many[:6].copy(), "no step": np.broadcast_to(2.0, (6,)),
    "matrix": np.ones((5, 6)), "matrix, no step": np.broadcast_to(2.0, (5, 6)),
}
compared = 0
for ufunc, op in ((np.power, "pow"), (np.arctan2, "atan2"), (np.square, "square")):
    calls = replaced_loops.calls[ufunc.__name__]
    for first in operands:
        for second in operands if ufunc.nin == 2 else [None]:
            given = [operands[name] for name in (first, second) if name is not None]
            if not any(isinstance(x, np.ndarray) for x in given):
                continue
            try_loop(BACKEND, OPS[op], *given)      # what the loops are asked when they are found
            calls.clear()
            if try_loop(BACKEND, OPS[op], *given)[0] is None:
                continue
            ours = calls[:]
            calls.clear()
            ufunc(*given)
            if len(ours) == len(calls) == 1:        # several calls: row by row, where NumPy fills a buffer
                assert ours == calls, (op, first, second, ours, calls)
                compared += 1
assert compared > 100, compared
"""


def test_a_loop_gets_the_steps_of_numpys_own_call():
    run("-c", STEPS)
