"""Writes whose value has more axes than its place, or a place of no dimension: NumPy's values, and right gradients.

Imports the public names of arraygrad. Each write is a program on an array `y` and a value `v` that runs on NumPy too.
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.inplace import as_scalar

ROWS = np.array([True, False])
EVERYWHERE = np.ones((2, 3), dtype=bool)


# name -> (a write of v into y, the shape of v); y has shape (2, 3)
WRITES = {
    "y[:] = v": (lambda y, v: y.__setitem__(slice(None), v), (1, 1, 2, 3)),
    "y[...] = v": (lambda y, v: y.__setitem__(..., v), (1, 2, 3)),
    "y[:] = v, broadcast": (lambda y, v: y.__setitem__(slice(None), v), (1, 1, 1, 3)),
    "y[:] = v, one element": (lambda y, v: y.__setitem__(slice(None), v), (1, 1, 1, 1)),
    "y[0] = v": (lambda y, v: y.__setitem__(0, v), (1, 3)),
    "y[-1] = v, one element": (lambda y, v: y.__setitem__(-1, v), (1, 1, 1)),
    "y[0:1] = v": (lambda y, v: y.__setitem__(slice(0, 1), v), (1, 1, 3)),
    "y[:, 1] = v": (lambda y, v: y.__setitem__((slice(None), 1), v), (1, 1, 2)),
    "y[[1, 0]] = v": (lambda y, v: y.__setitem__([1, 0], v), (1, 1, 2, 3)),
    "y[[1, 1]] = v": (lambda y, v: y.__setitem__([1, 1], v), (1, 2, 3)),
    "y[rows] = v": (lambda y, v: y.__setitem__(ROWS, v), (1, 1, 3)),
    "y[pairs] = v": (lambda y, v: y.__setitem__(([0, 1], [2, 0]), v), (1, 1, 2)),
    "y[None] = v": (lambda y, v: y.__setitem__(None, v), (1, 1, 2, 3)),
    "a view of y": (lambda y, v: y[:, 1:].__setitem__(0, v), (1, 1, 2)),
    "the transpose of y": (lambda y, v: y.T.__setitem__(slice(None), v), (1, 3, 2)),
    "np.copyto": (lambda y, v: np.copyto(y, v), (1, 1, 2, 3)),
    "np.copyto, broadcast": (lambda y, v: np.copyto(y, v), (1, 1, 1, 3)),
    "np.copyto, where": (lambda y, v: np.copyto(y, v, where=np.array([[True], [False]])), (1, 2, 3)),
    "np.copyto of a list": (lambda y, v: np.copyto(y, [[v, v * 2]]), (3,)),
    "np.put": (lambda y, v: np.put(y, [0, 5, 0], v), (1, 3)),
    "np.putmask": (lambda y, v: np.putmask(y, EVERYWHERE, v), (1, 2, 3)),
    "np.place": (lambda y, v: np.place(y, EVERYWHERE, v), (1, 1, 6)),
    "y.flat = v": (lambda y, v: setattr(y, "flat", v), (1, 2, 3)),
}


def written(write, y, v):
    y = y * 1.0
    write(y, v * 1.0)
    return y**2


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("shape_of", ["as it is", "without the leading axes"])
def test_a_write_that_leaves_out_leading_axes_of_one(name, shape_of):
    write, shape = WRITES[name]
    if shape_of != "as it is":
        while shape[:1] == (1,):
            shape = shape[1:]
    y, v = np.arange(6.0).reshape(2, 3) / 3 + 0.5, np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    np.testing.assert_array_equal(
        written(write, ag.tensor(y, requires_grad=True), ag.tensor(v, requires_grad=True)).numpy(), written(write, y, v)
    )
    inputs = (ag.tensor(y, requires_grad=True), ag.tensor(v, requires_grad=True))
    assert ag.gradcheck(lambda y, v: written(write, y, v), inputs)
    assert ag.gradgradcheck(lambda y, v: written(write, y, v), inputs)


def test_the_gradients_of_such_a_write_in_numbers():
    y, v = ag.tensor(np.zeros((2, 3)), requires_grad=True), ag.tensor(np.ones((1, 1, 3)), requires_grad=True)
    z = y * 1.0
    z[0] = v
    (z * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert v.grad.tolist() == [[[1.0, 2.0, 3.0]]]
    assert y.grad.tolist() == [[0.0] * 3, [4.0, 5.0, 6.0]]


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_such_a_write_over_another_library(library):
    pytest.importorskip(library)
    xp = getattr(ag, library)
    y, v = xp.ones((2, 3)), xp.ones((1, 2, 3), requires_grad=True)
    y[...] = v
    (y * y).sum().backward()
    assert v.grad.tolist() == [[[2.0] * 3] * 2]


@pytest.mark.parametrize("shape", [(2, 2, 3), (2, 1, 3), (4,), (1, 4)])
def test_a_value_that_does_not_fit_is_refused_before_anything_is_written(shape):
    y = ag.tensor(np.zeros((2, 3)), requires_grad=True) * 1.0
    before = y.grad_fn
    with pytest.raises(ValueError, match="broadcast"):
        y[...] = ag.ones(shape, requires_grad=True)
    assert y.tolist() == [[0.0] * 3] * 2
    assert y.grad_fn is before


def test_out_of_a_ufunc_does_not_leave_out_axes():
    v, out = ag.ones((1, 2, 3), requires_grad=True), np.zeros((2, 3))
    for call in (lambda v, out: np.exp(v, out=out), lambda v, out: np.add(v, 1.0, out=out, where=True)):
        with pytest.raises(ValueError, match="output operand"):
            call(np.ones((1, 2, 3)), out)
        with pytest.raises(ValueError, match="out="):
            call(v, ag.asarray(out))
    assert not out.any()
    flat = ag.zeros((2, 3))
    np.exp(v[0, :1], out=flat)  # fewer rows are repeated
    np.testing.assert_array_equal(flat.numpy(), np.exp(np.ones((2, 3))))


# Arrays of no dimension


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("repeats", [2, [3], np.array([2]), 0, 1])
def test_repeat_of_an_array_of_no_dimension(repeats, axis):
    for call in (lambda x: np.repeat(x, repeats, axis=axis), lambda x: x.repeat(repeats, axis=axis)):
        x = ag.tensor(2.0, requires_grad=True)
        np.testing.assert_array_equal(call(x).numpy(), call(np.array(2.0)))
        assert ag.gradcheck(lambda x, call=call: call(x) ** 2, (x,))
        assert ag.gradgradcheck(lambda x, call=call: call(x) ** 2, (x,))
        weights = np.arange(1.0, call(np.array(2.0)).size + 1)
        (call(x) * weights).sum().backward()
        assert x.grad.item() == weights.sum()


PUTS = {
    "a number": (0, 5.0, {}),
    "from the end": (-1, 5.0, {}),
    "twice": ([0, 0], [5.0, 6.0], {}),
    "clipped": ([9], 5.0, {"mode": "clip"}),
    "wrapped": ([7, 8], [5.0, 6.0], {"mode": "wrap"}),
    "nowhere": ([], 5.0, {}),
    "nothing": ([0], [], {}),
}


@pytest.mark.parametrize("name", PUTS)
def test_put_into_an_array_of_no_dimension(name):
    indices, values, options = PUTS[name]
    expected = np.array(2.0)
    np.put(expected, indices, values, **options)
    y = as_scalar(ag.tensor(2.0, requires_grad=True) * 1.0, False)
    np.put(y, indices, values, **options)
    assert y.shape == ()
    assert y.item() == expected

    def f(x, v):
        z = as_scalar(x * 1.0, False)
        np.put(z, indices, v * 1.0, **options)
        return z**2

    v = ag.tensor(np.array(values, dtype=float), requires_grad=True)
    assert ag.gradcheck(f, (ag.tensor(2.0, requires_grad=True), v))


def test_put_out_of_an_array_of_no_dimension_is_an_error():
    with pytest.raises(IndexError):
        np.put(np.array(2.0), [1], 5.0)
    with pytest.raises(IndexError):
        np.put(ag.tensor(2.0, requires_grad=True) * 1.0, [1], 5.0)


def test_put_of_nothing_changes_nothing():
    y = ag.tensor([1.0, 2.0], requires_grad=True) * 1.0
    before = y.grad_fn
    np.put(y, [], [])
    np.put(y, [0], [])
    np.put(y, [], 3.0)
    assert y.tolist() == [1.0, 2.0]
    assert y.grad_fn is before
