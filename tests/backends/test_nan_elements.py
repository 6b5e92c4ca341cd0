"""nan among the elements: who gets the gradient of an extremum, of relu, of the angle of a real number.

The expected gradients are PyTorch's (2.13, CPU): torch.max and torch.min of all elements share a nan's gradient among
the elements that are nan; torch.relu passes it on; torch.angle of real numbers has no slope.
"""

import math
import warnings

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain

import arraygrad as ag

NAN = math.nan


def gradient(f, x, weights=1.0):
    leaf = ag.tensor(x, requires_grad=True)
    y = f(leaf)
    (y * weights).sum().backward()
    assert leaf.grad.dtype == leaf.dtype
    return leaf.grad.numpy()


SHARED = [
    ([NAN, NAN, 1.0, 2.0], None, [0.5, 0.5, 0.0, 0.0]),
    ([NAN, NAN, NAN, NAN], None, [0.25, 0.25, 0.25, 0.25]),
    ([[1.0, NAN, 2.0], [4.0, 4.0, 4.0]], 1, [[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]),
    ([[1.0, NAN], [4.0, NAN], [1.0, 5.0]], 0, None),
    ([[NAN, NAN], [3.0, 3.0]], (0, 1), [[0.5, 0.5], [0.0, 0.0]]),
    ([[[1.0, NAN], [2.0, 2.0]], [[NAN, NAN], [0.0, 0.0]]], 2, [[[0, 1], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(("x", "axis", "expected"), SHARED)
@pytest.mark.parametrize("name", ["max", "min"])
def test_elements_that_are_nan_share_the_gradient_of_a_nan_extremum(name, x, axis, expected, fast, dtype):
    if expected is None:  # the first column's extremum is a number, the second's is nan
        first = [0.0, 1.0, 0.0] if name == "max" else [0.5, 0.0, 0.5]
        expected = np.stack([first, [0.5, 0.5, 0.0]], axis=1)
    x = np.asarray(x, dtype)

    def found():
        return gradient(lambda t: getattr(t, name)(axis=axis), x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is divided by zero
        got = found() if fast else plain(found)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_numpys_extrema_share_among_nan_too(name):
    x = np.array([[NAN, 1.0, NAN], [2.0, 0.0, 1.0]])
    got = gradient(lambda t: getattr(np, name)(t, axis=0, keepdims=True), x, np.array([[2.0, 3.0, 4.0]]))
    assert (got[:, 0] == [2.0, 0.0]).all()
    assert (got[:, 2] == [4.0, 0.0]).all()
    assert sorted(got[:, 1]) == [0.0, 3.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_long_row_with_one_nan_gives_it_the_whole_gradient(dtype):
    x = np.arange(200_001, dtype=dtype).reshape(3, -1)
    x[1, 70] = NAN

    def f(t):
        return t.max(axis=1) + (t * 0.0).sum(axis=1)  # an other gradient waits in the same place

    got = gradient(f, x)
    expected = np.zeros_like(x)
    expected[0, -1] = expected[2, -1] = expected[1, 70] = 1.0
    np.testing.assert_array_equal(got, expected)


def test_second_derivatives_of_an_extremum_beside_nan_are_numbers():
    x = ag.tensor([NAN, NAN, 1.0], requires_grad=True)
    (g,) = ag.autograd.grad(x.max() * 2.0, [x], create_graph=True)
    assert g.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fast", [True, False])
def test_relu_passes_the_gradient_of_nan_on(fast, dtype):
    def found():
        return gradient(ag.relu, np.array([NAN, -1.0, 0.0, -0.0, 2.0, -np.inf, np.inf], dtype), 3.0)

    np.testing.assert_array_equal(found() if fast else plain(found), [3.0, 0.0, 0.0, 0.0, 3.0, 0.0, 3.0])


def test_relu_of_nan_has_a_second_derivative_of_zero():
    x = ag.tensor([NAN, 1.0], requires_grad=True)
    (g,) = ag.autograd.grad(ag.relu(x).sum(), [x], create_graph=True)
    assert g.tolist() == [1.0, 1.0]


REALS = [-2.0, 3.0, 0.0, -0.0, -np.inf, np.inf, NAN]


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
@pytest.mark.parametrize("deg", [False, True])
def test_the_angle_of_real_numbers_is_numpys_bit_by_bit(deg, dtype):
    x = np.array([-2, 3, 0] if dtype == "int64" else REALS, dtype)
    got = np.angle(ag.tensor(x), deg=deg).numpy()
    expected = np.angle(x, deg=deg)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("deg", [False, True])
def test_the_angle_of_real_numbers_has_no_slope(deg, dtype):
    got = gradient(lambda t: np.angle(t, deg=deg), np.array(REALS, dtype))
    np.testing.assert_array_equal(got, np.zeros(len(REALS)))


def test_the_angle_of_complex_numbers_beside_the_negative_axis_is_numpys_with_its_slope():
    z = np.array([complex(-2.0, 0.0), complex(-2.0, -0.0), complex(-2.0, 1e-3), complex(-2.0, -1e-3), 1.0, 2.0j])
    np.testing.assert_array_equal(np.angle(ag.tensor(z)).numpy(), np.angle(z))
    # d angle = (x dy - y dx) / |z|^2, so the gradient dL/dx + i dL/dy is i z / |z|^2
    np.testing.assert_allclose(gradient(np.angle, z), 1j * z / abs(z) ** 2, rtol=1e-14)
    np.testing.assert_allclose(
        gradient(lambda t: np.angle(t, deg=True), z), np.degrees(1.0) * 1j * z / abs(z) ** 2, rtol=1e-14
    )


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
def test_the_imaginary_part_of_real_numbers_is_plus_zero_without_slope(dtype):
    x = np.array([-2, 3, 0] if dtype == "int64" else REALS, dtype)
    for part in (lambda t: t.imag, np.imag):
        got = part(ag.tensor(x)).numpy()
        assert got.dtype == x.dtype
        assert not got.any()
        assert not np.signbit(got).any()
        if x.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(gradient(part, x, np.inf), np.zeros(len(x)))


@pytest.mark.parametrize("name", ["quantile", "percentile"])
def test_elements_that_are_nan_share_the_gradient_of_a_rank_that_is_nan(name):
    def f(t):
        return getattr(np, name)(t, 0.3, axis=1)

    got = gradient(f, np.array([[NAN, NAN, 1.0, 2.0], [NAN, NAN, NAN, NAN]]))
    np.testing.assert_array_equal(got, [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
def test_elements_share_the_gradient_of_a_nanmedian_of_nothing_else():
    got = gradient(lambda t: np.nanmedian(t, axis=1), np.array([[NAN, 1.0], [NAN, NAN]]))
    np.testing.assert_array_equal(got, [[0.0, 1.0], [0.5, 0.5]])
