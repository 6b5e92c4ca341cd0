"""The command line: `python -m arraygrad`. Imports: pytest, arraygrad.__main__."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import arraygrad
from arraygrad.tools import command_line as cli


def run(*arguments, code=None):
    """A fresh Python that runs `-m arraygrad ARGUMENTS` (or `-c code`) on the package under test."""
    path = os.pathsep.join([str(Path(arraygrad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", *(["-c", code] if code else ["-m", "arraygrad"]), *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=100)


def test_no_command_reports_version_build_python_and_numpy():
    result = run()
    assert result.returncode == 0, result.stderr
    first, second, *_ = result.stdout.splitlines()
    assert first in {f"arraygrad {arraygrad.__version__}, {build} build" for build in ("release", "debug")}
    assert platform.python_version() in second
    assert f"NumPy {numpy.__version__}" in second


def test_report_has_a_line_for_every_backend():
    lines = cli.report().splitlines()
    for name in ("numpy", "cupy", "torch", "jax", "dask", "array_api_strict"):
        assert sum(line.split()[:1] == [name] for line in lines) == 1


def test_report_imports_no_array_library_but_numpy():
    code = (
        "import sys, arraygrad.__main__ as cli; cli.main([]);"
        "others = {'cupy', 'torch', 'jax', 'dask', 'array_api_strict', 'sklearn', 'matplotlib'};"
        "sys.exit(' '.join(others & set(sys.modules)) or 0)"
    )
    result = run(code=code)
    assert (result.returncode, result.stderr) == (0, "")


def test_devices_lists_those_of_a_library_found():
    pytest.importorskip("array_api_strict")
    lines = {line.split()[0]: line for line in cli.report(with_devices=True).splitlines() if line}
    assert "cpu" in lines["numpy"]
    assert "CPU_DEVICE" in lines["array_api_strict"]


def test_report_without_devices_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(cli, "BACKENDS", ("numpy", "pytest"))
    assert "python -m arraygrad --devices" in cli.report()


def test_library_that_is_missing_is_reported_as_not_installed(monkeypatch):
    monkeypatch.setattr(cli, "BACKENDS", ("no_such_library",))
    assert cli.report().splitlines()[-1].split(maxsplit=1) == ["no_such_library", "not installed"]


def test_library_that_cannot_be_imported_does_not_stop_the_report(monkeypatch, tmp_path):
    (tmp_path / "broken_library.py").write_text("raise OSError('no driver')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cli, "BACKENDS", ("broken_library", "numpy"))
    *_, broken, numpy_line = cli.report(with_devices=True).splitlines()
    assert "OSError: no driver" in broken
    assert numpy_line.split() == ["numpy", numpy.__version__, "cpu"]


def test_version_of_a_wheel_named_otherwise_than_its_module():
    # Distribution scikit-learn, module sklearn.
    sklearn = pytest.importorskip("sklearn")
    assert cli.installed_version("sklearn") == sklearn.__version__


def test_version_option_prints_it_and_nothing_else(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"arraygrad {arraygrad.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["--frobnicate"], ["demo", "--frobnicate"], ["demo", "--seed", "x"]]
)
def test_unknown_command_or_option_prints_usage_and_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m arraygrad" in capsys.readouterr().err
