"""Dtypes that are subarrays, by which NumPy adds axes: right, or refused in words."""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.array([1.0, 2.0])
DTYPE = (float, 2)

RECORDED = {
    "fromiter of pairs": lambda x: np.fromiter(((v, v * v) for v in x), dtype=np.dtype(DTYPE)),
    "fromiter of numbers": lambda x: np.fromiter((v * v for v in x), dtype=np.dtype(DTYPE)),
    "fromiter of lists": lambda x: np.fromiter([[x[0], 1.0], [2.0, x[1]]], dtype=DTYPE, count=2),
    "fromiter of matrices": lambda x: np.fromiter((np.outer(x, x) * v for v in x), dtype=np.dtype((float, (2, 2)))),
    "full": lambda x: np.full(2, x[0], dtype=DTYPE),
    "full of an array": lambda x: np.full(3, x, dtype=DTYPE),
    "full_like": lambda x: np.full_like(x, x[0], dtype=DTYPE),
    "full_like of constants": lambda x: np.full_like(np.ones(2), x[0], dtype=DTYPE),
    "zeros": lambda x: np.zeros(2, dtype=DTYPE) + x,
    "ones_like": lambda x: np.ones_like(x, dtype=DTYPE) * x,
    "zeros_like": lambda x: np.zeros_like(x, dtype=DTYPE) + x,
}
REFUSED = {
    "array": lambda x: np.array([x[0], x[1]], dtype=DTYPE),
    "array of an array": lambda x: np.array(x, dtype=DTYPE),
    "asarray": lambda x: np.asarray(x, dtype=DTYPE),
    "astype": lambda x: x.astype(DTYPE),
    "numpy.astype": lambda x: np.astype(x, np.dtype(DTYPE)),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x, dtype=DTYPE),
    "require": lambda x: np.require(x, dtype=DTYPE),
}


def weighed(a):
    return (np.sin(a) * np.arange(1, 1 + np.size(a)).reshape(np.shape(a))).sum()


@pytest.mark.parametrize("what", RECORDED)
def test_a_subarray_adds_axes(what):
    def f(x):
        return weighed(RECORDED[what](x))

    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("what", REFUSED)
def test_a_cast_to_a_subarray_is_refused(what):
    with pytest.raises(TypeError, match=r"is a subarray.*Cast to float64"):
        ag.grad(lambda x: weighed(REFUSED[what](x)), adopt=True)(X)
