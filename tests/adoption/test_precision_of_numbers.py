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
