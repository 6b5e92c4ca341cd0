"""The splines of FITPACK: its functions of tuples (knots, coefficients, degree), and its classes.

May import: arraygrad, scipy._declare, scipy.interpolate, numpy, SciPy.

FITPACK's interpolating splines have the knots that SciPy's own have. Coefficients are linear in the data: the map is
SciPy's, applied once to the unit vectors, or the solution of a recorded system where abscissae or knots require grad
(`_collocation`). Source: de Boor (2001), IX, X.
"""

import operator

import numpy as np
from scipy import interpolate

import arraygrad as ag
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._bsplines import DE_BOOR, BSpline, between, linear_map, of_values, spline_zeros
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    Interpolant,
    constant_only,
    floating,
    has_tensor,
    real_points,
    reals_of_fitpack,
    shape_of,
)
from arraygrad.scipy.interpolate._collocation import (
    clamped_knots,
    interpolating,
    knots_of,
    least_squares,
    not_a_knot,
    recorded,
    settled,
)

__all__ = ["fitted_by_fitpack", "splev"]


def fitted_by_fitpack(name, x, y, knots, values, k, w=None, inner=None, ends=(None, None)):
    """(knots, coefficients) of a spline of FITPACK, with SciPy's values, recorded in the abscissae, knots and weights.

    Parameters
    ----------
    x, y : array or Tensor
        Abscissae, and values along the first axis.
    knots, values : array
        What FITPACK has found: all knots, and the coefficients without padding.
    inner : array or Tensor, optional
        Inner knots of a least-squares fit; without them the spline interpolates.
    ends : pair
        The ends of the interval, numbers or Tensors; None: the first and the last abscissa.
    """
    x = floating(knots_of(x))
    low, high = _ends(x, ends)
    if inner is None:
        t = settled(name, not_a_knot(x, k, low, high), knots)
        return t, settled(name, interpolating(x, real_points(y), t, k), values)
    t = settled(name, clamped_knots(low, knots_of(inner), high, k), knots)
    return t, least_squares(name, x, real_points(y), t, k, None if w is None else knots_of(w), values)


def _ends(x, ends):
    """The ends of the interval as vectors of one number; None: the first and the last abscissa."""
    return [
        at if one is None else ag.reshape(floating(one), (1,)) for one, at in zip(ends, (x[:1], x[-1:]), strict=True)
    ]


def _along(name, x, z, knots, k, axis, ends):
    """(knots, coefficients) of the interpolating splines of FITPACK along an axis of a table."""
    x = floating(knots_of(x))
    t = settled(name, not_a_knot(x, k, *_ends(x, ends)), knots)
    return t, ag.moveaxis(interpolating(x, ag.moveaxis(z, axis, 0), t, k), 0, axis)


@CHAPTER.composition("splrep", "x y w xb xe t", DE_BOOR)
def _splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, full_output=0, per=0, quiet=1):
    smoothing = task == 0 and t is None and (s not in (None, 0) or (s is None and w is not None))
    if full_output or per or smoothing or task == 1:
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.splrep: the derivative is known for s=0, and for inner knots t that you "
            "choose, without full_output and per; a smoothing spline's knots depend on the data. A periodic spline "
            'that has one is make_interp_spline(x, y, k, bc_type="periodic")'
        )
    y = reals_of_fitpack(y)
    plain = interpolate.splrep(raw(x), raw(y), raw(w), raw(xb), raw(xe), k, task, s, raw(t))
    if recorded(x, w, t, xb, xe):
        n = plain[0].size - k - 1
        knots, c = fitted_by_fitpack("splrep", x, y, plain[0], plain[1][:n], k, w, t, (xb, xe))
        return knots, ag.concat([c, ag.asarray(np.zeros(plain[1].size - n))]), k

    def coefficients(v):
        return interpolate.splrep(raw(x), v, raw(w), raw(xb), raw(xe), k, task, s, raw(t))[1]

    if w is not None or t is not None:
        return plain[0], linear_map(coefficients, floating(y)), k
    n = plain[0].size - k - 1
    c = of_values(lambda v: coefficients(v)[:n], raw(x), floating(y), plain[0], k, plain[1][:n])
    return plain[0], ag.concat([c, ag.asarray(np.zeros(plain[1].size - n))]), k


@CHAPTER.composition("splev", "x tck", DE_BOOR)
def splev(x, tck, der=0, ext=0):
    taken = at_points = reals_of_fitpack
    if isinstance(tck, BSpline) or hasattr(tck, "tck"):
        tck, taken, at_points = (tck.t, tck.c, tck.k), floating, real_points
    t, c, k = tck
    t, k = knots_of(t), operator.index(k)
    if isinstance(c, list):
        return [splev(x, (t, part, k), der, ext) for part in c]
    points = at_points(x)
    flat = ag.reshape(points, (-1,))
    first, last = t[k], t[-k - 1]
    values = np.asarray(raw(flat))
    outside = (values < float(raw(first))) | (values > float(raw(last)))
    if ext == 2 and np.any(outside):
        raise ValueError("Invalid input data")
    if ext == 3 and der == 0:  # FITPACK extrapolates derivatives
        flat = between(flat, values, first, last)
    found = ag.reshape(BSpline(t, taken(c)[: shape_of(t)[0] - k - 1], k)(flat, nu=der), shape_of(points))
    return ag.where(outside.reshape(shape_of(points)), 0.0, found) if ext == 1 else found


# -- the spline classes of FITPACK -----------------------------------------------------------------------------------


class _Fitted(Interpolant):
    """A spline of FITPACK whose knots do not depend on y: its coefficients are linear in y."""

    def __call__(self, x, nu=0, ext=None):
        if self._is_plain(x):
            return self._plain(x, nu, ext)
        modes = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
        ext = self._ext if ext is None else ext
        return splev(x, (self._t, self._c, self._k), nu, modes.get(ext, ext))

    def _fit(self, name, x, y, k, ext, make, w=None, inner=None, ends=(None, None)):
        self._k, self._ext = k, ext
        self._t, c = self._plain._eval_args[:2]
        n = self._t.size - k - 1
        if recorded(x, w, inner, ends):
            self._t, self._c = fitted_by_fitpack(name, x, y, self._t, c[:n], k, w, inner, ends)
        elif recorded(y):
            fit = lambda v: make(v)._eval_args[1][:n]
            whole = w is None and inner is None
            y = real_points(y)
            self._c = of_values(fit, raw(x), y, self._t, k, c[:n]) if whole else linear_map(fit, y)
        else:
            self._c = ag.asarray(c[:n])

    def derivative(self, n=1):
        """The derivative, a spline of FITPACK too."""
        plain = self._plain.derivative(n)  # SciPy's own checks too
        return self._derived(plain, BSpline(self._t, self._c, self._k).derivative(n))

    def antiderivative(self, n=1):
        """The antiderivative, a spline of FITPACK too."""
        return self._derived(self._plain.antiderivative(n), BSpline(self._t, self._c, self._k).antiderivative(n))

    def _derived(self, plain, spline):
        found = object.__new__(UnivariateSpline)
        found._args, found._kwargs, found._plain = () if self._is_plain() else (spline._c,), {}, plain
        found._t, found._c, found._k, found._ext = spline._t, spline._c, spline._k, plain.ext
        return found

    def get_knots(self):
        """The inner knots, and the ends of the interval."""
        return self._plain.get_knots() if self._is_plain() else self._t[self._k : shape_of(self._t)[0] - self._k]

    def get_coeffs(self):
        """The coefficients of the B-splines."""
        return self._plain.get_coeffs() if self._is_plain() else self._c

    def integral(self, a, b):
        """The integral from a to b; the spline is zero outside of its interval."""
        if self._is_plain(a, b):
            return self._plain.integral(a, b)
        return BSpline(self._t, self._c, self._k).integrate(a, b, extrapolate=False)

    def roots(self):
        """Where the spline is zero."""
        return self._plain.roots() if self._is_plain() else spline_zeros(self._plain.roots(), self._t, self._c, self._k)

    def derivatives(self, x):
        """The derivatives of all orders at x."""
        if self._is_plain(x):
            return self._plain.derivatives(x)
        self._plain.derivatives(raw(x))  # SciPy's own checks
        return ag.stack([splev(x, (self._t, self._c, self._k), nu) for nu in range(self._k + 1)])


@CHAPTER.object("InterpolatedUnivariateSpline", "x y bbox points", DE_BOOR)
class InterpolatedUnivariateSpline(_Fitted):
    """scipy.interpolate.InterpolatedUnivariateSpline, differentiable in x, y, bbox and the points."""

    _scipy_class = interpolate.InterpolatedUnivariateSpline

    def __init__(self, x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
        self._remember(x, y, w, list(bbox), k, ext, check_finite)

        def make(v):
            return interpolate.InterpolatedUnivariateSpline(raw(x), v, raw(w), raw(list(bbox)), k, ext)

        # The weights have no influence on a spline through all points.
        self._fit("InterpolatedUnivariateSpline", x, y, k, ext, make, ends=tuple(bbox))


@CHAPTER.object("LSQUnivariateSpline", "x y t w bbox points", DE_BOOR + ", XIV")
class LSQUnivariateSpline(_Fitted):
    """scipy.interpolate.LSQUnivariateSpline, differentiable in x, y, the inner knots t, w, bbox and the points."""

    _scipy_class = interpolate.LSQUnivariateSpline

    def __init__(self, x, y, t, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
        self._remember(x, y, t, w, list(bbox), k, ext, check_finite)

        def make(v):
            return interpolate.LSQUnivariateSpline(raw(x), v, raw(t), raw(w), raw(list(bbox)), k, ext)

        self._fit("LSQUnivariateSpline", x, y, k, ext, make, w, t, tuple(bbox))


@CHAPTER.object("UnivariateSpline", "x y bbox points", DE_BOOR + "; x, y and bbox with s=0")
class UnivariateSpline(_Fitted):
    """scipy.interpolate.UnivariateSpline, differentiable in the points, and in x, y and bbox with s=0."""

    _scipy_class = interpolate.UnivariateSpline

    def __init__(self, x, y, w=None, bbox=(None, None), k=3, s=None, ext=0, check_finite=False):
        s = constant_only("UnivariateSpline", "s", s)
        for name, value in (("x", x), ("y", y), ("w", w), ("bbox", bbox)):
            if s != 0 and recorded(value):
                raise NotDifferentiable(
                    f"arraygrad.scipy.interpolate.UnivariateSpline: {name} requires grad, but a smoothing spline's "
                    "knots depend on it; the derivative is known for s=0, or use LSQUnivariateSpline(x, y, t), which "
                    "is another fit, with inner knots t that you choose"
                )
        self._remember(x, y, w, list(bbox), k, s, ext, check_finite)

        def make(v):
            return interpolate.UnivariateSpline(raw(x), v, raw(w), raw(list(bbox)), k, 0, ext)

        self._fit("UnivariateSpline", x, y, k, ext, make, ends=tuple(bbox))


@CHAPTER.object("RectBivariateSpline", "x y z bbox points", DE_BOOR)
class RectBivariateSpline(Interpolant):
    """scipy.interpolate.RectBivariateSpline with s=0, differentiable in x, y, z, bbox and the points."""

    _scipy_class = interpolate.RectBivariateSpline

    def __init__(self, x, y, z, bbox=(None, None, None, None), kx=3, ky=3, s=0, maxit=20):
        s = constant_only("RectBivariateSpline", "s", s)
        if s and (has_tensor(z) or recorded(x, y, bbox)):
            raise NotDifferentiable("arraygrad.scipy.interpolate.RectBivariateSpline: the derivative is known for s=0")
        self._remember(x, y, z, list(bbox), kx, ky, s, **({} if maxit == 20 else {"maxit": maxit}))
        self._degrees = (kx, ky)
        self._knots = [np.asarray(t) for t in self._plain.tck[:2]]
        c = real_points(z)
        for axis, (places, k, t) in enumerate(zip((x, y), (kx, ky), self._knots, strict=True)):
            ends = tuple(bbox)[2 * axis : 2 * axis + 2]
            if recorded(places, ends):
                self._knots[axis], c = _along("RectBivariateSpline", places, c, t, k, axis, ends)
                continue
            design = interpolate.BSpline.design_matrix(np.asarray(raw(places), dtype=float), t, k).toarray()
            c = ag.moveaxis(ag.tensordot(ag.asarray(np.linalg.inv(design)), c, axes=((1,), (axis,))), 0, axis)
        if recorded(x, y, bbox):
            c = settled("RectBivariateSpline", c, self._plain.tck[2].reshape(shape_of(c)))
        self._c = c

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        if self._is_plain(x, y):
            return self._plain(x, y, dx, dy, grid)
        x, y = reals_of_fitpack(x), reals_of_fitpack(y)
        if not grid:
            return self.ev(x, y, dx, dy)
        rows = self._weights(0, ag.reshape(x, (-1,)), dx)
        columns = self._weights(1, ag.reshape(y, (-1,)), dy)
        return ag.matmul(ag.matmul(rows, self._c), ag.matrix_transpose(columns))

    def ev(self, xi, yi, dx=0, dy=0):
        """Values at pairs of coordinates."""
        if self._is_plain(xi, yi):
            return self._plain.ev(xi, yi, dx, dy)
        xi, yi = ag.broadcast_arrays(reals_of_fitpack(xi), reals_of_fitpack(yi))
        rows = self._weights(0, ag.reshape(xi, (-1,)), dx)
        columns = self._weights(1, ag.reshape(yi, (-1,)), dy)
        return ag.reshape(ag.sum(ag.matmul(rows, self._c) * columns, axis=1), shape_of(xi))

    def _weights(self, axis, points, nu):
        """All B-splines of an axis at the points: a matrix."""
        t, k = self._knots[axis], self._degrees[axis]
        points = between(points, np.asarray(raw(points)), t[k], t[-k - 1])  # FITPACK goes on with the edge's value
        return BSpline(t, ag.asarray(np.eye(shape_of(t)[0] - k - 1)), k)(points, nu=nu)
