"""Derivatives of plain calls by central differences, extrapolated to step zero (Richardson)."""

import warnings

import numpy as np

import arraygrad as ag

__all__ = ["agree", "slope"]


def slope(f, x, step=2e-4):
    """The derivatives of a number f(x) in every element of x, in the parts of complex ones as d/dRe + i d/dIm."""
    x = np.asarray(x)
    if x.dtype.kind != "c":
        x = x.astype(float)

    def along(at, unit):
        def difference(h):
            up, down = x.copy(), x.copy()
            up[at] += h * unit
            down[at] -= h * unit
            return (float(f(up[()])) - float(f(down[()]))) / (2.0 * h)

        return (4.0 * difference(step / 2.0) - difference(step)) / 3.0

    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        found[at] = along(at, 1.0)
        if x.dtype.kind == "c":
            found[at] += 1j * along(at, 1j)
    return found


def agree(f, x, *, rtol=1e-6, atol=1e-7, adopt=True):
    """f, a number made by plain NumPy and SciPy, has the same value and its slope when it is adopted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, gradient = ag.value_and_grad(f, adopt=adopt)(x)
        np.testing.assert_allclose(float(value), float(f(x)), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(np.asarray(gradient), slope(f, x), rtol=rtol, atol=atol)
