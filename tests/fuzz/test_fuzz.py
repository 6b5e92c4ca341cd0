"""A fixed part of the fuzzing for every run of the tests; `python -m tests.fuzz` is the long form.

The fuzzer itself is tested too: that it covers the table, and that it sees and shrinks a wrong gradient.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.ops import TABLE

from . import catalogue, catalogue_table
from .__main__ import failure, main
from .check import Checker
from .generate import Generator
from .gradients import Mismatch
from .machines import HELPERS
from .shrink import shrink

PROGRAMS = 300

# Differentiable operations that programs do not use, each with its reason.
LEFT_OUT = {
    "nextafter": "its differences are those of a rounding",
    "floor_divide": "a step function of two arguments: remainder stands for it",
    "eig": "complex vectors whose phase is LAPACK's choice",
    "eigvals": "their order is LAPACK's choice",
    "unique_values": "as sort, and of a size that depends on values",
    "unique_counts": "as unique_values",
    "unique_inverse": "as unique_values",
    "unique_all": "as unique_values",
    "asarray": "a copy, which `copy` stands for",
    "arange": "of scalars",
    "linspace": "of scalars",
    "full": "of scalars",
    "gammasgn": "a step function",
    "jv": "by the order it has no derivative; the argument is used",
}


def test_random_programs_agree_with_differences_of_plain_numpy():
    checker = Checker(ways=1, second=0.3)
    for seed in range(PROGRAMS):
        program = Generator(seed).program()
        if program is None:
            continue
        kind, error = failure(checker, program)
        assert kind is None, f"{error}\n{program.source(HELPERS)}"
    assert checker.counts.programs > 0.8 * PROGRAMS
    assert checker.counts.gradients > checker.counts.programs
    assert checker.counts.undecided < 0.02 * checker.counts.gradients


def test_random_programs_agree_with_pytorch():
    pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    checker = Checker(ways=0, second=1.0, torch=True)
    for seed in range(5000, 5180):
        program = Generator(seed).program()
        if program is not None:
            kind, error = failure(checker, program)
            assert kind is None, f"{error}\n{program.source(HELPERS)}"
    assert checker.counts.torch > 30


def test_programs_are_made_and_checked_where_there_is_no_pytorch():
    code = (
        "import sys, scipy.stats, arraygrad.scipy.stats; "  # SciPy asks sys.modules for torch while it is imported
        "sys.modules['torch'] = None; from tests.fuzz.__main__ import main; "
        "sys.exit(main(['--programs', '3', '--torch', 'no']))"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(Path(ag.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "0 failures" in found.stdout


def test_programs_use_every_differentiable_operation_of_the_table():
    known = {*catalogue.NAMED, *catalogue.NEW, *catalogue.TOGETHER, *LEFT_OUT}
    chapters = [n for n, e in TABLE.items() if e.rules and e.chapter != "internal" and not n.startswith("_")]
    missing = [name for name in chapters if name not in known]
    assert not missing, f"write a statement of {', '.join(missing)} into tests/fuzz/catalogue.py"


def test_a_function_that_the_catalogue_does_not_name_is_used_where_its_samples_are_and_compared():
    found = catalogue_table.new(catalogue.NAMED - {"sigmoid", "relu"})
    assert set(found) == {*catalogue.NEW, "sigmoid", "relu"}
    assert found["relu"][0] >= 0  # the longer side of its kink
    x = np.linspace(*found["sigmoid"], 5)
    np.testing.assert_allclose(catalogue_table.reference(np, "sigmoid")(x), 1 / (1 + np.exp(-x)), rtol=1e-15)


def test_a_function_along_axes_that_the_catalogue_does_not_name_is_called_with_axes():
    found = catalogue_table.new(catalogue.NAMED - {"logsumexp", "softmax"})
    assert set(found) == {*catalogue.NEW, "logsumexp", "softmax"}
    g = Generator(3)
    g.env = {"a": np.ones((2, 3))}
    calls = {catalogue_table.options(g, name, "a") for name in ("logsumexp", "softmax") for _ in range(60)}
    assert {", axis=None", ", axis=-2", ", axis=1", ", axis=(0, 1), keepdims=True"} <= calls
    assert catalogue_table.options(g, "sigmoid", "a") == ""


def test_a_function_of_several_arrays_that_the_catalogue_does_not_name_is_used_close_to_a_sample(monkeypatch):
    found = catalogue_table.together(catalogue.NAMED - {"cross"})
    assert set(found) == {*catalogue.TOGETHER, "cross"}
    monkeypatch.setattr(catalogue, "TOGETHER", {"cross": found["cross"]})
    g = Generator(3)
    g.env, g.registers, g.count = {"a": np.ones((2, 3))}, ["a"], 0
    step = catalogue.together(g)
    assert step.code.count("0.05 * xp.sin(xp.sum(a))") == 2
    assert step.ops == ("cross",)


def test_a_function_along_axes_is_passed_over_where_no_register_has_any(monkeypatch):
    monkeypatch.setattr(catalogue, "NEW", {"softmax": (-1.0, 1.0)})
    g = Generator(3)
    g.env, g.registers = {"a": np.ones(())}, ["a"]
    assert catalogue.new(g) is None
    found = catalogue_table.reference(np, "softmax")(np.zeros((2, 4)), axis=0)
    np.testing.assert_array_equal(found, np.full((2, 4), 0.5))


def test_programs_are_the_same_for_the_same_seed():
    first, second = Generator(7).program(), Generator(7).program()
    assert first.source() == second.source()


def test_a_wrong_rule_is_found_and_shrunk(monkeypatch):
    original = Checker.gradients

    def wrong(self, program, tape, precision):
        if "sin" in program.ops:
            raise Mismatch("gradient", "planted")
        return original(self, program, tape, precision)

    monkeypatch.setattr(Checker, "gradients", wrong)
    checker = Checker(ways=0, second=0)
    program = next(p for p in (Generator(s).program() for s in range(200)) if p and "sin" in p.ops and len(p.steps) > 5)
    small = shrink(program, lambda p: failure(checker, p)[0])
    assert "sin" in small.ops
    assert len(small.steps) < len(program.steps)


def test_a_hook_that_lies_is_found():
    found = []
    for seed in range(60):
        program = Generator(seed).program()
        if program is None:
            continue
        checker = Checker(ways=0, second=0)
        # Differences follow `hook`; a gradient that is scaled behind their back must be seen.
        with ag.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), lambda a: a * 1.001):
            found.append(failure(checker, program)[0])
    assert "gradient" in found


def test_a_reproducer_is_a_script_that_runs():
    program = next(p for p in (Generator(s).program() for s in range(50)) if p and len(p.steps) > 8)
    env = {}
    with np.errstate(all="ignore"):
        exec(program.source(HELPERS).replace("print(", "found = ("), env)
    assert len(env["found"]) >= len(program.leaves)


def test_the_command_reports_what_it_compared(capsys):
    assert main(["--programs", "5", "--minutes", "1"]) == 0
    assert "gradients" in capsys.readouterr().out


@pytest.mark.parametrize("count", [2])
def test_threads_and_workers_give_bitwise_the_same_gradients(count):
    from .gradients import gradients_of
    from .transform_ways import WAYS

    for seed in range(100, 140):
        program = Generator(seed).program()
        if program is not None:
            expected = gradients_of(program)
            for name in ("threads", "workers", "threads_backward"):
                WAYS[name](program, expected)


def test_fast_paths_off_give_the_same_gradients():
    from .gradients import gradients_of
    from .transform_ways import WAYS

    for seed in range(200, 260):
        program = Generator(seed).program()
        if program is not None:
            WAYS["plain"](program, gradients_of(program))
