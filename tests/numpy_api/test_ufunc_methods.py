"""Methods of NumPy's ufuncs that are one operation: what the compiled way gives is what the general one gives.

See core/ufunc_methods.pyx. The general way is taken with set_compiled_protocols(False).
"""

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.protocols import set_compiled_protocols

UFUNCS = [np.add, np.multiply, np.maximum, np.minimum, np.subtract, np.logaddexp, np.hypot]
X = np.array([[0.5, -1.5, 2.0], [0.5, 3.0, -0.25]])
CALLS = {
    "reduce": lambda u, t: u.reduce(t),
    "reduce, axis": lambda u, t: u.reduce(t, 1),
    "reduce, from behind": lambda u, t: u.reduce(t, axis=-1),
    "reduce, keepdims": lambda u, t: u.reduce(t, axis=0, keepdims=True),
    "reduce, everything": lambda u, t: u.reduce(t, axis=None),
    "reduce, two axes": lambda u, t: u.reduce(t, axis=(0, 1)),
    "reduce, dtype": lambda u, t: u.reduce(t, dtype=np.float64),
    "reduce, initial": lambda u, t: u.reduce(t, initial=0.25),
    "reduce, no axis": lambda u, t: u.reduce(t, 5),
    "reduce, vector": lambda u, t: u.reduce(t[0]),
    "reduce, nothing": lambda u, t: u.reduce(t[:0]),
    "reduce, number": lambda u, t: u.reduce(t[0, 0] * 1.0),
    "accumulate": lambda u, t: u.accumulate(t),
    "accumulate, axis": lambda u, t: u.accumulate(t, 1),
    "accumulate, from behind": lambda u, t: u.accumulate(t, axis=-1),
    "accumulate, vector": lambda u, t: u.accumulate(t[1]),
    "accumulate, columns": lambda u, t: u.accumulate(t.T),
    "accumulate, True": lambda u, t: u.accumulate(t, True),
    "accumulate, no axis": lambda u, t: u.accumulate(t, 2),
    "accumulate, nothing": lambda u, t: u.accumulate(t[:0]),
    "outer": lambda u, t: u.outer(t, t[0]),
    "outer, array": lambda u, t: u.outer(t[0], np.array([1.0, 2.0])),
    "outer, array first": lambda u, t: u.outer(np.array([1.0, 2.0]), t),
    "outer, number": lambda u, t: u.outer(t, 2.0),
    "outer, list": lambda u, t: u.outer([1.0, 2.0], t),
    "outer, constant": lambda u, t: u.outer(ag.asarray(np.ones(2)), t),
    "outer, ints": lambda u, t: u.outer(np.arange(2), t),
    "outer, three": lambda u, t: u.outer(t, t, t),
}


def outcome(call, ufunc, dtype):
    t = ag.tensor(X.astype(dtype), requires_grad=True)
    try:
        with np.errstate(all="ignore"):
            out = call(ufunc, t)
            (out * np.arange(1.0, out.size + 1).reshape(out.shape).astype(dtype)).sum().real.backward()
    except (TypeError, ValueError, IndexError, RuntimeWarning) as error:
        return type(error), str(error)
    return out.dtype, out.shape, out.detach().numpy().tobytes(), t.grad.numpy().tobytes(), type(out.grad_fn).__name__


@pytest.mark.keeps_objects  # NumPy keeps the arguments of a method of a ufunc whose __array_ufunc__ raises
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
@pytest.mark.parametrize("name", CALLS)
def test_a_method_gives_what_the_general_way_gives(name, ufunc):
    for dtype in (np.float64, np.float32, np.complex128):
        found = outcome(CALLS[name], ufunc, dtype)
        before = set_compiled_protocols(False)
        try:
            expected = outcome(CALLS[name], ufunc, dtype)
        finally:
            set_compiled_protocols(before)
        assert found == expected, dtype


def test_a_result_without_axes_is_a_scalar():
    t = ag.tensor(X[0], requires_grad=True)
    total = np.add.reduce(t)
    last = total
    last += 1.0
    assert float(total.detach()) == X[0].sum()


def test_a_number_fills_like_an_array_without_a_gradient():
    t = ag.tensor(X.T, requires_grad=True)
    for value in (2.0, 3, np.float64(1.5)):
        found = np.full_like(t, value)
        assert not found.requires_grad
        assert found.dtype == X.dtype
        assert found.numpy().strides == np.full_like(X.T, value).strides
        np.testing.assert_array_equal(found.numpy(), np.full_like(X.T, value))
    assert np.full_like(t, t[0, 0]).requires_grad


@pytest.mark.parametrize(
    "axes", [(0, 1), (1, 0), (-1, 0), (1, 1), (0, -2), (2, 0), (True, 0), (np.int64(0), 1)], ids=str
)
def test_swapaxes_and_diagonals_of_matrices(axes):
    t = ag.tensor(X, requires_grad=True)
    for name in ("swapaxes", "diagonal"):
        arguments = axes if name == "swapaxes" else (0, *axes)
        try:
            expected = getattr(X, name)(*arguments)
        except ValueError:
            with pytest.raises(ValueError, match="ax"):
                getattr(t, name)(*arguments)
            continue
        found = getattr(t, name)(*arguments)
        assert found.detach().numpy().tobytes() == expected.tobytes()
        assert found.shape == expected.shape


def test_copies_in_one_dimension():
    for x in (X, X.T, X[:, ::2], X[0], X[:0], X[0, 0]):
        t = ag.tensor(np.zeros(()), requires_grad=True) + x
        found = ag.asarray(x).flatten()
        assert found.numpy().tobytes() == x.flatten().tobytes()
        (t.flatten() * np.arange(1.0, x.size + 1)).sum()
        found[...] = 7.0
        assert not x.size or x.max() != 7.0


@pytest.mark.parametrize("take", [np.take, lambda x, *rest: x.take(*rest)], ids=["function", "method"])
def test_take_of_vectors_and_matrices(take):
    calls = [
        (X[0], [0, 2, 0]),
        (X[0], np.array([2, -1])),
        (X, np.array([5, 0])),
        (X, np.array([1]), 0),
        (X, np.array([[0, 1]]), 1),
        (X, 1),
        (X[0], np.array(2)),
        (X, np.array([True, False])),
        (X, np.array([], np.intp)),
        (X[0], np.array([1, 2], np.int32)),
    ]
    for x, *rest in calls:
        t = ag.tensor(x, requires_grad=True)
        found, expected = take(t, *rest), take(x, *rest)
        assert found.detach().numpy().tobytes() == expected.tobytes()
        assert found.shape == expected.shape
        found.sum().backward()
        counts = np.zeros(x.shape)
        at = take(np.arange(x.size).reshape(x.shape), *rest)
        np.add.at(counts.reshape(-1), at, 1.0)
        np.testing.assert_array_equal(t.grad.numpy(), counts)
    with pytest.raises(IndexError):
        take(ag.tensor(X[0], requires_grad=True), np.array([3]))


@pytest.mark.parametrize("name", ["any", "all", "argmax", "argmin"])
def test_tests_and_places_of_extrema(name):
    for x in (X, X > 0.0, np.array([np.nan, 1.0]), np.zeros((2, 0)), np.array(1.5)):
        t = ag.asarray(x)
        for arguments in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": 3}, {"keepdims": True}):
            try:
                expected = getattr(x, name)(**arguments)
            except ValueError:
                with pytest.raises(ValueError, match=r"ax|empty|out of bounds"):
                    getattr(t, name)(**arguments)
                continue
            found = getattr(t, name)(**arguments)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)
