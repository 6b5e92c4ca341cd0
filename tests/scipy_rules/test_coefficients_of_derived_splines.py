"""Coefficients of derivatives and antiderivatives of piecewise polynomials are those that SciPy's objects show.

The class: B-splines and Bernstein polynomials x orders of derivatives and antiderivatives x trailing axes x
coefficients beyond those of the spline.
"""

import numpy as np
import pytest
from scipy_differences import check

interpolate = pytest.importorskip("scipy.interpolate", reason="SciPy, which is optional, is not installed")

from arraygrad.scipy import interpolate as ours

X = np.array([0.0, 1.0, 2.5, 3.0])
KNOTS = np.r_[[0.0] * 3, 1.0, 2.0, 3.0, [4.0] * 4]


def _held(call, *arrays):
    check(lambda *a: call(ours, *a), lambda *a: call(interpolate, *a), list(arrays), rtol=1e-7, loose=1e-11)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["derivative", "antiderivative"])
@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (3, 3, 2)])
def test_bernstein_polynomials(shape, name, order):
    c = np.random.default_rng(1).normal(size=shape)
    _held(lambda m, c, x: getattr(m.BPoly(c, x), name)(order).c, c, X)
    _held(lambda m, c, x: getattr(m.BPoly(c, x), name)(order)(np.array([0.3, 1.2, 2.9])), c, X)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["derivative", "antiderivative"])
@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((7, 2), 0), ((2, 7, 3), -2)])
def test_b_splines(shape, axis, name, order):
    y = np.random.default_rng(2).normal(size=shape)
    _held(lambda m, y: getattr(m.make_interp_spline(np.arange(7.0), y, axis=axis), name)(order).c, y)
    made = np.random.default_rng(3).normal(size=(10, *shape[:axis], *shape[axis:][1:]))
    _held(lambda m, c: getattr(m.BSpline(KNOTS, c, 3), name)(order).c, made)
    _held(lambda m, c: getattr(m.BSpline(KNOTS, c, 3).antiderivative(), name)(order).c, made)


def test_coefficients_beyond_those_of_the_spline():
    c = np.random.default_rng(4).normal(size=10)
    _held(lambda m, c: m.BSpline(KNOTS, c, 3).c, c)
    _held(lambda m, c: m.BSpline(KNOTS, c, 3)(np.array([0.5, 3.2])), c)
