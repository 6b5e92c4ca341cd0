"""numpy.meshgrid(copy=False): views, which see what is written into its arguments, as NumPy's do."""

import itertools

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

X = np.array([0.8, 0.5, 0.6])


@pytest.mark.parametrize(
    ("copy", "sparse", "indexing", "count"),
    list(itertools.product([False, True], [False, True], ["xy", "ij"], [1, 2, 3])),
)
def test_what_is_written_later(copy, sparse, indexing, count):
    def f(x):
        y, z = x * 1.0, np.zeros(2)
        z[:] = x[:2]
        grids = np.meshgrid(*[y, z, x * 2.0][:count], copy=copy, sparse=sparse, indexing=indexing)
        y[0] = 5.0 * x[1]
        z *= 3.0
        return sum((np.sin(grid) * np.arange(1, 1 + grid.size).reshape(grid.shape)).sum() for grid in grids)

    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_written_into_grids_that_are_copies(sparse):
    def f(x):
        y = x * 1.0
        a, b = np.meshgrid(y, x[:2], sparse=sparse)
        a[0, 1] = x[2] ** 2
        b *= 2.0
        return (a * b).sum() + np.sin(y).sum()

    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-7, atol=1e-8)
