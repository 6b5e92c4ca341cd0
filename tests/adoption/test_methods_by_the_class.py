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
    assert "write x.name(...)" in str(error.value)
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


# -- methods of float and complex --------------------------------------------------------------------------------------

POWER, TABLE, LISTED = float.__pow__, {"/": float.__truediv__}, [float.__mul__, float.__rsub__]


def _power_of(method):
    return lambda x, y: method(x, y)


CLOSED = _power_of(float.__rpow__)

NUMBER_METHODS = {
    **{f"{n}": lambda x, y, n=n: getattr(float, n)(x, y) for n in (
        "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__pow__",
        "__rpow__", "__mod__", "__rmod__")},
    **{f"{n}(x, 3.0)": lambda x, y, n=n: getattr(float, n)(x, 3.0) * y for n in ("__floordiv__", "__rfloordiv__")},
    **{n: lambda x, y, n=n: getattr(float, n)(x) * y for n in (
        "__neg__", "__pos__", "__abs__", "__int__", "__trunc__", "__floor__", "__ceil__", "__bool__", "is_integer")},
    "divmod": lambda x, y: float.__divmod__(x, y)[1] * y,
    "rdivmod": lambda x, y: float.__rdivmod__(x, y)[1] * x,
    "by a name": lambda x, y: POWER(x, y),
    "by a dict": lambda x, y: TABLE["/"](x, y),
    "by a list": lambda x, y: LISTED[0](x, LISTED[1](y, x)),
    "by a closure": lambda x, y: CLOSED(x, y),
    "by map": lambda x, y: sum(map(float.__mul__, [x, y], [y, 2.0])),
    "compared": lambda x, y: x * y if float.__lt__(x, y) else x,
    "a whole number": lambda x, y: float.__mul__(x, 3) * y,
    "complex": lambda x, y: complex.__mul__(complex(x, y), complex(y, 1.0)).imag,
    "abs of complex": lambda x, y: complex.__abs__(complex(x, y)),
    "not implemented": lambda x, y: len(repr(float.__mul__(x, 1j))) * x * y,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBER_METHODS)
def test_methods_of_float_are_recorded_as_the_operators(name):
    f, x, y, h = NUMBER_METHODS[name], 1.7, 2.6, 1e-6
    value, (by_x, by_y) = ag.value_and_grad(f, (0, 1))(x, y)
    assert value == f(x, y)
    np.testing.assert_allclose(by_x, (f(x + h, y) - f(x - h, y)) / (2 * h), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(by_y, (f(x, y + h) - f(x, y - h)) / (2 * h), rtol=1e-7, atol=1e-8)
    assert [id(POWER), id(LISTED[0])] == [id(vars(float)["__pow__"]), id(vars(float)["__mul__"])]


def test_methods_of_float_raise_what_the_real_ones_raise():
    for f, error in (
        (lambda x: float.__truediv__(x, 0.0), ZeroDivisionError),
        (lambda x: float.__pow__(x, 1e10), OverflowError),
        (lambda x: float.__mul__(x), TypeError),
    ):
        with pytest.raises(error):
            ag.grad(f)(3.0)


def test_a_negative_base_is_complex_as_in_a_plain_call():
    np.testing.assert_allclose(ag.grad(lambda x: float.__pow__(x, 0.5).imag)(-4.0), -0.25)


def test_classes_derived_from_float_have_their_own_operators():
    def f(x):
        class Money(float):
            def __add__(self, other):
                return float.__add__(self, other) * 2.0

        return Money(2.0) + x + float.__mul__(Money(3.0), x) + (Money(1.5) - 0.5) * x

    value, grad = ag.value_and_grad(f)(1.5)
    assert value == f(1.5)
    assert grad == 2.0 + 3.0 + 1.0


def test_digits_that_a_method_of_float_rounds_away_are_told():
    with pytest.warns(UserWarning, match="rounded to 1 digits"):
        assert ag.grad(lambda x: float.__round__(x * x, 1) + x)(1.7) == 1.0
