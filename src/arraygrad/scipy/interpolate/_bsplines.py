"""B-splines: evaluation by the recursion of Cox and de Boor, coefficients as a linear map of the data.

May import: arraygrad, scipy._declare, scipy.interpolate._chapter, numpy, SciPy.

For given knots the coefficients of an interpolating or least-squares spline are linear in the data: the map is SciPy's
own, applied once to the unit vectors. Knots and the places of data are constants here. Source: de Boor (2001), IX, X.
"""

import functools

import numpy as np
from scipy import interpolate

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    NAMES,
    Interpolant,
    at_value,
    constant_only,
    floating,
    has_tensor,
    like_plain,
    shape_of,
)
from arraygrad.scipy.interpolate._zeros import zeros_of

__all__ = ["ours_of_constants", "spline_zeros"]

DE_BOOR = "de Boor (2001), IX, X"


def _basis(t, k, points, places):
    """The k + 1 B-splines that are not zero at each point, recorded in the points."""
    found = [points * 0.0 + 1.0]
    for order in range(1, k + 1):
        grown = [0.0] * (order + 1)
        for i in range(order):
            left, right = t[places + i + 1 - order], t[places + i + 1]
            width = right - left
            share = np.where(width > 0, 1.0 / np.where(width > 0, width, 1.0), 0.0)
            grown[i] = grown[i] + (right - points) * share * found[i]
            grown[i + 1] = grown[i + 1] + (points - left) * share * found[i]
        found = grown
    return found


def _evaluated(t, c, k, points):
    """sum_j c[j] B_j at a vector of points; the outermost polynomials go on beyond the knots."""
    n = shape_of(c)[0]
    places = np.clip(np.searchsorted(t, np.asarray(raw(points)), side="right") - 1, k, n - 1)
    trailing = [1] * (c.ndim - 1)
    total = 0.0
    for i, weight in enumerate(_basis(t, k, points, places)):
        total = total + ag.reshape(weight, (-1, *trailing)) * ag.take(c, places - k + i, axis=0)
    return total


def _lowered(t, c, k):
    """(knots, coefficients, degree) of the derivative."""
    n = shape_of(c)[0]
    width = t[k + 1 : n + k] - t[1:n]
    width = np.where(width > 0, width, np.inf).reshape((-1, *[1] * (c.ndim - 1)))
    return t[1:-1], k * ag.diff(c, axis=0) / width, k - 1


@CHAPTER.object("BSpline", "c points", DE_BOOR)
class BSpline(Interpolant):
    """scipy.interpolate.BSpline, differentiable in the coefficients and the points; the knots are constants."""

    _scipy_class = interpolate.BSpline

    def __init__(self, t, c, k, extrapolate=True, axis=0):
        t = constant_only("BSpline", "t", t)
        self._remember(t, c, k, extrapolate, axis)
        self._t, self._k, self._extrapolate = np.asarray(t, dtype=float), int(k), extrapolate
        self._axis = self._plain.axis  # counted from zero on
        n = self._t.size - self._k - 1
        whole = ag.moveaxis(floating(c), axis, 0)
        self._c, self._rest = whole[:n], whole[n:]

    t = property(lambda self: self._t)
    k = property(lambda self: self._k)
    axis = property(lambda self: self._axis)
    extrapolate = property(lambda self: self._extrapolate)

    @property
    def c(self):
        """Coefficients along the first axis, and those beyond the spline's own that SciPy has."""
        if self._is_plain():
            return self._plain.c
        return ag.concat([self._c, self._rest], axis=0) if shape_of(self._rest)[0] else self._c

    @classmethod
    def construct_fast(cls, t, c, k, extrapolate=True, axis=0):
        """Without checks in SciPy: the same as the constructor, of coefficients along the first axis."""
        return cls(t, ag.moveaxis(c, 0, axis) if axis else c, k, extrapolate, axis)

    @classmethod
    def basis_element(cls, t, extrapolate=True):
        """The B-spline of knots, which are constants here."""
        return cls._of_plain(interpolate.BSpline.basis_element(constant_only("BSpline", "t", t), extrapolate))

    @classmethod
    def design_matrix(cls, x, t, k, extrapolate=False):
        """The values of all B-splines at places: a sparse matrix of constants."""
        x, t = constant_only("BSpline.design_matrix", "x", x), constant_only("BSpline.design_matrix", "t", t)
        return interpolate.BSpline.design_matrix(x, t, k, extrapolate)

    @classmethod
    def from_power_basis(cls, pp, bc_type="not-a-knot"):
        """The B-spline of a cubic spline: linear in its coefficients for given breakpoints."""
        if not isinstance(pp, NAMES["CubicSpline"]):
            return cls._of_plain(interpolate.BSpline.from_power_basis(raw(pp), bc_type))
        plain = interpolate.BSpline.from_power_basis(pp._plain, bc_type)
        if pp._is_plain():
            return cls._of_plain(plain)
        x = np.asarray(constant_only("BSpline.from_power_basis", "x", pp._x), dtype=float)

        def coefficients(v):
            made = interpolate.CubicSpline.construct_fast(v.reshape(4, -1), x, True)
            return interpolate.BSpline.from_power_basis(made, bc_type).c

        c = _linear_map(coefficients, ag.reshape(pp._c, (-1, *shape_of(pp._c)[2:])))
        return cls.construct_fast(plain.t, c, 3, plain.extrapolate, plain.axis)

    @classmethod
    def _of_plain(cls, plain):
        """The spline of one of SciPy's."""
        found = object.__new__(cls)
        found._args, found._kwargs, found._plain = (), {}, plain
        found._t, found._k = np.asarray(plain.t, dtype=float), plain.k
        n = found._t.size - plain.k - 1
        found._c, found._rest = floating(plain.c)[:n], floating(plain.c)[n:]
        found._extrapolate, found._axis = plain.extrapolate, plain.axis
        return found

    def __call__(self, x, nu=0, extrapolate=None):
        if self._is_plain(x):
            return self._plain(x, nu, extrapolate)
        extrapolate = self._extrapolate if extrapolate is None else extrapolate
        points = floating(x)
        flat = ag.reshape(points, (-1,))
        t, c, k = self._t, self._c, self._k
        low, high = t[k], t[shape_of(c)[0]]
        values = np.asarray(raw(flat))
        if isinstance(extrapolate, str):
            flat = flat - np.floor((values - low) / (high - low)) * (high - low)
        for _ in range(nu):
            if k == 0:
                c = 0.0 * c
                break
            t, c, k = _lowered(t, c, k)
        found = _evaluated(t, c, k, flat)
        if not extrapolate:
            outside = (values < low) | (values > high)
            found = ag.where(outside.reshape((-1, *[1] * (c.ndim - 1))), np.nan, found)
        shape = shape_of(points)
        found = ag.reshape(found, (*shape, *shape_of(c)[1:]))
        if self._axis:
            n = len(shape)
            found = ag.moveaxis(found, list(range(n)), list(range(self._axis, self._axis + n)))
        return found

    def derivative(self, nu=1):
        """The derivative as a B-spline."""
        if nu < 0:
            return self.antiderivative(-nu)
        plain = self._plain.derivative(nu)  # SciPy's own checks too
        t, c, k = self._t, self._c, self._k
        for _ in range(nu):
            t, c, k = _lowered(t, c, k)
        return self._derived(plain, t, c, k, self._extrapolate, 0.0)

    def _derived(self, plain, t, c, k, extrapolate, last):
        """A B-spline made of this one; SciPy's own, `plain`, answers where no Tensor was given."""
        found = object.__new__(BSpline)
        found._args, found._kwargs, found._plain = () if self._is_plain() else (c,), {}, plain
        found._t, found._c, found._k, found._extrapolate, found._axis = t, c, k, extrapolate, self._axis
        # What SciPy adds, so that there are as many as knots.
        kept = self._rest if k == self._k else c[:0]
        more = plain.c.shape[0] - shape_of(c)[0] - shape_of(kept)[0]
        added = ag.broadcast_to((0.0 if k == self._k else last) * c[-1:], (more, *shape_of(c)[1:]))
        found._rest = ag.concat([kept, added], axis=0)
        return found

    def antiderivative(self, nu=1):
        """The antiderivative as a B-spline."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self._t, self._c, self._k
        for _ in range(nu):
            n = shape_of(c)[0]
            width = ((t[k + 1 : n + k + 1] - t[:n]) / (k + 1)).reshape((-1, *[1] * (c.ndim - 1)))
            c = ag.concat([ag.zeros_like(c[:1]), ag.cumulative_sum(c * width, axis=0)], axis=0)
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        # Beyond one period an antiderivative goes on, which SciPy's does not.
        extrapolate = False if isinstance(self._extrapolate, str) else self._extrapolate
        return self._derived(self._plain.antiderivative(nu), t, c, k, extrapolate, 1.0)

    def integrate(self, a, b, extrapolate=None):
        """The integral from a to b."""
        if self._is_plain(a, b):
            return self._plain.integrate(a, b, extrapolate)
        extrapolate = self._extrapolate if extrapolate is None else extrapolate
        value = self._plain.integrate(raw(a), raw(b), extrapolate)
        whole, t = self.antiderivative(), self._t
        low, high = t[self._k], t[t.size - self._k - 1]
        period = 0.0  # of the integral; the antiderivative starts from the first knot, which may lie before `low`
        if isinstance(extrapolate, str):
            period = whole(ag.asarray(high), extrapolate=True) - whole(ag.asarray(low), extrapolate=True)
        ends = []
        for end in (floating(a), floating(b)):
            place = np.asarray(raw(end))
            turns = np.floor((place - low) / (high - low)) if isinstance(extrapolate, str) else 0.0
            if not extrapolate:  # nothing beyond the base interval
                end = ag.where((place < low) | (place > high), np.clip(place, low, high), end)
            total = whole(end - turns * (high - low), extrapolate=True)
            ends.append(total + turns * period if np.any(turns) else total)
        return like_plain(at_value(ends[1] - ends[0], value), value)


def spline_zeros(places, t, c, k):
    """Zeros of a B-spline, as SciPy found them, recorded in its coefficients."""
    return zeros_of(places, lambda x, c: BSpline(t, c, k)(x), lambda x, c: BSpline(t, c, k)(x, nu=1), c)


def _linear_map(coefficients, y):
    """`coefficients(y)`, affine in y along the first axis, as a matrix applied to it."""
    n = shape_of(y)[0]
    start = np.asarray(coefficients(np.zeros(n)))
    matrix = np.stack([np.asarray(coefficients(row)) for row in np.eye(n)], axis=1) - start[:, None]
    found = ag.tensordot(ag.asarray(matrix), y, axes=1)
    return found + start.reshape((-1, *[1] * (y.ndim - 1)))


@CHAPTER.composition("make_interp_spline", "y", DE_BOOR)
def _make_interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    x = constant_only("make_interp_spline", "x", x)
    t = constant_only("make_interp_spline", "t", t)
    y = ag.moveaxis(floating(y), axis, 0)
    plain = interpolate.make_interp_spline(x, raw(y), k, t, bc_type)
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    # The knots depend on x alone.
    if k == 0:
        c = y
    elif periodic:  # the last value is the first
        c = _linear_map(
            lambda v: interpolate.make_interp_spline(x, np.concatenate([v, v[:1]]), k, t, bc_type).c, y[:-1]
        )
    elif bc_type is None or isinstance(bc_type, str):
        c = _linear_map(lambda v: interpolate.make_interp_spline(x, v, k, t, bc_type).c, y)
    elif y.ndim == 1:
        c = _linear_map(lambda v: interpolate.make_interp_spline(x, v, k, t, raw(bc_type)).c, y)
    else:
        raise NotDifferentiable("arraygrad.scipy.interpolate.make_interp_spline: bc_type by name has derivatives")
    return BSpline(plain.t, ag.moveaxis(c, 0, axis), k, plain.extrapolate, axis)


@CHAPTER.composition("make_lsq_spline", "y", DE_BOOR)
def _make_lsq_spline(x, y, t, k=3, w=None, axis=0, check_finite=True, *, method="qr"):
    if method not in ("qr", "norm-eq"):
        raise ValueError(f"Unknown {method = }.")
    x, t = constant_only("make_lsq_spline", "x", x), constant_only("make_lsq_spline", "t", t)
    w = constant_only("make_lsq_spline", "w", w)
    y = ag.moveaxis(floating(y), axis, 0)
    c = _linear_map(lambda v: interpolate.make_lsq_spline(x, v, t, k, w).c, y)
    return BSpline(t, ag.moveaxis(c, 0, axis), k, True, axis)


def ours_of_constants(name):
    """The function `name` makes B-splines of ours of constants too, so that they can be called with a Tensor."""
    inner = NAMES.get(name)
    if inner is None:
        return

    @functools.wraps(inner)
    def call(*args, **kwargs):
        found = inner(*args, **kwargs)
        return BSpline._of_plain(found) if isinstance(found, interpolate.BSpline) else found

    NAMES[name] = REGISTRY[f"interpolate.{name}"].function = call


for _name in ("make_interp_spline", "make_lsq_spline"):
    ours_of_constants(_name)


@CHAPTER.composition("splrep", "y", DE_BOOR)
def _splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, full_output=0, per=0, quiet=1):
    if full_output or per or (task == 0 and s not in (None, 0)) or (task == 0 and s is None and w is not None):
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.splrep: the derivative is known for s=0, and for task=-1 with knots; a "
            "smoothing spline's knots depend on the data"
        )
    x, w, t = (constant_only("splrep", name, value) for name, value in (("x", x), ("w", w), ("t", t)))

    def coefficients(v):
        return interpolate.splrep(x, v, w, xb, xe, k, task, s, t)[1]

    knots = interpolate.splrep(x, raw(y), w, xb, xe, k, task, s, t)[0]
    return knots, _linear_map(coefficients, floating(y)), k


@CHAPTER.composition("splev", "x tck", DE_BOOR)
def _splev(x, tck, der=0, ext=0):
    if isinstance(tck, BSpline) or hasattr(tck, "tck"):
        tck = (tck.t, tck.c, tck.k)
    t, c, k = tck
    t = np.asarray(constant_only("splev", "t", t), dtype=float)
    if isinstance(c, list):
        return [_splev(x, (t, part, k), der, ext) for part in c]
    points = floating(x)
    flat = ag.reshape(points, (-1,))
    low, high = t[k], t[-k - 1]
    values = np.asarray(raw(flat))
    outside = (values < low) | (values > high)
    if ext == 2 and np.any(outside):
        raise ValueError("Invalid input data")
    if ext == 3 and der == 0:  # FITPACK extrapolates derivatives
        flat = ag.where(outside, np.clip(values, low, high), flat)
    found = ag.reshape(BSpline(t, floating(c)[: t.size - k - 1], k)(flat, nu=der), shape_of(points))
    return ag.where(outside.reshape(shape_of(points)), 0.0, found) if ext == 1 else found


# -- the spline classes of FITPACK -----------------------------------------------------------------------------------


class _Fitted(Interpolant):
    """A spline of FITPACK whose knots are fixed: its coefficients are linear in y."""

    def __call__(self, x, nu=0, ext=None):
        if self._is_plain(x):
            return self._plain(x, nu, ext)
        modes = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
        ext = self._ext if ext is None else ext
        return _splev(x, (self._t, self._c, self._k), nu, modes.get(ext, ext))

    def _fit(self, y, k, ext, make):
        self._k, self._ext = k, ext
        self._t = self._plain._eval_args[0]
        n = self._t.size - k - 1
        if has_tensor(y) and ag.asarray(y).requires_grad:
            self._c = _linear_map(lambda v: make(v)._eval_args[1][:n], floating(y))
        else:
            self._c = ag.asarray(self._plain._eval_args[1][:n])

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
        return ag.stack([_splev(x, (self._t, self._c, self._k), nu) for nu in range(self._k + 1)])


@CHAPTER.object("InterpolatedUnivariateSpline", "y points", DE_BOOR)
class InterpolatedUnivariateSpline(_Fitted):
    """scipy.interpolate.InterpolatedUnivariateSpline, differentiable in y and the points."""

    _scipy_class = interpolate.InterpolatedUnivariateSpline

    def __init__(self, x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
        x, w = (
            constant_only("InterpolatedUnivariateSpline", "x", x),
            constant_only("InterpolatedUnivariateSpline", "w", w),
        )
        self._remember(x, y, w, list(bbox), k, ext, check_finite)
        self._fit(y, k, ext, lambda v: interpolate.InterpolatedUnivariateSpline(x, v, w, list(bbox), k, ext))


@CHAPTER.object("LSQUnivariateSpline", "y points", DE_BOOR)
class LSQUnivariateSpline(_Fitted):
    """scipy.interpolate.LSQUnivariateSpline, differentiable in y and the points."""

    _scipy_class = interpolate.LSQUnivariateSpline

    def __init__(self, x, y, t, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
        x, w = constant_only("LSQUnivariateSpline", "x", x), constant_only("LSQUnivariateSpline", "w", w)
        t = constant_only("LSQUnivariateSpline", "t", t)
        self._remember(x, y, t, w, list(bbox), k, ext, check_finite)
        self._fit(y, k, ext, lambda v: interpolate.LSQUnivariateSpline(x, v, t, w, list(bbox), k, ext))


@CHAPTER.object("UnivariateSpline", "y points", DE_BOOR + "; y with s=0")
class UnivariateSpline(_Fitted):
    """scipy.interpolate.UnivariateSpline, differentiable in the points, and in y with s=0."""

    _scipy_class = interpolate.UnivariateSpline

    def __init__(self, x, y, w=None, bbox=(None, None), k=3, s=None, ext=0, check_finite=False):
        x, w = constant_only("UnivariateSpline", "x", x), constant_only("UnivariateSpline", "w", w)
        s = constant_only("UnivariateSpline", "s", s)
        if s != 0 and has_tensor(y) and ag.asarray(y).requires_grad:
            raise NotDifferentiable(
                "arraygrad.scipy.interpolate.UnivariateSpline: y requires grad, but a smoothing spline's knots depend "
                "on it; the derivative is known for s=0, or use LSQUnivariateSpline(x, y, t), which is another fit, "
                "with inner knots t that you choose"
            )
        self._remember(x, y, w, list(bbox), k, s, ext, check_finite)
        self._fit(y, k, ext, lambda v: interpolate.UnivariateSpline(x, v, w, list(bbox), k, 0, ext))


@CHAPTER.object("RectBivariateSpline", "z points", DE_BOOR)
class RectBivariateSpline(Interpolant):
    """scipy.interpolate.RectBivariateSpline with s=0, differentiable in z and the points."""

    _scipy_class = interpolate.RectBivariateSpline

    def __init__(self, x, y, z, bbox=(None, None, None, None), kx=3, ky=3, s=0, maxit=20):
        x, y = constant_only("RectBivariateSpline", "x", x), constant_only("RectBivariateSpline", "y", y)
        s = constant_only("RectBivariateSpline", "s", s)
        if s and has_tensor(z):
            raise NotDifferentiable("arraygrad.scipy.interpolate.RectBivariateSpline: the derivative is known for s=0")
        self._remember(x, y, z, list(bbox), kx, ky, s, **({} if maxit == 20 else {"maxit": maxit}))
        self._degrees = (kx, ky)
        self._knots = [np.asarray(t) for t in self._plain.tck[:2]]
        c = floating(z)
        for axis, (places, k, t) in enumerate(zip((x, y), (kx, ky), self._knots, strict=True)):
            design = interpolate.BSpline.design_matrix(np.asarray(places, dtype=float), t, k).toarray()
            c = ag.moveaxis(ag.tensordot(ag.asarray(np.linalg.inv(design)), c, axes=((1,), (axis,))), 0, axis)
        self._c = c

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        if self._is_plain(x, y):
            return self._plain(x, y, dx, dy, grid)
        x, y = floating(x), floating(y)
        if not grid:
            return self.ev(x, y, dx, dy)
        rows = self._weights(0, ag.reshape(x, (-1,)), dx)
        columns = self._weights(1, ag.reshape(y, (-1,)), dy)
        return ag.matmul(ag.matmul(rows, self._c), ag.matrix_transpose(columns))

    def ev(self, xi, yi, dx=0, dy=0):
        """Values at pairs of coordinates."""
        if self._is_plain(xi, yi):
            return self._plain.ev(xi, yi, dx, dy)
        xi, yi = ag.broadcast_arrays(floating(xi), floating(yi))
        rows = self._weights(0, ag.reshape(xi, (-1,)), dx)
        columns = self._weights(1, ag.reshape(yi, (-1,)), dy)
        return ag.reshape(ag.sum(ag.matmul(rows, self._c) * columns, axis=1), shape_of(xi))

    def _weights(self, axis, points, nu):
        """All B-splines of an axis at the points: a matrix."""
        t, k = self._knots[axis], self._degrees[axis]
        low, high = t[k], t[-k - 1]
        values = np.asarray(raw(points))
        outside = (values < low) | (values > high)
        points = ag.where(outside, np.clip(values, low, high), points)  # FITPACK goes on with the edge's value
        return BSpline(t, ag.asarray(np.eye(t.size - k - 1)), k)(points, nu=nu)
