"""Compiled rules of scans, sorting and logsumexp: the table's gradients, and those of differences in longdouble."""

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain, quiet, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

SHAPES = [(1,), (7,), (3000,), (3, 4), (5, 1), (1, 6), (2, 3, 17)]


def gradient(function, x, g):
    t = ag.tensor(x, requires_grad=True)
    function(t).backward(g)
    return t.grad.numpy()


def compared(function, x, g):
    """The gradient by the compiled rule and by the table's."""
    return gradient(function, x, g), plain(gradient, function, x, g)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (40, 33), (2, 30, 9)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products_are_numpys_bit_by_bit(name, shape, dtype):
    x = values_of(dtype, 1)(shape)
    unusual = np.where(x > 2.5, np.inf, np.where(x < -1.5, -0.0, x)).astype(dtype)
    for values in (x, unusual, np.full(shape, -0.0, dtype)):
        for axis in range(-len(shape), len(shape)):
            with quiet():
                op = OPS["cumulative_sum" if name == "cumsum" else "cumulative_prod"]
                got = try_call(op, (values, axis, None, False))
                same(got, getattr(np, name)(values, axis=axis))
                same(getattr(np, name)(ag.tensor(values), axis=axis).numpy(), got)
                columns = try_call(op, (np.asfortranarray(values), axis, None, False))
                assert columns.strides == getattr(np, name)(np.asfortranarray(values), axis=axis).strides
                same(columns, got)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_an_overflow_of_a_running_sum_or_product_is_reported_as_numpy_does(name):
    x = np.full(50, 1.5e308)
    with np.errstate(over="raise"):
        with pytest.raises(FloatingPointError) as expected:
            getattr(np, name)(x)
        with pytest.raises(FloatingPointError) as got:
            getattr(np, name)(ag.tensor(x))
    assert str(got.value) == str(expected.value)


def test_running_sums_with_gaps_and_of_other_dtypes_are_left_to_numpy():
    x = np.arange(24.0).reshape(4, 6)
    for values in (x[:, ::2], x.astype("float16"), x.astype(int), np.zeros((0, 3))):
        for axis in (0, 1):
            assert try_call(OPS["cumulative_sum"], (values, axis, None, False)) is None
            got = np.cumsum(ag.asarray(values), axis=axis).numpy()
            np.testing.assert_array_equal(got, np.cumsum(values, axis=axis))
            assert got.dtype == np.cumsum(values, axis=axis).dtype
    assert try_call(OPS["cumulative_sum"], (x, 0, np.float32, False)) is None
    assert try_call(OPS["cumulative_sum"], (x, 0, None, True)) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_of_a_cumulative_sum_is_the_tables_bit_by_bit(shape, dtype):
    x, g = values_of(dtype, 1)(shape), values_of(dtype, 2)(shape)
    for axis in range(-len(shape), len(shape)):
        same(*compared(lambda t, axis=axis: ag.cumulative_sum(t, axis=axis), x, g))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_the_gradient_of_a_scan_of_column_major_arrays_is_that_of_row_major_ones(name):
    for shape in ((3, 4), (40, 33), (2, 3, 17)):
        x, g = values_of("float64", 1, 0.5, 1.5)(shape), values_of("float64", 2)(shape)
        for axis in range(-len(shape), len(shape)):

            def function(t, axis=axis):
                return getattr(ag, name)(t, axis=axis)

            expected = gradient(function, x, g)
            for lay_x in (np.ascontiguousarray, np.asfortranarray):
                for lay_g in (np.ascontiguousarray, np.asfortranarray):
                    same(gradient(function, lay_x(x), lay_g(g)), expected)
            y = function(ag.tensor(np.asfortranarray(x), requires_grad=True))
            assert try_rule(y.grad_fn, np.asfortranarray(g)) is not None


def test_the_gradient_of_a_running_sum_of_infinities_reports_what_the_tables_does():
    t = ag.tensor(np.ones(3), requires_grad=True)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        ag.cumulative_sum(t).backward(np.array([1.0, np.inf, -np.inf]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_of_a_cumulative_product_is_that_of_products_without_one_factor(shape, dtype):
    x, g = values_of(dtype, 1, -1.1, 1.2)(shape), values_of(dtype, 2)(shape)
    x = np.where(x > 1.1, 0, x).astype(dtype)  # zeros, of which nothing is divided
    for axis in range(-len(shape), len(shape)):
        got, expected = compared(lambda t, axis=axis: ag.cumulative_prod(t, axis=axis), x, g)
        assert got.dtype == expected.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=3e-4 if dtype == "float32" else 1e-11, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_of_a_product_is_the_tables(shape, dtype):
    x = values_of(dtype, 1, -1.1, 1.2)(shape)
    for values in (x, np.where(x > 1.1, 0, x).astype(dtype), np.where(x > 1.15, np.inf, x).astype(dtype)):
        for axis in (None, *range(-len(shape), len(shape))):
            for keepdims in (False, True):
                with quiet():

                    def function(t, axis=axis, keepdims=keepdims):
                        return ag.prod(t, axis=axis, keepdims=keepdims)

                    g = values_of(dtype, 2)(function(ag.tensor(values)).shape)
                    got, expected = compared(function, values, g)
                assert got.dtype == dtype
                np.testing.assert_allclose(got, expected, rtol=3e-4 if dtype == "float32" else 1e-11, atol=1e-30)


def test_the_gradient_of_a_product_over_several_axes_is_left_to_the_table():
    x = np.arange(1.0, 25.0).reshape(2, 3, 4)
    for axis in ((0, 1), (1, 2), (0, 2)):
        t = ag.tensor(x, requires_grad=True)
        z = ag.prod(t, axis=axis)
        z.backward(np.ones(z.shape))
        np.testing.assert_allclose(t.grad.numpy(), np.prod(x, axis=axis, keepdims=True) / x)


def test_the_gradient_of_a_cumulative_product_with_zeros_is_exact():
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    g = np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    # d/dx1 = 1 * 10 * 0 ..., written out: the sums of g times products of the others up to each element
    expected = [sum(g[i] * np.prod(np.delete(x[: i + 1], k)) for i in range(k, 5)) for k in range(5)]
    np.testing.assert_array_equal(gradient(ag.cumulative_prod, x, g), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_of_a_sorted_array_goes_where_its_elements_came_from(shape, dtype):
    x, g = values_of(dtype, 1)(shape), values_of(dtype, 2)(shape)
    tied = np.round(x)
    for values in (x, tied, np.where(tied > 1, np.nan, tied).astype(dtype)):
        for axis in range(-len(shape), len(shape)):
            for descending in (False, True):
                got, expected = compared(lambda t, a=axis, d=descending: ag.sort(t, axis=a, descending=d), values, g)
                np.testing.assert_array_equal(got, expected)


def test_numpys_sort_of_a_tensor_has_numpys_values():
    x = np.array([0.0, -0.0, 3.0, -0.0, np.nan, 1.0] * 50)
    for kind in (None, "quicksort", "stable", "mergesort", "heapsort"):
        t = ag.tensor(x, requires_grad=True)
        assert np.sort(t, kind=kind).numpy().tobytes() == np.sort(x, kind=kind).tobytes()
        np.testing.assert_array_equal(np.argsort(t, kind=kind), np.argsort(x, kind=kind))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (7,), (300, 10), (2, 3000), (5, 129), (4, 3, 17), (3, 500, 3)])
def test_logsumexp_is_the_tables_bit_by_bit(shape, dtype):
    x = values_of(dtype, 1, -30, 30)(shape)
    for axis in (None, *range(-1, len(shape)), tuple(range(1, len(shape)))):
        for keepdims in (False, True):
            if axis == ():
                continue

            def function(t, axis=axis, keepdims=keepdims):
                return ag.logsumexp(t, axis=axis, keepdims=keepdims)

            value = function(ag.tensor(x)).numpy()
            same(value, plain(lambda function=function: function(ag.tensor(x)).numpy()))
            same(*compared(function, x, values_of(dtype, 2)(value.shape)))
    assert try_call(OPS["logsumexp"], (x, -1, False)) is not None


def test_logsumexp_of_infinities_and_nan_is_the_tables():
    for special in (
        [np.inf, 1.0],
        [-np.inf, -np.inf],
        [np.nan, 2.0],
        [-np.inf, 3.0],
        [np.inf, np.inf],
        [1e308, -1e308],
    ):
        for x, axis in ((np.array([special, [0.5, 0.25]]), -1), (np.array([special, [0.5, 0.25]]).T.copy(), 0)):
            with quiet():

                def function(t, axis=axis):
                    return ag.logsumexp(t, axis=axis)

                value = function(ag.tensor(x)).numpy()
                np.testing.assert_array_equal(value, plain(lambda x=x, f=function: f(ag.tensor(x)).numpy()))
                np.testing.assert_array_equal(*compared(function, x, np.array([2.0, 3.0])))


@pytest.mark.parametrize("function", [ag.cumulative_sum, ag.cumulative_prod, ag.prod, ag.sort, ag.logsumexp])
def test_first_and_second_derivatives_are_those_of_differences(function):
    x = ag.tensor(np.random.default_rng(0).uniform(0.3, 1.7, 6), requires_grad=True)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))
