"""np.partition and the method have NumPy's order of the elements on either side, and each element its gradient.

The class: lengths x dtypes x axes x one and several ranks x equal elements and nan.
"""

import itertools

import numpy as np
import pytest

import arraygrad as ag


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 7, 60, 300])
def test_order_of_partition(n, dtype):
    rng = np.random.default_rng(n)
    for axis, kth, equal in itertools.product((0, -1, None), (0, n // 2, [n // 3, n - 1]), (False, True)):
        x = (rng.integers(0, 3, size=(n, 3)) if equal else rng.normal(size=(n, 3))).astype(dtype)
        x = x.T.copy() if axis == -1 else x
        if n > 2 and not equal:
            x[(1, 1) if axis != -1 else (1, 2)] = np.nan
        plain = np.partition(x, kth, axis=axis)
        found, pull = ag.vjp(lambda x, k=kth, a=axis: np.partition(x, k, axis=a), x)
        np.testing.assert_array_equal(found, plain)
        weights = rng.permutation(plain.size).reshape(plain.shape).astype(dtype)
        (gradient,) = pull(weights)
        pairs = [sorted(zip(v.ravel().tolist(), g.ravel().tolist(), strict=True), key=str) for v, g in (
            (plain, weights), (x, gradient))]  # fmt: skip
        assert str(pairs[0]) == str(pairs[1])  # of nan, too
