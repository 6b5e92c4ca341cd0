"""A call that names its arrays, or gives them as numbers and lists, has the value and gradient of the usual spelling.

Such calls are composed where the usual ones are one node. The class: functions of NumPy x the spelling of their arrays
x elements that are infinite, nan or missing.
"""

import inspect

import numpy as np
import pytest

import arraygrad as ag

INFINITE = np.array([[np.nan, -np.inf, -np.inf, 1.0], [-np.inf, -np.inf, -np.inf, -np.inf], [2.0, np.inf, np.inf, 3.0]])
FINITE = np.array([[0.3, -1.2, 2.0, 0.7], [1.1, 0.4, -0.6, 3.0]])
NAMES = "median nanmedian mean nanmean max nanmax sum nansum nanprod sort cumsum diff".split()
ARRAYS = {"infinite": INFINITE, "finite": FINITE, "none": FINITE[:0], "empty": FINITE[:, :0]}


def _first(name):
    return next(iter(inspect.signature(getattr(np, name)).parameters))


def _both(function, x):
    value, pull = ag.vjp(function, x)
    return value, pull(np.ones_like(value) if np.ndim(value) else type(value)(1.0))[0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("name", NAMES)
def test_array_by_keyword(name, x, axis):
    function = getattr(np, name)
    try:
        plain = function(x, axis=axis)
    except ValueError:  # the greatest of no elements
        return
    value, gradient = _both(lambda x: function(x, axis=axis), x)
    named_value, named_gradient = _both(lambda x: function(**{_first(name): x}, axis=axis), x)
    np.testing.assert_array_equal(value, plain)
    np.testing.assert_array_equal(named_value, plain)
    np.testing.assert_allclose(named_gradient, gradient, rtol=1e-14)


def test_nanmedian_of_equal_infinite_elements():
    x = np.array([-np.inf, -np.inf])
    assert ag.vjp(lambda x: np.nanmedian(a=x), x)[0] == -np.inf


@pytest.mark.parametrize("x", [0.5, np.float64(0.5), np.array(0.5)], ids=["float", "scalar", "array"])
@pytest.mark.parametrize("knots", [[-np.inf, 1.0], [0.0, np.inf], [0.0, 1.0]])
@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_interp_of_a_number_between_infinite_knots(x, knots, kind):
    values = np.array([0.0, 10.0])
    plain = np.interp(x, knots, values)
    found, pull = ag.vjp(lambda values: np.interp(x, kind(knots), values), values)
    np.testing.assert_array_equal(found, plain)
    if np.isfinite(knots).all():
        np.testing.assert_array_equal(pull(type(found)(1.0))[0], [0.5, 0.5])


@pytest.mark.parametrize("nothing", [[], (), np.zeros(0, int)], ids=["list", "tuple", "array"])
def test_insert_of_nothing_by_keyword(nothing):
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ag.vjp(lambda x: np.insert(arr=x, obj=nothing, values=[]), x)[0], x)


@pytest.mark.parametrize("dtype", [float, np.float32, np.float64])
@pytest.mark.parametrize("seed", range(6))
def test_linspace_of_numbers_has_the_bits_of_numpy(dtype, seed):
    rng = np.random.default_rng(seed)
    start, stop = (dtype(v) for v in rng.normal(size=2) * 10.0 ** rng.integers(-320, 3))
    for num in (1, 2, 7, 50):
        for endpoint in (True, False):
            plain = np.linspace(start, stop, num, endpoint)
            found, pull = ag.vjp(lambda a, b, n=num, e=endpoint: np.linspace(a, b, n, e), start, stop)
            assert found.dtype == plain.dtype
            np.testing.assert_array_equal(found, plain)
            share = np.arange(num) / max(num - endpoint, 1)
            for one, expected in zip(pull(np.ones_like(plain)), ((1.0 - share).sum(), share.sum()), strict=True):
                np.testing.assert_allclose(one, expected, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-23, 1.0, 1e21])
def test_large_and_small_weights_of_covariances_in_float32(size):
    x = np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.5]])
    weights = (np.array([1.0, 4.0, 2.0]) * size).astype(np.float32)
    for name in ("float32", "float64"):
        found = ag.grad(lambda w: np.cov(x, aweights=w)[0, 1])(weights.astype(name)) * size
        if name == "float32":
            low = found
    np.testing.assert_allclose(low, found, rtol=1e-4)
