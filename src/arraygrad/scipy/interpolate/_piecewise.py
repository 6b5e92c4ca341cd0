"""Piecewise polynomials: cubic splines, Hermite, PCHIP and Akima interpolants, and interp1d.

May import: arraygrad, scipy._declare, scipy.interpolate._chapter, scipy.linalg, numpy, SciPy.

Each is made of the slopes at the breakpoints; they and the evaluation are recorded, so that the result is
differentiable in the breakpoints, the data and the points. Sources: de Boor (2001), A Practical Guide to Splines ("de
Boor"); Fritsch and Butland (1984); Akima (1970).
"""

import functools
import math

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
    floating,
    kept,
    like_plain,
    real_points,
    shape_of,
    undefined_where,
)
from arraygrad.scipy.interpolate._collocation import knots_of, recorded
from arraygrad.scipy.interpolate._zeros import zeros_of
from arraygrad.scipy.linalg import _solve as _declared  # noqa: F401 (declares solve_banded)
from arraygrad.scipy.linalg._chapter import NAMES as LINALG

__all__ = ["Polynomials", "derived"]


class Polynomials:
    """Polynomials between breakpoints: c[k, i] is the coefficient of (x - x[i]) ** (degree - k)."""

    def __init__(self, c, x, extrapolate=True, axis=0):
        self._c, self._x, self._extrapolate, self._axis = c, x, extrapolate, axis

    @property
    def _poly(self):
        """SciPy's own polynomials of the plain coefficients."""
        parts = (np.asarray(raw(self._c)), np.asarray(raw(self._x), dtype=float))
        return interpolate.PPoly.construct_fast(*parts, self._extrapolate, self._axis)

    def __call__(self, points, nu=0, extrapolate=None):
        extrapolate = self._extrapolate if extrapolate is None else extrapolate
        points = real_points(points)
        shape = shape_of(points)
        flat = ag.reshape(points, (-1,))
        x = np.asarray(raw(self._x))
        values = np.asarray(raw(flat))
        up = 1.0 if x[-1] >= x[0] else -1.0  # breakpoints may decrease
        inside = (up * values >= up * x[0]) & (up * values <= up * x[-1])
        if isinstance(extrapolate, str):  # periodic
            period = self._x[-1] - self._x[0]
            turns = np.floor((values - x[0]) / (x[-1] - x[0]))
            flat = flat - turns * period
            values = np.asarray(raw(flat))
        places = np.clip(np.searchsorted(up * x, up * values, side="right") - 1, 0, x.size - 2)
        t = flat - ag.take(floating(self._x), places)
        degree = shape_of(self._c)[0] - 1
        trailing = len(shape_of(self._c)) - 2
        t = ag.reshape(t, (-1, *[1] * trailing))
        found = 0.0
        for k in range(degree + 1 - nu):
            power = degree - k
            factor = float(np.prod(np.arange(power - nu + 1, power + 1))) if nu else 1.0
            found = found * t + factor * ag.take(self._c[k], places, axis=0)
        if degree + 1 - nu <= 0:
            found = 0.0 * t + 0.0 * ag.take(self._c[0], places, axis=0)
        if extrapolate is False or (not isinstance(extrapolate, str) and not extrapolate):
            found = ag.where(np.reshape(inside, (-1, *[1] * trailing)), found, np.nan)
        found = ag.reshape(found, (*shape, *shape_of(self._c)[2:]))
        return ag.moveaxis(found, list(range(len(shape))), list(range(self._axis, self._axis + len(shape)))) if (
            self._axis) else found  # fmt: skip

    def derivative(self, nu=1):
        """The derivative as such polynomials."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self._c
        for _ in range(nu):
            degree = shape_of(c)[0] - 1
            if degree == 0:
                c = 0.0 * c
                break
            factors = np.arange(degree, 0, -1.0).reshape((-1, *[1] * (c.ndim - 1)))
            c = c[:-1] * factors
        return derived(self, c, self._extrapolate)

    def antiderivative(self, nu=1):
        """The antiderivative, zero at the first breakpoint, as such polynomials."""
        if nu < 0:
            return self.derivative(-nu)
        found = self
        for _ in range(nu):
            found = found._integrated()
        return found

    def _integrated(self):
        c, x = self._c, floating(self._x)
        degree = shape_of(c)[0] - 1
        trailing = [1] * (c.ndim - 2)
        raised = c / np.arange(degree + 1, 0, -1.0).reshape((-1, 1, *trailing))
        gaps = ag.reshape(ag.diff(x), (-1, *trailing))
        over = 0.0
        for k in range(degree + 1):
            over = (over + raised[k]) * gaps
        start = ag.concat([ag.zeros_like(over[:1]), ag.cumulative_sum(over, axis=0)[:-1]], axis=0)
        # Beyond one period an antiderivative goes on, which SciPy's does not.
        extrapolate = False if isinstance(self._extrapolate, str) else self._extrapolate
        return derived(self, ag.concat([raised, start[None, ...]], axis=0), extrapolate)

    def integrate(self, a, b, extrapolate=None):
        """The integral from a to b."""
        extrapolate = self._extrapolate if extrapolate is None else extrapolate
        value = self._poly.integrate(raw(a), raw(b), extrapolate)  # SciPy's own checks too
        whole = Polynomials.antiderivative(self)
        if isinstance(extrapolate, str):
            found = _periodic_sum(whole, b, self._x) - _periodic_sum(whole, a, self._x)
        else:
            found = whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        return like_plain(at_value(found, value), value)

    def roots(self, discontinuity=True, extrapolate=None):
        """Where the polynomials are zero."""
        return self.solve(0.0, discontinuity, extrapolate)

    def solve(self, y=0.0, discontinuity=True, extrapolate=None):
        """Where the polynomials have the value y."""
        plain = self._poly
        places = plain.solve(float(raw(y)), discontinuity, extrapolate)
        if places.dtype == object or self._c.ndim > 2 or not np.all(np.isfinite(places)):
            raise NotDifferentiable("arraygrad.scipy.interpolate: separate zeros of one function have derivatives")
        if discontinuity and np.size(plain.solve(float(raw(y)), False, extrapolate)) != np.size(places):
            raise NotDifferentiable(
                "arraygrad.scipy.interpolate: one of the zeros is a jump over the value at a breakpoint, which has no "
                "derivative here: pass discontinuity=False for the others"
            )

        def value(x, c, breaks, y):
            return Polynomials(c, breaks)(x) - y

        def slope(x, c, breaks, y):
            return Polynomials(c, breaks)(x, nu=1)

        return zeros_of(places, value, slope, self._c, floating(self._x), floating(y))


def _periodic_sum(whole, end, x):
    """The integral of a periodic extension from the first breakpoint to `end`: whole turns, and what is left."""
    end, first = real_points(end), np.asarray(raw(x))
    turns = np.floor((np.asarray(raw(end)) - first[0]) / (first[-1] - first[0]))
    left = end - turns * (x[-1] - x[0])
    return whole(left, extrapolate=True) + turns * whole(x[-1], extrapolate=True)


def derived(polynomials, c, extrapolate):
    """The polynomials with other coefficients, as a PPoly; SciPy's own answers where no Tensor was given."""
    found = object.__new__(PPoly)
    constant = isinstance(polynomials, Interpolant) and polynomials._is_plain()
    found._args, found._kwargs = () if constant else (c, polynomials._x), {}
    found._c, found._x, found._axis, found._extrapolate = c, polynomials._x, polynomials._axis, extrapolate
    found._plain = found._poly
    return found


class _Declared(Polynomials, Interpolant):
    """An interpolant of SciPy's name; SciPy's own object answers where no Tensor takes part."""

    c = property(lambda self: self._plain.c if self._is_plain() else self._c)
    x = property(lambda self: self._plain.x if self._is_plain() else self._x)
    axis = property(lambda self: self._plain.axis)
    extrapolate = property(lambda self: self._plain.extrapolate)

    def __call__(self, x, nu=0, extrapolate=None):
        if self._is_plain(x):
            return self._plain(x, nu, extrapolate)
        return super().__call__(x, nu, extrapolate)

    def integrate(self, a, b, extrapolate=None):
        """The integral from a to b."""
        if self._is_plain(a, b):
            return self._plain.integrate(a, b, extrapolate)
        return super().integrate(a, b, extrapolate)

    def solve(self, y=0.0, discontinuity=True, extrapolate=None):
        """Where the polynomials have the value y."""
        if self._is_plain(y):
            return self._plain.solve(y, discontinuity, extrapolate)
        return super().solve(y, discontinuity, extrapolate)

    def _set(self, x, y, axis, slopes, extrapolate):
        self._x, self._axis = x, self._plain.axis  # counted from zero on
        self._extrapolate = extrapolate
        y = ag.moveaxis(y, self._axis, 0)
        trailing = [1] * (y.ndim - 1)
        gaps = ag.reshape(ag.diff(x), (-1, *trailing))
        rise = ag.diff(y, axis=0) / gaps
        s = slopes(x, y, gaps, rise)
        t = (s[:-1] + s[1:] - 2.0 * rise) / gaps
        self._c = ag.stack([t / gaps, (rise - s[:-1]) / gaps - t, s[:-1] + 0.0 * y[:-1], y[:-1] + 0.0 * s[:-1]])


@CHAPTER.object("PPoly", "c x points", "definition")
class PPoly(_Declared):
    """scipy.interpolate.PPoly, differentiable in c, x and the points."""

    _scipy_class = interpolate.PPoly

    def __init__(self, c, x, extrapolate=None, axis=0):
        self._remember(c, x, extrapolate, axis)
        self._c, self._x, self._axis = floating(c), floating(x), axis
        self._extrapolate = True if extrapolate is None else extrapolate
        if axis:
            raise NotDifferentiable("arraygrad.scipy.interpolate.PPoly: axis=0 has derivatives")

    @classmethod
    def construct_fast(cls, c, x, extrapolate=None, axis=0):
        """Without checks in SciPy: the same as the constructor here."""
        return cls(c, x, extrapolate, axis)

    @classmethod
    def from_spline(cls, tck, extrapolate=None):
        """The polynomials of a B-spline."""
        if isinstance(tck, NAMES["BSpline"]) or hasattr(tck, "tck"):
            t, c, k = tck.t, tck.c, tck.k
            extrapolate = tck.extrapolate if extrapolate is None else extrapolate
        else:
            t, c, k = tck
        if np.ndim(raw(c)) > 1:
            raise NotDifferentiable("arraygrad.scipy.interpolate.PPoly.from_spline: one spline at a time is taken")
        t = knots_of(t)
        parts = [NAMES["splev"](t[:-1], (t, floating(c), k), m) / float(math.factorial(m)) for m in range(k, -1, -1)]
        c = ag.stack(parts)
        return cls(c if recorded(c, t) else raw(c), t, extrapolate)

    @classmethod
    def from_bernstein_basis(cls, bp, extrapolate=None):
        """The polynomials of a BPoly, by powers."""
        if not isinstance(bp, NAMES["BPoly"]):
            if not isinstance(bp, interpolate.BPoly):
                raise TypeError(f".from_bernstein_basis only accepts BPoly instances. Got {type(bp)} instead.")
            bp = NAMES["BPoly"](bp.c, bp.x, bp.extrapolate)
        c, x = (raw(a) if bp._is_plain() else a for a in (bp._c, bp._x))
        return cls(c, x, bp._extrapolate if extrapolate is None else extrapolate)


@CHAPTER.object("CubicHermiteSpline", "x y dydx points", "de Boor, IV")
class CubicHermiteSpline(_Declared):
    """scipy.interpolate.CubicHermiteSpline, differentiable in x, y, dydx and the points."""

    _scipy_class = interpolate.CubicHermiteSpline

    def __init__(self, x, y, dydx, axis=0, extrapolate=None):
        self._remember(x, y, dydx, axis, extrapolate)
        slopes = ag.moveaxis(floating(dydx), self._plain.axis, 0)
        self._set(floating(x), floating(y), axis, lambda *_: slopes, True if extrapolate is None else extrapolate)


@CHAPTER.object("CubicSpline", "x y points", "de Boor, IV")
class CubicSpline(_Declared):
    """scipy.interpolate.CubicSpline, differentiable in x, y and the points, for every bc_type."""

    _scipy_class = interpolate.CubicSpline

    def __init__(self, x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
        self._remember(x, y, axis, bc_type, extrapolate)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if extrapolate is None:
            extrapolate = "periodic" if periodic else True
        self._set(floating(x), floating(y), axis, lambda *parts: _spline_slopes(*parts, bc_type), extrapolate)


def _conditions(bc_type, n, rise):
    """The conditions at both ends: "not-a-knot" or (order, value)."""
    both = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    named = {"clamped": (1, 0.0), "natural": (2, 0.0)}
    both = [named.get(one, one) if isinstance(one, str) else one for one in both]
    if n == 2:
        both = [(1, rise[0]) if one == "not-a-knot" else one for one in both]
    return both


def _spline_slopes(x, y, gaps, rise, bc_type):
    n = shape_of(x)[0]
    dx = ag.diff(x)
    if isinstance(bc_type, str) and bc_type == "periodic":
        return _periodic_slopes(dx, gaps, rise, n)
    start, end = _conditions(bc_type, n, rise)
    if n == 3 and start == "not-a-knot" and end == "not-a-knot":
        # A parabola through three points.
        middle = (gaps[0] * rise[1] + gaps[1] * rise[0]) / (gaps[0] + gaps[1])
        return ag.stack([2.0 * rise[0] - middle, middle, 2.0 * rise[1] - middle])
    zero = 0.0 * dx[0]
    diagonal, upper = [], []
    first, last = None, None
    if start == "not-a-knot":
        d = x[2] - x[0]
        diagonal.append(dx[1])
        upper.append(d)
        first = ((gaps[0] + 2.0 * d) * gaps[1] * rise[0] + gaps[0] ** 2 * rise[1]) / d
    elif start[0] == 1:
        diagonal.append(zero + 1.0)
        upper.append(zero)
        first = ag.asarray(start[1]) + 0.0 * rise[0]
    else:
        diagonal.append(2.0 * dx[0])
        upper.append(dx[0])
        first = -0.5 * ag.asarray(start[1]) * gaps[0] ** 2 + 3.0 * (y[1] - y[0])
    if end == "not-a-knot":
        d = x[-1] - x[-3]
        end_diagonal, end_lower = dx[-2], d
        last = (gaps[-1] ** 2 * rise[-2] + (2.0 * d + gaps[-1]) * gaps[-2] * rise[-1]) / d
    elif end[0] == 1:
        end_diagonal, end_lower = zero + 1.0, zero
        last = ag.asarray(end[1]) + 0.0 * rise[0]
    else:
        end_diagonal, end_lower = 2.0 * dx[-1], dx[-1]
        last = 0.5 * ag.asarray(end[1]) * gaps[-1] ** 2 + 3.0 * (y[-1] - y[-2])
    middle = [2.0 * (dx[:-1] + dx[1:])] if n > 2 else []
    right = [3.0 * (gaps[1:] * rise[:-1] + gaps[:-1] * rise[1:])] if n > 2 else []
    diagonal = ag.concat([ag.stack(diagonal), *middle, ag.stack([end_diagonal])])
    above = ag.concat([ag.stack([zero, upper[0]]), *([dx[:-1]] if n > 2 else [])])
    below = ag.concat([*([dx[1:]] if n > 2 else []), ag.stack([end_lower, zero])])
    b = ag.concat([first[None, ...], *right, last[None, ...]], axis=0)
    found = LINALG["solve_banded"]((1, 1), ag.stack([above, diagonal, below]), ag.reshape(b, (n, -1)))
    return ag.reshape(found, shape_of(b))


def _periodic_slopes(dx, gaps, rise, n):
    m = n - 1
    before = np.roll(np.arange(m), 1)
    eye = np.eye(m)
    if m == 2:
        # Both neighbours are one and the same point.
        return (
            (rise[:1] * gaps[1:2] + rise[1:2] * gaps[:1])
            / (gaps[:1] + gaps[1:2])
            * np.ones((3, *[1] * (rise.ndim - 1)))
        )
    previous = ag.take(dx, before)
    matrix = (2.0 * (dx + previous))[:, None] * eye + previous[:, None] * np.roll(eye, 1, axis=1)
    matrix = matrix + dx[:, None] * np.roll(eye, -1, axis=1)
    b = 3.0 * (gaps * ag.take(rise, before, axis=0) + ag.take(gaps, before, axis=0) * rise)
    found = ag.reshape(ag.linalg.solve(matrix, ag.reshape(b, (m, -1))), shape_of(b))
    return ag.concat([found, found[:1]], axis=0)


@CHAPTER.object("PchipInterpolator", "x y points", "Fritsch and Butland (1984)")
class PchipInterpolator(_Declared):
    """scipy.interpolate.PchipInterpolator, differentiable in x, y and the points."""

    _scipy_class = interpolate.PchipInterpolator

    def __init__(self, x, y, axis=0, extrapolate=None):
        self._remember(x, y, axis, extrapolate)
        self._set(floating(x), floating(y), axis, _pchip_slopes, True if extrapolate is None else extrapolate)


def _pchip_slopes(x, y, gaps, rise):
    if shape_of(y)[0] == 2:
        return ag.concat([rise, rise], axis=0)
    m = np.asarray(raw(rise))
    flat = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    w1, w2 = 2.0 * gaps[1:] + gaps[:-1], gaps[1:] + 2.0 * gaps[:-1]
    left, right = ag.where(flat, 1.0, rise[:-1]), ag.where(flat, 1.0, rise[1:])
    inner = ag.where(flat, 0.0, (w1 + w2) / (w1 / left + w2 / right))
    first = _pchip_edge(gaps[0], gaps[1], rise[0], rise[1])
    last = _pchip_edge(gaps[-1], gaps[-2], rise[-1], rise[-2])
    return ag.concat([first[None, ...], inner, last[None, ...]], axis=0)


def _pchip_edge(h0, h1, m0, m1):
    d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    rd, r0, r1 = (np.asarray(raw(v)) for v in (d, m0, m1))
    turned = np.sign(rd) != np.sign(r0)
    steep = (np.sign(r0) != np.sign(r1)) & (np.abs(rd) > 3.0 * np.abs(r0))
    return ag.where(turned, 0.0, ag.where(steep & ~turned, 3.0 * m0, d))


@CHAPTER.object("Akima1DInterpolator", "x y points", "Akima (1970)")
class Akima1DInterpolator(_Declared):
    """scipy.interpolate.Akima1DInterpolator, differentiable in x, y and the points."""

    _scipy_class = interpolate.Akima1DInterpolator

    def __init__(self, x, y, axis=0, *, method="akima", extrapolate=None):
        self._remember(x, y, axis, method=method, extrapolate=extrapolate)

        def slopes(x, y, gaps, rise):
            return _akima_slopes(y, rise, method)

        self._set(floating(x), floating(y), axis, slopes, False if extrapolate is None else extrapolate)


def _akima_slopes(y, rise, method):
    if shape_of(y)[0] == 2:
        return ag.concat([rise, rise], axis=0)
    second, first = 2.0 * rise[:1] - rise[1:2], None
    first = 2.0 * second - rise[:1]
    after = 2.0 * rise[-1:] - rise[-2:-1]
    last = 2.0 * after - rise[-1:]
    m = ag.concat([first, second, rise, after, last], axis=0)
    differences = ag.diff(m, axis=0)
    dm = ag.abs(differences)
    if method == "makima":
        sums = m[1:] + m[:-1]
        mean = ag.abs(sums)
        f1, f2 = dm[2:] + 0.5 * mean[2:], dm[:-2] + 0.5 * mean[:-2]
    else:
        f1, f2 = dm[2:], dm[:-2]
    total = f1 + f2
    values = np.asarray(raw(total))
    flat = values <= 1e-9 * np.max(values, initial=-np.inf)
    weighted = m[1:-2] + f2 / ag.where(flat, 1.0, total) * (m[2:-1] - m[1:-2])
    found = ag.where(flat, 0.5 * (m[3:] + m[:-3]), weighted)
    # Where a weight is zero and its factor is not, the partial derivatives from both sides differ.
    noise = 1e-12 * np.max(np.abs(np.asarray(raw(m))), initial=0.0)
    zero = lambda part: np.abs(np.asarray(raw(part))) <= noise
    tied = zero(differences[2:]) | zero(differences[:-2])
    if method == "makima":
        tied |= zero(sums[2:]) | zero(sums[:-2])
    tied &= ~zero(differences[1:-1]) | flat | zero(total)
    return undefined_where(tied, found, "interpolate.Akima1DInterpolator", "equal slopes of neighbouring intervals")


@CHAPTER.object("interp1d", "x y points", "definition; de Boor, IX, for splines")
class interp1d(Interpolant):
    """scipy.interpolate.interp1d, differentiable in x, y and the points."""

    _scipy_class = interpolate.interp1d

    def __init__(self, x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan,
                 assume_sorted=False):  # fmt: skip
        self._remember(x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)
        self._kind = kind
        x, y = kept(x), kept(y)
        self._axis = self._plain.axis  # counted from zero on
        y = ag.moveaxis(y, self._axis, 0)
        if not assume_sorted:
            order = np.argsort(raw(x), kind="mergesort")
            x, y = ag.take(x, order), ag.take(y, order, axis=0)
        self._x, self._y = x, y
        self._spline = None
        self._fill, self._outside_refused = fill_value, bounds_error is not False
        self._extended = isinstance(fill_value, str) and fill_value == "extrapolate"
        if bounds_error is None:
            self._outside_refused = not self._extended and np.ndim(raw(fill_value)) == 0 and bool(
                np.isnan(np.asarray(raw(fill_value), dtype=float))) if not self._extended else False  # fmt: skip
        degrees = {"slinear": 1, "quadratic": 2, "cubic": 3, "zero": 0}
        degree = degrees.get(kind, kind if isinstance(kind, int) else None)
        if degree is not None:
            # Of a nan SciPy makes nan everywhere from degree two on.
            undefined = degree > 1 and bool(np.any(np.isnan(raw(x))) or np.any(np.isnan(raw(y))))
            self._spline = self._nan if undefined else NAMES["make_interp_spline"](x, y, k=degree, check_finite=False)

    def __call__(self, points):
        if self._is_plain(points):
            return self._plain(points)
        points = kept(points)
        if raw(points).dtype.kind == "c":
            self._plain(raw(points))  # SciPy's own error, of straight lines through real values
        values, x = np.asarray(raw(points)).ravel(), np.asarray(raw(self._x))
        below, above = values < x[0], values > x[-1]
        if self._outside_refused and np.any(below | above):
            self._plain(raw(points))  # SciPy's own error
        found = self._inside(ag.reshape(points, (-1,)), values, x)
        trailing = [1] * (self._y.ndim - 1)
        if self._extended and self._kind in ("previous", "next"):
            beyond = below if self._kind == "previous" else above  # there is no value before, or after
            found = ag.where(beyond.reshape(-1, *trailing), np.nan, found)
        if not self._extended:
            low, high = self._fill if isinstance(self._fill, tuple) else (self._fill, self._fill)
            found = ag.where(below.reshape(-1, *trailing), low, found)
            found = ag.where(above.reshape(-1, *trailing), high, found)
        shape = shape_of(points)
        found = ag.reshape(found, (*shape, *shape_of(self._y)[1:]))
        if self._axis:
            n = len(shape)
            found = ag.moveaxis(found, list(range(n)), list(range(self._axis, self._axis + n)))
        return found

    x = property(lambda self: self._plain.x if self._is_plain() else self._x)
    y = property(lambda self: self._plain.y if self._is_plain() else ag.moveaxis(self._y, 0, self._axis))

    def _nan(self, points):
        """nan, as are the derivatives, at each point."""
        total = (ag.sum(self._y, axis=0) + ag.sum(self._x)) * np.nan
        return ag.reshape(points * np.nan, (-1, *[1] * (self._y.ndim - 1))) + total

    def _inside(self, points, values, x):
        if self._spline is not None:
            return self._spline(points)
        if self._kind == "linear":
            # SciPy calls numpy.interp for what it can: of equal abscissas that takes the last.
            plain = self._y.ndim == 1 and not self._extended and x.dtype.kind + str(x.dtype.itemsize) == "f8" and (
                np.asarray(raw(self._y)).dtype == np.float64)  # fmt: skip
            places = np.clip(np.searchsorted(x, values, side="right" if plain else "left"), 1, x.size - 1)
            x0, x1 = ag.take(self._x, places - 1), ag.take(self._x, places)
            y0, y1 = ag.take(self._y, places - 1, axis=0), ag.take(self._y, places, axis=0)
            width, end = x1 - x0, plain & np.asarray(raw(x1) == raw(x0))
            share = ag.where(end, 1.0, (points - x0) / ag.where(end, 1.0, width))
            share = ag.reshape(share, (-1, *[1] * (self._y.ndim - 1)))
            return y0 + share * (y1 - y0)
        middles = 0.5 * (x[1:] + x[:-1])
        if self._kind in ("nearest", "nearest-up"):
            places = np.searchsorted(middles, values, side="left" if self._kind == "nearest" else "right")
        elif self._kind == "previous":
            places = np.searchsorted(x, values, side="right") - 1
        else:
            places = np.searchsorted(x, values, side="left")
        return ag.take(self._y, np.clip(places, 0, x.size - 1), axis=0)


def _function(name, kind):
    @CHAPTER.by_composition(name, "xi yi x", "as the class")
    def formula(xi, yi, x, der=0, axis=0):
        found = NAMES[kind](xi, yi, axis=axis)
        return [found(x, nu=one) for one in der] if np.ndim(der) else found(x, nu=der)

    inner = NAMES[name]

    @functools.wraps(inner)
    def call(xi, yi, x, der=0, axis=0):
        return inner(xi, yi, x, tuple(der) if isinstance(der, list) else der, axis)  # SciPy takes no array of orders

    NAMES[name] = REGISTRY[f"interpolate.{name}"].function = call


_function("pchip_interpolate", "PchipInterpolator")
