"""What another package compares by `is` keeps its stand-in in the program, unless the program's code hands it over.

The class: what the other package compares (numpy, a function of it, one in a set, float, a type of scalars, a function
of math) x how the program uses it (calls it by its module, by its own name, through a dict) is recorded. How it may
hand the thing over (as an argument, by a variable, a result, a default, a list, a global, an import, an attribute of a
module that holds it, by a third package) is answered as in a plain call.

Imports the public names of arraygrad.
"""

import importlib
import sys

import numpy as np
import pytest

import arraygrad as ag

LIBRARY = """
import math
import numpy as np
SAFE = {np.sum, np.exp, math.sin}
def numpys(xp): return xp is np
def is_sum(f): return f is np.sum
def is_safe(f): return f in SAFE
def is_float(x): return type(x) is float
def is_double(x): return x.dtype.type is np.float64
def is_sin(f): return f is math.sin
def is_tan(f): return f is math.tan
def given(f): return f(numpys)
def touch():
    return numpys(math), is_sum(len), is_safe(len), is_float(1), is_double(np.ones(1)), is_sin(len), is_tan(len)
"""
# Bodies of f(x), which are recorded although the library compares what they use.
RIGHT = {
    "np.zeros": "out = np.zeros(2); out[0] = x; return out.sum()",
    "zeros": "out = zeros(2); out[1] = x * x; return out.sum()",
    "np.array": "return np.array([x, 2.0 * x]).prod()",
    "np.sum of a list": "return np.sum([x, x * x])",
    "np.linalg": "return np.linalg.norm([x, 1.0])",
    "math": "return math.sin(x) * math.exp(x)",
    "a name": "return tangent(x) * x",
    "float": "return float(x) ** 2",
    "np.float64": "return np.float64(x) ** 2",
    "a class": "return Model(x).value()",
    "isinstance": "return x * x if isinstance(x, float) else 0.0 * x",
}
# What decides the factor: True in a plain call, as what is compared is handed over.
HANDED = {
    "argument": "lib.numpys(np)",
    "keyword": "lib.numpys(xp=np)",
    "variable": "(lambda module: lib.numpys(module))(np)",
    "assigned": "assigned()",
    "result": "lib.numpys(other.made())",
    "default": "lib.numpys(by_default())",
    "item": "lib.numpys([np][0])",
    "attribute of a module": "lib.numpys(other.np)",
    "imported": "imported()",
    "getattr": "lib.numpys(getattr(other, 'np'))",
    "callback": "lib.given(lambda ask: ask(np))",
    "attribute of an object": "lib.numpys(Holder().np)",
    "function": "lib.is_sum(np.sum)",
    "function in a set": "lib.is_safe(np.exp)",
    "function of a module": "lib.is_safe(other.exp)",
    "function of math": "lib.is_sin(math.sin)",
    "named function": "lib.is_sin(sin)",
    "function in a dict": "lib.is_sin(OPS['sin'])",
    "function in a list": "lib.is_sin(FS[0])",
    "module of a module": "lib.is_sum(other.np.sum)",
    "third package": "third.hands()",
}
PROGRAM = """
import math
import numpy as np
from math import sin, tan as tangent
from numpy import zeros
import {name}_lib as lib, {name}_other as other, {name}_third as third
OPS = {{"sin": math.sin}}
FS = [math.sin]
class Model:
    def __init__(self, x):
        self.x = x
    def value(self):
        out = np.zeros(1)
        out[0] = math.cos(self.x)
        return out[0]
class Holder:
    def __init__(self):
        self.np = np
def assigned():
    xp = np
    return lib.numpys(xp)
def by_default(xp=np):
    return xp
def imported():
    from {name}_other import np as theirs
    return lib.numpys(theirs)
def f(x):
    lib.touch()
    {body}
"""
OTHER = """
import numpy as np
from numpy import exp
def made():
    return np
"""
THIRD = """
import {name}_lib as lib, {name}_other as other
def hands():
    return lib.numpys(other.np) and lib.is_safe(other.exp)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name, body):
        texts = {"lib": LIBRARY, "other": OTHER, "third": THIRD.format(name=name),
                 "program": PROGRAM.format(name=name, body=body)}  # fmt: skip
        for part, text in texts.items():
            (tmp_path / f"{name}_{part}.py").write_text(text)
            monkeypatch.delitem(sys.modules, f"{name}_{part}", raising=False)
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            return importlib.import_module(f"{name}_program").f
        finally:
            sys.dont_write_bytecode = before

    yield write
    ag.adopt.clear()


def difference(f, x):
    return (float(f(x + 1e-6)) - float(f(x - 1e-6))) / 2e-6


@pytest.mark.parametrize("use", RIGHT)
def test_what_another_package_compares_is_recorded_in_the_program(program, use):
    f = program("compared", RIGHT[use])
    before = dict(sys.modules["compared_lib"].__dict__), dict(sys.modules["compared_program"].__dict__)
    assert ag.grad(f, adopt=True)(0.7) == pytest.approx(difference(f, 0.7))
    for part, kept in zip(("lib", "program"), before, strict=True):  # plain, adopted, plain
        now = sys.modules[f"compared_{part}"].__dict__
        assert all(now[name] is value for name, value in kept.items())


@pytest.mark.parametrize("way", HANDED)
def test_what_the_program_hands_over_answers_as_in_a_plain_call(program, way):
    f = program("handed", f"return (3.0 if {HANDED[way]} else 2.0) * x")
    assert f(1.0) == 3.0
    assert ag.grad(f, adopt=True)(0.7) == pytest.approx(3.0)


def test_the_package_itself_keeps_the_real_thing(program):
    f = program("itself", "return lib.numpys(lib.np) * 3.0 * x")
    assert ag.grad(f, adopt=True)(0.7) == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["astropy.units", "sklearn.metrics"])
def test_a_program_that_imports_such_a_library_is_adopted(program, name):
    pytest.importorskip(name)
    f = program("importing", "out = np.zeros(2); out[0] = math.sin(x); return out.sum()")
    module = sys.modules["importing_program"]
    module.library = importlib.import_module(name)
    module.Model.value.__globals__["uses"] = None
    assert ag.grad(f, adopt=True)(0.7) == pytest.approx(np.cos(0.7))
