"""Values and slopes where knots tie or elements are infinite, with options that the everyday call does not give.

The class: calls that are composed of operations because an option is spelled out x ties at either end of the knots, or
infinite elements. The reference is the plain call, and differences of it.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths

KNOTS = {
    "no tie": [-2.0, -1.0, 0.0, 1.5, 2.0],
    "at the end": [-2.0, -1.0, 1.0, 2.0, 2.0],
    "three at the end": [-2.0, -1.0, 2.0, 2.0, 2.0],
    "at the start": [-2.0, -2.0, 0.0, 1.0, 2.0],
    "inside": [-2.0, 0.5, 0.5, 1.0, 2.0],
    "all": [1.0, 1.0, 1.0, 1.0, 1.0],
}
POINTS = np.array([-3.0, -0.7, 0.3, 1.2, 1.7, 2.0, 2.5])
OPTIONS = [
    {"right": None},
    {"left": None},
    {"left": 0.5},
    {"right": -1.0},
    {"left": 0.5, "right": -1.0},
    {"period": None},
]


@pytest.fixture(params=[True, False], ids=["compiled", "written out"])
def fast(request):
    before = set_fast_paths(request.param)
    yield
    set_fast_paths(before)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KNOTS)
def test_interp(kind, options):
    knots, values = np.array(KNOTS[kind]), np.array([0.3, 1.0, -0.5, 2.0, 0.7])
    weights = np.cos(np.arange(7.0))
    f = lambda y: (np.interp(POINTS, knots, y, **options) * weights).sum()
    np.testing.assert_array_equal(
        np.interp(POINTS, knots, ag.tensor(values, requires_grad=True), **options).numpy(),
        np.interp(POINTS, knots, values, **options),
    )
    found = ag.grad(f)(values)
    slopes = [(f(values + step) - f(values - step)) / 2e-6 for step in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-8)
    t = ag.tensor(POINTS, requires_grad=True)
    found = np.interp(t, knots, values, **options)
    np.testing.assert_array_equal(found.numpy(), np.interp(POINTS, knots, values, **options))
    found.sum().backward()
    inner = [1, 2, 3, 4]  # of the others an end is a kink
    slopes = (np.interp(POINTS + 1e-6, knots, values) - np.interp(POINTS - 1e-6, knots, values)) / 2e-6
    np.testing.assert_allclose(t.grad.numpy()[inner], slopes[inner], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"period": 1.5}, {"axis": 0, "discont": 2.0}], ids=str)
@pytest.mark.parametrize("at", [(0, 0), (0, 2), (2, 0), (3, 3)])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_unwrap(at, value, options):
    x = 3.0 * np.sin(np.arange(16.0) ** 2).reshape(4, 4)
    x[at] = value
    with np.errstate(invalid="ignore"):
        expected = np.unwrap(x, **options)
        t = ag.tensor(x, requires_grad=True)
        found = np.unwrap(t, **options)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    found.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), 1.0)


@pytest.mark.parametrize("increasing", [False, True])
@pytest.mark.parametrize("n", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("value", [complex(np.inf, 1.3), complex(0.2, -np.inf), complex(np.nan, 1.0), -np.inf])
def test_vander(value, n, increasing):
    x = np.array([value, 0.3, -0.7])
    with np.errstate(invalid="ignore"):
        found = np.vander(ag.tensor(x, requires_grad=True), n, increasing)
        np.testing.assert_array_equal(found.numpy(), np.vander(x, n, increasing))
