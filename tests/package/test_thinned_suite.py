"""`--thin N`, by which the suite on a debug build leaves cases out: which ones, and that no test loses all of them.

Imports nothing of arraygrad; runs pytest on files of its own.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

MANY = """
import pytest


@pytest.mark.parametrize("b", range(4))
@pytest.mark.parametrize("a", range(30))
def test_many(a, b):
    pass


@pytest.mark.parametrize("a", range(11))
def test_few(a):
    pass


def test_single():
    pass
"""


@pytest.fixture
def chosen(tmp_path):
    """(options) -> the names of the tests that are run."""
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "test_cases.py").write_text(MANY)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*options):
        alone = ["-c", str(tmp_path / "pytest.ini"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *alone, *options, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]

    return run


def test_all_cases_are_run_unless_it_is_said_otherwise(chosen):
    assert len(chosen()) == len(chosen("--thin", "1")) == 120 + 11 + 1


def test_of_many_cases_about_one_in_n_is_run_of_every_parameter_and_of_few_all(chosen):
    names = chosen("--thin", "3")
    many = [name for name in names if name.startswith("test_many")]
    assert 25 <= len(many) <= 55
    assert {name[-2] for name in many} == set("0123")
    assert sum(name.startswith("test_few") for name in names) == 11
    assert "test_single" in names
    assert names == chosen("--thin", "3")  # the same at each run: workers of pytest-xdist collect alike
