"""Arguments that are objects: what they have computed of their fields does not outlive a change of the fields.

The class: kinds of objects (dataclass, frozen dataclass, attrs-like by `register_container`) x ways of keeping
(functools.cached_property, a descriptor of the program's own) x whether the value was computed before the call.
"""

import dataclasses
import functools
import math

import numpy as np
import pytest

import arraygrad as ag


class Kept:
    """A descriptor of a program that keeps what it computes, as functools.cached_property does."""

    def __init__(self, function):
        self.function = function

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.function(instance)
        return found


def disc(keep, frozen):
    def area(self):
        return math.pi * self.r**2

    names = {"area": keep(area)}
    cls = dataclasses.make_dataclass("Disc", [("r", float)], namespace=names, frozen=frozen)
    names["area"].__set_name__(cls, "area")
    return cls


@pytest.mark.parametrize("keep", [functools.cached_property, Kept])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("before", ["new", "plain call", "gradient", "both"])
def test_what_was_computed_of_fields_is_computed_again(keep, frozen, before):
    d = disc(keep, frozen)(0.7)

    def f(d):
        return d.area * d.r

    if before in ("plain call", "both"):
        f(d)
    if before in ("gradient", "both"):
        ag.grad(f)(d)
    found = ag.grad(f)(d)
    assert found.r == pytest.approx(3.0 * math.pi * 0.7**2)
    assert found.area == pytest.approx(math.pi * found.r**2)  # of the gradient's own field
    assert f(d) == pytest.approx(math.pi * 0.7**3)


def test_attributes_that_are_no_properties_stay():
    @dataclasses.dataclass
    class Model:
        w: np.ndarray

    m = Model(np.array([1.0, 2.0]))
    m.scale = 3.0
    m.shown = lambda x: 2.0 * x
    found = ag.grad(lambda m: m.scale * m.shown((m.w**2).sum()))(m)
    np.testing.assert_allclose(found.w, 12.0 * m.w)
    assert found.scale == 3.0
