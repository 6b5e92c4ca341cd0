"""Older versions of SciPy than the rules were written for are refused, and not adopted: their values differ."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from arraygrad import scipy as ours

ROOT = Path(__file__).resolve().parents[2]


def run(code):
    """What a process prints in which SciPy says to be of an old version."""
    start = "import scipy; scipy.__version__ = '1.16.3'\n"
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, check=True).stdout


def test_the_oldest_version_is_that_of_the_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["scipy"] == ["scipy>=" + ".".join(map(str, ours.OLDEST))]


@pytest.mark.parametrize(
    ("version", "served"), [("1.16.3", False), ("1.17.0", True), ("1.18.0.dev0+g1", True), ("2.0", True)]
)
def test_versions_from_the_oldest_on_are_served(version, served):
    assert ours.serves(version) is served


def test_a_chapter_over_an_older_scipy_is_refused_with_what_to_install():
    code = """
try:
    import arraygrad.scipy.special
except ImportError as error:
    print(error)
"""
    text = run(code)
    assert "needs SciPy 1.17 or later, but 1.16.3 is installed" in text
    assert "pip install 'arraygrad[scipy]'" in text


def test_functions_of_an_older_scipy_are_not_adopted():
    code = """
import numpy as np, scipy.linalg
import arraygrad as ag
try:
    print(ag.grad(lambda x: np.sum(scipy.linalg.expm(x)), adopt=True)(np.eye(2)))
except TypeError as error:
    print("TypeError")
"""
    assert run(code).strip() == "TypeError"
