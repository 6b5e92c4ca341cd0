"""Interpolating B-splines of many values: the banded system has the gradient of the matrix of SciPy's own columns."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
from scipy import interpolate

import arraygrad as ag
from arraygrad.scipy.interpolate import _bsplines

AT = np.array([-4.9, 0.1, 0.2, 3.7])
MAKES = {
    **{
        f"make_interp_spline, k={k}": lambda x, y, k=k: interpolate.make_interp_spline(x, y, k=k)(AT)
        for k in (1, 2, 3, 4, 5)
    },
    **{
        f"make_interp_spline, {name}": lambda x, y, bc=bc: interpolate.make_interp_spline(x, y, bc_type=bc)(AT, nu=1)
        for name, bc in {"natural": "natural", "clamped": "clamped", "pairs": ([(1, 0.0)], [(2, 0.3)])}.items()
    },
    "given knots": lambda x, y: interpolate.make_interp_spline(x, y, t=np.r_[[x[0]] * 4, x[2:-2], [x[-1]] * 4])(AT),
    "columns": lambda x, y: interpolate.make_interp_spline(x, np.stack([y, y**2], axis=1))(AT),
    "axis": lambda x, y: interpolate.make_interp_spline(x, np.stack([y, y**2]), axis=1)(AT),
    "complex": lambda x, y: abs(interpolate.make_interp_spline(x, y * (1.0 + 2.0j) + 1.0j)(AT)),
    "interp1d": lambda x, y: interpolate.interp1d(x, y, kind="quadratic")(AT),
    "splrep": lambda x, y: interpolate.splev(AT, interpolate.splrep(x, y, k=5)),
    "InterpolatedUnivariateSpline": lambda x, y: interpolate.InterpolatedUnivariateSpline(x, y, k=4)(AT),
    "UnivariateSpline": lambda x, y: interpolate.UnivariateSpline(x, y, s=0)(AT),
}


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("name", MAKES)
def test_both_ways_agree(name, second, monkeypatch):
    rng = np.random.default_rng(7)
    x = np.sort(np.linspace(-5.0, 5.0, 60) + rng.uniform(-0.05, 0.05, 60))
    x[[0, -1]] = -5.0, 5.0
    y = np.sin(x) + 2.0
    f = lambda y: np.sum(np.arange(1.0, 5.0) * np.sum(MAKES[name](x, y).reshape(4, -1) ** 2, axis=1))
    gradient = ag.grad(lambda y: np.sum(ag.grad(f)(y) * np.cos(y))) if second else ag.grad(f)
    banded = gradient(y)
    value = ag.value_and_grad(f)(y)[0]
    assert value == pytest.approx(f(y), rel=1e-12)
    monkeypatch.setattr(_bsplines, "_DENSE", 1000)
    dense = gradient(y)
    assert np.max(np.abs(banded)) > 0.0
    np.testing.assert_allclose(banded, dense, rtol=1e-7, atol=1e-9 * np.max(np.abs(dense)))


def test_nearly_equal_abscissae_take_the_matrix():
    x = np.linspace(0.0, 1.0, 50)
    x[20:24] = x[20] + 1e-14 * np.arange(4)
    y = np.cos(3.0 * x)
    f = lambda y: interpolate.make_interp_spline(x, y)(np.array([0.05]))[0]
    value, gradient = ag.value_and_grad(f)(y)
    assert value == pytest.approx(f(y), rel=1e-9)
    assert np.all(np.isfinite(gradient))
