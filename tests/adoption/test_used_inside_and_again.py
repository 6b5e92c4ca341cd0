"""Derivatives that are taken inside of another transform's call, and then again outside of it.

A class of programs: a function reaches one of SciPy's by a place that is no global (a cell, a default argument, a list,
a dict, an attribute, a partial). Its gradient is taken, taken inside of a function that another transform
differentiates, and taken again. The search of the inner call finds the place while the outer one has a stand-in there,
and what it found has to hold for the third call as well.
"""

import functools

import numpy as np
import pytest

import arraygrad as ag

stats = pytest.importorskip("scipy.stats")
integrate = pytest.importorskip("scipy.integrate")


def cell(function):
    return lambda x: function(x)


def cell_of_a_cell(function):
    inner = cell(function)
    return lambda x: inner(x)


def default(function):
    def call(x, function=function):
        return function(x)

    return call


def default_of_a_keyword(function):
    def call(x, *, function=function):
        return function(x)

    return call


def item_of_a_list(function):
    items = [function]
    return lambda x: items[0](x)


def item_of_a_dict(function):
    items = {"f": function}
    return lambda x: items["f"](x)


class Model:
    def __init__(self, function):
        self.function = function

    def run(self, x):
        return self.function(x)


def attribute(function):
    model = Model(function)
    return lambda x: model.function(x)


def method(function):
    return Model(function).run


def partial(function):
    made = functools.partial(function)
    return lambda x: made(x)


HOLDERS = (
    cell,
    cell_of_a_cell,
    default,
    default_of_a_keyword,
    item_of_a_list,
    item_of_a_dict,
    attribute,
    method,
    partial,
)
POINTS = np.array([0.5, 1.0, 2.5])
# The function, and its gradient by hand.
FUNCTIONS = {
    "trapezoid": (lambda: integrate.trapezoid, POINTS, np.array([0.5, 1.0, 0.5])),
    "logpdf": (lambda: stats.norm.logpdf, 0.4, -0.4),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_inside_and_again(holder, name):
    function, at, expected = FUNCTIONS[name]
    gradient = ag.grad(holder(function()))

    def outer(x):
        return np.sum(gradient(x) * x)

    np.testing.assert_allclose(gradient(at), expected)
    for _ in range(2):
        ag.grad(outer)(at)
        np.testing.assert_allclose(gradient(at), expected)


@pytest.mark.parametrize("holder", HOLDERS)
def test_first_call_inside(holder):
    """The search for the inner function is made while the outer call has a stand-in in the place."""
    function = holder(stats.norm.logpdf)
    gradient = ag.grad(function)

    def outer(x):
        return gradient(x) * function(x)

    log_density = stats.norm.logpdf(0.4)
    np.testing.assert_allclose(ag.grad(outer)(0.4), -log_density + 0.4**2)  # the sum of -f and f' * f'
    np.testing.assert_allclose(gradient(0.4), -0.4)


def test_the_programs_own_stand_in_stays():
    """What the program itself has put into the place is not exchanged for SciPy's."""
    scipy_stats = pytest.importorskip("arraygrad.scipy.stats")
    model = Model(scipy_stats.norm.logpdf)
    held = model.function
    gradient = ag.grad(model.run)
    ag.grad(lambda x: gradient(x) * model.function(x))(0.4)
    np.testing.assert_allclose(gradient(0.4), -0.4)
    assert model.function is held
