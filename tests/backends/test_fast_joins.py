"""The NumPy backend's compiled joins, choices and views, held to NumPy's own functions: values, dtypes and layouts."""

import numpy as np
import pytest
from fast_path_cases import values_of

from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.ops import OPS

DTYPES = ("float32", "float64", "complex64", "complex128")


def call(name, *args):
    return try_call(OPS[name], args)


def same(got, expected):
    assert type(got) is np.ndarray
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.strides == expected.strides or got.size <= 1 or 1 in got.shape
    np.testing.assert_array_equal(got, expected)


def parts(dtype, shape, n):
    return [np.asarray(values_of(dtype, i)(shape)) for i in range(n)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (0,), (2, 3), (1, 3), (3, 1), (2, 3, 4), (2, 1, 4)])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_joining_gives_numpys_result_along_every_axis(dtype, shape, n):
    pieces = parts(dtype, shape, n)
    for axis in range(-len(shape), len(shape)):
        same(call("concat", pieces, axis), np.concatenate(pieces, axis))
    for axis in range(-len(shape) - 1, len(shape) + 1):
        same(call("stack", tuple(pieces), axis), np.stack(pieces, axis))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (2, 2, 3, 2)])
def test_joining_column_major_arrays_gives_numpys_result_and_its_order(dtype, shape):
    pieces = [np.asfortranarray(a) for a in parts(dtype, shape, 3)]
    for axis in range(-len(shape), len(shape)):
        same(call("concat", pieces, axis), np.concatenate(pieces, axis))
    for axis in range(-len(shape) - 1, len(shape) + 1):
        same(call("stack", pieces, axis), np.stack(pieces, axis))


def test_pieces_of_different_length_are_joined():
    pieces = [np.arange(6.0).reshape(3, 2), np.zeros((3, 0)), np.arange(9.0).reshape(3, 3)]
    same(call("concat", pieces, 1), np.concatenate(pieces, 1))


@pytest.mark.parametrize(
    ("pieces", "axis"),
    [
        ([np.zeros(2), np.zeros(2, np.float32)], 0),
        ([np.zeros((2, 2)), np.zeros((3, 2))], 1),
        ([np.zeros((2, 2)), np.zeros(2)], 0),
        ([np.zeros((4, 4)).T, np.zeros((4, 4))], 0),
        ([np.zeros((4, 4)), np.zeros((4, 4)).T], 1),
        ([np.zeros((4, 4)).T, np.zeros((4, 1)).T], 0),
        ([np.zeros(3), np.zeros(3)], 1),
        ([np.zeros(3), [1.0]], 0),
        ([np.zeros(()), np.zeros(())], 0),
        ([np.zeros(3, int)], 0),
        ([], 0),
        ([np.zeros(3)], None),
    ],
    ids=str,
)
def test_what_joins_otherwise_or_not_at_all_is_left_to_numpy(pieces, axis):
    assert call("concat", pieces, axis) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (0, 3), (3, 4), (20_011,)])
def test_choosing_gives_numpys_result(dtype, shape):
    x, y = parts(dtype, shape, 2)
    mask = np.asarray(x.real > 0.5)
    one = np.asarray(values_of(dtype, 3)(()))
    for a, b in ((x, y), (x, 0.0), (2, y), (x, one), (one, y)):
        same(call("where", mask, a, b), np.asarray(np.where(mask, a, b)))


@pytest.mark.parametrize(
    "args",
    [
        (np.ones(3, bool), np.zeros(3), np.zeros(3, np.float32)),
        (np.ones(3, bool), np.zeros((2, 3)), np.zeros((2, 3))),
        (np.ones((2, 3), bool), np.zeros(3), np.zeros((2, 3))),
        (np.ones((3, 3), bool).T[:, :2], np.zeros((3, 2)), np.zeros((3, 2))),
        (np.ones(3), np.zeros(3), np.zeros(3)),
        (np.ones(3, bool), 1.0, 2.0),
        (np.ones(3, bool), np.zeros(3, np.float32), 1e300),
        (True, np.zeros(3), 0.0),
    ],
    ids=str,
)
def test_what_needs_a_cast_or_broadcasts_is_left_to_numpy(args):
    assert call("where", *args) is None


def test_nan_and_signed_zero_are_chosen_bit_by_bit():
    x = np.array([np.nan, -0.0, np.inf, 0.0])
    mask = np.array([True, True, False, False])
    assert call("where", mask, x, -x).tobytes() == np.where(mask, x, -x).tobytes()


VIEWS = {
    "squeeze": lambda xp, a: (xp("squeeze", a[:1], 0), np.squeeze(a[:1], 0)),
    "squeeze strided": lambda xp, a: (xp("squeeze", a[::2, :1], (-1,)), np.squeeze(a[::2, :1], -1)),
    "expand_dims": lambda xp, a: (xp("expand_dims", a.T, -2), np.expand_dims(a.T, -2)),
    "broadcast_to": lambda xp, a: (xp("broadcast_to", a[:, :1], (2, 4, 3)), np.broadcast_to(a[:, :1], (2, 4, 3))),
    "broadcast_to empty": lambda xp, a: (xp("broadcast_to", a[:1], (0, 3)), np.broadcast_to(a[:1], (0, 3))),
    "flip": lambda xp, a: (xp("flip", a, None), np.flip(a)),
    "flip axis": lambda xp, a: (xp("flip", a, -1), np.flip(a, -1)),
    "diagonal": lambda xp, a: (xp("diagonal", a, 1), np.diagonal(a, 1)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_is_numpys_view(view):
    a = np.arange(12.0).reshape(4, 3)
    got, expected = view(call, a)
    same(got, expected)
    assert got.flags.writeable == expected.flags.writeable
    if got.size:
        assert np.shares_memory(got, a)
        assert got.__array_interface__["data"][0] == expected.__array_interface__["data"][0]


@pytest.mark.parametrize(
    "args",
    [
        ("squeeze", np.zeros((2, 1)), 0),
        ("squeeze", np.zeros((2, 1)), 2),
        ("expand_dims", np.zeros(2), 3),
        ("broadcast_to", np.zeros(2), (3,)),
        ("broadcast_to", np.zeros((2, 2)), (2,)),
        ("broadcast_to", np.zeros(1), (-1,)),
        ("flip", np.zeros(2), 1),
        ("flip", np.zeros(()), None),
        ("diagonal", np.zeros(2), 0),
    ],
    ids=str,
)
def test_a_view_that_there_is_not_is_left_to_numpys_error(args):
    assert call(*args) is None


def test_nothing_is_compiled_where_fast_paths_are_off():
    previous = set_fast_paths(False)
    try:
        assert call("stack", [np.zeros(2)], 0) is None
    finally:
        set_fast_paths(previous)
