"""B-splines: evaluation by the recursion of Cox and de Boor, coefficients as a linear map of the data.

May import: arraygrad, core.tensor, scipy._declare, scipy.interpolate, numpy, SciPy.

For given knots the coefficients of an interpolating or least-squares spline are linear in the data: the map is SciPy's
own, applied once to the unit vectors. Where knots or the places of data require grad, coefficients are the solution of
a recorded system (`_collocation`), with SciPy's values. Source: de Boor (2001), IX, X.
"""

import functools

import numpy as np
from scipy import interpolate

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    NAMES,
    Interpolant,
    at_value,
    constant_only,
    floating,
    like_plain,
    real_points,
    shape_of,
)
from arraygrad.scipy.interpolate._collocation import (
    augmented,
    evaluated,
    interpolating,
    is_settled,
    knots_of,
    least_squares,
    lowered,
    not_a_knot,
    periodic_coefficients,
    periodic_knots,
    recorded,
    settled,
)
from arraygrad.scipy.interpolate._piecewise import Polynomials
from arraygrad.scipy.interpolate._zeros import zeros_of

__all__ = [
    "DE_BOOR",
    "BSpline",
    "between",
    "linear_map",
    "make_interp",
    "of_values",
    "ours_of_constants",
    "spline_zeros",
]

DE_BOOR = "de Boor (2001), IX, X"
_DENSE = 32  # the coefficients of more values are the solution of a banded system, not a matrix times them


@CHAPTER.object("BSpline", "t c points", DE_BOOR)
class BSpline(Interpolant):
    """scipy.interpolate.BSpline, differentiable in the knots, the coefficients and the points.

    At a knot the derivative in it and in the point is that from the right.
    """

    _scipy_class = interpolate.BSpline

    def __init__(self, t, c, k, extrapolate=True, axis=0):
        t = knots_of(t)
        self._remember(t, c, k, extrapolate, axis)
        self._t, self._k, self._extrapolate = t, int(k), extrapolate
        self._axis = self._plain.axis  # counted from zero on
        n = shape_of(t)[0] - self._k - 1
        whole = ag.moveaxis(floating(c), axis, 0)
        self._c, self._rest = whole[:n], whole[n:]

    t = property(lambda self: self._t)
    k = property(lambda self: self._k)
    axis = property(lambda self: self._axis)
    extrapolate = property(lambda self: self._extrapolate)
    tck = property(lambda self: (self.t, self.c, self.k))

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
        """The B-spline of the knots t."""
        plain = interpolate.BSpline.basis_element(raw(t), extrapolate)
        if not recorded(t):
            return cls._of_plain(plain)
        t, k = knots_of(t), plain.k
        t = ag.concat([*[t[:1] - 1.0] * k, t, *[t[-1:] + 1.0] * k])
        return cls(t, plain.c, k, extrapolate)

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
        if recorded(pp._x):
            t, c = _of_cubic(pp, bc_type)
            t, c = (settled("BSpline.from_power_basis", *pair) for pair in ((t, plain.t), (c, plain.c)))
            return cls.construct_fast(t, c, 3, plain.extrapolate, plain.axis)
        x = np.asarray(raw(pp._x), dtype=float)

        def coefficients(v):
            made = interpolate.CubicSpline.construct_fast(v.reshape(4, -1), x, True)
            return interpolate.BSpline.from_power_basis(made, bc_type).c

        c = linear_map(coefficients, ag.reshape(pp._c, (-1, *shape_of(pp._c)[2:])))
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
        points = real_points(x)
        flat = ag.reshape(points, (-1,))
        t, c, k = self._t, self._c, self._k
        first, last = t[k], t[shape_of(c)[0]]  # of the base interval, recorded if the knots are
        low, high = float(raw(first)), float(raw(last))
        values = np.asarray(raw(flat))
        if isinstance(extrapolate, str):
            flat = flat - np.floor((values - low) / (high - low)) * (last - first)
        for _ in range(nu):
            if k == 0:
                c = 0.0 * c
                break
            t, c, k = lowered(t, c, k)
        found = evaluated(t, c, k, flat)
        if not extrapolate:
            outside = (values < low) | (values > high)
            found = ag.where(outside.reshape((-1, *[1] * (c.ndim - 1))), np.nan, found)
        shape = shape_of(points)
        found = ag.reshape(found, (*shape, *shape_of(c)[1:]))
        if self._axis:
            n = len(shape)
            found = ag.moveaxis(found, list(range(n)), list(range(self._axis, self._axis + n)))
        return at_value(found, self._plain(raw(x), nu, extrapolate)) if isinstance(self._t, Tensor) else found

    def derivative(self, nu=1):
        """The derivative as a B-spline."""
        if nu < 0:
            return self.antiderivative(-nu)
        plain = self._plain.derivative(nu)  # SciPy's own checks too
        t, c, k = self._t, self._c, self._k
        for _ in range(nu):
            t, c, k = lowered(t, c, k)
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
            width = ag.reshape(ag.asarray((t[k + 1 : n + k + 1] - t[:n]) / (k + 1)), (-1, *[1] * (c.ndim - 1)))
            c = ag.concat([ag.zeros_like(c[:1]), ag.cumulative_sum(c * width, axis=0)], axis=0)
            t, k = (ag.concat if isinstance(t, Tensor) else np.concatenate)([t[:1], t, t[-1:]]), k + 1
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
        first, last = t[self._k], t[shape_of(t)[0] - self._k - 1]
        low, high = float(raw(first)), float(raw(last))
        period = 0.0  # of the integral; the antiderivative starts from the first knot, which may lie before `low`
        if isinstance(extrapolate, str):
            period = whole(ag.asarray(last), extrapolate=True) - whole(ag.asarray(first), extrapolate=True)
        ends = []
        for end in (real_points(a), real_points(b)):
            place = np.asarray(raw(end))
            turns = np.floor((place - low) / (high - low)) if isinstance(extrapolate, str) else 0.0
            if not extrapolate:  # nothing beyond the base interval
                end = between(end, place, first, last)
            total = whole(end - turns * (last - first), extrapolate=True)
            ends.append(total + turns * period if np.any(turns) else total)
        return like_plain(at_value(ends[1] - ends[0], value), value)


def between(points, values, first, last):
    """The points, those beyond an end of the interval at the end; the ends are numbers, or recorded."""
    points = ag.where(values < np.asarray(raw(first)), first, points)
    return ag.where(values > np.asarray(raw(last)), last, points)


def spline_zeros(places, t, c, k):
    """Zeros of a B-spline, as SciPy found them, recorded in its coefficients, and in its knots if these are."""
    return zeros_of(places, lambda x, c, t: BSpline(t, c, k)(x), lambda x, c, t: BSpline(t, c, k)(x, nu=1), c, t)


def linear_map(coefficients, y):
    """`coefficients(y)`, affine in y along the first axis, as a matrix applied to it."""
    n = shape_of(y)[0]
    start = np.asarray(coefficients(np.zeros(n)))
    matrix = np.stack([np.asarray(coefficients(row)) for row in np.eye(n)], axis=1) - start[:, None]
    found = ag.tensordot(ag.asarray(matrix), y, axes=1)
    return found + start.reshape((-1, *[1] * (y.ndim - 1)))


def of_values(coefficients, x, y, knots, k, value, ends=((), ())):
    """The coefficients of an interpolating spline of constant abscissae, `coefficients(y)`, which are linear in y.

    `value` are SciPy's. Of many values they are the solution of a banded system, if that has it.
    """
    if shape_of(y)[0] > _DENSE:
        found = interpolating(x, y, knots, k, *ends)
        if is_settled(found, value):
            return at_value(found, np.asarray(value))
    return linear_map(coefficients, y)


@CHAPTER.composition("make_interp_spline", "x y t bc_type", DE_BOOR)
def make_interp(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    y = ag.moveaxis(floating(y), axis, 0)
    plain = interpolate.make_interp_spline(raw(x), raw(y), k, raw(t), raw(bc_type), check_finite=check_finite)
    periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if periodic and k > 1 and raw(y).dtype.kind == "c":
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.make_interp_spline: SciPy drops the imaginary part of complex y with "
            'bc_type="periodic"; make a spline of the real part and one of the imaginary part'
        )
    knots = plain.t
    if recorded(x, t):
        knots = settled("make_interp_spline", _knots(knots_of(x), k, t, bc_type), plain.t)
    pairs = bc_type is not None and not isinstance(bc_type, str)
    if k == 0 or (k == 1 and t is None):
        c = y
    elif recorded(x, t) or (pairs and (recorded(bc_type) or y.ndim > 1)):
        if periodic:
            c = periodic_coefficients(knots_of(x), y[:-1], knots, k)
        else:
            c = interpolating(knots_of(x), y, knots, k, *_end_conditions(bc_type, shape_of(y)[1:]))
        c = settled("make_interp_spline", c, plain.c)
    elif periodic:  # the last value is the first
        c = linear_map(
            lambda v: interpolate.make_interp_spline(raw(x), np.concatenate([v, v[:1]]), k, raw(t), bc_type).c, y[:-1]
        )
    else:
        c = of_values(
            lambda v: interpolate.make_interp_spline(raw(x), v, k, raw(t), raw(bc_type)).c,
            *(raw(x), y, knots, k, plain.c, _end_conditions(raw(bc_type), shape_of(y)[1:])),
        )
    return BSpline(knots, ag.moveaxis(c, 0, axis), k, plain.extrapolate, axis)


def _knots(x, k, t, bc_type):
    """The knots that are given, or that SciPy chooses for the abscissae x."""
    if t is not None:
        return ag.asarray(knots_of(t))
    x = floating(x)
    if isinstance(bc_type, str) and bc_type == "periodic" and k > 1:
        return periodic_knots(x, k)
    given = bc_type is not None and not (isinstance(bc_type, str) and bc_type in ("not-a-knot", "periodic"))
    if given and (isinstance(bc_type, str) or any(one is not None for one in bc_type)):
        return augmented(x, k)
    return not_a_knot(x, k)


def _end_conditions(bc_type, shape):
    """Lists of (order, value) of the derivatives at both ends."""
    if bc_type is None or (isinstance(bc_type, str) and bc_type == "not-a-knot"):
        return [], []
    both = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    named = {"clamped": 1, "natural": 2}
    return tuple([(named[one], np.zeros(shape))] if isinstance(one, str) else list(one or ()) for one in both)


def _of_cubic(pp, bc_type):
    """(knots, coefficients) of the B-spline that a cubic spline is, recorded in its breakpoints."""
    x, polynomials = floating(pp._x), Polynomials(pp._c, pp._x)
    y, t = polynomials(x), _knots(x, 3, None, bc_type)
    if bc_type == "periodic":
        return t, periodic_coefficients(x, y[:-1], t, 3)
    ends = [[], []]
    if bc_type != "not-a-knot":  # two more knots, so two more conditions
        ends = [[(2, polynomials(end, nu=2))] for end in (x[:1], x[-1:])]
    return t, interpolating(x, y, t, 3, *ends)


@CHAPTER.composition("make_lsq_spline", "x y t w", DE_BOOR + ", XIV")
def _make_lsq_spline(x, y, t, k=3, w=None, axis=0, check_finite=True, *, method="qr"):
    if method not in ("qr", "norm-eq"):
        raise ValueError(f"Unknown {method = }.")
    y = ag.moveaxis(floating(y), axis, 0)
    if recorded(x, t, w):
        plain = interpolate.make_lsq_spline(raw(x), raw(y), raw(t), k, raw(w))
        x, t = knots_of(x), knots_of(t)
        c = least_squares("make_lsq_spline", x, y, t, k, None if w is None else knots_of(w), plain.c)
    else:
        x, t, w = raw(x), raw(t), raw(w)
        c = linear_map(lambda v: interpolate.make_lsq_spline(x, v, t, k, w).c, y)
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
