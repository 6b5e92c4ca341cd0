"""A Python number beside arrays and scalars of single and half precision takes their precision, as in a plain call.

The class: dtype of what stands beside x operator x side x whether it is an array, a scalar or recorded itself x how the
number was made. The reference is NumPy's own promotion (NEP 50): dtype, value and, from differences, the gradient.
"""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import arraygrad as ag

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod,
    operator.gt, operator.eq,
]  # fmt: skip
MADE = {"argument": lambda x: x, "product": lambda x: 2.0 * x, "math": lambda x: math.exp(x), "float": float}
DTYPES = [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int32, np.int64]
ORDERED = (operator.floordiv, operator.mod, operator.gt)


@pytest.mark.filterwarnings("ignore:.*a value that is being differentiated is compared with one")
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("apply", OPERATORS)
def test_dtypes_and_values_are_numpys(apply, dtype, made):
    if np.dtype(dtype).kind == "c" and apply in ORDERED:
        pytest.skip("no such operation of complex numbers")
    array = np.array([1, 2, 3], dtype=dtype)
    seen = []

    def function(x):
        y = MADE[made](x)
        for other in (array, array[1], np.array(2, dtype=dtype)):
            for found in (apply(y, other), apply(other, y)):
                seen.append(
                    (found.dtype, np.asarray(ag.stop_gradient(found) if isinstance(found, ag.Tensor) else found))
                )
        return x

    function(0.7)
    plain = seen.copy()
    seen.clear()
    ag.grad(function)(0.7)
    for (dtype, value), (found_dtype, found) in zip(plain, seen, strict=True):
        assert found_dtype == dtype
        np.testing.assert_allclose(found, value, rtol=2e-3 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_beside_narrow_arrays(dtype):
    array = np.linspace(0.1, 1.0, 5, dtype=dtype)

    def function(x):
        return (array * x + x**2 / array).sum()

    expected = float((array.astype(float) + 2 * 0.7 / array.astype(float)).sum())
    assert ag.grad(function)(0.7) == pytest.approx(expected, rel=1e-6)
    assert ag.value_and_grad(function)(0.7)[0] == function(0.7)


def test_overflow_is_that_of_the_plain_call():
    def function(x):
        with np.errstate(over="ignore"):
            y = (np.float32(1e30) * x) * np.float32(1e30)
        return x * (3.0 if np.isinf(y) else 5.0)

    assert ag.value_and_grad(function)(0.7) == (function(0.7), 3.0)


def test_a_recorded_array_beside_a_number():
    x = np.array([1.0, 2.0], dtype=np.float32)
    seen = []

    def function(a, x):
        y = x * 2
        seen.append((a * y).dtype)
        return (a * y).sum()

    ag.grad(lambda a: function(a, x))(0.7)
    ag.grad(function, argnums=(0, 1))(0.7, x)
    assert seen == [np.float32, np.float32]


NUMBERS = {
    "float": lambda x: float(x[0]), "item": lambda x: x[0].item(), "tolist": lambda x: x.tolist()[0],
    "math": lambda x: math.exp(x[0]), "hypot": lambda x: math.hypot(x[0], x[1]), "sum": lambda x: math.fsum(x),
    "complex": lambda x: complex(x[0], x[1]).real, "of a sum": lambda x: float((x * x).sum()),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", NUMBERS)
def test_python_numbers_of_narrow_arrays_are_doubles(name, dtype):
    """Computed in double precision, and in the array's own beside it; gradients have the dtype of the argument."""
    x, array = np.array([0.7, 0.4], dtype=dtype), np.array([1.0, 2.0], dtype=dtype)
    seen = []

    def function(x):
        number = NUMBERS[name](x)
        beside = number * array
        seen.append((type(number * 1.5 > 0.0), beside.dtype))
        return number * 1.5 + float(beside.sum())

    plain = function(x)
    value, gradient = ag.value_and_grad(function)(x)
    assert seen[0] == seen[1]
    assert not isinstance(value, np.generic)
    assert value == pytest.approx(plain, rel=1e-12 if dtype is np.float32 else 1e-3)
    assert gradient.dtype == dtype
    wide = x.astype(float)
    step = 1e-4
    expected = [(NUMBERS[name](wide + step * e) - NUMBERS[name](wide - step * e)) / (2 * step) * 4.5 for e in np.eye(2)]
    np.testing.assert_allclose(gradient, expected, rtol=2e-2 if dtype is np.float16 else 1e-5, atol=1e-6)
