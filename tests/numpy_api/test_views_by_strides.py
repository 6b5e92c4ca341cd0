"""numpy.lib.stride_tricks.as_strided of arrays that are recorded: layouts, views, writes, what it can't show."""

import itertools

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import arraygrad as ag

X = np.linspace(0.5, 2.0, 24)

LAYOUTS = {
    "vector": lambda x: x * 1.0,
    "matrix": lambda x: (x * 1.0).reshape((4, 6)),
    "columns": lambda x: (x * 1.0).reshape((4, 6)).T,
    "every other": lambda x: (x * 1.0)[::2],
    "reversed": lambda x: (x * 1.0)[::-1],
    "written": lambda x: _written(x),
    "three axes": lambda x: (x * 1.0).reshape((2, 3, 4)),
}


def _written(x):
    out = np.zeros(24)
    out[:] = x
    out[3] = x[4] * x[5]
    return out


def step(y):
    """The distance of neighbouring elements along the last axis."""
    return y.strides[-1]


VIEWS = {
    "windows": lambda y: ((2, 3), (step(y), step(y))),
    "blocks": lambda y: ((2, 2), (2 * step(y), step(y))),
    "repeated": lambda y: ((5, 3), (0, step(y))),
    "diagonal": lambda y: ((2,), (sum(y.strides),)),
    "whole": lambda y: (None, None),
    "empty": lambda y: ((0, 3), (step(y), step(y))),
    "one": lambda y: ((), ()),
}


def program(layout, view):
    def run(x):
        y = LAYOUTS[layout](x)
        shape, strides = VIEWS[view](y)
        seen = np.lib.stride_tricks.as_strided(y, shape, strides)
        return (seen * seen).sum() + (seen**3).sum() * 0.5

    return run


@pytest.mark.parametrize(("layout", "view"), list(itertools.product(LAYOUTS, VIEWS)))
def test_value_and_gradient(layout, view):
    run = program(layout, view)
    value, found = ag.value_and_grad(run, adopt=True)(X) if view != "empty" else (0.0, np.zeros(24))
    np.testing.assert_allclose(value, run(X), rtol=1e-13)
    h = 1e-3
    steps = []
    for d in np.eye(24):
        near = [run(X + k * h * d) for k in (-2, -1, 1, 2)]
        steps.append((near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h))
    np.testing.assert_allclose(found, steps, rtol=1e-8, atol=1e-8)


def test_second_derivatives():
    run = program("columns", "windows")
    d = np.cos(np.arange(24.0))
    h, first = 1e-5, ag.grad(run, adopt=True)
    found = ag.hvp(run, adopt=True)(X, d)
    np.testing.assert_allclose(found, (first(X + h * d) - first(X - h * d)) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("by_strides", [True, False])
def test_what_is_written_afterwards_shows(by_strides):
    def run(x):
        out = np.zeros(24)
        seen = as_strided(out, (3, 3), (8, 8)) if by_strides else sliding_window_view(out, 3)
        before = seen.sum()
        out[:] = x
        first = (seen * seen).sum()
        out[1] *= x[0]
        return before + first + (seen**3).sum()

    value, found = ag.value_and_grad(run, adopt=True)(X)
    np.testing.assert_allclose(value, run(X), rtol=1e-13)
    h = 1e-5
    steps = [(run(X + h * d) - run(X - h * d)) / (2 * h) for d in np.eye(24)]
    np.testing.assert_allclose(found, steps, rtol=1e-7, atol=1e-6)


def test_the_name_under_which_a_program_has_it():
    def by_name(x):
        return (as_strided(x, (3,), (16,)) ** 2).sum()

    def by_module(x):
        return (np.lib.stride_tricks.as_strided(x, shape=(3,), strides=(16,)) ** 2).sum()

    for run in (by_name, by_module):
        expected = np.zeros(24)
        expected[[0, 2, 4]] = 2.0 * X[[0, 2, 4]]
        np.testing.assert_allclose(ag.grad(run, adopt=True)(X), expected)
    assert isinstance(as_strided(X, (3,), (16,)), np.ndarray)


def test_refusals():
    with pytest.raises(ValueError, match="memory that is none of the elements"):
        ag.grad(lambda x: as_strided(x[:4], (3, 3), (8, 8)).sum(), adopt=True)(X)
    with pytest.raises(ValueError, match="memory that is none of the elements"):
        ag.grad(lambda x: as_strided(x, (3,), (4,)).sum(), adopt=True)(X)
    with pytest.raises(ValueError, match="read-only"):
        ag.grad(lambda x: as_strided(x * 1.0, (3, 3), (8, 8)).__setitem__(0, x[0]), adopt=True)(X)
    with pytest.raises(TypeError, match=r"adopt=True\) as_strided is recorded"):
        ag.grad(lambda x: as_strided(x, (3, 3), (8, 8)).sum(), adopt=False)(X)
