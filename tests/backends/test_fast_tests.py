"""The NumPy backend's direct loops with boolean results, held to NumPy's ufuncs: values and layouts."""

import itertools

import numpy as np
import pytest
from fast_path_cases import DENSE, DTYPES, OTHER, SPECIAL, values_of

from arraygrad.backends.numpy import BACKEND
from arraygrad.backends.numpy.array_ops import try_loop
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.ops import OPS

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
QUESTIONS = ("isnan", "isinf", "isfinite")


def direct(name, *operands):
    """The result of an operation by direct loop, or None: declined."""
    return try_loop(BACKEND, OPS[name], *operands)[0]


def same(got, expected):
    assert (type(got), got.dtype, got.shape) == (np.ndarray, np.dtype(bool), np.shape(expected))
    np.testing.assert_array_equal(got, expected)
    assert got.size <= 1 or got.strides == expected.strides


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", DENSE)
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_gives_numpys_result(name, layout, dtype):
    a, b = (DENSE[layout](values_of(dtype, seed)) for seed in (1, 2))
    for x, y in ((a, b), (a, a), (a, 0.5), (1, b)):
        same(direct(name, x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_special_values_compare_as_in_numpy(name, dtype):
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype)
    a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
    with np.errstate(all="raise"):
        same(direct(name, a, b), getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_of_special_values_are_answered_as_in_numpy(name, dtype):
    x = np.array(SPECIAL).astype(dtype)
    same(direct(name, x), getattr(np, name)(x))
    same(direct(name, x[:, None]), getattr(np, name)(x[:, None]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["logical_and", "logical_or"])
def test_logic_of_numbers_gives_numpys_result(name, dtype):
    a, b = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype).T.copy()
    same(direct(name, a, b), getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_row_is_compared_with_each_row_as_in_numpy(name, dtype):
    x = values_of(dtype, seed=1)((4, 6))
    for y in (x[1].copy(), x[:, 1:2].copy(), np.array(0.5, dtype), np.array([0.5], dtype)):
        same(direct(name, x, y), getattr(np, name)(x, y))
        same(direct(name, y, x), getattr(np, name)(y, x))


@pytest.mark.parametrize("layout", OTHER)
def test_other_layouts_are_left_to_numpy(layout):
    a, b = (OTHER[layout](values_of("float64", seed)) for seed in (1, 2))
    assert direct("less", a, b) is None
    assert direct("isnan", a) is None


@pytest.mark.parametrize(
    "operands",
    [
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros((2, 3)), np.zeros(3)),
        (np.zeros((4, 1)), np.zeros((1, 4))),
        (np.zeros(3, np.float32), 1e300),
        (np.zeros(3), True),
        (np.zeros(3, int), 1.0),
        (np.zeros(3, complex), np.zeros(3)),
        (2**70, np.zeros(3)),
    ],
    ids=str,
)
def test_operands_that_need_a_cast_or_short_rows_are_left_to_numpy(operands):
    assert direct("greater", *operands) is None


def test_nothing_is_compiled_where_fast_paths_are_off():
    previous = set_fast_paths(False)
    try:
        assert direct("less", np.zeros(2), np.zeros(2)) is None
    finally:
        set_fast_paths(previous)
