"""A gradient that is refused because a comparison keeps the real thing: the error names the comparison and a way out.

Imports the public names of arraygrad. Each way out is taken: with it the call is recorded.
"""

import importlib
import sys

import pytest

import arraygrad as ag

S = 0.6173
HELPERS = """
import math
import numpy
import numpy as np

def asks(x):
    return {}
"""
PROGRAM = """
import math
import numpy as np
from kept import helpers
{}
def f(x):
    helpers.asks(np.ones(2))
    {}
"""
OUT = "out = list(map(np.zeros, (2,))); out[0][0] = x; return out[0].sum()"
# What the helper compares, what the program computes, what to write in the helper, and its text in the error.
CASES = [
    ("np is numpy", OUT, "np.__name__ == 'numpy'", "Write xp.__name__ == 'numpy' there"),
    ("np is numpy", "return np.array([x, 0.0]).sum()", "np.__name__ == 'numpy'", "Write xp.__name__ == 'numpy' there"),
    ("np is numpy", "out = list(map(np.zeros, (2,))); out[0] += x; return out[0].sum() / 2", "np.__name__ == 'numpy'",
     "Write xp.__name__ == 'numpy' there"),
    ("type(x) is float", "return float(x)", "isinstance(x, float)", "Write isinstance(x, float) there"),
    ("type(x) is float", "return sum(map(float, [x]))", "isinstance(x, float)", "Write isinstance(x, float) there"),
    ("x.dtype.type is np.float64", "double = np.float64; return double(x)", "x.dtype == np.float64",
     "Write x.dtype == numpy.float64 there"),
    ("x.dtype.type is x.dtype", "double = np.float64; return double(x)", "x.dtype.type == x.dtype",
     "== between types in the place of `is`"),
    ("x is math.exp", "return math.log(math.exp(x))", "getattr(x, '__name__', '') == 'exp'",
     "Write f.__name__ == 'exp' there"),
]  # fmt: skip


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Writes the two modules of a package and imports them anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(compares, computes, globals=f"S0 = {S}"):
        for name, text in (
            ("__init__", ""),
            ("helpers", HELPERS.format(compares)),
            ("program", PROGRAM.format(globals, computes)),
        ):
            (tmp_path / "kept").mkdir(exist_ok=True)
            (tmp_path / "kept" / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, f"kept.{name}" if name != "__init__" else "kept", raising=False)
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            importlib.import_module("kept.helpers")
            return importlib.import_module("kept.program").f
        finally:
            sys.dont_write_bytecode = before

    yield write
    ag.adopt.clear()


@pytest.mark.parametrize(("compares", "computes", "instead", "way"), CASES)
def test_refusal_names_the_comparison_and_ways_that_work(program, compares, computes, instead, way):
    f = program(compares, computes)
    with pytest.raises(TypeError) as error:
        ag.grad(f, adopt=True)(S)
    text = str(error.value)
    assert "kept/helpers.py:7, in asks: " in text
    assert "is the real one" in text
    assert way in text
    assert "leave the module kept.helpers out, by naming what is to be reached, adopt=('kept.program',)" in text
    assert ag.grad(f, adopt=("kept.program",))(S) == pytest.approx(1.0)
    assert ag.grad(program(instead, computes), adopt=True)(S) == pytest.approx(1.0)


def test_comparison_in_the_module_itself_has_no_other_packages_to_name(program):
    f = program("0", "return float(x)", "def g(x): return type(x) is float")
    with pytest.raises(TypeError, match=r"kept/program\.py:5, in g: type\(x\) is float\)\. Write isinstance") as error:
        ag.grad(f, adopt=True)(S)
    assert "adopt=(" not in str(error.value)


def test_key_of_a_dict_is_named_by_its_module(program):
    f = program("0", OUT, "KEYS = {np: 1}")
    with pytest.raises(TypeError, match=r"\(kept\.program: a dict or set among its globals has it as a key\)\. Let"):
        ag.grad(f, adopt=True)(S)


def test_key_in_another_module_is_named_by_that_module(program):
    f = program("KEYS.get(x)\n\nKEYS = {math.exp: 1}", "import math as m; return math.exp(x)")
    with pytest.raises(TypeError, match=r"\(kept\.helpers: a dict or set among its globals has it as a key\)\. Let"):
        ag.grad(f, adopt=True)(S)
    assert ag.grad(f, adopt=("kept.program",))(S) == pytest.approx(1.8539, abs=1e-3)


def test_refusals_without_a_comparison_name_none(program):
    f = program("0", "out = A; out[0] = x; return out.sum()", "A = np.zeros(2); T = (A,)")
    with pytest.raises(TypeError, match="the array was made where adoption does not reach") as error:
        ag.grad(f, adopt=True)(S)
    assert "compares" not in str(error.value)
