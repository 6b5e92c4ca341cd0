"""softmax, log_softmax and relu in one pass forward and one backward: the table's values and gradients, bit by bit."""

import itertools

import numpy as np
import pytest
from fast_path_cases import DTYPES, SPECIAL, outcome, plain, quiet, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.table import try_rule
from arraygrad.ops import OPS
from arraygrad.testing import gradcheck, gradgradcheck

NAMES = ["softmax", "log_softmax"]
# Rows that are worked on together, alone, and longer than what is worked on at a time; sums that NumPy splits.
SHAPES = [
    (3, 4), (1, 1), (7,), (300, 10), (2, 3000), (5, 129), (4, 3, 17), (2, 2, 1500), (30_001,), (3, 500, 3), (2100, 20),
]  # fmt: skip


def value(name, x, axis):
    return getattr(ag, name)(ag.tensor(x), axis=axis).numpy()


def gradient(name, x, g, axis):
    t = ag.tensor(x, requires_grad=True)
    getattr(ag, name)(t, axis=axis).backward(g)
    return t.grad.numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_rows_are_normalised_as_by_the_table(name, shape, dtype):
    x, g = values_of(dtype, 1, -30, 30)(shape), values_of(dtype, 2)(shape)
    for axis in (None, *range(-1, len(shape)), tuple(range(1, len(shape)))):
        if axis == ():
            continue
        same(value(name, x, axis), plain(value, name, x, axis))
        same(gradient(name, x, g, axis), plain(gradient, name, x, g, axis))
        if not isinstance(axis, tuple):
            assert try_call(OPS[name], (x, axis)) is not None


@pytest.mark.parametrize("name", NAMES)
def test_what_has_gaps_or_is_over_some_axes_alone_is_left_to_the_table(name):
    x = values_of("float64")((3, 4))
    for other, axis in [
        (x[:, ::2], -1),
        (x.astype("float16"), -1),
        (x.astype("int64"), -1),
        (x.astype(">f8"), -1),
        (x[:0], -1),
        (np.array(1.0), None),
        (values_of("float64")((2, 3, 4)), (0, 2)),
    ]:
        assert try_call(OPS[name], (other, axis)) is None
    with pytest.raises(TypeError, match="real"):
        ag.softmax(ag.tensor(x * 1j))
    with pytest.raises(IndexError):
        getattr(ag, name)(ag.tensor(x), axis=2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_normalised_as_by_the_table(name, dtype):
    with quiet():
        x = np.array(list(itertools.product(SPECIAL, repeat=3))).astype(dtype)
        g = values_of(dtype, 3)(x.shape)
        same(value(name, x, -1), plain(value, name, x, -1))
        same(gradient(name, x, g, -1), plain(gradient, name, x, g, -1))
        for row, back in zip(x[::7], np.roll(x, 5, axis=0)[::7], strict=True):
            same(value(name, row, -1), plain(value, name, row, -1))
            same(gradient(name, row, back, -1), plain(gradient, name, row, back, -1))


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("row", [[1e308, -1e308, 0.0], [np.inf, 1.0, 2.0], [1.0, 2.0, 3.0], [np.nan, 1.0, 2.0]])
def test_floating_point_errors_of_softmax_are_the_tables(row, name, mode):
    x = np.array([row])
    with np.errstate(all=mode, under="ignore"):
        got, expected = outcome(lambda: value(name, x, -1)), outcome(lambda: plain(value, name, x, -1))
    assert got[1] == expected[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_row_rule_overwrites_only_a_gradient_that_it_owns(name):
    x, g = values_of("float64", 1)((5, 6)), values_of("float64", 2)((5, 6))
    kept = g.copy()
    node = getattr(ag, name)(ag.tensor(x, requires_grad=True)).grad_fn
    ((fresh, owned),) = try_rule(node, g)
    same(g, kept)
    assert owned
    ((inplace, _),) = try_rule(node, g, owned=True)
    assert inplace is g
    same(inplace, fresh)
    one = np.broadcast_to(np.ones(()), (5, 6))
    ((repeated, owned),) = try_rule(node, one)  # written out first
    assert owned
    same(repeated, try_rule(node, np.ones((5, 6)))[0][0])
    same(one, np.broadcast_to(np.ones(()), (5, 6)))
    assert try_rule(node, np.asfortranarray(kept)) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [lambda a: a, np.asfortranarray, lambda a: a[:, ::2], lambda a: a[:0]])
def test_relu_and_its_gradient_are_the_tables(layout, dtype):
    def run(x, g):
        t = ag.tensor(x, requires_grad=True)
        out = ag.relu(t)
        out.backward(g)
        return out.numpy(), t.grad.numpy()

    with quiet():
        x, g = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype).T.copy().reshape(2, -1, 12)
        x, g = layout(x), layout(g)
        for got, expected in zip(run(x, g), plain(run, x, g), strict=True):
            same(got, expected)
    x = values_of(dtype)((200, 120))
    for got, expected in zip(run(x, x), plain(run, x, x), strict=True):
        same(got, expected)


def test_relu_of_nan_warns_of_nothing():
    with np.errstate(all="raise"):
        t = ag.tensor(np.array([np.nan, 1.0, -1.0]), requires_grad=True)
        out = ag.relu(t)
        out.backward(np.ones(3))
    np.testing.assert_array_equal(out.numpy(), [np.nan, 1, 0])
    np.testing.assert_array_equal(t.grad.numpy(), [1, 1, 0])


@pytest.mark.parametrize("name", [*NAMES, "relu"])
def test_first_and_second_derivatives_agree_with_finite_differences(name):
    x = ag.tensor(values_of("float64")((3, 4)) + 0.01, requires_grad=True)
    assert gradcheck(getattr(ag, name), (x,))
    assert gradgradcheck(getattr(ag, name), (x,))
