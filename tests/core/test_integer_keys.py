"""Keys with NumPy's integers and with arrays of small integers: values, views, gradients and errors are NumPy's.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

INTEGERS = [np.int64, np.int32, np.int8, np.uint8, np.uint16, np.uint64, np.intp]
KEYS = {
    "one": lambda k: k(2),
    "the last": lambda k: k(4) - k(1),
    "two": lambda k: (k(1), k(3)),
    "beside an int": lambda k: (k(1), 2),
    "beside a slice": lambda k: (slice(None), k(1)),
    "before ...": lambda k: (k(1), ...),
    "with None": lambda k: (None, k(1)),
    "bounds of a slice": lambda k: slice(k(1), k(3)),
    "an array": lambda k: np.array([1, 3, 1], k),
    "an empty array": lambda k: np.array([], k),
    "an array of two axes": lambda k: np.array([[1, 3], [0, 0]], k),
    "two arrays": lambda k: (np.array([1, 3, 1], k), np.array([0, 2, 0], k)),
    "arrays of two dtypes": lambda k: (np.array([1, 3, 1], k), np.array([0, 2, 0], np.int16)),
    "an array beside a number": lambda k: (np.array([1, 3, 1], k), k(2)),
    "an array without axes": lambda k: np.array(2, k),
    "an array beside a slice": lambda k: (slice(1, None), np.array([1, 1, 0], k)),
    "byte-swapped": lambda k: np.array([1, 3, 1], np.dtype(k).newbyteorder()),
}


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(4, 5))


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("k", INTEGERS)
def test_values_and_gradients_are_those_of_ints(x, k, name):
    key = KEYS[name](k)
    t = ag.tensor(x, requires_grad=True)
    y = t[key]
    np.testing.assert_array_equal(y.detach().numpy(), x[key])
    weights = np.random.default_rng(1).normal(size=x[key].shape)
    (y * weights).sum().backward()
    expected = np.zeros_like(x)
    np.add.at(expected, key, weights)
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-15)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("k", INTEGERS)
def test_a_write_is_numpys_and_has_its_gradients(x, k, name):
    key = KEYS[name](k)
    new = np.arange(1.0, 1.0 + x[key].size).reshape(x[key].shape)
    t, value = ag.tensor(x, requires_grad=True), ag.tensor(new, requires_grad=True)
    y = t * 1.0
    y[key] = value
    expected = x.copy()
    expected[key] = new
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    weights = np.random.default_rng(2).normal(size=x.shape)
    (y * weights).sum().backward()
    kept = np.ones_like(x)
    kept[key] = 0.0
    np.testing.assert_allclose(t.grad.numpy(), kept * weights)
    # Of elements that are named twice the last value stays.
    places = np.full(x.shape, -1)
    places[key] = np.arange(new.size).reshape(new.shape)
    of_value = np.zeros(new.size)
    of_value[places[places >= 0]] = weights[places >= 0]
    np.testing.assert_allclose(value.grad.numpy().reshape(-1), of_value)


def test_an_integer_of_numpys_gives_a_view_as_an_int_does(x):
    for key in (np.int64(1), (slice(None), np.int32(2)), (np.int64(1), slice(1, 3))):
        t = ag.tensor(x) * 1.0
        row = t[key]
        row *= 0.0
        expected = x.copy()
        expected[key] *= 0.0
        np.testing.assert_array_equal(t.numpy(), expected)
    t = ag.tensor(x) * 1.0
    t[np.array(1)][...] = 0.0  # an array without axes gives a copy
    np.testing.assert_array_equal(t.numpy(), x)


def test_an_index_that_changes_later_does_not_change_the_gradient(x):
    t = ag.tensor(x, requires_grad=True)
    places = np.array([1, 1, 3], np.int32)
    y = t[places]
    places[:] = 0
    y.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy()[:, 0], [0, 2, 0, 1])


@pytest.mark.parametrize("key", [np.int64(4), np.int32(-5), np.array([4], np.int32), (0, np.int64(5)), np.uint8(200)])
def test_an_index_out_of_bounds_is_numpys_error(x, key):
    with pytest.raises(IndexError) as theirs:
        x[key]
    t = ag.tensor(x, requires_grad=True)
    with pytest.raises(IndexError, match=str(theirs.value).split(" is ")[0]):
        t[key]
    y = t * 1.0
    with pytest.raises(IndexError, match="out of bounds"):
        y[key] = 0.0
    np.testing.assert_array_equal(y.detach().numpy(), x)


def test_truth_values_are_masks_and_no_integers(x):
    t = ag.tensor(x, requires_grad=True)
    for key in (np.True_, np.False_, True, np.array([True, False, True, True]), (np.True_, 1)):
        np.testing.assert_array_equal(t[key].detach().numpy(), x[key])


def test_what_is_no_index_is_numpys_error(x):
    t = ag.tensor(x, requires_grad=True)
    for key in (np.float64(1.0), 1.5, np.array([1.0]), "a", (np.float32(1), 0)):
        with pytest.raises(IndexError, match=r"only integers|arrays used as indices|valid indices"):
            t[key]


def test_a_loop_over_numpys_integers_in_a_plain_function(x):
    def f(v):
        total = v[0, 0] * 0.0
        for i in np.arange(4):
            for j in np.argsort(x[i])[:2]:
                total = total + v[i, j] ** 2 * v[i].sum()
        return total

    value, gradient = ag.value_and_grad(f)(x)
    step = np.zeros_like(x)
    step[1, 2] = 1e-6
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(gradient[1, 2], (f(x + step) - f(x - step)) / 2e-6, rtol=1e-6)
