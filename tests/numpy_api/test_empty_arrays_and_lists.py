"""Stands for two classes: arrays without elements in NumPy's functions, and lists of Tensors in functions that give
truth values or whole numbers.

`tests/fuzz/spellings/empty_arrays_of_numpy.py` draws further members of the first at random.
Imports of arraygrad: the public face only.
"""

import numpy as np
import pytest

import arraygrad as ag


def tensor(*args, **options):
    return ag.asarray(np.asarray(*args, **options), requires_grad=True)


@pytest.mark.parametrize("shape", [(3, 0), (0,), (0, 2)])
@pytest.mark.parametrize("new", [(2, 2), (0,), 3, ()])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_resize(shape, new, dtype):
    t = tensor(np.zeros(shape, dtype))
    found = np.resize(t, new)
    plain = np.resize(t.numpy(), new)
    assert (found.shape, found.dtype, found.tolist()) == (plain.shape, plain.dtype, plain.tolist())
    assert ag.autograd.grad([found.real.sum()], [t])[0].shape == shape


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_diag(dtype):
    for k in (-2, 0, 2):
        found = np.diag(tensor(np.zeros(0, dtype)), k)
        assert (found.shape, found.dtype) == ((abs(k), abs(k)), np.dtype(dtype))
        assert not found.numpy().any()


@pytest.mark.parametrize("dtype", [">f8", ">f4", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_functions_of_rows_without_elements(name, dtype):
    t = tensor(np.zeros((3, 0), dtype))
    found = getattr(ag, name)(t, axis=-1)
    assert found.shape == ((3,) if name == "logsumexp" else (3, 0))
    assert getattr(ag, name)(t, axis=0).shape == ((0,) if name == "logsumexp" else (3, 0))


def test_writes_of_nothing():
    for values in (np.zeros(0), tensor(np.zeros(0))):
        t = tensor([1.0, 2.0, 3.0]) * 1.0
        np.putmask(t, [True, True, False], values)
        np.put(t, [0], values)
        assert t.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="empty"):
        np.place(t, [True, False, False], np.zeros(0))
    with pytest.raises(ValueError, match="same size"):
        np.putmask(t, [True], 1.0)
    with pytest.raises(TypeError, match="'safe'"):
        np.place(t.astype(np.float32), [True, True, True], np.ones(3))


def test_take_of_an_axis_without_elements():
    t = tensor(np.zeros((0, 0)))
    assert np.take(t, 0, axis=1, mode="wrap").shape == (0,)
    with pytest.raises(IndexError):
        np.take(tensor(np.zeros((2, 0))), 0, axis=1, mode="clip")


def test_trim_zeros_trims_the_axes_that_are_named():
    assert np.trim_zeros(tensor(np.zeros((2, 3))), axis=0).shape == (0, 3)
    assert np.trim_zeros(tensor(np.zeros((2, 3))), axis=()).shape == (2, 3)


def test_both_byte_orders_in_reductions_that_leave_out_nan():
    for name in ("nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nansum"):
        t = tensor(np.array([1.0, np.nan, 4.0], ">f8"))
        native = tensor(np.array([1.0, np.nan, 4.0]))
        swapped, plain = [ag.autograd.grad([getattr(np, name)(x)], [x])[0].tolist() for x in (t, native)]
        assert swapped == plain


# -- lists of Tensors --------------------------------------------------------------------------------------------------

TRUTHS = {
    "isnan": lambda t, u: np.isnan([t, u]),
    "isfinite": lambda t, u: np.isfinite([[t], [u]]),
    "signbit": lambda t, u: np.signbit([t, u]),
    "less": lambda t, u: np.less([t, u], [1.5, 1.5]),
    "logical_and": lambda t, u: np.logical_and([t, u], [u, t]),
    "argmax": lambda t, u: np.argmax([t, u]),
    "allclose": lambda t, u: np.allclose([t], [u]),
    "count_nonzero": lambda t, u: np.count_nonzero([t, u]),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_what_has_no_slope_takes_lists_of_tensors(name):
    f = TRUTHS[name]
    plain = f(1.0, 2.0)
    found = f(tensor(1.0), tensor(2.0))
    assert np.asarray(found).tolist() == np.asarray(plain).tolist()
    for adopt in (False, True):
        gradient = ag.grad(lambda x: np.sum(x * np.sum(f(x[0], x[1]))), adopt=adopt)(np.array([1.0, 2.0]))
        assert gradient.tolist() == [float(np.sum(plain))] * 2


def test_what_has_a_slope_refuses_them():
    for f in (np.sin, np.frexp, np.floor):
        with pytest.raises(TypeError, match=r"arraygrad\.asarray"):
            f([tensor(1.0), tensor(2.0)])
    with pytest.raises(TypeError, match=r"arraygrad\.asarray"):
        np.isnan(np.sin([tensor(1.0)]))
