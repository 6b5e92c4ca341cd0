"""Roots of quadratic forms of complex vectors are the complex function, with its derivative.

The class: distances and gradient magnitudes that SciPy computes of complex input by sqrt(sum of squares).
"""

import numpy as np
import pytest
from scipy_differences import check

pytest.importorskip("scipy.spatial.distance", reason="SciPy, which is optional, is not installed")
from scipy import ndimage
from scipy.spatial import distance

from arraygrad.scipy import ndimage as our_ndimage
from arraygrad.scipy.spatial import distance as ours


def _complex(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("of_form", [False, True])
def test_mahalanobis_of_complex_vectors(seed, of_form):
    rng = np.random.default_rng(seed)
    form = np.eye(3) + 0.2 * (_complex(rng, 3, 3) if of_form else rng.normal(size=(3, 3)))
    arrays = [_complex(rng, 3) + 2.0, _complex(rng, 3) - 1.0, form]
    check(ours.mahalanobis, distance.mahalanobis, arrays, rtol=1e-6, loose=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_magnitude_of_complex_images(seed):
    image = _complex(np.random.default_rng(seed), 5, 4)
    ours_of, theirs = (lambda x, m=m: m.gaussian_gradient_magnitude(x, 1.0) for m in (our_ndimage, ndimage))
    check(ours_of, theirs, [image], rtol=1e-5, loose=1e-11, step=1e-3)
