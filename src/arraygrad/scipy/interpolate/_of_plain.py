"""Interpolants of ours for SciPy's own objects, which a program has made of plain data before it is differentiated.

May import: scipy.interpolate's files here, numpy, SciPy.

A table that a module or a constructor has made, `self.cp = CubicSpline(T, CP)`, is an object of SciPy's, and its data
are constants. In an adopted call its methods that take points give it over to the object of ours here, if a point is
recorded. Guarded by tests/adoption/test_interpolants_made_before.py.
"""

import functools
import weakref

import numpy as np
from scipy import interpolate

from arraygrad.scipy.interpolate._chapter import NAMES, Interpolant, floating, has_tensor
from arraygrad.scipy.interpolate._fitpack import splev
from arraygrad.scipy.interpolate._surfaces import _Surface

__all__ = ["METHODS", "ours_of"]


def _of_polynomials(plain):
    if plain.axis:
        return None
    return NAMES[type(plain).__name__ if isinstance(plain, interpolate.BPoly) else "PPoly"](
        plain.c, plain.x, plain.extrapolate
    )


def _of_bspline(plain):
    return NAMES["BSpline"]._of_plain(plain)


def _of_interp1d(plain):
    kind = plain._kind if plain._kind != "spline" else plain._spline.k
    fill = "extrapolate" if plain._extrapolate else plain.fill_value
    bounds = None if plain._extrapolate else plain.bounds_error
    return NAMES["interp1d"](
        plain.x, plain.y, kind, plain.axis, bounds_error=bounds, fill_value=fill, assume_sorted=True
    )


class _Fitted(Interpolant):
    """A spline of FITPACK, by its knots and coefficients."""

    def __init__(self, plain):
        self._args, self._kwargs, self._plain = (), {}, plain

    def __call__(self, x, nu=0, ext=None):
        modes = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
        ext = self._plain.ext if ext is None else ext
        return splev(x, self._plain._eval_args, nu, modes.get(ext, ext))

    def integral(self, a, b):
        return NAMES["splint"](a, b, self._plain._eval_args)


class _OfTck(_Surface):
    """A bivariate spline of FITPACK, by its knots and coefficients."""

    def __init__(self, plain):
        self._args, self._kwargs, self._plain = (), {}, plain
        self._tx, self._ty, c = (np.asarray(a) for a in plain.tck)
        self._kx, self._ky = plain.degrees
        self._c = floating(c)


def _of_grid(plain):
    return NAMES["RegularGridInterpolator"](
        plain.grid, plain.values, plain.method, plain.bounds_error, plain.fill_value
    )


def _of_scattered(plain):
    if getattr(plain, "scale", None) is not None:  # its points are those of the rescaled data
        return None
    values = plain.values.reshape(len(plain.points), *plain.values_shape)
    fill = complex(np.ravel(plain.fill_value)[0]) if plain.is_complex else float(np.ravel(plain.fill_value)[0])
    return NAMES[type(plain).__name__](plain.points, values, fill)


def _of_barycentric(plain):
    if plain.yi is None:  # it gets its values later
        return None
    axis = plain._y_axis
    values = np.moveaxis(plain.yi.reshape(len(plain.xi), *plain._y_extra_shape), 0, axis)
    return NAMES["BarycentricInterpolator"](plain.xi, values, axis)


def _of_rbf(plain):
    kinds = {"smoothing": plain.smoothing, "kernel": plain.kernel, "epsilon": plain.epsilon}
    values = plain.d.reshape(len(plain.y), *plain.d_shape)
    degree = -1 if plain.powers.size == 0 else int(np.max(np.sum(plain.powers, axis=1)))
    return NAMES["RBFInterpolator"](plain.y, values, plain.neighbors, degree=degree, **kinds)


# Class of SciPy's -> what makes the object of ours, and the methods that take points.
_MADE = {
    interpolate.PPoly: (_of_polynomials, ("__call__", "integrate")),
    interpolate.BPoly: (_of_polynomials, ("__call__", "integrate")),
    interpolate.BSpline: (_of_bspline, ("__call__", "integrate")),
    interpolate.interp1d: (_of_interp1d, ("__call__",)),
    interpolate.UnivariateSpline: (_Fitted, ("__call__", "integral")),
    interpolate.BivariateSpline: (_OfTck, ("__call__", "ev")),
    interpolate.RegularGridInterpolator: (_of_grid, ("__call__",)),
    interpolate.LinearNDInterpolator: (_of_scattered, ("__call__",)),
    interpolate.CloughTocher2DInterpolator: (_of_scattered, ("__call__",)),
    interpolate.BarycentricInterpolator: (_of_barycentric, ("__call__",)),
    interpolate.RBFInterpolator: (_of_rbf, ("__call__",)),
}
_made: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()  # SciPy's object -> ours, or None: there is none


def ours_of(plain):
    """The interpolant of ours of SciPy's own object; None: there is none."""
    found = _made.get(plain, _made)
    if found is _made:
        make = next((make for cls, (make, _) in _MADE.items() if isinstance(plain, cls)), None)
        found = _made[plain] = None if make is None else make(plain)
    return found


def _given_over(method):
    """What stands in for a method of SciPy's class in adopted calls."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if has_tensor(args, kwargs):
            ours = ours_of(self)
            if ours is not None:
                return getattr(ours, method.__name__)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return call


def _methods():
    """{class: list of (the class that has the method, its name, the method, what stands in for it)}."""
    found, known = {}, {}
    for cls, (_, names) in _MADE.items():
        for name in names:
            owner = next(base for base in cls.__mro__ if name in vars(base))
            method = vars(owner)[name]
            if (owner, name) not in known:
                known[owner, name] = (owner, name, method, _given_over(method))
            found.setdefault(cls, []).append(known[owner, name])
    return found


METHODS = _methods()
