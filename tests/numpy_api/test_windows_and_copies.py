"""sliding_window_view is a view, copies are laid out as NumPy's, softmax of nothing is empty.

Imports the public names of arraygrad. References: NumPy for values and strides, finite differences for gradients.
"""

import copy

import numpy as np
import pytest

import arraygrad as ag

windows = np.lib.stride_tricks.sliding_window_view

CASES = {
    "one axis": ((5,), 3, None),
    "two axes": ((3, 4), (2, 3), None),
    "the last axis": ((2, 4), 3, -1),
    "the first axis": ((4, 2), (2,), (0,)),
    "axes in another order": ((3, 4), (2, 3), (1, 0)),
    "an axis twice": ((6,), (2, 3), (0, 0)),
    "a window of everything": ((3,), 3, None),
    "a window of one": ((3,), 1, None),
    "no axis": ((2, 3), (), ()),
    "nothing to see": ((0, 3), (2,), (1,)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["C", "F", "every second"])
def test_windows_have_numpys_values_memory_and_gradient(name, layout):
    shape, lengths, axis = CASES[name]
    values = np.arange(1.0, np.prod(shape) + 1).reshape(shape) / 7
    if layout == "every second":
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    values = np.asarray(values, order="F" if layout == "F" else "K")
    x = ag.asarray(values, requires_grad=True)
    found, expected = windows(x, lengths, axis), windows(values, lengths, axis)
    assert isinstance(found, ag.Tensor)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.strides == expected.strides
    assert not found.array.flags.writeable
    assert not values.size or np.shares_memory(found.array, values)
    if values.size:
        f = lambda x: windows(x, lengths, axis) ** 2 * np.arange(1.0, expected.size + 1).reshape(expected.shape)
        assert ag.gradcheck(f, (x,))
        assert ag.gradgradcheck(f, (x,))


def test_a_later_write_is_seen_in_the_windows():
    def f(x, v):
        y = x * 1.0
        w = windows(y, 3)
        before = w * 1.0
        y[1] = v[0]
        y[3:] *= v[1]
        return before + w**2 + windows(y[1:], 3).sum()

    x, v = np.arange(1.0, 6.0), np.array([7.0, -2.0])
    np.testing.assert_array_equal(f(ag.asarray(x), ag.asarray(v)).numpy(), f(x, v))
    inputs = (ag.tensor(x, requires_grad=True), ag.tensor(v, requires_grad=True))
    np.testing.assert_array_equal(f(*inputs).numpy(), f(x, v))
    assert ag.gradcheck(f, inputs)
    assert ag.gradgradcheck(f, inputs)


def test_a_later_write_does_not_change_the_gradient_of_what_was_computed():
    x = ag.tensor(np.arange(1.0, 5.0), requires_grad=True)
    y = x * 1.0
    w = windows(y, 2)
    product = (w * w).sum()
    y[...] = 0.0
    product.backward()
    assert x.grad.tolist() == [2.0, 8.0, 12.0, 8.0]
    assert w.tolist() == [[0.0, 0.0]] * 3


def test_windows_of_a_view_see_a_write_into_its_base():
    x = ag.tensor(np.arange(6.0), requires_grad=True)
    y = x * 1.0
    w = windows(y.reshape(2, 3).T, (2,), axis=0)
    y[2] = x[0] * 10.0 + 5.0
    expected = windows(y.numpy().reshape(2, 3).T, (2,), axis=0)
    np.testing.assert_array_equal(w.numpy(), expected)
    w.sum().backward()
    assert x.grad.tolist() == [11.0, 2.0, 0.0, 1.0, 2.0, 1.0]


def test_a_window_is_not_written():
    y = ag.tensor(np.arange(5.0), requires_grad=True) * 1.0
    w = windows(y, 3)
    for write in (lambda: w.__setitem__((1, 1), 50.0), lambda: w.__imul__(2.0), lambda: w[0].__setitem__(0, y[4])):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert y.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    for t in (y, y.detach()):
        with pytest.raises(TypeError, match="several windows"):
            windows(t, 3, writeable=True)
    (w * 1.0).sum().backward()


@pytest.mark.parametrize(("lengths", "axis"), [(6, None), ((2, 2), None), (-1, None), (2, 1), ((2, 2), 0), (2.0, 0)])
def test_windows_that_numpy_refuses_are_refused(lengths, axis):
    errors = (ValueError, TypeError)
    with pytest.raises(errors):
        windows(np.arange(5.0), lengths, axis)
    with pytest.raises(errors):
        windows(ag.tensor(np.arange(5.0), requires_grad=True), lengths, axis)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_windows_of_other_libraries_are_copies(library):
    pytest.importorskip(library)
    x = getattr(ag, library).asarray([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    w = windows(x, 2)
    (w * w).sum().backward()
    assert w.tolist() == [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]
    assert x.grad.tolist() == [2.0, 8.0, 12.0, 8.0]


# Copies

ARRAYS = {
    "C": np.arange(6.0).reshape(2, 3),
    "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "every second": np.arange(12.0).reshape(3, 4)[:, ::2],
    "every second, Fortran": np.asfortranarray(np.arange(24.0).reshape(4, 6))[::2],
    "backwards": np.arange(12.0).reshape(3, 4)[::-1],
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "one dimension, backwards": np.arange(4.0)[::-1],
    "none": np.array(1.5),
}
COPIES = {
    "a.copy()": lambda a: a.copy(),
    **{f"a.copy({order!r})": lambda a, order=order: a.copy(order) for order in "CFAK"},
    "a.copy(order='F')": lambda a: a.copy(order="F"),
    "np.copy": np.copy,
    **{f"np.copy {order}": lambda a, order=order: np.copy(a, order=order) for order in "CFAK"},
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "flatten": lambda a: a.flatten(),
    "astype": lambda a: a.astype(a.dtype),
    "xp.asarray": lambda a: a.__array_namespace__().asarray(a, copy=True),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("tracked", ["constant", "leaf", "result"])
def test_a_copy_is_laid_out_as_numpys(make, array, tracked):
    expected = make(array)
    t = ag.asarray(array, requires_grad=tracked != "constant")
    if tracked == "result":
        t = ag.asarray(np.zeros(array.shape), requires_grad=True).sum() + t  # an operation keeps the layout
        if t.array.strides != array.strides:
            pytest.skip("no operation gives this layout")
        if make is COPIES["copy.deepcopy"]:
            with pytest.raises(RuntimeError, match="leaves"):
                make(t)
            return
    found = make(t)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.strides == expected.strides
    assert not np.shares_memory(found.array, t.array)
    assert found.requires_grad == t.requires_grad


def test_the_gradient_of_a_copy_in_another_order():
    for order in "CFAK":
        x = ag.asarray(ARRAYS["transposed"], requires_grad=True)
        assert ag.gradcheck(lambda x, order=order: x.copy(order=order) ** 2, (x,))


def test_an_order_that_is_none_is_refused():
    with pytest.raises(ValueError, match="order"):
        ag.ones(3).copy("X")


# softmax and its kin over no elements


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 0), 1), ((0, 2), 0), ((0,), 0), ((2, 0), None), ((3, 0, 2), (1, 2))])
def test_softmax_of_no_elements_is_empty_and_their_logsumexp_minus_infinity(shape, axis, dtype):
    x = ag.tensor(np.zeros(shape, dtype), requires_grad=True)
    for module in (ag, ag.special):
        for name in ("softmax", "log_softmax"):
            found = getattr(module, name)(x, axis=axis)
            assert found.shape == shape
            assert found.dtype == x.dtype
            found.sum().backward()
            assert x.grad.shape == shape
        for keepdims in (False, True):
            found = module.logsumexp(x, axis=axis, keepdims=keepdims)
            assert found.shape == np.sum(x.numpy(), axis=axis, keepdims=keepdims).shape
            assert found.dtype == x.dtype
            assert (found.numpy() == -np.inf).all()
            found.sum().backward()
            assert x.grad.shape == shape


def test_logsumexp_of_no_elements_is_scipys():
    special = pytest.importorskip("scipy.special")
    for shape, axis in (((2, 0), 1), ((0, 2), 0), ((0,), None)):
        for keepdims in (False, True):
            values = np.zeros(shape)
            np.testing.assert_array_equal(
                ag.special.logsumexp(values, axis=axis, keepdims=keepdims).numpy(),
                special.logsumexp(values, axis=axis, keepdims=keepdims),
            )


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_softmax_of_no_elements_over_another_library(library):
    pytest.importorskip(library)
    x = getattr(ag, library).zeros((2, 0), requires_grad=True)
    assert ag.softmax(x, axis=1).shape == ag.log_softmax(x, axis=1).shape == (2, 0)
    assert ag.logsumexp(x, axis=1).tolist() == [-np.inf] * 2
    ag.softmax(x, axis=1).sum().backward()
    assert x.grad.shape == (2, 0)
