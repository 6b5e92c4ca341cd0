"""Methods of arrays that are called by the class, `numpy.ndarray.sum(x)`: those of a Tensor in adopted calls.

The functions stand in a module of their own, as a module that does more with numpy.ndarray keeps the real one.
"""

import numpy as np
import pytest

import arraygrad as ag

X = np.array([[0.5, 1.5, -0.5], [2.0, 0.25, 1.0]])
LINES = {
    "flatten": "np.ndarray.flatten(x)[1:] ** 2",
    "sum": "np.ndarray.sum(x * x, axis=0)",
    "mean": "np.ndarray.mean(x, 1) ** 3",
    "reshape": "np.ndarray.reshape(x, 3, 2) * np.arange(6.0).reshape(3, 2)",
    "dot": "np.ndarray.dot(x, np.array([1.0, 2.0, 3.0]))",
    "transpose": "np.ndarray.transpose(x) * 2.0",
    "getitem": "np.ndarray.__getitem__(x, 1) * x[0]",
    "mul": "np.ndarray.__mul__(x, x)",
    "copy": "np.ndarray.copy(x) * x",
    "clip": "np.ndarray.clip(x, 0.1, 1.7)",
    "of a plain array": "np.ndarray.sum(np.arange(3)) * x",
    "made and written": "np.ndarray((2, 3)) * 0.0 + np.ndarray.cumsum(x, 1)",
}


def program(line):
    space = {"__name__": "program_of_methods", "np": np}
    exec(f"def f(x):\n    return ({line}).sum()\n", space)
    return space["f"]


@pytest.mark.parametrize("name", LINES)
def test_method(name):
    f = program(LINES[name].replace("np.ndarray((2, 3)) * 0.0", "np.nan_to_num(np.ndarray((2, 3))) * 0.0"))
    h = 1e-6
    expected = [(f(X + e.reshape(2, 3)) - f(X - e.reshape(2, 3))) / (2.0 * h) for e in np.eye(6) * h]
    value, grad = ag.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(grad.ravel(), expected, rtol=1e-7, atol=1e-8)


def test_the_way_out_where_the_real_class_is_kept():
    f = program("np.ndarray.flatten(x) if type(x) is not np.ndarray else np.ndarray.flatten(x)")
    with pytest.raises(TypeError) as error:
        ag.grad(f)(X)
    assert "write x.name(...)" in "".join(error.value.__notes__)
    np.testing.assert_array_equal(ag.grad(program("x.flatten()"))(X), np.ones((2, 3)))


CLASS = """
class Explicit(np.ndarray):
    def __new__(cls, values):
        made = np.ndarray.__new__(cls, np.shape(values), float)
        np.ndarray.__setitem__(made, Ellipsis, values)
        made.kept = 2.0
        return made

    def __array_finalize__(self, obj):
        self.kept = getattr(obj, "kept", 1.0)

    def __getitem__(self, key):
        return np.ndarray.__getitem__(self, key) * self.kept

    def sum(self, *args, **kwargs):
        return np.ndarray.sum(self, *args, **kwargs) / self.kept


def f(x):
    h = Explicit(x)
    return h.sum() + (h[1] * x[0]).sum() + (h * h).kept + np.ndarray.max(h)
"""


def test_a_class_that_names_it():
    space = {"__name__": "program_with_a_class", "np": np}
    exec(CLASS, space)
    f = space["f"]
    value, grad = ag.value_and_grad(f)(X)
    assert value == f(X)
    assert type(space["Explicit"](X)).__mro__[1] is np.ndarray
    h = 1e-6
    expected = [(f(X + e.reshape(2, 3)) - f(X - e.reshape(2, 3))) / (2.0 * h) for e in np.eye(6) * h]
    np.testing.assert_allclose(grad.ravel(), expected, rtol=1e-7, atol=1e-8)
