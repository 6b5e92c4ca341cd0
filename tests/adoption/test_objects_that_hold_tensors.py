"""Objects whose `__array__`, `__float__` or `__complex__` give recorded values are arrays and numbers as others.

The class: what the object gives (its attribute, float() of it, a new array) x by which method x who asks (numpy.asarray
and its kin, functions of NumPy, of lists of such objects, operators, a write into an array, math, float, complex,
numpy.float64). What only compiled code asks is refused with the line, and the way out that the error names is right.

Imports the public names of arraygrad.
"""

import cmath
import math
import warnings

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.1, 1.7])


class Arr:
    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return self.a


class ArrOfOld(Arr):
    """As before NumPy 2: without copy."""

    def __array__(self, dtype=None):
        return self.a if dtype is None else self.a.astype(dtype)


class ArrMade(Arr):
    def __array__(self, dtype=None, copy=None):
        return np.array([2.0 * v for v in self.a])


class Num:
    def __init__(self, a):
        self.a = a

    def __float__(self):
        return float(self.a)


class NumBare(Num):
    def __float__(self):
        return self.a


class Comp:
    def __init__(self, a):
        self.a = a

    def __complex__(self):
        return complex(self.a, 2.0)


def written(target, key, value):
    target[key] = value
    return (target**2).sum()


ARRAYS = {
    "asarray": lambda x, c: (np.asarray(c(x)) ** 2).sum(),
    "asarray, dtype": lambda x, c: (np.asarray(c(x), dtype=float) ** 2).sum(),
    "array": lambda x, c: (np.array(c(x)) ** 3).sum(),
    "asanyarray": lambda x, c: (np.asanyarray(c(x)) ** 2).sum(),
    "ascontiguousarray": lambda x, c: (np.ascontiguousarray(c(x)) ** 2).sum(),
    "copy": lambda x, c: (np.copy(c(x)) ** 2).sum(),
    "tile": lambda x, c: (np.tile(c(x), 2) ** 2).sum(),
    "sum": lambda x, c: np.sum(c(x)) ** 2,
    "mean": lambda x, c: np.mean(c(x)) ** 2,
    "dot": lambda x, c: np.dot(c(x), c(x)),
    "norm": lambda x, c: np.linalg.norm(c(x)),
    "where": lambda x, c: (np.where(np.array([True, False, True]), c(x), 0.0) ** 2).sum(),
    "concatenate": lambda x, c: (np.concatenate([c(x), c(x)]) ** 2).sum(),
    "stack": lambda x, c: (np.stack([c(x), x]) ** 2).sum(),
    "list": lambda x, c: (np.array([c(x), c(2.0 * x)]) ** 2).sum(),
    "added to a Tensor": lambda x, c: ((x + c(x)) ** 2).sum(),
    "Tensor times it": lambda x, c: (x * c(x)).sum(),
    "added to an array": lambda x, c: ((np.ones(3) + c(x)) ** 2).sum(),
    "written": lambda x, c: written(np.zeros(4), slice(1, 4), c(x)),
    "einsum": lambda x, c: np.einsum("i,i->", c(x), x),
}
NUMBERS = {
    "float": lambda x, c: float(c(x[0])) * x[1],
    "sin": lambda x, c: math.sin(c(x[0])) * x[1],
    "log": lambda x, c: math.log(c(x[0])),
    "log of base": lambda x, c: math.log(c(x[0]), 3.0),
    "pow": lambda x, c: math.pow(c(x[0]), c(x[1])),
    "atan2": lambda x, c: math.atan2(c(x[0]), x[1]),
    "hypot": lambda x, c: math.hypot(x[0], c(x[1])),
    "float64": lambda x, c: np.float64(c(x[0])) ** 2,
    "array": lambda x, c: (np.array([c(x[0]), c(x[1])], dtype=float) ** 2).sum(),
    "written": lambda x, c: written(np.zeros(2), 1, c(x[0])),
    "complex": lambda x, c: (complex(c(x[0])) * 1j).imag,
    "cmath": lambda x, c: cmath.exp(c(x[0])).real,
}
COMPLEX = {
    "complex": lambda x, c: abs(complex(c(x[0]))),
    "cmath.exp": lambda x, c: cmath.exp(c(x[0])).real,
}
MEMBERS = [
    *[(f, c) for f in ARRAYS.values() for c in (Arr, ArrOfOld, ArrMade)],
    *[(f, c) for f in NUMBERS.values() for c in (Num, NumBare)],
    *[(f, Comp) for f in COMPLEX.values()],
]


def differences(f):
    steps = np.eye(3) * 1e-6
    return np.array([(float(f(X + d)) - float(f(X - d))) / 2e-6 for d in steps])


@pytest.mark.parametrize(("f", "cls"), MEMBERS)
def test_what_an_object_gives_is_recorded(f, cls):
    def call(x):
        return f(x, cls)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy: __float__ that gives a float64, no copy=
        value, gradient = ag.value_and_grad(call, adopt=True)(X)
        np.testing.assert_allclose(value, call(X), rtol=1e-14)
        np.testing.assert_allclose(gradient, differences(call), rtol=1e-6, atol=1e-8)


def test_second_derivatives_of_what_an_object_gives():
    found = ag.grad(ag.grad(lambda x: math.sin(Num(x)), adopt=True), adopt=True)(0.7)
    assert found == pytest.approx(-math.sin(0.7))


def test_an_array_of_an_object_is_the_one_that_it_holds():
    """As NumPy's asarray of it: what is written there is written in the object."""

    def f(x):
        cell = Arr(np.zeros(3))
        view = np.asarray(cell)
        view[1] = x[0]
        copy = np.array(cell)
        copy[:] = 0.0
        return (cell.a * x).sum()

    np.testing.assert_allclose(ag.grad(f, adopt=True)(X), differences(f), rtol=1e-6)


def test_an_object_with_axes_is_no_number():
    with pytest.raises(TypeError, match="__float__"):
        ag.grad(lambda x: float(NumBare(x)), adopt=True)(X)


def test_what_raises_in_the_method_is_raised():
    class Bad(Arr):
        def __array__(self, dtype=None, copy=None):
            raise ValueError("no array today")

    for f in (lambda x: np.sum(Bad(x)), lambda x: (x + Bad(x)).sum(), lambda x: np.array(Bad(x)).sum()):
        with pytest.raises(ValueError, match="no array today"):
            ag.grad(f, adopt=True)(X)


def test_plain_calls_ask_once():
    asked = []

    class Counted(Arr):
        def __array__(self, dtype=None, copy=None):
            asked.append(1)
            return self.a

    ag.grad(lambda x: (x * np.asarray(Counted(np.ones(3).tolist() and X))).sum(), adopt=True)(X)
    assert len(asked) == 1


OF_UFUNCS = [
    lambda x: np.sin(Arr(x)).sum(),
    lambda x: np.add(Arr(x), 1.0).sum(),
    lambda x: np.multiply(2.0, Arr(x)).sum(),
    lambda x: np.hypot(Arr(x), [x[0], 1.0, 2.0]).sum(),
]


@pytest.mark.parametrize("f", OF_UFUNCS)
def test_ufuncs_ask_for_the_array(f):
    np.testing.assert_allclose(ag.grad(f)(X), differences(f), rtol=1e-6)


def test_what_another_library_asks_is_refused_with_a_way_that_works():
    special = pytest.importorskip("scipy.special")
    held = (special.expit,)  # a tuple keeps the real one
    line = r"test_objects_that_hold_tensors\.py:\d+, in .*`__array__`.*numpy\.asarray\(x\)"
    with pytest.raises(TypeError, match=line):
        ag.grad(lambda x: held[0](Arr(x)).sum())(X)
    way = lambda x: held[0](np.asarray(Arr(x))).sum()
    np.testing.assert_allclose(ag.grad(way)(X), differences(way), rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: np.asarray(Arr(x)).sum(), "`__array__`"),
        (lambda x: float(NumBare(x[0])), "`__float__`"),
        (lambda x: math.sin(NumBare(x[0])), "`__float__`"),
        (lambda x: complex(NumBare(x[0])).real, "`__float__`"),
    ],
)
def test_without_adoption_the_error_names_the_line_and_adoption(f, text):
    with pytest.raises(TypeError, match=rf"\.py:\d+, in .*{text}.*adopt=True"):
        ag.grad(f, adopt=False)(X)
    ag.grad(f, adopt=True)(X)


def test_operators_with_objects_need_no_adoption():
    np.testing.assert_allclose(ag.grad(lambda x: (x * Arr(x)).sum(), adopt=False)(X), 2 * X)
    t = ag.tensor(X, requires_grad=True)
    y = t * 1.0
    y[:2] = Arr(t[1:])
    y.sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), [0.0, 1.0, 2.0])
