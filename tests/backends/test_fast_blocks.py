"""Operands that broadcast against each other over short rows, and sums over short or middle axes: NumPy's bit by bit.

See backends/numpy/blocks.hpp.
"""

import itertools

import numpy as np
import pytest
from fast_path_cases import plain, quiet, same

import arraygrad as ag
import arraygrad.numpy as an
from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.ops import OPS

UFUNCS = {"add": np.add, "subtract": np.subtract, "divide": np.divide, "less": np.less, "maximum": np.maximum}
PAIRS = {
    "all pairs": ((40, 1, 3), (1, 30, 3)),
    "all pairs of groups": ((5, 20, 1, 3), (5, 1, 20, 3)),
    "rows of one element": ((60, 1), (1, 31)),
    "fewer axes": ((50, 7, 4), (7, 1)),
    "a middle axis": ((30, 1, 5), (30, 20, 5)),
    "crossed": ((20, 1, 4, 1), (1, 9, 1, 6)),
    "long block": ((3, 1, 2), (1, 900, 2)),
    "short block": ((900, 1, 2), (1, 3, 2)),
}


def arrays(shapes, dtype, seed=0):
    generator = np.random.default_rng(seed)
    made = []
    for shape in shapes:
        a = generator.normal(size=shape)
        if np.dtype(dtype).kind == "c":
            a = a + 1j * generator.normal(size=shape)
        a = a.astype(dtype)
        a.flat[:: max(1, a.size // 7)] = [np.nan, -0.0, np.inf][seed % 3]
        made.append(a)
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", UFUNCS)
def test_operands_that_broadcast_over_short_rows_give_numpys_result(name, pair, dtype):
    if np.dtype(dtype).kind == "c" and name in ("less", "maximum"):
        pytest.skip("the order of complex numbers is left to NumPy")
    for seed in range(3):
        a, b = arrays(PAIRS[pair], dtype, seed)
        for x, y in ((a, b), (b, a)):
            with quiet():
                got, _ = try_loop(BACKEND, OPS[name], x, y)
                expected = UFUNCS[name](x, y)
            if got is None:
                assert pair == "fewer axes"
                continue
            assert got.strides == expected.strides
            if got.dtype == bool:
                np.testing.assert_array_equal(got, expected)
            else:
                same(got, expected)


@pytest.mark.parametrize("pair", ["all pairs", "all pairs of groups", "rows of one element", "crossed", "long block"])
def test_blocks_serve_such_operands(pair):
    a, b = arrays(PAIRS[pair], "float64")
    assert try_loop(BACKEND, OPS["add"], a, b)[0] is not None


@pytest.mark.parametrize("lay_out", [np.asfortranarray, lambda a: np.repeat(a, 2, -1)[..., ::2], lambda a: a[::-1]])
def test_other_layouts_and_small_arrays_are_left_to_numpy(lay_out):
    a, b = arrays(((40, 2, 3), (1, 2, 3)), "float64")
    x, y = lay_out(a)[:, None], b[None]
    got, _ = try_loop(BACKEND, OPS["add"], x, y)
    assert got is None or np.array_equal(got, x + y, equal_nan=True)
    assert try_loop(BACKEND, OPS["add"], np.ones((4, 1, 3)), np.ones((1, 5, 3)))[0] is None


def test_an_error_within_a_block_is_reported():
    a, b = np.full((40, 1, 3), 1.7e308), np.zeros((1, 30, 3))
    b[0, 17, 1] = 1.7e308
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in add"):
        ag.asarray(a) + ag.asarray(b)


SHAPES = [(6, 5, 3), (4, 3, 5, 2), (2, 3, 4, 2, 3), (1, 5, 3), (5, 1, 3), (30, 7), (30, 8), (3, 40, 9), (7, 5, 1)]
SHAPES += [(9, 6, width) for width in range(1, 9)] + [(3, 50, 2)]
# Rows are added eight at a time, and one by one where the array leaves the caches.
SHAPES += [(rows, 9) for rows in (7, 8, 9, 16, 17)] + [(3, 18, 40), (19, 1100), (11_000, 100)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_over_any_axes_are_numpys(shape, dtype):
    generator = np.random.default_rng(0)
    for kind in ("numbers", "negative zeros", "infinities"):
        a = generator.normal(size=shape).astype(dtype)
        if kind == "negative zeros":
            a[...] = -0.0
        elif kind == "infinities":
            a.flat[::5] = np.inf
        x = ag.asarray(a)
        for n in range(1, a.ndim + 1):
            for axes in itertools.combinations(range(a.ndim), n):
                for keepdims in (False, True):
                    got = an.sum(x, axis=axes, keepdims=keepdims).numpy()
                    same(got, np.asarray(np.sum(a, axis=axes, keepdims=keepdims)))


def test_the_gradient_of_all_pairs_is_that_of_the_plain_path():
    raw = np.random.default_rng(1).normal(size=(40, 3))
    weights = np.random.default_rng(2).normal(size=(40, 40))

    def gradient():
        x = ag.asarray(raw, requires_grad=True)
        d = x[:, None] - x[None]
        an.sum(an.sum(d * d, axis=-1) * weights).backward()
        return x.grad.numpy()

    np.testing.assert_allclose(gradient(), plain(gradient), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(40, 200, 3), (7, 1, 4, 300), (9000, 1), (3, 50, 60), (20, 6, 7, 8)], ids=str)
def test_the_gradient_of_a_sum_over_any_axes_is_the_plain_one_bit_by_bit(shape, dtype):
    raw = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for n in range(1, raw.ndim + 1):
        for axes in itertools.combinations(range(raw.ndim), n):
            g = np.random.default_rng(1).normal(size=raw.sum(axes).shape).astype(dtype)
            for keepdims in (False, True):

                def gradient(axes=axes, keepdims=keepdims, g=g):
                    x = ag.asarray(raw, requires_grad=True)
                    y = an.sum(x, axis=axes, keepdims=keepdims)
                    y.backward(g.reshape(y.shape))
                    return x.grad.numpy()

                same(gradient(), plain(gradient))
