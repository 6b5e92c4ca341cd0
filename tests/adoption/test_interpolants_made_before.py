"""Interpolants of SciPy's that a program has made before it is differentiated, called with recorded points.

The class: kind of interpolant x where the program holds it x what it is called with. Its data are constants. The
reference is differences of the plain call; the classes of SciPy's are as before, afterwards.
"""

from __future__ import annotations

import types

import numpy as np
import pytest

interpolate = pytest.importorskip("scipy.interpolate")

import arraygrad as ag

T = np.linspace(0.0, 3.0, 9)
V = np.sin(T) + 0.1 * T**2
RNG = np.random.default_rng(5)
P = RNG.uniform(-1.0, 1.0, (30, 2))
Q = np.sin(P[:, 0]) * P[:, 1] + P[:, 0] ** 2
G = np.linspace(0.0, 1.0, 6)
F = np.sin(G[:, None] * 2.0) + G[None, :] ** 2 * G[:, None]
LINE = {
    "CubicSpline": interpolate.CubicSpline(T, V),
    "CubicSpline, periodic": interpolate.CubicSpline(T, np.cos(2 * np.pi * T / 3.0), bc_type="periodic"),
    "CubicSpline of columns": interpolate.CubicSpline(T, np.stack([V, V**2], axis=1)),
    "CubicSpline without its outside": interpolate.CubicSpline(T, V, extrapolate=False),
    "derivative": interpolate.CubicSpline(T, V).derivative(),
    "antiderivative": interpolate.CubicSpline(T, V).antiderivative(),
    "PchipInterpolator": interpolate.PchipInterpolator(T, V),
    "Akima1DInterpolator": interpolate.Akima1DInterpolator(T, V),
    "CubicHermiteSpline": interpolate.CubicHermiteSpline(T, V, np.cos(T)),
    "PPoly": interpolate.PPoly(RNG.normal(size=(3, 8)), T),
    "BPoly": interpolate.BPoly(RNG.normal(size=(3, 8)), T),
    "BSpline": interpolate.make_interp_spline(T, V, k=3),
    "BSpline of degree 2": interpolate.make_interp_spline(T, V, k=2).derivative(),
    "interp1d": interpolate.interp1d(T, V),
    "interp1d, cubic": interpolate.interp1d(T, V, kind="cubic"),
    "interp1d, quadratic": interpolate.interp1d(T, V, kind="quadratic"),
    "interp1d, nearest": interpolate.interp1d(T, V, kind="nearest"),
    "interp1d, previous": interpolate.interp1d(T, V, kind="previous"),
    "interp1d, extrapolated": interpolate.interp1d(T, V, fill_value="extrapolate"),
    "interp1d, filled": interpolate.interp1d(T, V, bounds_error=False, fill_value=(1.0, 2.0)),
    "interp1d, unsorted": interpolate.interp1d(T[::-1], V[::-1]),
    "interp1d along the last axis": interpolate.interp1d(T, np.stack([V, V**2])),
    "interp1d along the first axis": interpolate.interp1d(T, np.stack([V, V**2], axis=1), axis=0),
    "UnivariateSpline": interpolate.UnivariateSpline(T, V, s=0.01),
    "InterpolatedUnivariateSpline": interpolate.InterpolatedUnivariateSpline(T, V, k=4),
    "InterpolatedUnivariateSpline, zeros": interpolate.InterpolatedUnivariateSpline(T, V, ext="zeros"),
    "InterpolatedUnivariateSpline, const": interpolate.InterpolatedUnivariateSpline(T, V, ext=3),
    "derivative of a UnivariateSpline": interpolate.UnivariateSpline(T, V, s=0.0).derivative(),
    "LSQUnivariateSpline": interpolate.LSQUnivariateSpline(T, V, [1.0, 2.0]),
    "BarycentricInterpolator": interpolate.BarycentricInterpolator(T, V),
    "KroghInterpolator": interpolate.KroghInterpolator(T, V),
}
PLANE = {
    "RegularGridInterpolator": interpolate.RegularGridInterpolator((G, G), F),
    "RegularGridInterpolator, cubic": interpolate.RegularGridInterpolator((G, G), F, method="cubic"),
    "RegularGridInterpolator, filled": interpolate.RegularGridInterpolator(
        (G, G), F, bounds_error=False, fill_value=0.0
    ),
    "RegularGridInterpolator, extrapolated": interpolate.RegularGridInterpolator(
        (G, G), F, bounds_error=False, fill_value=None
    ),
    "LinearNDInterpolator": interpolate.LinearNDInterpolator(P, Q),
    "CloughTocher2DInterpolator": interpolate.CloughTocher2DInterpolator(P, Q),
    "RBFInterpolator": interpolate.RBFInterpolator(P, Q),
    "RBFInterpolator, gaussian": interpolate.RBFInterpolator(P, Q, kernel="gaussian", epsilon=2.0, smoothing=0.1),
    "RBFInterpolator of columns": interpolate.RBFInterpolator(P, np.stack([Q, Q**2], axis=1)),
}
SURFACES = {
    "RectBivariateSpline": interpolate.RectBivariateSpline(G, G, F),
    "SmoothBivariateSpline": interpolate.SmoothBivariateSpline(P[:, 0], P[:, 1], Q, kx=2, ky=2),
    "LSQBivariateSpline": interpolate.LSQBivariateSpline(P[:, 0], P[:, 1], Q, [0.0], [0.0], kx=2, ky=2),
}
REFUSED = ("KroghInterpolator", "CloughTocher2DInterpolator")


def difference(f, x, step=1e-6):
    x = np.asarray(x, dtype=float)
    found = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        move = np.zeros(x.shape)
        move[i] = step
        found[i] = (f(x + move) - f(x - move)) / (2.0 * step)
    return found


def check(function, x, rtol=2e-5):
    before = {cls: dict(vars(cls)) for cls in (interpolate.PPoly, interpolate.interp1d, interpolate.BSpline)}
    value, gradient = ag.value_and_grad(function)(x)
    assert all(dict(vars(cls)) == known for cls, known in before.items())
    np.testing.assert_allclose(value, function(x), rtol=1e-9)
    np.testing.assert_allclose(gradient, difference(function, x), rtol=rtol, atol=1e-7)


def held(s):
    """The same interpolant where a program may hold it: what is called with points."""

    class Model:
        shared = s

        def __init__(self):
            self.own, self.listed, self.named, self.pair = s, [s], {"s": s}, (s, 1)

    model = Model()
    box = types.SimpleNamespace(s=s)
    return {
        "closure": lambda x: s(x),
        "attribute": lambda x: model.own(x),
        "class": lambda x: model.shared(x),
        "list": lambda x: model.listed[0](x),
        "dict": lambda x: model.named["s"](x),
        "tuple": lambda x: model.pair[0](x),
        "namespace": lambda x: box.s(x),
        "default": lambda x, s=s: s(x),
    }


@pytest.mark.filterwarnings("ignore:.*does not depend on the arguments")
@pytest.mark.parametrize("name", LINE)
def test_points_on_a_line(name):
    s = LINE[name]
    if name in REFUSED:
        with pytest.raises(TypeError, match=r"scipy\.interpolate"):
            ag.grad(lambda x: np.sum(s(x)))(1.3)
        return
    check(lambda x: np.sum(s(x) * 1.5), np.array([0.41, 1.3, 2.77]))
    check(lambda x: np.sum(s(x * x)), 1.3)
    check(lambda x: np.sum(s([x, 2.0 * x])), 1.3)


@pytest.mark.parametrize("name", PLANE)
def test_points_in_the_plane(name):
    s = PLANE[name]
    if name in REFUSED:
        with pytest.raises(TypeError, match=r"scipy\.interpolate"):
            ag.grad(lambda x: np.sum(s(x)))(np.array([[0.31, 0.42]]))
        return
    points = np.array([[0.31, 0.42], [0.13, 0.57]])
    rtol = 2e-3 if name.endswith("cubic") else 2e-5  # SciPy solves for its coefficients by iteration
    check(lambda x: np.sum(s(x)), points, rtol)
    check(lambda x: np.sum(s(np.stack([x, 0.5 * x], axis=-1))), points[:, 0], rtol)


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces(name):
    s = SURFACES[name]
    check(lambda x: np.sum(s(x, np.array([0.2, 0.6]))), np.array([0.31, 0.42]))
    check(lambda x: np.sum(s.ev(x, 0.5 * x)), np.array([0.31, 0.42]))
    check(lambda x: np.sum(s(x, x + 0.1, grid=False)), np.array([0.31, 0.42]))


@pytest.mark.parametrize("place", held(None))
@pytest.mark.parametrize("name", ["CubicSpline", "interp1d", "UnivariateSpline"])
def test_where_a_program_holds_it(name, place):
    check(held(LINE[name])[place], 1.3)


def test_methods_with_points():
    spline, fitted = LINE["CubicSpline"], LINE["InterpolatedUnivariateSpline"]
    check(lambda x: spline.integrate(0.0, x), 1.3)
    check(lambda x: spline(x, 1) + spline.derivative()(x) * spline(x, nu=2), 1.3)
    check(lambda x: LINE["BSpline"].integrate(x, 2.0), 1.3)
    check(lambda x: fitted.integral(0.2, x) + fitted(x, 1), 1.3)


def test_beyond_the_data():
    for name in ("interp1d, filled", "interp1d, extrapolated", "CubicSpline", "InterpolatedUnivariateSpline, zeros"):
        check(lambda x, s=LINE[name]: np.sum(s(x)), np.array([-0.5, 1.2, 3.7]))
    with pytest.raises(ValueError, match="interpolation range"):
        ag.grad(LINE["interp1d"])(7.0)


def test_made_in_an_earlier_call():
    """A cache that a plain call has filled."""
    known = {}

    def table(n):
        if n not in known:
            known[n] = interpolate.CubicSpline(np.linspace(0.0, 3.0, n), V[:n])
        return known[n]

    def function(x):
        return table(9)(x) * x

    function(1.0)
    check(function, 1.3)


def test_second_derivatives():
    s = LINE["CubicSpline"]
    np.testing.assert_allclose(ag.grad(ag.grad(lambda x: s(x)))(1.3), s(1.3, 2), rtol=1e-9)
