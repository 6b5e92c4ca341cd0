"""The compiled rule of item assignment: the table's gradients, in the gradient's own memory."""

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy.table import try_rule

KEYS = [
    1, -1, slice(1, 3), slice(None, None, -2), ..., (2, 3), (slice(None), 1), (..., 0), (None, 2),
    (slice(2), slice(1, None)), slice(2, 2),
]  # fmt: skip


def gradients(key, x, v, g):
    x, v = ag.tensor(x, requires_grad=True), ag.tensor(v, requires_grad=True)
    t = x * 1
    t[key] = v
    t.backward(g)
    return x.grad.numpy(), v.grad.numpy()


def written(key, x, v, wanted=(True, True)):
    """The node of t[key] = v, where t and v require grad or not."""
    x, v = (ag.tensor(a, requires_grad=w) for a, w in zip((x, v), wanted, strict=True))
    t = x * 1
    t[key] = v
    return t.grad_fn


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_both_gradients_are_the_tables(key, dtype):
    x, g = values_of(dtype, 1)((4, 4)), values_of(dtype, 2)((4, 4))
    for v in (np.array(2.0, dtype), values_of(dtype, 3)(x[key].shape), values_of(dtype, 4)((1,))):
        if v.shape == (1,) and x[key].ndim == 0:
            continue
        given = g.copy()
        for a, b in zip(gradients(key, x, v, given), plain(gradients, key, x, v, g), strict=True):
            same(a, b)
        np.testing.assert_array_equal(given, g)  # the caller's gradient is not written


def test_memory_of_the_engines_is_cleared_in_place_and_any_other_is_copied():
    x, v = np.ones((4, 4)), np.ones(4)
    node = written(1, x, v)
    for owned in (False, True):
        g = np.arange(16.0).reshape(4, 4)
        (gx, x_owned), (gv, v_owned) = try_rule(node, g, owned=owned)
        assert (gx is g) == owned
        assert x_owned
        assert v_owned
        np.testing.assert_array_equal(gv, [4, 5, 6, 7])
        np.testing.assert_array_equal(gx[1], 0)
        assert not np.shares_memory(gx, gv)


def test_what_is_not_asked_for_is_not_made():
    x, v = np.ones((4, 4)), np.ones(4)
    g = np.arange(16.0).reshape(4, 4)
    (gx, _), (gv, _) = try_rule(written(1, x, v, (False, True)), g, owned=True)
    assert gx is None
    np.testing.assert_array_equal(gv, [4, 5, 6, 7])
    np.testing.assert_array_equal(g, np.arange(16.0).reshape(4, 4))
    (gx, _), (gv, _) = try_rule(written(1, x, v, (True, False)), g, owned=True)
    assert gv is None
    np.testing.assert_array_equal(gx[1], 0)


def test_keys_that_may_name_an_element_twice_are_the_tables():
    x, v = np.ones(4), np.ones(3)
    for key in ([0, 1, 1], np.array([2, 0, 2]), np.array([True, True, True, False]), (np.array([0, 1, 2]),)):
        assert try_rule(written(key, x, v), np.ones(4)) is None


@pytest.mark.parametrize("n", [10, 10_000])
def test_a_gradient_that_was_kept_is_not_cleared_by_earlier_writes(n):
    x = ag.tensor(np.ones(n), requires_grad=True)
    t = x * 2
    for k in range(5):
        t[k] = x[k] * k
        if k == 2:
            kept = t * 1
            kept.retain_grad()
    (ag.sum(t) + ag.sum(kept)).backward()
    np.testing.assert_array_equal(kept.grad.numpy(), np.ones(n))
    expected = np.full(n, 4.0)
    expected[:5] = [0, 2, 4, 3, 4]
    expected[3:5] += 2
    np.testing.assert_array_equal(x.grad.numpy(), expected)
