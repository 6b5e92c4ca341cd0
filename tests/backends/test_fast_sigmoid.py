"""The compiled sigmoid and its rule, each held to the table's, bit by bit but where the table multiplies apart."""

import itertools

import numpy as np
import pytest
from fast_path_cases import DENSE, DTYPES, OTHER, SPECIAL, plain, same, values_of

import arraygrad as ag
from arraygrad.backends.numpy.table import try_rule

LAYOUTS = {
    **DENSE, **OTHER,
    "last columns": lambda values: values((6, 8))[:, 5:],
    "every second row": lambda values: values((6, 8))[::2],
    "3-d columns": lambda values: values((2, 3, 8))[:, :, 1:3],
    "column-major rows": lambda values: values((6, 8)).T[1:4],
    "no columns": lambda values: values((6, 8))[:, 8:],
}  # fmt: skip


def run(x, g):
    t = ag.asarray(x, requires_grad=True)  # over the same memory: the layout stays
    out = ag.sigmoid(t)
    out.backward(g)
    return out.numpy(), t.grad.numpy()


def close(got, expected):
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.strides == expected.strides or got.size <= 1
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(got.dtype).eps, atol=1e-300)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_gradients_are_the_tables(dtype, layout):
    x = LAYOUTS[layout](values_of(dtype, 1, -30, 30))
    if not x.dtype.isnative:
        pytest.skip("a gradient is of the machine's own byte order")
    g = np.asarray(values_of(dtype, 2)(x.shape), dtype)
    for given in (g, np.broadcast_to(np.ones((), dtype), x.shape)):
        for got, expected in zip(run(x, given), plain(run, x, given), strict=True):
            close(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_have_the_tables_values_and_gradients(dtype):
    with np.errstate(all="ignore"):
        x, g = (
            np.array(list(itertools.product((*SPECIAL, 800.0, -800.0, 88.7, -104.0), SPECIAL))).astype(dtype).T.copy()
        )
        (value, gradient), (plain_value, plain_gradient) = run(x, g), plain(run, x, g)
    close(value, plain_value)
    close(gradient, plain_gradient)


@pytest.mark.parametrize("layout", ["row-major", "columns", "long"])
def test_the_argument_and_a_gradient_of_others_stay_as_they_are(layout):
    x = LAYOUTS[layout](values_of("float64", 1))
    g = np.asarray(values_of("float64", 2)(x.shape))
    kept = x.copy(), g.copy()
    run(x, g)
    same(np.ascontiguousarray(x), np.ascontiguousarray(kept[0]))
    same(g, kept[1])


def test_an_owned_gradient_is_overwritten():
    x, g = values_of("float64", 1)((4, 5)), values_of("float64", 2)((4, 5))
    node = ag.sigmoid(ag.tensor(x, requires_grad=True)).grad_fn
    expected, owned = try_rule(node, g)[0]
    assert owned
    assert try_rule(node, g, owned=True)[0][0] is g
    same(g, expected)
