"""backends/numpy/several.pyx: unstack and broadcast_arrays give what NumPy's functions give, with their flags."""

import warnings

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends.numpy.array_ops import try_call
from arraygrad.backends.numpy.loops import set_fast_paths
from arraygrad.ops import OPS


def call(name, *args, **kwargs):
    op = OPS[name]
    return try_call(op, op.bind(args, kwargs))


def same(got, expected):
    assert type(got) is tuple
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert (g.dtype, g.shape) == (e.dtype, e.shape)
        assert g.strides == e.strides or 1 in g.shape
        assert g.flags.writeable == e.flags.writeable
        np.testing.assert_array_equal(g, e)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((2, 3, 4), -1), ((0, 2), 0)])
def test_unstacking_gives_views_along_the_axis(dtype, shape, axis):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for a in (x, np.asfortranarray(x), x[::-1]):
        got = call("unstack", a, axis=axis)
        same(got, tuple(np.moveaxis(a, axis, 0)))
        assert all(np.shares_memory(g, a) or g.size == 0 for g in got)


@pytest.mark.parametrize("axis", [2, -3])
def test_unstacking_along_no_axis_is_left_to_numpy(axis):
    assert call("unstack", np.zeros((2, 2)), axis=axis) is None


SHAPES = [
    [(3,), (2, 3)],
    [(2, 1), (1, 3)],
    [(), (2,)],
    [(2, 3), (2, 3)],
    [(1,), (0,)],
    [(4, 1, 3), (2, 1), (3,)],
    [(1, 1), (1,)],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting_gives_numpys_views(shapes):
    arrays = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    arrays[0].flags.writeable = len(shapes) != 3
    got = call("broadcast_arrays", *arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(got, np.broadcast_arrays(*arrays))
    assert all(np.shares_memory(g, a) or g.size == 0 for g, a in zip(got, arrays, strict=True))


def test_a_write_into_what_was_broadcast_warns_as_numpys_does():
    arrays = (np.zeros(3), np.zeros((2, 3)))
    for result in (call("broadcast_arrays", *arrays), np.broadcast_arrays(*arrays)):
        with pytest.warns(DeprecationWarning, match="will not be writeable|broadcast"):
            result[0][0, 0] = 1.0


def test_arrays_of_one_shape_are_given_back_as_they_are():
    arrays = (np.zeros(3), np.ones(3))
    assert all(g is a for g, a in zip(call("broadcast_arrays", *arrays), arrays, strict=True))


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(2, 3), (3, 2)]], ids=str)
def test_shapes_that_do_not_fit_are_left_to_numpy(shapes):
    assert call("broadcast_arrays", *[np.zeros(shape) for shape in shapes]) is None


@pytest.mark.parametrize(("name", "arrays"), [("unstack", [(3, 2)]), ("broadcast_arrays", [(3,), (2, 3)])])
def test_recorded_views_and_gradients_are_those_without_fast_paths(name, arrays):
    def run():
        tensors = [ag.tensor(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), requires_grad=True) for shape in arrays]
        pieces = getattr(ag, name)(*[t * 2 for t in tensors])
        sum((i + 1) * (piece**2).sum() for i, piece in enumerate(pieces)).backward()
        return [piece.detach().numpy().tolist() for piece in pieces], [t.grad.numpy().tolist() for t in tensors]

    fast = run()
    previous = set_fast_paths(False)
    try:
        assert run() == fast
    finally:
        set_fast_paths(previous)
