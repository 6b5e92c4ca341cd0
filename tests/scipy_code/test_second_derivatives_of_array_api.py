"""SciPy's own functions over Tensors have the second derivatives of their plain calls.

The class: every function that SCIPY_ARRAY_API=1 opens to Tensors and that is differentiated, where the sample stands
and at equal numbers: an algorithm that chooses one of them by comparing must not lose what the others contribute.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import arraygrad

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
pytest.importorskip("sklearn", reason="scikit-learn, which is optional, is not installed")

HERE = Path(__file__).parent
LOGSUMEXP = """
import numpy as np, arraygrad as ag, scipy.special
f = scipy.special.logsumexp
for x, b in (([1, 1], [1, 1]), ([1, 1, 0], [1, 1, 1]), ([2, 2, 1], [1, 3, 2]), ([0, 0, 0], [0.5, 2, 0])):
    x, b = np.array(x, float), np.array(b, float)
    p = b * np.exp(x) / np.sum(b * np.exp(x))
    expected = np.diag(p) - np.outer(p, p)
    np.testing.assert_allclose(ag.grad(lambda x: f(x, b=ag.asarray(b)))(x), p, rtol=1e-14)
    np.testing.assert_allclose(ag.hessian(lambda x: f(x, b=ag.asarray(b)))(x), expected, atol=1e-15)
    if np.all(b == 1):
        np.testing.assert_allclose(ag.hessian(f)(x), expected, atol=1e-15)
        rows = ag.hessian(lambda x: ag.sum(f(x, axis=1)))(np.stack([x, x]))
        np.testing.assert_allclose(rows[1, :, 1, :], expected, atol=1e-15)
    values = f(ag.tensor(x, requires_grad=True), b=ag.asarray(b)).numpy(), f(x, b=b)
    np.testing.assert_array_equal(*values)
"""


def run(*arguments):
    path = os.pathsep.join([str(Path(arraygrad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=110)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_second_derivatives_are_those_of_differences():
    found = json.loads(run(str(HERE / "second.py")))
    assert found["wrong"] == {}
    assert len(found["agreed"]) > 250


def test_logsumexp_has_its_second_derivative_where_several_elements_are_the_largest():
    run("-c", LOGSUMEXP)
