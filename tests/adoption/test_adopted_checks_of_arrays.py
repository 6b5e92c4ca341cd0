"""numpy.require and numpy.asarray_chkfinite in adopted calls."""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([[0.5, 1.5, 2.5], [1.0, 2.0, 4.0]])

CALLS = {
    "as it is": lambda x: np.require(x),
    "its dtype": lambda x: np.require(x, dtype=np.float64),
    "another dtype": lambda x: np.require(x, np.float32),
    "rows": lambda x: np.require(x.T, requirements=["C"]),
    "columns": lambda x: np.require(x, float, "F"),
    "by long names": lambda x: np.require(x, requirements=["C_CONTIGUOUS", "writeable", "ALIGNED"]),
    "its own": lambda x: np.require(x[:, 1:], requirements=["O"]),
    "all": lambda x: np.require(x, float, ["C", "A", "W", "O", "E"]),
    "a list": lambda x: np.require([x[0, 0], x[1, 1]], requirements=["W"]),
    "nested lists": lambda x: np.require([[x[0, 0], 1.0], [2.0, x[1, 1]]], dtype=float),
    "a number": lambda x: np.require(x[0, 0]),
    "finite": lambda x: np.asarray_chkfinite(x),
    "finite list": lambda x: np.asarray_chkfinite([x[0, 1], x[1, 1]]),
    "finite, another dtype": lambda x: np.asarray_chkfinite(x, dtype=np.float32),
    "a plain array that is written": lambda x: written(np.require(np.ones(3), requirements=["W"]), x),
    "a plain list that is written": lambda x: written(np.asarray_chkfinite([1.0, 2.0, 3.0]), x),
}


def written(a, x):
    a = a.copy() if isinstance(a, np.ndarray) and a.base is not None else a
    a[0] = x[0, 0] * x[1, 1]
    return a


@pytest.mark.parametrize("name", CALLS)
def test_they_are_recorded(name):
    call = CALLS[name]

    def loss(x):
        made = call(x)
        return (made * np.cos(np.arange(made.size)).reshape(made.shape)).sum()

    plain = np.asarray(call(X.copy()))
    value, gradient = ag.value_and_grad(loss, adopt=True)(X.copy())
    assert value == loss(X.copy())
    assert call(ag.tensor(X)).dtype == plain.dtype if name.endswith("dtype") else True
    step = 1e-6 if plain.dtype == np.float64 else 1e-2
    for i in np.ndindex(X.shape):
        up, down = X.copy(), X.copy()
        up[i] += step
        down[i] -= step
        assert gradient[i] == pytest.approx((loss(up) - loss(down)) / (2 * step), abs=1e-3 if step > 1e-3 else 1e-7)


def test_what_needs_no_change_is_the_same_array():
    def loss(x):
        y = x * 1.0
        z = np.require(y, float, ["C", "W", "O"])
        z[0, 0] = 3.0 * x[1, 1]
        return (y * y).sum()

    value, gradient = ag.value_and_grad(loss, adopt=True)(X.copy())
    assert value == loss(X.copy())
    expected = 2 * X
    expected[0, 0] = 0.0
    expected[1, 1] += 18.0 * X[1, 1]
    np.testing.assert_allclose(gradient, expected)


def test_what_numpy_refuses_is_refused():
    with pytest.raises(ValueError, match="Cannot specify both"):
        ag.grad(lambda x: np.require(x, requirements=["C", "F"]).sum(), adopt=True)(X)
    with pytest.raises(KeyError):
        ag.grad(lambda x: np.require(x, requirements=["Z"]).sum(), adopt=True)(X)
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        ag.grad(lambda x: np.asarray_chkfinite(x * np.inf).sum(), adopt=True)(X)


def test_the_method_dot_of_a_plain_array_says_what_to_write():
    plain = {"a": np.arange(3.0)}
    with pytest.raises(TypeError, match=r"a @ b and numpy.dot\(a, b\) are recorded"):
        ag.grad(lambda x: plain["a"][:2].dot(x).sum(), adopt=False)(X)
    np.testing.assert_array_equal(ag.grad(lambda x: plain["a"][:2].dot(x).sum())(X), [[0.0] * 3, [1.0] * 3])
