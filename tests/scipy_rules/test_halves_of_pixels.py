"""Images at coordinates halfway between pixels, which order 0 rounds: inside, and where the image is extended.

The derivative by the image is a choice of pixels, so that differences are exact.
"""

import numpy as np
import pytest
from scipy import ndimage

import arraygrad as ag

MODES = ("constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap")
HALVES = np.arange(-30, 31) / 2.0


def chosen(function, image):
    """The derivative of the results' sum of weights by each pixel of `image`: a linear function."""
    origin, slope = function(np.zeros(image.shape)), np.zeros(image.shape)
    for at in np.ndindex(image.shape):
        unit = np.zeros(image.shape)
        unit[at] = 1.0
        slope[at] = function(unit) - origin
    return slope


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("mode", MODES)
def test_rows_of_pixels(mode, n):
    weights = np.random.default_rng(n).normal(size=HALVES.shape)

    def function(image):
        return np.sum(weights * ndimage.map_coordinates(image, HALVES[None], order=0, mode=mode))

    image = np.random.default_rng(7).normal(size=n)
    assert np.allclose(ag.grad(function)(image), chosen(function, image))


@pytest.mark.parametrize("angle", [90, 180, 270, 360])
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 5)])
@pytest.mark.parametrize("mode", MODES)
def test_turns(mode, shape, angle):
    weights = np.random.default_rng(angle).normal(size=shape)

    def function(image):
        return np.sum(weights * ndimage.rotate(image, angle, reshape=False, order=0, mode=mode))

    image = np.random.default_rng(8).normal(size=shape)
    assert np.allclose(ag.grad(function)(image), chosen(function, image))


@pytest.mark.parametrize("by", [0.5, -1.5, 2.5, -3.5])
@pytest.mark.parametrize("mode", MODES)
def test_shifts(mode, by):
    weights = np.random.default_rng(9).normal(size=(4, 3))

    def function(image):
        return np.sum(weights * ndimage.shift(image, by, order=0, mode=mode))

    image = np.random.default_rng(10).normal(size=(4, 3))
    assert np.allclose(ag.grad(function)(image), chosen(function, image))
