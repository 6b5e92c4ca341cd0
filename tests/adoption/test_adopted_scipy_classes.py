"""SciPy's classes in adopted calls make objects of arraygrad.scipy, and answer as classes do.

Imports the public names of arraygrad. The reference is the plain call: its value, and differences of it.
"""

import numpy as np
import pytest
from central_differences import central_differences

import arraygrad as ag

pytest.importorskip("scipy")
from scipy import fft, interpolate, signal, sparse, spatial
from scipy.interpolate import CubicSpline, interp1d
from scipy.spatial.transform import Rotation

PLACES = np.linspace(0.0, 1.0, 6)
X = np.array([0.3, 0.5, 0.7, 0.2, 0.9, 0.4])


class Twice(CubicSpline):
    """A class of the program's own."""

    def twice(self, x):
        return 2.0 * self(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: CubicSpline(PLACES, x)(0.33),
        lambda x: CubicSpline(PLACES, PLACES**2)(x).sum(),
        lambda x: interpolate.interp1d(PLACES, x, kind="cubic")(0.33),
        lambda x: interpolate.RegularGridInterpolator((PLACES,), x)(np.array([[0.33]]))[0],
        lambda x: signal.lti([1.0], x[:3]).step(T=PLACES)[1].sum(),
        lambda x: (sparse.csr_array((x, (np.arange(6), np.arange(6))), shape=(6, 6)) @ np.ones(6)).sum(),
        lambda x: (sparse.eye(6).tocsr() @ x).sum(),
        lambda x: Rotation.from_rotvec(x[:3]).apply(np.ones(3))[0],
        lambda x: spatial.KDTree(np.eye(3)).query(x[:3])[0],
        lambda x: spatial.ConvexHull(np.stack([x, x[::-1] ** 2], axis=1)).volume,
    ],
)  # fmt: skip
def test_a_class_of_scipys_makes_recorded_objects(f):
    value, gradient = ag.value_and_grad(f, adopt=True)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, central_differences(f, X), rtol=1e-6, atol=1e-8)


def test_its_stand_in_answers_as_the_class_does():
    def f(x):
        spline, mine = CubicSpline(PLACES, x), Twice(PLACES, PLACES**2)

        class Local(interp1d):
            pass

        assert isinstance(spline, CubicSpline)
        assert isinstance(spline, (int, interpolate.CubicSpline))
        assert isinstance(mine, CubicSpline)
        assert issubclass(Local, interp1d)
        assert isinstance(Local(PLACES, PLACES), interp1d)
        assert interpolate.BSpline.design_matrix(np.array([0.3]), np.r_[[0.0] * 4, [1.0] * 4], 3).shape == (1, 4)
        return spline(0.33) + mine.twice(0.5)

    assert ag.grad(f, adopt=True)(X).shape == (6,)
    f(X)


def test_scipys_own_backend_protocol_reaches_the_transforms():
    from arraygrad.scipy.fft import backend

    def f(x):
        with fft.set_backend(backend):
            return fft.dct(x)[1] + fft.fft(x).real[2]

    found = ag.grad(f, adopt=False)(X)
    np.testing.assert_allclose(found, central_differences(f, X), rtol=1e-6, atol=1e-8)
