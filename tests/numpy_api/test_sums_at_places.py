"""numpy.add.at and numpy.subtract.at on Tensors: NumPy's values, gradients of both arrays, what they leave alone."""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.testing import gradcheck, gradgradcheck

KEYS = {
    "rows": ((5, 3), np.array([0, 1, 1, -1, 0])),
    "rows of stacks": ((4, 3, 2), np.array([[3, 3], [0, -4]])),
    "elements": ((6,), np.array([2, 2, 2, 5])),
    "pairs": ((4, 3), (np.array([0, 3, 0]), np.array([1, 2, 1]))),
    "pairs and an int": ((4, 3), (np.array([0, 3, 0]), 1)),
    "32-bit integers": ((5, 3), np.array([4, 4, 0], np.int32)),
    "a list": ((5, 3), [4, 4, 0]),
    "a slice": ((6, 2), slice(1, None, 2)),
    "a mask": ((4, 2), np.array([True, False, False, True])),
    "an int": ((4, 2), -2),
    "slice and integers": ((3, 4), (slice(0, 2), np.array([3, 3, 1]))),
    "no places": ((3, 2), np.array([], int)),
}


@pytest.fixture(params=[True, False], ids=["compiled", "plain"])
def fast(request):
    before = set_fast_paths(request.param)
    yield
    set_fast_paths(before)


def values(shape, dtype, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ["add", "subtract"])
@pytest.mark.parametrize("case", KEYS)
def test_values_are_numpys_bit_by_bit_and_gradients_those_of_the_places(fast, case, name, dtype):
    shape, key = KEYS[case]
    x, g = values(shape, dtype, 1), values(shape, dtype, 3)
    for value_shape in (x[key].shape, x[key].shape[1:], ()):
        b = values(value_shape, dtype, 2)
        expected = x.copy()
        getattr(np, name).at(expected, key, b)
        t, v = ag.tensor(x, requires_grad=True), ag.tensor(b, requires_grad=True)
        y = t * 1
        getattr(np, name).at(y, key, v)
        assert y.numpy().tobytes() == expected.tobytes()
        y.backward(g)
        np.testing.assert_array_equal(t.grad.numpy(), g)
        of_value = g[key] if name == "add" else -g[key]
        lead = of_value.ndim - b.ndim
        np.testing.assert_allclose(v.grad.numpy(), of_value.sum(axis=tuple(range(lead))), rtol=1e-5, atol=1e-6)
        assert v.grad.dtype == dtype


@pytest.mark.parametrize("case", KEYS)
def test_first_and_second_derivatives_are_those_of_differences(case):
    shape, key = KEYS[case]

    def f(x, b):
        y = x * x
        np.add.at(y, key, b * b)
        return y * y

    given = (ag.tensor(values(shape, "float64", 1), requires_grad=True),
             ag.tensor(values(np.zeros(shape)[key].shape, "float64", 2), requires_grad=True))  # fmt: skip
    assert gradcheck(f, given)
    assert gradgradcheck(f, given)


def test_sums_through_a_view_are_part_of_the_history_of_its_base(fast):
    x, b = ag.tensor(np.ones((3, 2)), requires_grad=True), ag.tensor(np.full((3, 2), 2.0), requires_grad=True)
    y = x * 1
    np.add.at(y[1:], np.array([0, 0, 1]), b)
    np.testing.assert_array_equal(y.numpy(), [[1, 1], [5, 5], [3, 3]])
    (y * np.array([[1.0], [10.0], [100.0]])).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[:, 0], [1, 10, 100])
    np.testing.assert_array_equal(b.grad.numpy()[:, 0], [10, 10, 100])


def test_what_was_computed_before_keeps_the_old_values(fast):
    x = ag.tensor(np.array([2.0, 3.0]), requires_grad=True)
    y = x * 1
    square = y * y
    np.add.at(y, np.array([0, 0]), np.ones(2))
    square.sum().backward()
    np.testing.assert_array_equal(y.numpy(), [4, 3])
    np.testing.assert_array_equal(x.grad.numpy(), [4, 6])


def test_an_array_added_to_itself_is_read_before_it_is_written(fast):
    a = np.arange(6.0).reshape(3, 2)
    expected = a.copy()
    np.add.at(expected, np.array([2, 1, 0]), expected)
    x = ag.tensor(a, requires_grad=True)
    y = x * 1
    np.add.at(y, np.array([2, 1, 0]), y)
    np.testing.assert_array_equal(y.numpy(), expected)


def test_places_out_of_bounds_are_numpys_error_and_change_nothing(fast):
    x = ag.tensor(np.zeros((3, 2)), requires_grad=True)
    y = x * 1
    with pytest.raises(IndexError):
        np.add.at(y, np.array([0, 3]), np.ones((2, 2)))
    np.testing.assert_array_equal(y.numpy(), 0)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 1)


def test_values_that_do_not_fit_are_numpys_error(fast):
    y = ag.tensor(np.zeros((3, 2)), requires_grad=True) * 1
    with pytest.raises(ValueError, match="broadcast"):
        np.add.at(y, np.array([0, 1]), np.ones((2, 3)))


def test_a_leaf_is_written_only_where_nothing_is_recorded(fast):
    x = ag.tensor(np.zeros(3), requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        np.add.at(x, np.array([1, 1]), np.ones(2))
    with ag.no_grad():
        np.add.at(x, np.array([1, 1]), np.ones(2))
    np.testing.assert_array_equal(x.numpy(), [0, 2, 0])


def test_places_that_change_afterwards_count_as_they_were(fast):
    places = np.array([0, 0])
    y, b = ag.tensor(np.zeros(2), requires_grad=True) * 1, ag.tensor(np.ones(2), requires_grad=True)
    np.add.at(y, places, b)
    places[:] = 1
    y.backward(np.array([1.0, 10.0]))
    np.testing.assert_array_equal(b.grad.numpy(), [1, 1])


def test_an_overflow_is_reported(fast):
    y = ag.tensor(np.full((2, 2), 1e308), requires_grad=True) * 1
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        np.add.at(y, np.array([0, 0]), np.full((2, 2), 1e308))


def test_other_dtypes_are_added_as_numpy_casts_them(fast):
    x = ag.tensor(np.zeros(3, np.float32), requires_grad=True)
    y, b = x * 1, ag.tensor(np.array([0.1, 0.2]), requires_grad=True)
    np.add.at(y, np.array([1, 1]), b)
    assert y.dtype == np.float32
    y.backward(np.array([1.0, 2.0, 3.0], np.float32))
    np.testing.assert_array_equal(b.grad.numpy(), [2, 2])
    counts = ag.asarray(np.zeros(3, int))
    np.add.at(counts, np.array([1, 1]), 1)
    np.testing.assert_array_equal(counts.numpy(), [0, 2, 0])
