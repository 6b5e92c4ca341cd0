"""`python -m conformance` without a checkout: arguments, expected failures, scores, the recording namespace.

Imports of arraygrad: the public names, through conformance.recording.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from pathlib import Path

import pytest

import arraygrad as ag

# conformance/ is not installed: it is run from the root of the repository.
ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from conformance import __main__ as command
from conformance import checkout, table
from conformance.backends import BACKENDS, EXPECTED, expectations
from conformance.expected import Expectation, read
from conformance.recording import CREATION, recording_namespace
from conformance.suite import Run, Score, score

FILES = sorted(EXPECTED.glob("*.txt"))


def make_checkout(folder: Path) -> Path:
    """A folder that looks like a checkout."""
    (folder / "array_api_tests").mkdir()
    (folder / "array-api" / "src" / "array_api_stubs").mkdir(parents=True)
    (folder / "conftest.py").touch()
    return folder


def make_score(passed: int = 3, **options) -> Score:
    fields = {"failed": {}, "expected": {}, "unneeded": (), "unknown": (), "skipped": 1, "seconds": 12.34}
    return Score(passed, **(fields | options))


def report(*tests: tuple[str, str]) -> dict:
    """What pytest-json-report writes of tests and their outcomes."""
    message = {"crash": {"message": "AssertionError: sin(1.0)=2.0\nand more"}}
    return {"tests": [{"nodeid": t, "outcome": o, **({"call": message} if o == "failed" else {})} for t, o in tests]}


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_defaults_are_numpy_and_the_suite_s_own_number_of_examples():
    options = command.parse([])
    assert (options.suite, options.backend, options.examples, options.seed) == (None, "numpy", 100, [0])
    assert (options.requires_grad, options.version, options.tests) == (False, None, [])


def test_every_option_is_read():
    text = "--suite s --backend torch --examples 20 --requires-grad --version 2024.12 --seed 1 --seed 2 a.py::test_b"
    options = command.parse(text.split())
    assert (options.suite, options.backend, options.examples) == (Path("s"), "torch", 20)
    assert (options.requires_grad, options.version) == (True, "2024.12")
    assert (options.seed, options.tests) == ([1, 2], ["a.py::test_b"])


@pytest.mark.parametrize("arguments", [["--backend", "fortran"], ["--examples", "0"]])
def test_arguments_without_sense_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        command.parse(arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_without_a_checkout_it_says_how_to_get_one(capsys):
    assert command.main([]) == 2
    text = capsys.readouterr().err
    assert "git clone --recurse-submodules https://github.com/data-apis/array-api-tests" in text
    assert "python -m conformance --suite array-api-tests" in text


def test_folder_that_does_not_exist_is_reported(tmp_path, capsys):
    assert command.main(["--suite", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is no folder" in capsys.readouterr().err


def test_folder_without_the_suite_is_reported(tmp_path):
    assert "is no checkout of array-api-tests" in checkout.problem(tmp_path)


def test_checkout_without_its_submodule_is_reported(tmp_path):
    make_checkout(tmp_path)
    (tmp_path / "array-api" / "src" / "array_api_stubs").rmdir()
    assert "git submodule update --init" in checkout.problem(tmp_path)


def test_missing_distributions_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(checkout, "NEEDED", {"pytest": "pytest", "no_such_module": "no-such-distribution"})
    text = checkout.problem(make_checkout(tmp_path))
    assert text == "the suite needs no-such-distribution: python -m pip install no-such-distribution"


def test_library_that_is_not_installed_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(checkout, "NEEDED", {})
    monkeypatch.setattr(command.Backend, "missing", lambda self: ["no_such_library"])
    assert command.main(["--suite", str(make_checkout(tmp_path)), "--backend", "dask"]) == 2
    assert "--backend dask needs no_such_library" in capsys.readouterr().err


# -- what is run -------------------------------------------------------------------------------------------------------


def test_run_passes_its_settings_to_the_suite(tmp_path, monkeypatch):
    monkeypatch.setenv("ARRAY_API_TESTS_SKIP_DTYPES", "float32")
    monkeypatch.setenv("PYTHONPATH", "src")
    run = Run("arraygrad.numpy", 20, 3, "2024.12", environment=(("JAX_ENABLE_X64", "1"),))
    words = run.command(tmp_path / "report.json")
    assert {"array_api_tests", "--max-examples=20", "--hypothesis-seed=3"} <= set(words)
    environment = run.process_environment(tmp_path)
    assert environment["ARRAY_API_TESTS_MODULE"] == "arraygrad.numpy"
    assert environment["ARRAY_API_TESTS_VERSION"] == "2024.12"
    assert environment["JAX_ENABLE_X64"] == "1"
    assert "ARRAY_API_TESTS_SKIP_DTYPES" not in environment
    # The suite's process works in the checkout, so relative paths would lead elsewhere.
    assert environment["PYTHONPATH"].split(os.pathsep)[:2] == [ROOT, os.path.abspath("src")]


def test_run_of_named_tests_leaves_the_others_out(tmp_path):
    words = Run("arraygrad.numpy", 20, 0, tests=["a.py::test_b"]).command(tmp_path)
    assert "a.py::test_b" in words
    assert "array_api_tests" not in words


@pytest.mark.parametrize("recording", [False, True])
def test_module_given_to_the_suite_is_the_namespace(recording):
    backend = BACKENDS["numpy"]
    text = backend.recording_module if recording else backend.module
    # The suite's own way of reading it.
    assert text.startswith("exec('")
    assert text.endswith("')")
    found: dict = {}
    exec(text[6:-2], found)
    assert found["xp"].__name__ == "arraygrad.numpy"
    assert found["xp"].zeros(2).requires_grad is recording


# -- expected failures -------------------------------------------------------------------------------------------------


def test_no_failure_is_expected_of_numpy():
    assert (EXPECTED / "numpy.txt").read_text(encoding="utf-8") == ""
    assert expectations("numpy", None, False) == []


@pytest.mark.parametrize("file", FILES, ids=[f.stem for f in FILES])
def test_each_expected_failure_names_a_fault_and_a_test(file):
    known = {*BACKENDS, "requires-grad", "before-2025.12"}
    assert file.stem in known
    for expectation in read(file):
        assert len(expectation.reason) > 20
        assert re.fullmatch(r"array_api_tests/test_\w+\.py::[\w:]+(\[.+\])?", expectation.test)


def test_older_version_and_recording_add_their_expectations():
    older = expectations("numpy", "2024.12", True)
    assert {"array_api_tests/test_creation_functions.py::test_meshgrid",
            "array_api_tests/test_dlpack.py::test_dunder_dlpack"} <= {e.test for e in older}  # fmt: skip
    assert expectations("numpy", "2025.12", False) == []


def test_reason_holds_for_the_tests_below_it(tmp_path):
    file = tmp_path / "some.txt"
    file.write_text("# One fault,\n# in two lines.\na::x\na::y[1]\n\n# Another.\nb::z\n# A third.\nb::w\n")
    assert read(file) == [
        Expectation("a::x", "One fault, in two lines."),
        Expectation("a::y[1]", "One fault, in two lines."),
        Expectation("b::z", "Another."),
        Expectation("b::w", "A third."),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("a::x\n", "line 1: a::x has no reason"), ("# Why.\n\na::x\n", "line 3"), ("# Why.\na::x\na::x\n", "twice")],
)
def test_entry_without_a_reason_or_twice_is_refused(tmp_path, text, complaint):
    file = tmp_path / "some.txt"
    file.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        read(file)


# -- scores ------------------------------------------------------------------------------------------------------------


def test_score_counts_outcomes_and_keeps_the_message():
    result = score(report(("t::a", "passed"), ("t::b", "skipped"), ("t::c", "failed"), ("t::d", "error")), (), 1.5)
    assert (result.passed, result.skipped, result.seconds) == (1, 1, 1.5)
    assert result.failed == {"t::c": "AssertionError: sin(1.0)=2.0", "t::d": "error"}


def test_expected_failures_are_not_failures():
    expected = [Expectation("t::a", "its fault"), Expectation("t::b[1]", "its fault")]
    result = score(report(("t::a[x]", "failed"), ("t::b[1]", "failed"), ("t::b[2]", "failed")), expected, 0)
    assert result.expected == {"t::a[x]": "its fault", "t::b[1]": "its fault"}
    assert list(result.failed) == ["t::b[2]"]


def test_expectation_covers_no_other_test_with_the_same_beginning():
    result = score(report(("t::expm1", "failed")), [Expectation("t::exp", "its fault")], 0)
    assert list(result.failed) == ["t::expm1"]


def test_expectations_that_are_not_borne_out_are_told():
    expected = [Expectation(t, "its fault") for t in ("t::good", "t::skipped", "t::gone")]
    result = score(report(("t::good", "passed"), ("t::skipped", "skipped")), expected, 0)
    assert (result.unneeded, result.unknown) == (("t::good",), ("t::gone",))
    assert score(report(("t::good", "passed")), expected, 0, whole=False).unknown == ()


# -- the table ---------------------------------------------------------------------------------------------------------


def test_line_shows_our_score_and_the_anchor_s():
    ours = make_score(1379, failed={"t": "why"}, expected={"u": "whose"}, skipped=5)
    row = table.Row("numpy", True, 20, 7, ours, make_score(1353, failed={"v": "why"}, skipped=4, seconds=20.0))
    words = table.line(row).split()
    assert words == "numpy yes 20 7 1379 1 1 5 12.3 s | 1353 1 4 20.0 s".split()


def test_line_without_an_anchor_has_a_dash():
    assert table.line(table.Row("numpy", False, 20, 0, make_score())).split()[-2:] == ["|", "-"]


def test_columns_stand_below_their_titles():
    row = table.Row("array_api_strict", False, 1000, 0, make_score(), make_score())
    header, line = table.header(), table.line(row)
    for title in ("examples", "seed", "passed", "failed", "expected", "skipped", "|"):
        end = header.index(title) + len(title)
        assert line[end - 1] != " "
        assert line[end : end + 1] in ("", " ")


def test_details_name_failures_and_say_whether_the_anchor_shares_them():
    ours = make_score(failed={"t": "wrong", "u": "worse"}, unneeded=("v",), unknown=("w",))
    lines = table.details(table.Row("numpy", False, 20, 0, ours, make_score(failed={"u": "x"})))
    assert lines == [
        "FAILED t: wrong", "FAILED u: worse (and on the anchor)", "passed although expected to fail: v",
        "expected to fail, but no test of this checkout: w",
    ]  # fmt: skip


def run_with(result: Score, tmp_path, monkeypatch, *arguments: str) -> int:
    """main() where every run of the suite gives `result`."""
    monkeypatch.setattr(checkout, "NEEDED", {})
    monkeypatch.setattr(command, "run", lambda *args: result)
    return command.main(["--suite", str(make_checkout(tmp_path)), *arguments])


def test_exit_status_is_0_where_only_expected_tests_fail(tmp_path, monkeypatch, capsys):
    assert run_with(make_score(expected={"t": "whose"}), tmp_path, monkeypatch) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_exit_status_is_1_where_another_test_fails(tmp_path, monkeypatch, capsys):
    assert run_with(make_score(failed={"t": "why"}), tmp_path, monkeypatch, "--no-anchor") == 1
    assert "FAILED t: why" in capsys.readouterr().out


def test_each_seed_gives_a_line(tmp_path, monkeypatch, capsys):
    assert run_with(make_score(), tmp_path, monkeypatch, "--seed", "4", "--seed", "5") == 0
    assert [line.split()[3] for line in capsys.readouterr().out.splitlines()[1:]] == ["4", "5"]


# -- the recording namespace -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def xp():
    return recording_namespace("numpy")


def test_recording_namespace_has_every_name_of_the_public_one(xp):
    public = ag.namespace("numpy")
    assert set(public.__all__) <= set(vars(xp))
    assert set(public.fft.__all__) <= set(vars(xp.fft))
    assert xp.sin is public.sin


@pytest.mark.parametrize("name", CREATION)
def test_creation_functions_keep_their_signatures(xp, name):
    assert inspect.signature(getattr(xp, name)) == inspect.signature(getattr(ag.namespace("numpy"), name))


@pytest.mark.parametrize(
    "make",
    [
        lambda xp: xp.asarray([1.0, 2.0]),
        lambda xp: xp.arange(3.0),
        lambda xp: xp.linspace(0, 1, num=3),
        lambda xp: xp.empty((2,)),
        lambda xp: xp.zeros(shape=(2,)),
        lambda xp: xp.ones((2,), dtype=xp.complex64),
        lambda xp: xp.full(shape=(2,), fill_value=1.5),
        lambda xp: xp.eye(2),
        lambda xp: xp.zeros_like(xp.arange(3), dtype=xp.float32),
        lambda xp: xp.from_dlpack(xp.ones((2,))),
        lambda xp: xp.fft.fftfreq(4),
    ],
)
def test_new_floating_arrays_require_grad_and_can_be_written(xp, make):
    t = make(xp)
    assert t.requires_grad
    t += 1.0
    assert t.grad_fn is not None


def test_integers_and_booleans_do_not_require_grad(xp):
    assert not xp.zeros((2,), dtype=xp.int32).requires_grad
    assert not xp.asarray([True]).requires_grad


def test_asarray_of_a_tensor_is_the_tensor(xp):
    t = xp.ones((2,))
    assert xp.asarray(t, copy=False) is t
