"""Interpolants at complex points: of most SciPy takes the real parts, with a ComplexWarning, and so does the gradient.

The class: every interpolant x complex points that require grad, and complex values or coefficients, which FITPACK takes
so. The reference is SciPy's plain call, and differences of it along the real and the imaginary parts.
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
    "interp1d, rows": lambda m, x: m.interp1d(T, np.stack([Y, Y**2]), bounds_error=False)(x),
    "interp1d, complex": lambda m, x: m.interp1d(T, Y + 1j * T, bounds_error=False)(x),
    "interp1d, previous": lambda m, x: m.interp1d(T, Y, kind="previous", bounds_error=False)(x) * x,
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
    weights = np.cos(np.arange(1.0, np.size(a) + 1)).reshape(np.shape(a))
    return (np.real(a) * weights).sum() + (np.imag(a) * weights**2).sum()


KNOTS_OF_12 = np.r_[[0.0] * 3, np.arange(6.0), [5.0] * 3]
PLACES = np.arange(12.0)
SCATTERED = np.random.default_rng(0).normal(size=(12, 2))
OF_VALUES = {
    "splev": lambda m, c: m.splev(0.3, (KNOTS_OF_12, c, 3)),
    "splev, BSpline": lambda m, c: m.splev(0.3, m.BSpline(KNOTS_OF_12, c[:8], 3)),
    "splint": lambda m, c: m.splint(0.3, 2.2, (KNOTS_OF_12, c, 3)),
    "splint, BSpline": lambda m, c: m.splint(0.3, 2.2, m.BSpline(KNOTS_OF_12, c[:8], 3)),
    "spalde": lambda m, c: m.spalde(0.3, (KNOTS_OF_12, c, 3)),
    "splder": lambda m, c: m.splder((KNOTS_OF_12, c, 3))[1],
    "splantider": lambda m, c: m.splantider((KNOTS_OF_12, c, 3))[1],
    "sproot": lambda m, c: m.sproot((KNOTS_OF_12, c, 3)),
    "insert": lambda m, c: m.insert(1.5, (KNOTS_OF_12, c, 3))[1],
    "PPoly": lambda m, c: m.PPoly.from_spline((KNOTS_OF_12, c, 3)).c,
    "PPoly, BSpline": lambda m, c: m.PPoly.from_spline(m.BSpline(KNOTS_OF_12, c[:8], 3)).c,
    "splrep": lambda m, c: m.splrep(PLACES, c)[1],
    "InterpolatedUnivariateSpline": lambda m, c: m.InterpolatedUnivariateSpline(PLACES, c)(0.3),
    "LSQUnivariateSpline": lambda m, c: m.LSQUnivariateSpline(PLACES, c, [5.5])(0.3),
    "make_interp_spline": lambda m, c: m.make_interp_spline(PLACES, c)(0.3),
    "make_smoothing_spline": lambda m, c: m.make_smoothing_spline(PLACES, c, lam=0.2)(0.3),
    "RectBivariateSpline": lambda m, c: m.RectBivariateSpline(PLACES[:4], PLACES[:5], np.resize(c, (4, 5)))(0.3, 0.4),
    "bisplev": lambda m, c: m.bisplev(0.3, 0.4, (np.arange(8.0), np.arange(8.0), np.resize(c, 16), 3, 3)),
    "CubicSpline": lambda m, c: m.CubicSpline(PLACES, c)(0.3),
    "RegularGridInterpolator": lambda m, c: m.RegularGridInterpolator(
        (np.arange(3.0), np.arange(4.0)), np.reshape(c, (3, 4)))([[0.3, 0.4]]),
    "LinearNDInterpolator": lambda m, c: m.LinearNDInterpolator(SCATTERED, c)([[0.1, 0.1]]),
    "RBFInterpolator": lambda m, c: m.RBFInterpolator(SCATTERED, c)([[0.1, 0.1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradient(name):
    compare(name, CALLS[name], POINTS)


@pytest.mark.parametrize("name", OF_VALUES)
def test_value_and_gradient_of_complex_values(name):
    compare(name, OF_VALUES[name], np.cos(np.arange(12.0)) + 1j * np.sin(np.arange(12.0)) ** 2)


def compare(name, call, at):
    if not hasattr(plain, name.partition(",")[0]) and not name.startswith("its"):
        pytest.skip("not in this SciPy")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            expected = call(plain, at)
        except TypeError:
            with pytest.raises(TypeError):
                weighted(call(ours, ag.tensor(at, requires_grad=True))).backward()
            return
        dropped = any(issubclass(w.category, np.exceptions.ComplexWarning) for w in told)
        told.clear()
        t = ag.tensor(at, requires_grad=True)
        found = call(ours, t)
        assert dropped == any(issubclass(w.category, np.exceptions.ComplexWarning) for w in told)
        np.testing.assert_allclose(np.asarray(found.detach()), expected, rtol=1e-9, atol=1e-12)
        weighted(found).backward()
        for place in range(at.size):
            for unit in (1.0, 1j):
                step = np.zeros(at.size, complex)
                step[place] = 1e-6 * unit
                slope = (weighted(call(plain, at + step)) - weighted(call(plain, at - step))) / 2e-6
                part = np.real(t.grad.numpy()[place] * np.conj(unit))
                np.testing.assert_allclose(part, slope, rtol=1e-5, atol=1e-6)
