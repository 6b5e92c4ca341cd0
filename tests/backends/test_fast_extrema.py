"""Largest and smallest elements over any axes (extrema.hpp) and running along one: values and gradients."""

import itertools
import warnings

import numpy as np
import pytest
from fast_path_cases import plain, quiet, same

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.testing import gradcheck, gradgradcheck

DTYPES = ["float32", "float64"]
REDUCED = {
    (4000,): [None, 0],
    (40, 60): [None, 0, 1, -1],
    (3, 900): [0, 1],
    (900, 3): [0, 1],
    (5, 40, 6): [None, 0, 1, 2, (0, 2), (1, 2), (0, 1), (-1, 0)],
    (3, 4, 5, 50): [(0, 2), (1, 3), (0, 3), (0, 1, 3), (0, 2, 3), 2, 3],
    (1, 70, 1, 2): [(0, 3), 1, (2, 3), (0, 1, 2)],
    (1, 1): [None, 0, (0, 1)],
}
CASES = [(shape, axis) for shape, axes in REDUCED.items() for axis in axes]
FILLS = ["distinct", "ties", "all equal", "nan"]


def values(shape, dtype, fill, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(dtype)
    if fill == "ties":
        x = np.round(x)
    elif fill == "all equal":
        x[...] = 1.5
    elif fill == "nan":
        x[rng.uniform(size=shape) < 0.02] = np.nan
    return x


def gradient(f, x, g, **options):
    t = ag.asarray(x, requires_grad=True)
    f(t, **options).backward(g)
    return t.grad.numpy()


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_gradients_over_any_axes_are_those_of_the_plain_path(shape, axis, dtype, fill):
    x = values(shape, dtype, fill)
    for f, keepdims in itertools.product((np.max, np.min), (False, True)):
        with quiet():
            ans = f(x, axis=axis, keepdims=keepdims)
            g = np.asarray(values(ans.shape, dtype, "distinct", 1))
            got = gradient(f, x, g, axis=axis, keepdims=keepdims)
            expected = plain(lambda: gradient(f, x, g, axis=axis, keepdims=keepdims))  # noqa: B023
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6 if dtype == "float32" else 1e-14)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("layout", ["columns", "every second", "backwards"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (1, 2)])
def test_other_layouts(layout, axis):
    base = values((6, 40, 10), "float64", "ties")
    x = {"columns": base.T, "every second": base[:, ::2], "backwards": base[::-1, :, ::-1]}[layout]
    g = np.asarray(values(np.max(x, axis=axis).shape, "float64", "distinct", 1))
    same(gradient(np.max, x, g, axis=axis), plain(lambda: gradient(np.max, x, g, axis=axis)))


@pytest.mark.parametrize("share", [np.inf, -np.inf, np.nan, 0.0, -0.0])
def test_gradients_that_are_no_numbers(share):
    x = values((40, 60), "float64", "distinct")
    g = np.full(60, share)
    with quiet():
        same(gradient(np.max, x, g, axis=0), plain(lambda: gradient(np.max, x, g, axis=0)))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_what_waits_is_added_to(axis):
    x = values((20, 70, 9), "float64", "ties")

    def gradients():
        t = ag.asarray(x, requires_grad=True)
        (np.sum(np.max(t, axis=axis) ** 2) + np.sum(np.min(t, axis=axis)) + np.sum(t[3:9] * t[3:9])).backward()
        return t.grad.numpy()

    np.testing.assert_allclose(gradients(), plain(gradients), rtol=1e-14, atol=1e-14)


def test_second_derivatives_and_tangents():
    x = ag.asarray(values((3, 40, 2), "float64", "distinct"), requires_grad=True)
    for f in (lambda t: np.max(t, axis=(0, 2)) ** 2, lambda t: np.maximum.accumulate(t, axis=1) ** 2):
        assert gradcheck(f, (x,))
        assert gradgradcheck(f, (x,))
        g, tangent = values(f(x).shape, "float64", "distinct", 1), values(x.shape, "float64", "distinct", 2)
        along = ag.jvp(f, (x.detach().numpy(),), (tangent,))[1]
        np.testing.assert_allclose(np.sum(along * g), np.sum(gradient(f, x.detach().numpy(), g) * tangent), rtol=1e-12)


# Running along an axis

RUNNING = [((4000,), 0), ((1,), 0), ((2,), -1), ((40, 60), 0), ((40, 60), 1), ((5, 30, 6), 1), ((5, 30, 6), -1),
           ((3, 1, 4), 1)]  # fmt: skip


@pytest.mark.parametrize("fill", [*FILLS, "zeros of both signs"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), RUNNING)
def test_running_extrema_have_numpys_bits(shape, axis, dtype, fill):
    x = values(shape, dtype, fill)
    if fill == "zeros of both signs":
        x = np.where(np.abs(x) < 0.7, np.copysign(0, x), x).astype(dtype)
    for ufunc in (np.maximum, np.minimum):
        for a in (x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, axis=-1)[..., ::2]):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                expected = ufunc.accumulate(a, axis=axis)
                got = ufunc.accumulate(ag.asarray(a, requires_grad=True), axis=axis)
            same(got.numpy(), expected)
            assert got.numpy().flags.c_contiguous == expected.flags.c_contiguous


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), RUNNING)
def test_gradients_of_running_extrema_are_those_of_the_plain_path(shape, axis, dtype, fill):
    x = values(shape, dtype, fill)
    g = values(shape, dtype, "distinct", 1)
    for ufunc in (np.maximum, np.minimum):
        for a, b in ((x, g), (np.asfortranarray(x), g), (x, np.asfortranarray(g)), (x[::-1], g[::-1])):
            with quiet():
                got = gradient(ufunc.accumulate, a, b, axis=axis)
                expected = plain(lambda: gradient(ufunc.accumulate, a, b, axis=axis))  # noqa: B023
            scale = np.abs(expected).max(initial=1.0) * (2e-6 if dtype == "float32" else 1e-14) * x.shape[axis]
            np.testing.assert_allclose(got, expected, rtol=0, atol=scale)


def test_ties_halve_what_is_passed_on():
    t = ag.asarray(np.array([1.0, 1.0, 0.5, 1.0, 2.0]), requires_grad=True)
    np.sum(np.maximum.accumulate(t)).backward()
    # of the fourth result half goes back, of the third all, of the second half
    np.testing.assert_array_equal(t.grad.numpy(), [1.0 + 0.5 * 2.5, 0.5 * 2.5, 0.0, 0.5, 1.0])


def test_a_running_extremum_beside_other_uses_of_its_gradient():
    x = values((500,), "float64", "distinct")

    def gradients():
        t = ag.asarray(x, requires_grad=True)
        y = an.multiply(t, 2.0)
        top = np.maximum.accumulate(y)
        (np.sum(top * y) - np.sum(top**2)).backward()
        return t.grad.numpy()

    np.testing.assert_allclose(gradients(), plain(gradients), rtol=1e-13, atol=1e-13)


def test_an_overflow_of_a_running_gradient_is_reported():
    t = ag.asarray(np.array([3.0, 1.0, 1.0]), requires_grad=True)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        np.maximum.accumulate(t).backward(np.full(3, 1.7e308))
