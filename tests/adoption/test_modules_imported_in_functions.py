"""A program's modules that functions import in their bodies are reached, though nobody has imported them before.

The class: import, import as, from a module, from a package, relative, of a submodule, in a nested function, in a
branch, in a `try`, lazily into a global x the first and later calls. An import that comes before any branch is there
for the first gradient; of another one the next gradient knows, and the first is right or refused.
"""

import importlib
import itertools
import sys

import numpy as np
import pytest

import arraygrad as ag

INNER = """
import numpy as np
from math import exp


class Filter:
    def __init__(self, data):
        if not isinstance(data, (np.ndarray, list)):
            raise TypeError(f"must be an array, got {type(data)}")
        self.q = np.zeros(3)
        self.q[:] = data

    def run(self):
        return float(np.sum(self.q**2)) * exp(self.q[0])


def table(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = exp(x[i])
    return out
"""
OUTER = """
def plain(x):
    import {p}.inner
    return {p}.inner.table(x).sum()

def named(x):
    import {p}.inner as m
    return m.table(x).sum()

def of_module(x):
    from {p}.inner import Filter
    return Filter(x * 1.0).run()

def of_package(x):
    from {p} import inner
    return inner.table(x).sum()

def relative(x):
    from .inner import table
    return table(x).sum()

def relative_package(x):
    from . import inner
    return inner.table(x).sum()

class Model:
    def method(self, x):
        from .inner import table
        return table(x).sum()

method = Model().method

def nested(x):
    def inside(y):
        from .inner import table
        return table(y).sum()
    return inside(x)

def in_a_branch(x):
    if len(x) == 3:
        from .inner import table
    return table(x).sum()

def in_a_try(x):
    try:
        from .inner import table
    except ImportError:
        table = None
    return table(x).sum()

lazy = None

def lazily(x):
    global lazy
    if lazy is None:
        from .inner import table as lazy
    return lazy(x).sum()

def helper(x):
    from .inner import table
    return table(x).sum()

def called(x):
    return helper(x) * 1.0
"""
AT_ONCE = ("plain", "named", "of_module", "of_package", "relative", "relative_package", "method")
LATER = ("nested", "in_a_branch", "in_a_try", "lazily", "called")
X = np.array([0.3, 0.2, 0.1])
numbers = itertools.count()


@pytest.fixture
def package(tmp_path, monkeypatch):
    name = f"imported_later_{next(numbers)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "inner.py").write_text(INNER)
    (tmp_path / name / "outer.py").write_text(OUTER.replace("{p}", name))
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]
    ag.adopt.clear()


def expected(function):
    return np.array([(function(X + d) - function(X - d)) / 2e-6 for d in 1e-6 * np.eye(3)])


@pytest.mark.parametrize("name", AT_ONCE)
def test_an_import_before_any_branch_is_there_for_the_first_gradient(package, name):
    outer = importlib.import_module(f"{package}.outer")
    assert f"{package}.inner" not in sys.modules
    function = getattr(outer, name)
    first = ag.grad(function)(X)
    np.testing.assert_allclose(first, expected(function), rtol=1e-7)
    np.testing.assert_array_equal(ag.grad(function)(X), first)


@pytest.mark.parametrize("name", LATER)
def test_other_imports_are_known_by_the_next_gradient(package, name):
    function = getattr(importlib.import_module(f"{package}.outer"), name)
    try:
        first = ag.grad(function)(X)
    except TypeError as error:
        assert "inner.py" in str(error)  # noqa: PT017 (either is right)
        first = None
    wanted = expected(function)
    if first is not None:
        np.testing.assert_allclose(first, wanted, rtol=1e-7)
    np.testing.assert_allclose(ag.grad(function)(X), wanted, rtol=1e-7)


def test_what_can_not_be_imported_is_the_programs_affair(package):
    space = {"__name__": "__main__"}
    text = "def function(x):\n    import missing_module_of_nobody\n    return x.sum()\n"
    exec(compile(text, "program.py", "exec"), space)
    with pytest.raises(ModuleNotFoundError, match="missing_module_of_nobody"):
        ag.grad(space["function"])(X)


@pytest.mark.parametrize("identity", ["q is w", "q is not w", "(lambda: q is w)()", "[n is w for n in (1, 2)]"])
def test_what_is_only_called_is_recorded_beside_an_identity(identity):
    """An `is` of other names says nothing of a function that the code does nothing with but call it."""
    source = (
        "def f(x, q=1):\n    from scipy.special import expit, erf\n    w = 3\n"
        f"    return expit(x) * erf(x) * (1.0 if {identity} else 2.0)\n"
    )
    space = {"__name__": "a_program"}
    exec(compile(source, "a_program.py", "exec"), space)
    f = space["f"]
    value, gradient = ag.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-12)
    assert gradient == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-6)
