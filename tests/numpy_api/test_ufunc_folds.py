"""Methods of NumPy's ufuncs that fold along an axis, in one operation each: values, gradients, and what is composed."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.testing import gradcheck, gradgradcheck

UFUNCS = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.logaddexp]
PLACES = {"all": [0, 2, 3], "behind the first": [1, 4], "one": [0], "each": [0, 1, 2, 3, 4], "the last": [4]}


def values(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape).astype(dtype)


def gradient(function, x):
    t = ag.tensor(x, requires_grad=True)
    y = function(t)
    y.backward(values(y.shape, x.dtype, 1))
    return y.detach().numpy(), t.grad.numpy()


def composed(function, x):
    """The same with what is not recorded in one step."""
    before = set_fast_paths(False)
    try:
        return gradient(function, x)
    finally:
        set_fast_paths(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("ufunc", UFUNCS)
def test_segments_have_numpys_values_and_the_gradients_of_slices(ufunc, places, dtype):
    for shape, axis in (((5,), 0), ((5, 3), 0), ((2, 5), -1), ((2, 5, 3), 1)):
        for order in "CF":
            x = np.array(values(shape, dtype), order=order)

            def function(t, axis=axis):
                return ufunc.reduceat(t, PLACES[places], axis)

            y, got = gradient(function, x)
            np.testing.assert_array_equal(y, function(x))
            assert y.dtype == got.dtype == dtype
            expected = composed(function, x)[1]
            np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("ufunc", UFUNCS)
def test_segments_are_one_node(ufunc):
    t = ag.tensor(values((5, 3)), requires_grad=True)
    y = ufunc.reduceat(t, np.array([0, 2]))
    assert y.grad_fn.next_functions[0][0].name() == "AccumulateGrad"


@pytest.mark.parametrize("places", [[2, 0], [0, 3, 1], [0, 2, 2, 4]])
@pytest.mark.parametrize("ufunc", UFUNCS)
def test_places_that_do_not_increase_are_numpys(ufunc, places):
    x = values((5, 3))
    y, got = gradient(lambda t: ufunc.reduceat(t, places), x)
    np.testing.assert_allclose(y, ufunc.reduceat(x, places), rtol=1e-14)
    step, g = 1e-6, values(y.shape, seed=1)
    for i in range(5):
        moved = x.copy()
        moved[i, 1] += step
        difference = ((ufunc.reduceat(moved, places) - ufunc.reduceat(x, places)) * g).sum() / step
        np.testing.assert_allclose(got[i, 1], difference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_ties_and_nan_of_a_segment_share_as_those_of_a_reduction(ufunc):
    x = np.array([2.0, 2.0, 1.0, np.nan, 3.0, np.nan, 4.0, 4.0])
    for places in ([0, 3, 6], [1, 3]):
        for got, expected in zip(
            gradient(lambda t, p=places: ufunc.reduceat(t, p), x),
            composed(lambda t, p=places: ufunc.reduceat(t, p), x),
            strict=True,
        ):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("special", [0.0, np.inf, np.nan, 1e-320])
@pytest.mark.parametrize("ufunc", [np.multiply, np.logaddexp])
def test_numbers_that_nothing_can_be_divided_by_have_the_gradients_of_slices(ufunc, special):
    x = values(6)
    x[2] = special

    def function(t):
        return ufunc.reduceat(t, [0, 2, 4])

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient(function, x)[1], composed(function, x)[1], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ufunc", [np.subtract, np.maximum, np.minimum, np.logaddexp])
def test_running_folds_have_numpys_values_and_the_gradients_of_steps(ufunc, dtype):
    for shape, axis in (((7,), 0), ((5, 3), 0), ((2, 5), -1), ((2, 5, 3), 1), ((1, 4), 0)):
        for order in "CF":
            x = np.array(values(shape, dtype), order=order)
            if ufunc is not np.subtract:
                x = np.round(x, 1)  # ties

            def function(t, axis=axis):
                return ufunc.accumulate(t, axis)

            def steps(t, axis=axis):
                parts = [t[(slice(None),) * (axis % t.ndim) + (k,)] for k in range(t.shape[axis])]
                for k in range(1, len(parts)):
                    parts[k] = ufunc(parts[k - 1], parts[k])
                return np.stack(parts, axis=axis)

            y, got = gradient(function, x)
            np.testing.assert_array_equal(y, function(x))
            expected = gradient(steps, x)[1]
            assert got.dtype == dtype
            for found in (got, composed(function, x)[1]):
                np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_a_gradient_of_infinity_stays_where_it_belongs():
    for places in (True, False):
        t = ag.tensor(np.array([1.0, 3.0, 2.0, 4.0]), requires_grad=True)
        y = np.maximum.accumulate(t) if places else np.maximum.reduceat(t, [0, 2])
        y.backward(np.array([1.0, 2.0, 3.0, np.inf]) if places else np.array([1.0, np.inf]))
        np.testing.assert_array_equal(np.isfinite(t.grad.numpy()), [True, True, True, False])


@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction_by_differences_is_the_first_element_less_the_others(keepdims):
    for shape, axis in (((6,), 0), ((3, 4), 1), ((3, 4), 0)):
        x = values(shape)
        y, got = gradient(lambda t, axis=axis: np.subtract.reduce(t, axis, keepdims=keepdims), x)
        np.testing.assert_array_equal(y, np.subtract.reduce(x, axis, keepdims=keepdims))
        sign = -np.ones(shape[axis])
        sign[0] = 1.0
        sign = np.expand_dims(sign, [i for i in range(x.ndim) if i != axis])
        g = values(y.shape, seed=1)
        np.testing.assert_array_equal(got, sign * (g if keepdims else np.expand_dims(g, axis)))


@pytest.mark.parametrize("ufunc", UFUNCS)
def test_first_and_second_derivatives_are_those_of_differences(ufunc):
    x = ag.tensor(np.random.default_rng(0).permutation(np.linspace(0.5, 1.7, 12)).reshape(3, 4), requires_grad=True)
    functions = [lambda t: ufunc.reduceat(t * t, [0, 1], 0), lambda t: ufunc.reduceat(t * t, [1, 2], 1)]
    functions.append(lambda t: ufunc.accumulate(t * t, 1))
    for function in functions:
        assert gradcheck(function, (x,))
        assert gradgradcheck(function, (x,))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("ufunc", [np.power, np.arctan2, np.hypot, np.fmod, np.copysign, np.float_power])
def test_a_fold_has_numpys_value_or_is_refused_where_numpy_leaves_elements_out(ufunc, backwards):
    # NumPy's vector loops of power and arctan2 do so on some processors, in some layouts.
    for shape, axis in (((3,), 0), ((9,), 0), ((4, 3), 0), ((3, 4), 1), ((3, 4), -1)):
        x = values(shape)
        x = x[::-1] if backwards else x
        calls = [lambda a, n=axis: ufunc.reduce(a, n), lambda a, n=axis: ufunc.accumulate(a, n)]
        if x.ndim == 1:
            calls.append(lambda a: ufunc.reduceat(a, [0, 2]))
        for call in calls:
            t = ag.asarray(x)
            np.testing.assert_array_equal(call(t).numpy(), call(x))
            t.requires_grad_()
            refusal = None
            try:
                found = call(t)
            except TypeError as error:
                refusal = str(error)
            if refusal:
                assert ufunc in (np.power, np.arctan2)
                assert "leaves out elements" in refusal
                continue
            np.testing.assert_array_equal(found.detach().numpy(), call(x))
            g, step = values(found.shape, seed=1), 1e-6
            found.backward(g)
            for place in np.ndindex(*shape):
                moved = [x.copy(), x.copy()]
                moved[0][place] -= step
                moved[1][place] += step
                # The loops of long double take one element at a time.
                low, high = [call(m.astype(np.longdouble)) for m in moved]
                difference = float(((high - low) * g).sum() / (2 * step))
                np.testing.assert_allclose(t.grad.numpy()[place], difference, rtol=1e-5, atol=1e-6)
