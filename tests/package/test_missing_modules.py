"""Imports of modules that arraygrad has not: the error names what to write, for every name that has a hint."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

import arraygrad as ag
from arraygrad import _hints, _missing_modules

HINTED = [
    f"arraygrad.{room}.{name}".replace("..", ".")
    for room, names in _hints._MODULES.items()
    if hasattr(importlib.import_module(f"arraygrad.{room}".rstrip(".")), "__path__")  # Python asks nobody of others
    for name in names
]


@pytest.mark.parametrize("name", HINTED)
@pytest.mark.parametrize("tail", ["", ".part.of"])
def test_an_import_of_a_hinted_name_says_what_to_write(name, tail):
    room, _, last = name.partition(".")[2].rpartition(".")
    importlib.import_module(name.rpartition(".")[0])
    with pytest.raises(ModuleNotFoundError) as error:
        importlib.import_module(name + tail)
    assert str(error.value) == f"No module named {name!r}: {_hints._MODULES[room][last]}"
    assert error.value.name == name
    assert importlib.util.find_spec(name) is None


@pytest.mark.parametrize(
    "name",
    ["arraygrad.grad", "arraygrad.testing.gradcheck", "arraygrad.autograd.Function", "arraygrad.implicit.root"],
)
def test_the_name_of_a_function_is_no_module(name):
    parent, _, last = name.rpartition(".")
    importlib.import_module(parent)
    with pytest.raises(ModuleNotFoundError, match=rf"write from {parent} import {last}$"):
        importlib.import_module(name)
    assert getattr(importlib.import_module(parent), last)  # what the error says to write


def test_a_distribution_is_no_module():
    pytest.importorskip("scipy")
    with pytest.raises(ModuleNotFoundError, match=r"write from arraygrad\.scipy\.stats import norm$"):
        importlib.import_module("arraygrad.scipy.stats.norm")
    from arraygrad.scipy.stats import norm

    assert ag.grad(lambda m: norm.logpdf(1.0, m))(0.0) == pytest.approx(1.0)


def test_numpys_random_numbers_are_numpys():
    with pytest.raises(ModuleNotFoundError, match=r"import numpy\.random$"):
        importlib.import_module("arraygrad.numpy.random")


@pytest.mark.parametrize("name", ["arraygrad.nothing_of_the_kind", "arraygrad.numpy.nothing_of_the_kind"])
def test_other_modules_are_missing_in_pythons_words(name):
    with pytest.raises(ModuleNotFoundError) as error:
        importlib.import_module(name)
    assert str(error.value) == f"No module named {name!r}"
    assert importlib.util.find_spec(name) is None


def test_the_finder_stands_behind_all_others_once():
    before = list(sys.meta_path)
    _missing_modules.install()
    assert sys.meta_path == before
    assert before.count(_missing_modules.Finder) == 1
    code = "import sys, arraygrad; from arraygrad import _missing_modules as m; assert sys.meta_path[-1] is m.Finder"
    subprocess.run([sys.executable, "-c", code], check=True)
