"""Interpolants at complex points: of most SciPy takes the real parts, with a ComplexWarning, and so does the gradient.

The class: every interpolant x complex points that require grad. The reference is SciPy's plain call, and differences
of it along the real and the imaginary parts.
"""

import warnings

import numpy as np
import pytest

import arraygrad as ag

plain = pytest.importorskip("scipy.interpolate", reason="SciPy, which is optional, is not installed")
import arraygrad.scipy.interpolate

ours = arraygrad.scipy.interpolate

T = np.array([0.0, 1.0, 2.3, 3.1, 4.0, 5.0])
Y = np.cos(T)
KNOTS = np.arange(10.0)
SITES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.4, 0.6], [0.2, 0.3]])
GRID = np.outer(Y, Y)


def both(x):
    return np.stack([x, x], axis=-1)


CALLS = {
    "CubicSpline": lambda m, x: m.CubicSpline(T, Y)(x),
    "its slope": lambda m, x: m.CubicSpline(T, Y)(x, 1),
    "PchipInterpolator": lambda m, x: m.PchipInterpolator(T, Y)(x),
    "Akima1DInterpolator": lambda m, x: m.Akima1DInterpolator(T, Y)(x),
    "CubicHermiteSpline": lambda m, x: m.CubicHermiteSpline(T, Y, Y)(x),
    "PPoly": lambda m, x: m.PPoly(np.stack([Y[:5], Y[1:]]), T)(x),
    "BPoly": lambda m, x: m.BPoly(np.stack([Y[:5], Y[1:]]), T)(x),
    "BSpline": lambda m, x: m.BSpline(KNOTS, Y, 3)(x),
    "make_interp_spline": lambda m, x: m.make_interp_spline(T, Y)(x),
    "make_lsq_spline": lambda m, x: m.make_lsq_spline(T, Y, [0, 0, 2, 5, 5], k=1)(x),
    "make_smoothing_spline": lambda m, x: m.make_smoothing_spline(T, Y, lam=0.3)(x),
    "splev": lambda m, x: m.splev(x, (KNOTS, np.r_[Y, np.zeros(4)], 3)),
    "InterpolatedUnivariateSpline": lambda m, x: m.InterpolatedUnivariateSpline(T, Y)(x),
    "LSQUnivariateSpline": lambda m, x: m.LSQUnivariateSpline(T, Y, [2.5], k=2)(x),
    "interp1d": lambda m, x: m.interp1d(T, Y, bounds_error=False)(x),
    "interp1d, cubic": lambda m, x: m.interp1d(T, Y, kind="cubic", bounds_error=False)(x),
    "BarycentricInterpolator": lambda m, x: m.BarycentricInterpolator(T, Y)(x),
    "barycentric_interpolate": lambda m, x: m.barycentric_interpolate(T, Y, x),
    "pade": lambda m, x: m.pade(Y, 2)[0](x),
    "RBFInterpolator": lambda m, x: m.RBFInterpolator(SITES, Y)(both(x)),
    "its sites": lambda m, x: m.RBFInterpolator(np.concatenate([SITES, both(x + np.arange(2))]), np.arange(8.0))(SITES),
    "Rbf": lambda m, x: m.Rbf(SITES[:, 0], SITES[:, 1], Y)(x, x),
    "LinearNDInterpolator": lambda m, x: m.LinearNDInterpolator(SITES, Y)(x, 0.9 * x),
    "griddata": lambda m, x: m.griddata(SITES, Y, (x, 0.9 * x)),
    "RegularGridInterpolator": lambda m, x: m.RegularGridInterpolator((T, T), GRID, bounds_error=False)(both(x)),
    "interpn": lambda m, x: m.interpn((T, T), GRID, both(x), bounds_error=False, fill_value=None),
    "RectBivariateSpline": lambda m, x: m.RectBivariateSpline(T, T, GRID)(x, x, grid=False),
    "bisplev": lambda m, x: m.bisplev(x, x, (np.arange(8.0), np.arange(8.0), np.resize(Y, 16), 3, 3)),
    "NdPPoly": lambda m, x: m.NdPPoly(GRID[:2, :2].reshape(2, 2, 1, 1), (T[::5], T[::5]))(both(x)),
    "AAA": lambda m, x: m.AAA(T, Y)(x),
    "FloaterHormannInterpolator": lambda m, x: m.FloaterHormannInterpolator(T, Y)(x),
}  # fmt: skip
POINTS = np.array([0.3 + 0.2j, 0.55 - 0.1j])


def weighted(a):
    weights = np.cos(np.arange(1.0, a.size + 1)).reshape(a.shape)
    return (np.real(a) * weights).sum() + (np.imag(a) * weights**2).sum()


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradient(name):
    call = CALLS[name]
    if not hasattr(plain, name.partition(",")[0]) and not name.startswith("its"):
        pytest.skip("not in this SciPy")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            expected = call(plain, POINTS)
        except TypeError:
            with pytest.raises(TypeError):
                call(ours, ag.tensor(POINTS, requires_grad=True))
            return
        dropped = any(issubclass(w.category, np.exceptions.ComplexWarning) for w in told)
        told.clear()
        t = ag.tensor(POINTS, requires_grad=True)
        found = call(ours, t)
        assert dropped == any(issubclass(w.category, np.exceptions.ComplexWarning) for w in told)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
        weighted(found).backward()
        for place in range(2):
            for unit in (1.0, 1j):
                step = np.zeros(2, complex)
                step[place] = 1e-6 * unit
                slope = (weighted(call(plain, POINTS + step)) - weighted(call(plain, POINTS - step))) / 2e-6
                part = np.real(t.grad.numpy()[place] * np.conj(unit))
                np.testing.assert_allclose(part, slope, rtol=1e-5, atol=1e-6)
