"""Values that are NumPy's bit by bit where a function is composed; gradients of arrays without elements; complex
interpolation beside infinite numbers.

Imports central_differences and the public names of arraygrad.
"""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths

METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
A = np.cos(np.arange(51.0) ** 2).reshape(17, 3)


def leaf(a):
    return ag.tensor(np.array(a), requires_grad=True)


def same_bits(found, expected):
    found = found.detach().numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


# Last bits


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_quantiles_of_every_method_are_numpys_bit_by_bit(name, method, dtype):
    function, a = getattr(np, name), A.astype(dtype)
    scale = 100 if "percent" in name else 1
    for q in (0.3, 0.47, [0.1, 0.9, 0.55], np.float64(0.81)):
        for axis in (None, 0, 1):
            q = np.multiply(q, scale) if isinstance(q, list) else q * scale
            expected = np.asarray(function(a, q, axis=axis, method=method))
            same_bits(function(leaf(a), q, axis=axis, method=method), expected)
            q = np.divide(q, scale) if not np.isscalar(q) else q / scale


@pytest.mark.parametrize("places", [[0, 20, 10, 30], [30, 10], [0, 30, 10], [5, 5, 2], [40, 39, 38]], ids=str)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logaddexp", "hypot", "subtract"])
def test_segments_that_fall_are_numpys_bit_by_bit(name, places):
    ufunc, a = getattr(np, name), A.ravel()
    t = leaf(a)
    found = ufunc.reduceat(t, places)
    same_bits(found, ufunc.reduceat(a, places))
    weights = np.arange(1.0, len(places) + 1.0)
    (found * weights).sum().backward()
    expected = central_differences(lambda x: np.sum(ufunc.reduceat(x, places) * weights), a)
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-6, atol=1e-8)


def test_the_gradient_of_a_quantile_is_that_of_its_neighbours():
    a = A[:, 0].copy()
    for method in METHODS:
        t = leaf(a)
        np.quantile(t, 0.47, method=method).backward()
        expected = central_differences(lambda x, m=method: np.quantile(x, 0.47, method=m), a)
        np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-6, atol=1e-8)


# Arrays without elements

EMPTY = {
    "median": np.median,
    "nanmedian": np.nanmedian,
    "quantile": lambda a, axis: np.quantile(a, 0.3, axis=axis),
    "quantiles": lambda a, axis: np.quantile(a, [0.3, 0.5], axis=axis),
    "hazen": lambda a, axis: np.quantile(a, [0.3, 0.5], axis=axis, method="hazen"),
    "percentile": lambda a, axis: np.percentile(a, 30.0, axis=axis, keepdims=True),
    "nanquantile": lambda a, axis: np.nanquantile(a, [0.3, 0.5], axis=axis),
    "nanpercentile": lambda a, axis: np.nanpercentile(a, 30.0, axis=axis),
    "norm": lambda a, axis: np.linalg.norm(a, 2, axis),
    "norm of a matrix": lambda a, axis: np.linalg.norm(a, 2),
    "sum of a matrix": lambda a, axis: np.linalg.norm(a, 1),
    "nuclear": lambda a, axis: np.linalg.norm(a, "nuc"),
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:All-NaN slice", "ignore:invalid value")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("name", EMPTY)
def test_gradients_of_arrays_without_elements_have_their_shape(name, shape, dtype):
    for axis in (0, 1):
        try:
            expected = np.asarray(EMPTY[name](np.zeros(shape, dtype), axis))
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                EMPTY[name](leaf(np.zeros(shape, dtype)), axis)
            continue
        t = leaf(np.zeros(shape, dtype))
        found = EMPTY[name](t, axis)
        same_bits(found, expected)
        found.sum().backward()
        assert (t.grad.shape, t.grad.dtype) == (shape, t.dtype)


def test_no_quantile_at_all_leaves_a_gradient_of_zeros():
    t = leaf(A)
    np.quantile(t, [], axis=0).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.zeros(A.shape))


# Interpolation between complex numbers

KNOTS = np.array([0.0, 1.0, 2.5])
POINTS = np.array([-0.5, 0.5, 1.0, 1.5, 2.5, 3.5])


@pytest.mark.parametrize("options", [{}, {"left": 2j}, {"right": 1.0}, {"period": 2.75}], ids=str)
@pytest.mark.parametrize("heights", [[1j, np.inf, 2], [1 + 1j, complex(1, np.inf), 3], [1 + 1j, 2 - 1j, 3]], ids=str)
def test_interpolation_between_complex_numbers_is_numpys(heights, options):
    heights = np.array(heights)
    expected = np.interp(POINTS, KNOTS, heights, **options)
    t = leaf(heights)
    found = np.interp(POINTS, KNOTS, t, **options)
    same_bits(found, expected)
    weights = np.arange(1.0, 7.0) * (1 + 0.5j)
    found.backward(weights)
    parts = [np.interp(POINTS, KNOTS, row, **({} if "period" not in options else options)) for row in np.eye(3)]
    outside = (("left" in options) & (POINTS < 0)) | (("right" in options) & (POINTS > 2.5))
    expected = [np.sum(np.where(outside, 0.0, part) * weights) for part in parts]
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-12)


def test_interpolation_at_a_tensor_between_complex_numbers_knows_what_is_beside_inf():
    heights = np.array([1 + 1j, np.inf, 2])
    found = np.interp(leaf(POINTS), KNOTS, leaf(heights))
    np.testing.assert_array_equal(found.detach().numpy(), np.interp(POINTS, KNOTS, heights))


# Infinite numbers and nan


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_a_quantile_that_infinite_numbers_make_nan_has_gradients_nan(name, fast):
    function, scale = getattr(np, name), 100 if "percent" in name else 1
    rows = [[1.0, 2.0, np.inf], [1.0, np.inf, np.inf], [-np.inf, 1.0, 2.0], [-np.inf, np.inf, 0.0], [np.inf] * 3]
    set_fast_paths(fast)
    try:
        for values in rows:
            for q in (0.0, 0.25, 0.5, 0.75, 1.0):
                for options in ({}, {"method": "linear"}, {"method": "midpoint"}, {"method": "hazen"}):
                    with np.errstate(all="ignore"):
                        expected = function(np.array(values), q * scale, **options)
                        t = leaf(values)
                        found = function(t, q * scale, **options)
                        same_bits(found, expected)
                        found.backward()
                    assert np.isnan(t.grad.numpy()).any() == np.isnan(expected)
    finally:
        set_fast_paths(True)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("axis", [None, 0])
def test_a_median_of_both_infinities_has_gradients_nan(name, axis):
    t = leaf([-np.inf, np.inf])
    with np.errstate(all="ignore"):
        getattr(np, name)(t, axis=axis).backward()
    assert np.isnan(t.grad.numpy()).all()


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_powers_of_two_and_extrema_are_numpys(dtype):
    parts = [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan]
    z = np.array([complex(a, b) for a in parts for b in parts], dtype)
    with np.errstate(all="ignore"):
        for found, expected in (
            (np.exp2(leaf(z)), np.exp2(z)),
            (np.fmax(leaf(z), z[::-1]), np.fmax(z, z[::-1])),
            (np.fmin(leaf(z), leaf(z[::-1])), np.fmin(z, z[::-1])),
        ):
            assert repr(found.detach().numpy()) == repr(expected)


def test_complex_interpolation_between_moving_knots_is_numpys_bit_by_bit():
    rng = np.random.default_rng(3)
    for n in range(2, 30):
        knots = np.sort(rng.normal(size=n))
        heights = rng.normal(size=n) + 1j * rng.normal(size=n)
        points = np.concatenate([knots, rng.normal(size=5)])
        expected = np.interp(points, knots, heights)
        same_bits(np.interp(leaf(points), knots, leaf(heights)), expected)
        same_bits(np.interp(points, leaf(knots), leaf(heights)), expected)
