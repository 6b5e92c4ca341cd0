"""Results of SciPy's functions are arrays of the program's own: writes into them are recorded."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")

from plain_differences import holds
from scipy import linalg, ndimage, signal
from scipy.spatial import distance

X = np.array([0.7, 1.3, 2.1])
M = np.array([[2.0, 0.3, 0.1], [0.2, 3.0, 0.4], [0.5, 0.1, 2.5]])

MADE = {
    "squareform": (distance.squareform, X),
    "squareform of distances": (lambda a: distance.squareform(distance.pdist(a)), M),
    "cdist": (lambda a: distance.cdist(a, a + 1.0), M),
    "expm": (linalg.expm, M),
    "inv": (linalg.inv, M),
    "toeplitz": (linalg.toeplitz, X),
    "circulant": (linalg.circulant, X),
    "hankel": (linalg.hankel, X),
    "companion": (linalg.companion, X),
    "block_diag": (lambda a: linalg.block_diag(a, 2.0 * a), X),
    "eigh, vectors": (lambda a: linalg.eigh(a)[1] ** 2, M),
    "lu, upper": (lambda a: linalg.lu(a)[2], M),
    "detrend": (signal.detrend, X),
    "fftconvolve": (lambda a: signal.fftconvolve(a, X), X),
    "rotate": (lambda a: ndimage.rotate(a, 30.0), M),
    "zoom": (lambda a: ndimage.zoom(a, 2.0), M),
    "gaussian_filter": (lambda a: ndimage.gaussian_filter(a, 1.0), M),
}


@pytest.mark.parametrize("write", ["item", "diagonal", "in place"])
@pytest.mark.parametrize(("make", "x"), MADE.values(), ids=MADE)
def test_a_write_into_a_result(make, x, write):
    def f(a):
        made = make(a)
        if write == "item":
            made[(0,) * made.ndim] = 3.0 * a.ravel()[0]
        elif write == "in place":
            made *= a.ravel()[1]
        elif made.ndim == 2:
            np.fill_diagonal(made, a.ravel()[2])
        return np.sum(made**2)

    holds(f, x)
