"""Work on splines: derivatives, integrals, knots, zeros, and smoothing splines at fixed knots.

May import: arraygrad, scipy._declare, scipy.interpolate, numpy, SciPy.

All but zeros (`_zeros`) are linear in the coefficients.
"""

import functools
import math
import operator

import numpy as np
from scipy import interpolate

import arraygrad as ag
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._bsplines import (
    DE_BOOR,
    BSpline,
    between,
    linear_map,
    make_interp,
    ours_of_constants,
    spline_zeros,
)
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    NAMES,
    Interpolant,
    constant_only,
    floating,
    has_tensor,
    real_points,
    reals_of_fitpack,
    shape_of,
)
from arraygrad.scipy.interpolate._collocation import chords, knots_of, recorded, settled
from arraygrad.scipy.interpolate._fitpack import fitted_by_fitpack, splev
from arraygrad.scipy.interpolate._piecewise import _Declared
from arraygrad.scipy.interpolate._zeros import IMPLICIT

__all__ = []

# -- functions of FITPACK ---------------------------------------------------------------------------------------------


def _split(name, tck):
    """(knots, coefficients without padding, degree) of a tuple or a B-spline, and whether it is a tuple."""
    if isinstance(tck, BSpline) or hasattr(tck, "tck"):
        return knots_of(tck.t), tck.c, tck.k, False
    t, c, k = tck
    t, k = knots_of(t), operator.index(k)
    if isinstance(c, list):
        raise NotDifferentiable(f"arraygrad.scipy.interpolate.{name}: one spline at a time has derivatives")
    return t, floating(c)[: shape_of(t)[0] - k - 1], k, True


def _made(found, padded, last=0.0):
    """A spline in the form that was given; FITPACK's tuples have as many coefficients as knots."""
    t, c, k = found.t, found.c, found.k
    if not padded:
        return found
    more = shape_of(t)[0] - shape_of(c)[0]
    return t, ag.concat([c, ag.broadcast_to(c[-1:], (more, *shape_of(c)[1:])) * last]), k


@CHAPTER.composition("splder", "tck", DE_BOOR)
def _splder(tck, n=1):
    t, c, k, padded = _split("splder", tck)
    if n < 0:
        return _splantider(tck, -n)
    return _made(BSpline(t, c, k).derivative(n), padded)


@CHAPTER.composition("splantider", "tck", DE_BOOR)
def _splantider(tck, n=1):
    t, c, k, padded = _split("splantider", tck)
    return _made(BSpline(t, c, k).antiderivative(n), padded, 1.0)  # constant beyond the last knot


@CHAPTER.composition("splint", "a b tck", DE_BOOR)
def _splint(a, b, tck, full_output=0):
    t, c, k, _ = _split("splint", tck)
    if full_output:
        raise NotDifferentiable("arraygrad.scipy.interpolate.splint: full_output=0 has derivatives")
    low, high = t[k], t[-k - 1]  # the spline is zero outside
    whole = BSpline(t, reals_of_fitpack(c), k).antiderivative()
    ends = []
    for end in (a, b):
        end = reals_of_fitpack(end)
        value = np.asarray(raw(end))
        ends.append(whole(between(end, value, low, high)))
    return ends[1] - ends[0]


@CHAPTER.composition("spalde", "x tck", DE_BOOR)
def _spalde(x, tck):
    t, c, k, _ = _split("spalde", tck)
    points = reals_of_fitpack(x)
    found = ag.stack([splev(points, (t, c, k), nu) for nu in range(k + 1)], axis=-1)
    return found if points.ndim == 0 else [found[i] for i in range(shape_of(points)[0])]


@CHAPTER.composition("insert", "tck", DE_BOOR)
def _insert(x, tck, m=1, per=0):
    x = constant_only("insert", "x", x)
    t, c, k, padded = _split("insert", tck)
    if recorded(t):
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.insert: the knots require grad, but have no rule here; the spline with more "
            "knots is the same function, so splev, splder and splint of the spline as it is give its derivatives"
        )
    plain = np.asarray(raw(c))
    knots = interpolate.insert(x, (t, np.concatenate([plain, np.zeros(t.size - plain.size)]), k), m, per)[0]

    def coefficients(v):
        return interpolate.insert(x, (t, np.concatenate([v, np.zeros(t.size - v.size)]), k), m, per)[1][
            : knots.size - k - 1
        ]

    found = BSpline(knots, linear_map(coefficients, ag.asarray(c)), k)
    return _made(found, padded)


@CHAPTER.composition("sproot", "tck", IMPLICIT)
def _sproot(tck, mest=10):
    t, c, k, _ = _split("sproot", tck)
    c = reals_of_fitpack(c)
    places = interpolate.sproot((raw(t), np.concatenate([np.asarray(raw(c)), np.zeros(k + 1)]), k), mest)
    return spline_zeros(places, t, ag.asarray(c), k)


def _takes_splines(name, formula):
    """The function `name` takes B-splines of ours, which hold their Tensors unseen."""
    inner = NAMES[name]

    @functools.wraps(inner)
    def call(*args, **kwargs):
        given = [a for a in (*args, *kwargs.values()) if isinstance(a, BSpline)]
        if not given:
            return inner(*args, **kwargs)
        if not has_tensor(args, kwargs) and all(a._is_plain() for a in given):
            found = CHAPTER.values(name)(*[raw(a) for a in args], **{key: raw(a) for key, a in kwargs.items()})
            return BSpline._of_plain(found) if isinstance(found, interpolate.BSpline) else found
        return formula(*args, **kwargs)

    NAMES[name] = REGISTRY[f"interpolate.{name}"].function = call


for _name, _formula in (("splev", splev), ("splder", _splder), ("splantider", _splantider), ("splint", _splint),
                        ("insert", _insert), ("sproot", _sproot), ("spalde", _spalde)):  # fmt: skip
    _takes_splines(_name, _formula)

# -- smoothing --------------------------------------------------------------------------------------------------------


@CHAPTER.composition("make_smoothing_spline", "y", "Woltring (1986); linear in y for given lam")
def _make_smoothing_spline(x, y, w=None, lam=None, *, axis=0):
    if recorded(x):
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.make_smoothing_spline: x requires grad, but has no rule here; "
            "make_lsq_spline(x, y, t), which is another fit, with knots t that you choose, has derivatives in x, and "
            "so has the spline through all points, make_interp_spline(x, y)"
        )
    x, w, lam = (constant_only("make_smoothing_spline", n, v) for n, v in (("x", x), ("w", w), ("lam", lam)))
    if lam is None:
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.make_smoothing_spline: y requires grad, but the smoothing that "
            "cross-validation chooses depends on it; the derivative is known for given lam"
        )
    y = ag.moveaxis(real_points(y), axis, 0)
    c = linear_map(lambda v: interpolate.make_smoothing_spline(x, v, w, lam).c, y)
    t = interpolate.make_smoothing_spline(x, np.zeros(shape_of(y)[0]), w, lam).t
    return BSpline(t, ag.moveaxis(c, 0, axis), 3, True, axis)


ours_of_constants("make_smoothing_spline")

FIXED = (
    "a smoothing spline's knots depend on the data; the derivative is known for s=0, and for make_lsq_spline(x, y, t), "
    "which is another fit, with knots t that you choose"
)


@CHAPTER.composition("make_splrep", "x y", DE_BOOR + "; with s=0")
def _make_splrep(x, y, *, w=None, xb=None, xe=None, k=3, s=0, t=None, nest=None, bc_type=None):
    if s:
        raise NotDifferentiable(f"arraygrad.scipy.interpolate.make_splrep: {FIXED}")
    w, t = (constant_only("make_splrep", n, v) for n, v in (("w", w), ("t", t)))
    further = {"w": w, "xb": xb, "xe": xe, "k": k, "s": s, "t": t, "nest": nest}
    further.update({} if bc_type is None else {"bc_type": bc_type})
    plain = interpolate.make_splrep(raw(x), raw(y), **further)
    if recorded(x):
        found = make_interp(x, y, k, bc_type=bc_type)
        c = settled("make_splrep", found._c, plain.c[: shape_of(found._c)[0]])
        return BSpline(settled("make_splrep", found._t, plain.t), c, k)
    return BSpline(plain.t, linear_map(lambda v: interpolate.make_splrep(raw(x), v, **further).c, floating(y)), k)


ours_of_constants("make_splrep")


def _curve(name, x, u, s):
    """(the coordinates, a row each, the parameter as it is given, and as a vector) of a curve."""
    if s is None or s:
        raise NotDifferentiable(f"arraygrad.scipy.interpolate.{name}: {FIXED}")
    rows = ag.stack([floating(row) for row in x]) if isinstance(x, (list, tuple)) else floating(x)
    return rows, None if u is None else np.asarray(raw(u), dtype=float), chords(rows) if u is None else knots_of(u)


@CHAPTER.composition("splprep", "x u ub ue", DE_BOOR + "; with s=0")
def _splprep(
    x, w=None, u=None, ub=None, ue=None, k=3, task=0, s=None, t=None, full_output=0, nest=None, per=0, quiet=1
):
    if full_output or per or task:
        raise NotDifferentiable("arraygrad.scipy.interpolate.splprep: task=0, per=0 and full_output=0 have derivatives")
    rows, given, u = _curve("splprep", x, u, s)
    ends = (None, None) if given is None else (ub, ue)  # the lengths go from 0 to 1
    (knots, values, _), parameter = interpolate.splprep(
        [*np.asarray(raw(rows))], raw(w), given, raw(ub), raw(ue), k, 0, 0, nest=nest, quiet=quiet
    )
    if recorded(u, ends):
        u = settled("splprep", floating(u), parameter)
        knots, c = fitted_by_fitpack(
            "splprep", u, ag.matrix_transpose(rows), knots, np.stack(values, axis=1), k, ends=ends
        )
    else:
        c = linear_map(
            lambda v: interpolate.splprep([v], raw(w), u, raw(ub), raw(ue), k, 0, 0)[0][1][0], ag.matrix_transpose(rows)
        )
    return (knots, [c[:, i] for i in range(shape_of(rows)[0])], k), u


@CHAPTER.composition("make_splprep", "x u", DE_BOOR + "; with s=0")
def _make_splprep(x, *, w=None, u=None, ub=None, ue=None, k=3, s=0, t=None, nest=None, bc_type=None):
    rows, given, u = _curve("make_splprep", x, u, s)
    w, t, ub, ue = (constant_only("make_splprep", n, v) for n, v in (("w", w), ("t", t), ("ub", ub), ("ue", ue)))
    further = {"w": w, "u": given, "ub": ub, "ue": ue, "k": k, "s": s, "t": t, "nest": nest}
    further.update({} if bc_type is None else {"bc_type": bc_type})
    plain, parameter = interpolate.make_splprep([*np.asarray(raw(rows))], **further)
    if recorded(u):
        u = settled("make_splprep", u, parameter)
        found = make_interp(u, rows, k, axis=1)
        c = settled("make_splprep", found._c, plain.c)
        return BSpline(settled("make_splprep", found._t, plain.t), ag.matrix_transpose(c), k, True, 1), u

    def coefficients(v):
        found = interpolate.make_splprep([v, v], **{**further, "u": u})[0]
        return found.c[0] if found.c.ndim == 2 and found.c.shape[0] == 2 else found.c[:, 0]

    c = linear_map(coefficients, ag.matrix_transpose(rows))
    return BSpline(plain.t, ag.matrix_transpose(c), k, True, 1), u


CHAPTER.no_rule("knots are constant here", "generate_knots")


# -- Bernstein polynomials ---------------------------------------------------------------------------------------------


@CHAPTER.object("BPoly", "c x points", "definition; Bernstein's form in powers")
class BPoly(_Declared):
    """scipy.interpolate.BPoly, differentiable in c, x and the points."""

    _scipy_class = interpolate.BPoly

    def __init__(self, c, x, extrapolate=None, axis=0):
        self._remember(c, x, extrapolate, axis)
        if axis:
            raise NotDifferentiable("arraygrad.scipy.interpolate.BPoly: axis=0 has derivatives")
        self._x, self._axis = floating(x), 0
        self._extrapolate = True if extrapolate is None else extrapolate
        self._given = floating(c)

    @property
    def _c(self):
        """The coefficients of powers, of what c and x contain now: SciPy's object holds the arrays themselves."""
        c = self._given
        degree = shape_of(c)[0] - 1
        powers = interpolate.PPoly.from_bernstein_basis(
            interpolate.BPoly(np.eye(degree + 1)[:, None, :], np.array([0.0, 1.0]))
        ).c[:, 0, :]
        inner = ag.tensordot(ag.asarray(powers), c, axes=1)
        gaps = ag.reshape(ag.diff(self._x), (-1, *[1] * (c.ndim - 2)))
        return ag.stack([inner[i] / gaps ** (degree - i) for i in range(degree + 1)])

    c = property(lambda self: self._plain.c if self._is_plain() else self._given)

    def derivative(self, nu=1):
        """The derivative, by Bernstein's polynomials."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self._given
        for _ in range(nu):
            degree = shape_of(c)[0] - 1
            c = degree * ag.diff(c, axis=0) / self._gaps() if degree else 0.0 * c
        return BPoly(c, self._x, self._extrapolate)

    def _integrated(self):
        c = self._given
        raised = ag.cumulative_sum(c, axis=0) * self._gaps() / shape_of(c)[0]
        raised = ag.concat([ag.zeros_like(raised[:1]), raised], axis=0)
        start = ag.cumulative_sum(raised[-1], axis=0)[:-1]
        start = ag.concat([ag.zeros_like(raised[-1, :1]), start], axis=0)
        beyond = False if isinstance(self._extrapolate, str) else self._extrapolate
        return BPoly(raised + start[None, ...], self._x, beyond)

    def _gaps(self):
        return ag.reshape(ag.diff(self._x), (-1, *[1] * (self._given.ndim - 2)))

    @classmethod
    def construct_fast(cls, c, x, extrapolate=None, axis=0):
        """Without checks in SciPy: the same as the constructor here."""
        return cls(c, x, extrapolate, axis)

    @classmethod
    def from_power_basis(cls, pp, extrapolate=None):
        """The same polynomials by Bernstein's."""
        if not isinstance(pp, _Declared) or pp._is_plain():
            found = interpolate.BPoly.from_power_basis(raw(pp), extrapolate)
            return cls(found.c, found.x, found.extrapolate)
        degree, gaps = shape_of(pp._c)[0] - 1, ag.reshape(ag.diff(floating(pp._x)), (-1, *[1] * (pp._c.ndim - 2)))
        powers = [pp._c[degree - j] * gaps**j / math.comb(degree, j) for j in range(degree + 1)]
        c = [sum(math.comb(i, j) * powers[j] for j in range(i + 1)) for i in range(degree + 1)]
        return cls(ag.stack(c), pp._x, pp._extrapolate if extrapolate is None else extrapolate)


def _made_by(name, of):
    """The constructors of PPoly and BPoly from other forms, for constants."""
    theirs = getattr(of._scipy_class, name)

    def make(cls, *args, **kwargs):
        held = [a._args if isinstance(a, Interpolant) else a for a in args]
        if has_tensor(held, kwargs):
            raise NotDifferentiable(f"arraygrad.scipy.interpolate.{cls.__name__}.{name}: it is for constants here")
        found = theirs(*[getattr(a, "scipy_object", a) for a in args], **kwargs)
        return found if found.axis else cls(found.c, found.x, found.extrapolate)

    return classmethod(make)


setattr(BPoly, "from_derivatives", _made_by("from_derivatives", BPoly))  # noqa: B010 (checkers know no such attribute)
