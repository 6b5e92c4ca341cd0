"""Samples of scipy.ndimage.

May import: numpy, scipy_samples.
"""

import numpy as np
from scipy_samples import sample, spread

IMAGE = spread(6, 5, seed=1)
KERNEL, EVEN = spread(3, 3, seed=2), spread(2, 4, seed=3)
LABELS = np.arange(30).reshape(6, 5) % 4
AT = np.array([[0.3, 1.4, 2.6, 3.2], [0.7, 2.3, 3.4, 1.2]])
BEYOND = np.array([[-1.3, 1.4, 5.6, 3.2], [0.7, -2.3, 3.4, 6.2]])

for _mode in ("reflect", "constant", "nearest", "mirror", "wrap"):
    for _weights in (KERNEL, EVEN):
        sample("ndimage.correlate ndimage.convolve", IMAGE, _weights,
               call=lambda f, a, w, mode=_mode: f(a, w, mode=mode, cval=0.3))  # fmt: skip
    sample("ndimage.gaussian_filter", IMAGE, 0.8, call=lambda f, a, s, mode=_mode: f(a, s, mode=mode))
sample("ndimage.correlate ndimage.convolve", IMAGE, EVEN, call=lambda f, a, w: f(a, w, origin=(0, 1)))
sample("ndimage.correlate1d ndimage.convolve1d", IMAGE, EVEN[0], call=lambda f, a, w: f(a, w, axis=0, origin=1))
sample("ndimage.correlate1d ndimage.convolve1d", IMAGE, KERNEL[0])
sample("ndimage.gaussian_filter1d", IMAGE, 0.8, call=lambda f, a, s: f(a, s, axis=0, order=2))
sample("ndimage.gaussian_filter", IMAGE, np.array([0.8, 1.3]), call=lambda f, a, s: f(a, s, order=(1, 0), truncate=2.3))
sample("ndimage.gaussian_laplace", IMAGE, 0.8)
sample("ndimage.gaussian_gradient_magnitude", IMAGE, 0.8, step=1e-3)
sample("ndimage.uniform_filter1d", IMAGE, call=lambda f, a: f(a, 4, axis=0))
sample("ndimage.uniform_filter", IMAGE, call=lambda f, a: f(a, (3, 2), mode="nearest"))
sample("ndimage.sobel ndimage.prewitt ndimage.laplace", IMAGE)
sample("ndimage.sobel ndimage.prewitt", IMAGE, call=lambda f, a: f(a, axis=0, mode="wrap"))
FOOTPRINT = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]])
sample("ndimage.minimum_filter ndimage.maximum_filter ndimage.median_filter ndimage.grey_erosion ndimage.grey_dilation "
       "ndimage.grey_opening ndimage.grey_closing ndimage.white_tophat ndimage.black_tophat "
       "ndimage.morphological_gradient ndimage.morphological_laplace", IMAGE, step=1e-4,
       call=lambda f, a: f(a, size=(3, 2)))  # fmt: skip
sample("ndimage.minimum_filter ndimage.maximum_filter ndimage.median_filter ndimage.grey_erosion ndimage.grey_dilation",
       IMAGE, step=1e-4, call=lambda f, a: f(a, footprint=FOOTPRINT, mode="wrap"))  # fmt: skip
sample("ndimage.minimum_filter1d ndimage.maximum_filter1d", IMAGE, step=1e-4, call=lambda f, a: f(a, 3, axis=0))
sample("ndimage.rank_filter", IMAGE, step=1e-4, call=lambda f, a: f(a, 2, size=3))
sample("ndimage.percentile_filter", IMAGE, step=1e-4, call=lambda f, a: f(a, 30, size=3))
sample("ndimage.fourier_gaussian ndimage.fourier_uniform ndimage.fourier_ellipsoid", IMAGE, call=lambda f, a: f(a, 2.0))
sample("ndimage.fourier_shift", IMAGE + 0.5j, call=lambda f, a: f(a, 1.3))

sample("ndimage.spline_filter ndimage.spline_filter1d", IMAGE)
for _order in (1, 2, 3, 5):
    sample("ndimage.map_coordinates", IMAGE, AT, call=lambda f, a, c, order=_order: f(a, c, order=order), step=5e-3)
for _mode in ("constant", "nearest", "mirror", "reflect", "grid-wrap"):
    sample("ndimage.map_coordinates", IMAGE, BEYOND, call=lambda f, a, c, mode=_mode: f(a, c, mode=mode), step=5e-3)
    sample("ndimage.shift", IMAGE, np.array([0.6, -1.3]), call=lambda f, a, s, mode=_mode: f(a, s, mode=mode, cval=0.2),
           step=5e-3)  # fmt: skip
sample("ndimage.map_coordinates", IMAGE, AT, call=lambda f, a, c: f(a, c, prefilter=False), step=5e-3)
sample("ndimage.zoom", IMAGE, call=lambda f, a: f(a, 1.7))
sample("ndimage.rotate", IMAGE, 23.0, call=lambda f, a, t: f(a, t, mode="nearest"), step=1e-3)
sample("ndimage.rotate", IMAGE, 23.0, call=lambda f, a, t: f(a, t, reshape=False, order=1, mode="mirror"), step=1e-3)
MATRIX = np.array([[0.8, 0.15], [-0.1, 0.9]])
sample("ndimage.affine_transform", IMAGE, MATRIX, np.array([0.33, 0.61]), step=1e-3,
       call=lambda f, a, m, o: f(a, m, o, mode="mirror"))  # fmt: skip
sample("ndimage.affine_transform", IMAGE, np.array([0.83, 0.71]), 0.31, step=1e-3,
       call=lambda f, a, m, o: f(a, m, o, mode="mirror"))  # fmt: skip

sample("ndimage.sum_labels ndimage.sum ndimage.mean ndimage.variance ndimage.standard_deviation ndimage.minimum "
       "ndimage.maximum ndimage.median", IMAGE, step=1e-4, rtol=1e-6,
       call=lambda f, a: f(a, LABELS, [1, 3, 0]))  # fmt: skip
sample("ndimage.sum_labels ndimage.sum ndimage.mean ndimage.variance ndimage.standard_deviation ndimage.minimum "
       "ndimage.maximum ndimage.median", IMAGE, step=1e-4, rtol=1e-6, call=lambda f, a: f(a, LABELS))  # fmt: skip
sample("ndimage.mean ndimage.center_of_mass", IMAGE)
sample("ndimage.extrema", spread(5, 4), call=lambda f, x: f(x)[:2], step=1e-4)


def spread_of(window):
    return np.sqrt(((window - window.mean()) ** 2).sum())


PICTURE = spread(5, 4, seed=8)
SHIFTED = {"size": (1, 2), "mode": "constant", "origin": (0, -1)}
for _how in ({"size": 3}, {"footprint": np.eye(3), "mode": "wrap"}, SHIFTED):
    sample("ndimage.generic_filter", PICTURE, call=lambda f, x, how=_how: f(x, spread_of, **how), step=1e-3, rtol=1e-6)
    sample("ndimage.vectorized_filter", PICTURE, call=lambda f, x, how=_how: f(x, np.mean, **how), step=1e-3, rtol=1e-6)
sample("ndimage.geometric_transform", PICTURE, 0.37, step=1e-3, rtol=1e-6,
       call=lambda f, x, s: f(x, lambda at: (at[0] * 0.7 + s, at[1] - 0.4 * s), mode="nearest"))  # fmt: skip
