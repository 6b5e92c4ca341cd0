"""Programs that write into arrays from outside, and what they are held to. Imports the public names of arraygrad."""

from __future__ import annotations

import sys
import textwrap
import types

import numpy as np

import arraygrad as ag

X = 1.3

PRELUDE = """
import collections, dataclasses, functools, sys, types
import numpy as np

W = np.array([1.0, 2.0, 3.0])

class Box:
    pass

class Slotted:
    __slots__ = ("u",)

@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    u: object

@dataclasses.dataclass
class Data:
    u: object

class Shared:
    u = np.zeros(3)

def write(target, x):
    target[1] = x * x

def make(**attributes):
    made = Box()
    made.__dict__.update(attributes)
    return made
"""


def program(source, name="f"):
    """The function `f` of a program, a module of its own."""
    module = types.ModuleType(f"lent_program_{len(sys.modules)}")
    sys.modules[module.__name__] = module
    exec(compile(PRELUDE + textwrap.dedent(source), "lent_program.py", "exec"), vars(module))
    return getattr(module, name)


def difference(f, x=X):
    """Richardson's extrapolation of central differences."""
    one, two = [(f(x + h) - f(x - h)) / (2 * h) for h in (2e-3, 1e-3)]
    return (4 * two - one) / 3


def check(f, state=None, x=X):
    """Value, gradient and what is left are those of the plain program; the place holds the same array."""
    state = state or f.__globals__["state"]
    array = state()
    value = f(x)
    left, expected = array.copy(), difference(f, x)
    for _ in range(2):
        found, gradient = ag.value_and_grad(f, adopt=True)(x)
        assert state() is array
        assert type(array) is np.ndarray
        np.testing.assert_allclose(array, left, rtol=1e-14)
        np.testing.assert_allclose(found, value, rtol=1e-14)
        np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-8)
    assert f(x) == value
    np.testing.assert_array_equal(array, left)


def write_and_sum(o, x):
    o.u[:] = x
    o.u[0] = x * x
    return (o.u * o.u).sum()


def forget():
    """Take out the modules of the programs."""
    for name in [name for name in sys.modules if name.startswith("lent_program_")]:
        del sys.modules[name]
    ag.adopt.clear()
