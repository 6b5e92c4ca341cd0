"""`output=` that overlaps the input: what SciPy computes, or a refusal."""

import warnings

import numpy as np
import pytest
from plain_differences import differences

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import ndimage

import arraygrad as ag

X = np.array([0.8, 0.5, 0.6, 0.3, 0.9, 0.7])

WRITES = {
    "shift": lambda y: ndimage.shift(y, 0.5, order=1, output=y),
    "shift beside": lambda y: ndimage.shift(y[:3], 0.5, order=1, output=y[3:]),
    "gaussian_filter": lambda y: ndimage.gaussian_filter(y, 0.7, output=y),
    "gaussian_filter1d": lambda y: ndimage.gaussian_filter1d(y[:-1], 0.7, output=y[1:]),
    "correlate1d": lambda y: ndimage.correlate1d(y, [0.2, 0.5, 0.3], output=y),
    "correlate": lambda y: ndimage.correlate(y[:-1], [0.2, 0.5, 0.3], output=y[1:]),
    "convolve": lambda y: ndimage.convolve(y, [0.2, 0.5, 0.3], output=y),
    "uniform_filter": lambda y: ndimage.uniform_filter(y.reshape(2, 3), 2, output=y.reshape(2, 3)),
    "maximum_filter": lambda y: ndimage.maximum_filter(y, 3, output=y),
    "rank_filter": lambda y: ndimage.rank_filter(y, 1, 3, output=y),
    "median_filter": lambda y: ndimage.median_filter(y[:-1], 3, output=y[1:]),
    "sobel": lambda y: ndimage.sobel(y.reshape(2, 3), output=y.reshape(2, 3)),
    "map_coordinates": lambda y: ndimage.map_coordinates(y, [[0.5, 1.5, 2.5, 3.1, 4.2, 0.1]], order=1, output=y),
    "zoom": lambda y: ndimage.zoom(y[:3], 2.0, order=1, output=y),
    "affine_transform": lambda y: ndimage.affine_transform(y, [0.8], order=1, output=y),
    "spline_filter1d": lambda y: ndimage.spline_filter1d(y, output=y),
}


def weighed(a):
    return (np.sin(a) * np.arange(1, 1 + np.size(a))).sum()


@pytest.mark.parametrize("what", WRITES)
def test_an_output_that_overlaps_the_input(what):
    def f(x):
        y = np.zeros(6)
        y[:] = x
        WRITES[what](y)
        return weighed(y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value, gradient = ag.value_and_grad(f, adopt=True)(X.copy())
        except TypeError as error:
            assert "reads what it has written already" in str(error)  # noqa: PT017
            return
        np.testing.assert_allclose(value, f(X.copy()), rtol=1e-10)
        np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-7)
