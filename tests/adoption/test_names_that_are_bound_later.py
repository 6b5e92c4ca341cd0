"""Names that are bound in a module after the first gradient: those that code looks up are found, others cost nothing.

The class: names of modules, functions, numbers and builtins x looked up by the function, by one that it calls, in a
branch, or by nobody x bound anew, unbound, bound again.
"""

import math

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.adoption import reach

TEXT = """
import numpy as np

def helper(x):
    try:
        return scale * np.sum(x)
    except NameError:
        return np.sum(x)

def function(x):
    try:
        y = late(x)
    except NameError:
        y = x
    return helper(y) * abs(x)
"""


@pytest.fixture
def space():
    space = {"__name__": "bound_later"}
    exec(compile(TEXT, "bound_later.py", "exec"), space)
    yield space
    ag.adopt.clear()


@pytest.fixture
def searches(monkeypatch):
    counted, search = [], reach.Reach.search

    def counting(self):
        counted.append(self)
        return search(self)

    monkeypatch.setattr(reach.Reach, "search", counting)
    return counted


def test_names_that_nobody_looks_up_cost_no_search(space, searches):
    gradient = ag.grad(space["function"])
    assert gradient(2.0) == 4.0
    known = len(searches)
    for i in range(20):
        space[f"result_{i}"] = gradient(2.0)
    space["np2"], space["unused"] = np, lambda x: math.exp(x)
    assert gradient(2.0) == 4.0
    assert len(searches) == known


def test_names_that_are_looked_up_are_found(space, searches):
    gradient = ag.grad(space["function"])
    assert gradient(2.0) == 4.0
    known = len(searches)
    space["other"] = 1.0
    exec("from math import exp\ndef late(x):\n    return exp(x)", space)  # records only where it is adopted
    assert gradient(2.0) == pytest.approx(math.exp(2.0) * 3.0)
    assert len(searches) > known
    space["scale"] = 10.0
    assert gradient(2.0) == pytest.approx(math.exp(2.0) * 30.0)
    space["abs"] = lambda x: x * x  # a builtin's name
    assert gradient(2.0) == pytest.approx(10.0 * math.exp(2.0) * (4.0 + 4.0))
    del space["late"]
    assert gradient(2.0) == pytest.approx(10.0 * 12.0)
    del space["scale"], space["abs"]
    assert gradient(2.0) == 4.0
    exec("from math import sin\ndef late(x):\n    return sin(x)", space)
    assert gradient(2.0) == pytest.approx(math.cos(2.0) * 2.0 + math.sin(2.0))


def test_plain_calls_are_as_before(space):
    plain = space["function"](2.0)
    ag.grad(space["function"])(2.0)
    space["unused"] = np
    assert space["function"](2.0) == plain
    assert space["unused"] is np
    assert space["np"] is np
