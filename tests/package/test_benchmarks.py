"""Benchmarks time the right thing: at a tiny size every hand-written gradient is the derivative of its formula, and
arraygrad agrees with it. No timing here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# benchmarks/ is not installed: it is run from the root of the repository.
ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import calls, device, harness, operations, table
from benchmarks.libraries import Arraygrad, Autograd, Library, Plain
from benchmarks.workload import Data, Workload
from benchmarks.workloads import WORKLOADS

import arraygrad as ag
from arraygrad.numpy_api import gathered
from arraygrad.ops import TABLE

ALL = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=list(WORKLOADS))
GRADIENTS = [w for w in WORKLOADS.values() if w.kind in ("gradient", "function")]
MATRICES = [w for w in WORKLOADS.values() if w not in GRADIENTS]
STEP = 1e-4


def scalar(workload: Workload, data: Data, leaves: list[np.ndarray]) -> float:
    """The number whose gradient is asked for, by the formula under plain NumPy."""
    value = workload.formula(Plain(), data)(*leaves)
    return float(np.sum(value if data.seed is None else value * data.seed))


def finite_difference(workload: Workload, data: Data, leaf: int, index: tuple[int, ...]) -> float:
    """Central difference in one element; for Hessian-vector products the second difference along data.vectors."""

    def at(step: float, along: float) -> float:
        leaves = [a.copy() for a in data.leaves]
        leaves[leaf][index] += step
        if data.vectors is not None:
            leaves = [a + along * v for a, v in zip(leaves, data.vectors, strict=True)]
        return scalar(workload, data, leaves)

    if data.vectors is None:
        return (at(STEP, 0) - at(-STEP, 0)) / (2 * STEP)
    h = 1e-3
    return (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h)


@pytest.mark.parametrize("workload", MATRICES, ids=[w.name for w in MATRICES])
def test_hand_matrix_is_made_of_the_derivatives_of_the_formula(workload):
    data = workload.tiny()
    f, (x,) = workload.formula(Plain(), data), data.leaves
    (found,) = workload.hand(data)()

    def at(*steps: tuple[int, float]) -> np.ndarray:
        moved = x.copy()
        for index, step in steps:
            moved[index] += step
        return f(moved)

    h = 1e-3
    for j in range(x.size):
        if workload.kind == "jacobian":
            column = (at((j, STEP)) - at((j, -STEP))) / (2 * STEP)
        else:
            column = [
                (at((i, h), (j, h)) - at((i, h), (j, -h)) - at((i, -h), (j, h)) + at((i, -h), (j, -h))) / (4 * h * h)
                for i in range(x.size)
            ]
        np.testing.assert_allclose(found[:, j], column, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("workload", GRADIENTS, ids=[w.name for w in GRADIENTS])
def test_hand_gradient_is_the_derivative_of_the_formula(workload):
    data = workload.tiny()
    value, *gradients = workload.hand(data)()
    np.testing.assert_allclose(value, workload.formula(Plain(), data)(*data.leaves), rtol=1e-10, atol=1e-12)
    assert len(gradients) == len(data.leaves)
    for i, leaf in enumerate(data.leaves):
        for index in np.ndindex(leaf.shape):
            expected = finite_difference(workload, data, i, index)
            assert np.asarray(gradients[i])[index] == pytest.approx(expected, rel=1e-4, abs=1e-6)


@ALL
def test_hand_gives_the_same_result_again(workload):
    data = workload.tiny()
    run = workload.hand(data)
    first = [np.array(r) for r in run()]
    for a, b in zip(first, run(), strict=True):
        np.testing.assert_array_equal(a, b)


@ALL
def test_arraygrad_agrees_with_hand(workload):
    data = workload.tiny()
    library = Arraygrad()
    results = harness.results_of(workload.run_of(library, data), library)
    note = harness.check(results, workload.hand(data)(), "arraygrad")
    assert note == ""


@ALL
def test_timed_data_and_tiny_data_have_the_same_leaves(workload):
    if workload.name == "logistic-regression":
        pytest.skip("its data take 80 MB")
    timed, tiny = workload.data(), workload.tiny()
    assert (timed.seed is None, timed.vectors is None) == (tiny.seed is None, tiny.vectors is None)
    assert [a.ndim for a in timed.leaves[:2]] == [a.ndim for a in tiny.leaves[:2]]


class Wrong(Library):
    """Claims that every gradient is zero."""

    name = "wrong"

    def __init__(self):
        self.xp = np

    def gradient(self, f, leaves, seed):
        return lambda: [f(*leaves), *[np.zeros_like(a) for a in leaves]]


def tiny_chain() -> Workload:
    chain = WORKLOADS["chain-1-f64"]
    return Workload("tiny", "tiny", 1.0, 0.5, chain.tiny, chain.tiny, chain.formula, chain.hand)


def test_wrong_results_are_not_timed():
    row = harness.measure(tiny_chain(), [Wrong()], rounds=1, quick=True)
    assert row.ratios == {}
    assert row.problems["wrong"].startswith("WRONG: wrong: gradient 0 is off by")


def test_library_that_raises_is_reported_and_the_others_are_timed():
    pytest.importorskip("autograd")

    class Broken(Wrong):
        name = "broken"

        def gradient(self, f, leaves, seed):
            raise AttributeError("no such function")

    row = harness.measure(tiny_chain(), [Broken(), Autograd()], rounds=1, quick=True)
    assert row.problems == {"broken": "AttributeError: no such function"}
    assert row.ratios["autograd"].median > 0


def test_workload_that_excludes_a_library_says_why():
    workload = WORKLOADS["deconvolution"]
    assert workload.without["mygrad"] == "no FFT"


def test_float64_result_of_a_float32_workload_is_noted():
    note = harness.check([np.float64(1), np.ones(2)], [np.float32(1), np.ones(2, np.float32)], "x")
    assert note == "float32 became float64"


def test_table_line_shows_ratio_quartiles_and_verdict():
    row = harness.Row("name", "title", bar=1.0, moonshot=0.5, hand_ns=2500.0)
    row.ratios = {"arraygrad": harness.Spread(0.75, 0.7, 0.8), "torch": harness.Spread(12.3, 12, 13)}
    line = table.ratio_line(row, ["torch", "jax"])
    assert line.split() == ["name", "2.5", "us", "0.75", "[0.70", "0.80]", "1.00", "0.50", "yes", "12", "-"]


@pytest.mark.parametrize(("value", "expected"), [(0.5, "MOONSHOT"), (1.0, "yes"), (1.01, "no")])
def test_verdict_compares_with_bar_and_moonshot(value, expected):
    assert table.verdict(value, 1.0, 0.5) == expected


def test_verdict_of_a_figure_that_should_be_high():
    assert table.verdict(1.7, 1.6, 1.8, higher=True) == "yes"
    assert table.verdict(1.5, 1.6, 1.8, higher=True) == "no"


ROWS = {row.name: row for row in calls.rows()}
LAYOUTS = pytest.mark.parametrize("transposed", [False, True], ids=["row-major", "transposed"])


def both_sides(name: str, transposed: bool) -> tuple[list, list]:
    """The arrays that a row's bare call gives, and the Tensors of ours."""
    call, leaves = ROWS[name].case(calls.Kit(4, transposed))
    bare = call(ROWS[name].bare, *leaves)
    ours = call(ROWS[name].ours, *[ag.asarray(a, requires_grad=True) for a in leaves])
    return [list(r) if isinstance(r, tuple | list) else [r] for r in (bare, ours)]


@LAYOUTS
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_a_measured_function_gives_the_same_on_tensors_and_has_a_gradient(name, transposed):
    bare, ours = both_sides(name, transposed)
    assert len(bare) == len(ours)
    for a, b in zip(bare, ours, strict=True):
        np.testing.assert_allclose(b.numpy() if isinstance(b, ag.Tensor) else b, a, rtol=1e-7, atol=1e-10)
    found = operations.outputs(ours)
    ag.autograd.backward(found, [ag.asarray(np.ones(t.shape, t.dtype)) for t in found])


def test_every_function_with_a_derivative_is_measured():
    measured = set(ROWS) | {name.removeprefix("np.") for name in ROWS} | set(calls.NOT_CALLED)
    for name, entry in TABLE.items():
        if entry.rules and entry.derivative != "zero" and not name.startswith("_"):
            assert name in measured, f"{name} has no row in benchmarks/calls.py"
    known = {n.rpartition(".")[2] for n in measured} | calls.NOT_MEASURED
    known |= {n.rpartition(".")[2] for entry in TABLE.values() for n in entry.numpy}
    assert {f.__name__ for f in gathered.FUNCTIONS} <= known


def test_operations_command_prints_both_tables():
    only = ["--size", "small", "--layout", "row-major", "--dtype", "float64", "--rounds", "1"]
    command = [sys.executable, "-m", "benchmarks.operations", *only, "tanh"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "worst over" in shown
    assert "worst backward" in shown
    assert shown.count("tanh") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-row"], "no workload or figure begins with no-such-row; --list shows the names"),
        (["--peers", "abacus", "softmax"], "peer 'abacus' is unknown"),
    ],
)
def test_command_refuses_what_it_does_not_know(arguments, message):
    done = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == message


def test_device_benchmark_says_why_there_is_none():
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--device", "cuda", "--quick"], capture_output=True, text=True, cwd=ROOT
    )
    if found.returncode == 0:
        assert "MLP 784-1024-1024-10" in found.stdout
    else:
        assert found.returncode == 2
        assert re.search(r"--device cuda: (CuPy is not installed|no CUDA device)", found.stderr)


def test_unknown_device_is_refused():
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--device", "tpu"], capture_output=True, text=True, cwd=ROOT
    )
    assert (found.returncode, "only 'cuda' is known" in found.stderr) == (2, True)


def test_gradients_on_a_device_are_compared_as_a_whole():
    wanted = [np.ones(10**6), np.asarray([2.0])]
    one_kink = [np.ones(10**6), np.asarray([2.0])]
    one_kink[0][3] = 0.0
    assert device.worst(one_kink, wanted) < device.TOLERANCE
    assert device.worst([wanted[0] * 1.01, wanted[1]], wanted) > device.TOLERANCE
    assert not device.worst([wanted[0], np.asarray([np.nan])], wanted) < device.TOLERANCE


@pytest.mark.parametrize("work", device.WORKS, ids=[w.name for w in device.WORKS])
def test_device_workloads_have_the_gradients_of_finite_differences(work):
    arrays = [a.astype(np.float64) for a in work.leaves(True)]
    functions = device.Functions(
        relu=lambda x: np.maximum(x, 0), sum=np.sum, tanh=np.tanh, sin=np.sin,
        log_softmax=lambda x: x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True)),
    )  # fmt: skip
    gradients = device.expected(work, arrays)
    assert device.worst(gradients, gradients) == 0.0
    index = (0,) * arrays[-1].ndim
    step = np.zeros_like(arrays[-1])
    step[index] = STEP
    high, low = (work.loss(functions, *arrays[:-1], arrays[-1] + sign * step) for sign in (1, -1))
    assert gradients[-1][index] == pytest.approx((high - low) / (2 * STEP), rel=1e-3, abs=1e-9)


def test_device_table_marks_what_is_beyond_the_bar():
    row = {"title": "t", "ms": {"arraygrad": 1.2, "torch": 1.0}}
    assert "1.200 (1.20!)" in device.line(row, ["arraygrad", "torch", "jax"])
    row["ms"]["arraygrad"] = 1.05
    assert "1.050 (1.05)" in device.line(row, ["arraygrad", "torch"])
