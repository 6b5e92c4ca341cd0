"""Note [Interned arguments]: nodes with equal static arguments keep one list."""

import gc
import sys

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.interned_args import set_shared_arguments

WITH_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.fixture
def apart():
    before = set_shared_arguments(False)
    yield
    set_shared_arguments(before)


def leaf(*shape):
    return ag.tensor(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), requires_grad=True)


def kept_list(t):
    (found,) = [r for r in gc.get_referents(t.grad_fn) if type(r) is list]
    return found


KEYS = [
    (slice(1, -1), slice(None, 2)),
    (slice(1, -1), slice(None, 3)),
    (slice(1, -1), slice(2)),
    (slice(1, -1, 1), slice(None, 2)),
    (1, slice(None)),
    (-1, slice(None)),
    (slice(None), 1),
    (slice(None), None, 1),
    (slice(None), None),
    (None, slice(None)),
    (Ellipsis, 1),
    Ellipsis,
    slice(1, None),
    slice(1, None, -1),
    slice(1, 2**70),
    (slice(300, 400), slice(-400, 400)),
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_the_gradient_of_every_key_is_that_of_its_own_region(key):
    for _ in range(2):  # the second time from the table
        t = leaf(4, 5)
        y = t[key]
        (y * y).sum().backward()
        expected = np.zeros((4, 5))
        expected[key] = 2.0 * t.array[key]
        np.testing.assert_array_equal(t.grad.array, expected)
        t = leaf(4, 5)
        u = t * 1.0
        u[key] = 0.0
        u.sum().backward()
        expected = np.ones((4, 5))
        expected[key] = 0.0
        np.testing.assert_array_equal(t.grad.array, expected)


def test_true_and_one_are_different_arguments():
    def both(first, second):
        t = leaf(3, 4)
        a = t.sum(axis=0, keepdims=first)
        b = t.sum(axis=0, keepdims=second)
        return a.shape, b.shape, t

    assert both(True, False)[:2] == ((1, 4), (4,))
    t = leaf(3, 4)
    a, b = t.sum(axis=1), t.sum(axis=-1)
    (a.sum() + 2.0 * b.sum()).backward()
    np.testing.assert_array_equal(t.grad.array, np.full((3, 4), 3.0))
    t = leaf(2, 3)
    for axes in ((1, 0), (0, 1), (-1, 0)):
        y = t.transpose(axes)
        (g,) = ag.autograd.grad(y, t, np.arange(6.0).reshape(y.shape))
        np.testing.assert_array_equal(
            g.array, np.arange(6.0).reshape(y.shape).transpose(np.argsort(np.array(axes) % 2))
        )


def test_zero_and_minus_zero_are_different_arguments():
    x = ag.tensor(np.array([-1.0, 0.5]), requires_grad=True)
    first = np.nan_to_num(x, nan=0.0)
    second = np.nan_to_num(x, nan=-0.0)
    (first + second).sum().backward()
    np.testing.assert_array_equal(x.grad.array, [2.0, 2.0])


@pytest.mark.skipif(not WITH_GIL, reason="lists are shared where Python has a GIL")
def test_equal_arguments_are_one_list_and_others_are_not():
    t = leaf(6, 7)
    a, b, c = t[1:-1, 2:], t[1:-1, 2:], t[1:-1, 3:]
    assert kept_list(a) is kept_list(b)
    assert kept_list(a) is not kept_list(c)
    assert kept_list(a)[1] == (slice(1, -1), slice(2, None))


def test_without_the_switch_each_node_has_its_own(apart):
    t = leaf(6, 7)
    assert kept_list(t[1:-1, 2:]) is not kept_list(t[1:-1, 2:])


def test_gradients_are_the_same_bits_with_and_without():
    def run():
        t = leaf(9, 9)
        u = t * 1.0
        for i in range(1, 4):
            u[i:-1, 1:-1] = u[i:-1, 1:-1] * 0.5 + np.sin(u[i - 1 : -2, 1:-1])
            u[:, 0] = u[:, 1].sum() + u.reshape(81)[i:].mean(axis=0, keepdims=True)
        u.sum().backward()
        return t.grad.array

    shared = run()
    before = set_shared_arguments(False)
    try:
        np.testing.assert_array_equal(run(), shared)
    finally:
        set_shared_arguments(before)


def test_arrays_of_indices_and_long_tuples_are_kept_apart():
    t = leaf(20)
    rows = np.array([1, 2, 2])
    y = t[rows]
    rows[:] = 0
    y.sum().backward()
    expected = np.zeros(20)
    expected[[1, 2]] = 1.0, 2.0
    np.testing.assert_array_equal(t.grad.array, expected)
    u = leaf(*[1] * 18, 2)
    v = u[(slice(None),) * 18 + (1,)]
    v.sum().backward()
    np.testing.assert_array_equal(u.grad.array.reshape(2), [0.0, 1.0])


@pytest.mark.skipif(not WITH_GIL, reason="lists are shared where Python has a GIL")
def test_a_node_of_a_slice_is_all_that_the_collector_sees():
    t = leaf(6, 7)
    first = t[1:-1, 2:]
    gc.collect()
    before = len(gc.get_objects())
    made = [t[1:-1, 2:].grad_fn for _ in range(100)]
    assert len(gc.get_objects()) - before < 110
    assert first.shape == (4, 5)
    del made


def test_more_keys_than_the_table_has_places():
    t = leaf(5000)
    total = sum((float(i % 3) * t[i : i + 2]).sum() for i in range(3000))
    total.backward()
    expected = np.zeros(5000)
    for i in range(3000):
        expected[i : i + 2] += i % 3
    np.testing.assert_array_equal(t.grad.array, expected)
