"""Filters whose origins, sizes and axes are integers of any type of NumPy's, with `differences` as the reference.

The class: `origin=` of every filter of scipy.ndimage. The gradient is a filter of the other origin, and an unsigned
integer has no negative.
"""

import numpy as np
import pytest

import arraygrad as ag

ndimage = pytest.importorskip("scipy.ndimage")

DRAWN = np.random.default_rng(8)
IMAGE = DRAWN.normal(size=(5, 6))
ROW, WEIGHTS = DRAWN.normal(size=3), DRAWN.normal(size=(3, 3))
CALLS = {
    "correlate": lambda x, i: ndimage.correlate(x, WEIGHTS, origin=i(1)),
    "correlate, each": lambda x, i: ndimage.correlate(x, WEIGHTS, origin=[i(1), i(0)]),
    "correlate, weights": lambda x, i: ndimage.correlate(IMAGE, x[:3, :3], origin=i(1)),
    "convolve": lambda x, i: ndimage.convolve(x, WEIGHTS, origin=i(1)),
    "convolve, weights": lambda x, i: ndimage.convolve(IMAGE, x[:3, :3], origin=[i(0), i(1)]),
    "correlate1d": lambda x, i: ndimage.correlate1d(x, ROW, i(1), origin=i(1)),
    "convolve1d": lambda x, i: ndimage.convolve1d(x, ROW, i(0), origin=i(1)),
    "convolve1d, weights": lambda x, i: ndimage.convolve1d(IMAGE, x[0, :3], i(0), origin=i(1)),
    "uniform_filter": lambda x, i: ndimage.uniform_filter(x, [i(3), i(2)], origin=[i(1), i(0)]),
    "uniform_filter1d": lambda x, i: ndimage.uniform_filter1d(x, i(3), i(1), origin=i(1)),
    "maximum_filter": lambda x, i: ndimage.maximum_filter(x, i(3), origin=i(1)),
    "minimum_filter1d": lambda x, i: ndimage.minimum_filter1d(x, i(3), i(1), origin=i(1)),
    "median_filter": lambda x, i: ndimage.median_filter(x, i(3), origin=i(1)),
    "percentile_filter": lambda x, i: ndimage.percentile_filter(x, i(30), i(3), origin=i(1)),
    "grey_erosion": lambda x, i: ndimage.grey_erosion(x, [i(3), i(3)], origin=[i(1), i(1)]),
}


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint8, np.uint16, np.uint64], ids=lambda k: k.__name__)
@pytest.mark.parametrize("name", CALLS)
def test_gradient(name, kind):
    call = CALLS[name]
    try:
        out = call(IMAGE, kind)
    except Exception as error:
        pytest.skip(f"SciPy: {error}")
    weights = np.cos(np.arange(1.0, out.size + 1)).reshape(out.shape)
    value = lambda x: (call(x, kind) * weights).sum()
    direction = np.sin(np.arange(30.0) ** 2).reshape(IMAGE.shape)
    difference = (value(IMAGE + 1e-6 * direction) - value(IMAGE - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose((ag.grad(value)(IMAGE) * direction).sum(), difference, rtol=1e-5, atol=1e-7)
