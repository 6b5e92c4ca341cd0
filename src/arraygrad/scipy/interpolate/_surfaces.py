"""Splines and polynomials in several dimensions, as products of those in one.

May import: arraygrad, scipy._declare, scipy.interpolate, numpy, SciPy. Source: de Boor (2001), XVII.
"""

import inspect
import itertools
import operator

import numpy as np
from scipy import interpolate

import arraygrad as ag
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._bsplines import between, linear_map
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    NAMES,
    Interpolant,
    at_value,
    constant_only,
    floating,
    real_points,
    reals_of_fitpack,
    shape_of,
)
from arraygrad.scipy.interpolate._collocation import basis, interpolating, knots_of, lowered, not_a_knot, recorded

__all__ = ["grid_splines", "products"]

DE_BOOR = "de Boor (2001), XVII"


def products(knots, degrees, c, points, nu=None, clipped=False):
    """sum of c[j1, j2, ...] B_j1(x1) B_j2(x2) ... at points, given by their coordinates: vectors of one size."""
    d = len(knots)
    nu = [0] * d if nu is None else nu
    places, weights = [], []
    for axis in range(d):
        t, k = knots[axis], degrees[axis]  # an array, or a Tensor of a grid that is recorded
        for _ in range(nu[axis]):
            moved = ag.moveaxis(c, axis, 0)
            if k == 0:
                c = 0.0 * c
                break
            t, moved, k = lowered(t, moved, k)
            c = ag.moveaxis(moved, 0, axis)
        x, n = points[axis], shape_of(c)[axis]
        values = np.asarray(raw(x))
        if clipped:  # FITPACK goes on with the edge's value
            x = between(x, values, t[k], t[n])
            values = np.asarray(raw(x))
        at = np.clip(np.searchsorted(np.asarray(raw(t)), values, side="right") - 1, k, n - 1)
        places.append(at - k)
        weights.append(basis(t, k, x, at))
    trailing = [1] * (c.ndim - d)
    total = 0.0
    for chosen in itertools.product(*[range(len(w)) for w in weights]):
        weight = 1.0
        for axis, i in enumerate(chosen):
            weight = weight * weights[axis][i]
        taken = c[tuple(place + i for place, i in zip(places, chosen, strict=True))]
        total = total + ag.reshape(weight, (-1, *trailing)) * taken
    return total


def _outside(knots, degrees, shape, points):
    found = False
    for knots_of_one, k, n, x in zip(knots, degrees, shape, points, strict=False):
        t, values = np.asarray(raw(knots_of_one)), np.asarray(raw(x))
        found = found | (values < t[k]) | (values > t[n])
    return found


@CHAPTER.object("NdBSpline", "t c points", DE_BOOR)
class NdBSpline(Interpolant):
    """scipy.interpolate.NdBSpline, differentiable in the knots, the coefficients and the points."""

    _scipy_class = getattr(interpolate, "NdBSpline", None)

    def __init__(self, t, c, k, *, extrapolate=None):
        t = tuple(t)
        self._remember(t if recorded(t) else raw(t), c, k, extrapolate=extrapolate)
        self._knots = [knots_of(one) for one in t]
        self._degrees = [int(one) for one in np.broadcast_to(k, len(t))]
        self._c, self._extrapolate = floating(c), True if extrapolate is None else extrapolate

    def __call__(self, xi, *, nu=None, extrapolate=None):
        if self._is_plain(xi):
            return self._plain(xi, nu=nu, extrapolate=extrapolate)
        xi = real_points(xi)
        d = len(self._knots)
        flat = ag.reshape(xi, (-1, d))
        points = [flat[:, i] for i in range(d)]
        nu = None if nu is None else [int(n) for n in np.broadcast_to(nu, d)]
        found = products(self._knots, self._degrees, self._c, points, nu)
        if not (self._extrapolate if extrapolate is None else extrapolate):
            outside = _outside(self._knots, self._degrees, shape_of(self._c), points)
            found = ag.where(outside.reshape((-1, *[1] * (found.ndim - 1))), np.nan, found)
        found = ag.reshape(found, (*shape_of(xi)[:-1], *shape_of(self._c)[d:]))
        if not recorded(self._knots):
            return found
        return at_value(found, self._plain(np.asarray(raw(xi)), nu=nu, extrapolate=extrapolate))


@CHAPTER.object("NdPPoly", "c x points", "definition")
class NdPPoly(Interpolant):
    """scipy.interpolate.NdPPoly, differentiable in c, x and the points."""

    _scipy_class = interpolate.NdPPoly

    def __init__(self, c, x, extrapolate=None):
        self._remember(c, x, extrapolate)
        self._c, self._x = floating(c), [floating(one) for one in x]
        self._extrapolate = True if extrapolate is None else extrapolate

    def __call__(self, x, nu=None, extrapolate=None):
        if self._is_plain(x):
            return self._plain(x, nu, extrapolate)
        xi, d, c = real_points(x), len(self._x), self._c
        flat = ag.reshape(xi, (-1, d))
        nu = [0] * d if nu is None else [int(n) for n in nu]
        places, outside = [], False
        for axis, breaks in enumerate(self._x):
            b, values = np.asarray(raw(breaks)), np.asarray(raw(flat[:, axis]))
            places.append(np.clip(np.searchsorted(b, values, side="right") - 1, 0, b.size - 2))
            outside = outside | (values < b[0]) | (values > b[-1])
        found = c[(*[slice(None)] * d, *places)]
        trailing = [1] * (c.ndim - 2 * d)
        for axis, (breaks, place, order) in enumerate(zip(self._x, places, nu, strict=True)):
            t = ag.reshape(flat[:, axis] - ag.take(breaks, place), (-1, *trailing))
            degree = shape_of(found)[0] - 1
            total = 0.0 * found[0]
            for k in range(degree + 1 - order):
                power = degree - k
                total = total * t + float(np.prod(np.arange(power - order + 1, power + 1))) * found[k]
            found = total  # one axis of powers less
        if not (self._extrapolate if extrapolate is None else extrapolate):
            found = ag.where(outside.reshape((-1, *trailing)), np.nan, found)
        return ag.reshape(found, (*shape_of(xi)[:-1], *shape_of(c)[2 * d :]))


# -- surfaces of FITPACK ----------------------------------------------------------------------------------------------


@CHAPTER.composition("bisplev", "x y tck", DE_BOOR)
def _bisplev(x, y, tck, dx=0, dy=0):
    tx, ty, c, kx, ky = tck
    tx, ty, kx, ky = knots_of(tx), knots_of(ty), operator.index(kx), operator.index(ky)
    x, y = (reals_of_fitpack(v) for v in (x, y))
    found = _on_grid(tx, ty, reals_of_fitpack(c), kx, ky, ag.reshape(x, (-1,)), ag.reshape(y, (-1,)), dx, dy)
    m, n = shape_of(found)
    return found if m > 1 else ag.reshape(found, (n,) if n > 1 else ())


def _table(tx, ty, c, kx, ky):
    return ag.reshape(c, (shape_of(tx)[0] - kx - 1, shape_of(ty)[0] - ky - 1))


def _on_grid(tx, ty, c, kx, ky, x, y, dx=0, dy=0):
    m, n = shape_of(x)[0], shape_of(y)[0]
    first = ag.reshape(ag.broadcast_to(x[:, None], (m, n)), (-1,))
    second = ag.reshape(ag.broadcast_to(y[None, :], (m, n)), (-1,))
    table = _table(tx, ty, c, kx, ky)
    return ag.reshape(products([tx, ty], [kx, ky], table, [first, second], [dx, dy], clipped=True), (m, n))


@CHAPTER.composition("bisplrep", "z", DE_BOOR + "; at fixed knots, task=-1")
def _bisplrep(x, y, z, w=None, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, task=0, s=None, eps=1e-16, tx=None,
              ty=None, full_output=0, nxest=None, nyest=None, quiet=1):  # fmt: skip
    if task != -1 or full_output:
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.bisplrep: z requires grad, but a smoothing spline's knots depend on it; the "
            "derivative is known for task=-1 with knots"
        )
    x, y, w, tx, ty = (
        constant_only("bisplrep", n, v) for n, v in (("x", x), ("y", y), ("w", w), ("tx", tx), ("ty", ty))
    )

    def fitted(v):
        return interpolate.bisplrep(x, y, v, w, xb, xe, yb, ye, kx, ky, -1, s, eps, tx, ty, 0, nxest, nyest, quiet)

    plain = fitted(raw(z))
    c = linear_map(lambda v: fitted(v)[2], floating(z))
    return [plain[0], plain[1], c, kx, ky]


class _Surface(Interpolant):
    """A bivariate spline of FITPACK: its coefficients are linear in the data where its knots are fixed."""

    _bounds = (-np.inf, np.inf)  # of the first coordinate

    def _fit(self, z, make, linear):
        self._tx, self._ty, plain = (np.asarray(a) for a in self._plain.tck)
        self._kx, self._ky = self._plain.degrees
        z = real_points(z)
        if not z.requires_grad:
            self._c = ag.asarray(plain)
        elif linear:
            self._c = linear_map(lambda v: make(v).tck[2], ag.reshape(z, (-1,)))
        else:
            name = self._scipy_class.__name__
            raise NotDifferentiable(
                f"arraygrad.scipy.interpolate.{name}: the data require grad, but a smoothing spline's knots depend on "
                "them; the derivative is known at fixed knots (LSQBivariateSpline) or of the points"
            )

    def __call__(self, x, y, dx=0, dy=0, grid=True, **further):
        dx, dy = further.get("dtheta", dx), further.get("dphi", dy)
        if self._is_plain(x, y):
            return self._plain(x, y, dx, dy, grid)
        x, y = reals_of_fitpack(x), reals_of_fitpack(y)
        self._plain(np.asarray(raw(x)), np.asarray(raw(y)), dx, dy, grid)  # SciPy's own checks
        if not grid:
            return self.ev(x, y, dx, dy)
        x, y = ag.reshape(x, (-1,)), ag.reshape(y, (-1,))
        return _on_grid(self._tx, self._ty, self._c, self._kx, self._ky, x, y, dx, dy)

    def ev(self, xi, yi, dx=0, dy=0):
        """Values at pairs of coordinates."""
        if self._is_plain(xi, yi):
            return self._plain.ev(xi, yi, dx, dy)
        xi, yi = ag.broadcast_arrays(reals_of_fitpack(xi), reals_of_fitpack(yi))
        pair = [ag.reshape(xi, (-1,)), ag.reshape(yi, (-1,))]
        table = _table(self._tx, self._ty, self._c, self._kx, self._ky)
        found = products([self._tx, self._ty], [self._kx, self._ky], table, pair, [dx, dy], clipped=True)
        return ag.reshape(found, shape_of(xi))

    def get_coeffs(self):
        """The coefficients."""
        return self._plain.get_coeffs() if self._is_plain() else self._c


def _surface(name, constants, at, linear, source=DE_BOOR):
    theirs = getattr(interpolate, name, None)
    if theirs is None:
        return

    data = constants[at]

    class Surface(_Surface):
        _scipy_class = theirs

        def __init__(self, *args, **kwargs):
            given = dict(inspect.signature(theirs).bind(*args, **kwargs).arguments)
            plain = {key: value if key == data else constant_only(name, key, value) for key, value in given.items()}
            self._remember(**given)
            plain[data] = raw(plain[data])
            shape = np.shape(plain[data])
            # Others fit at fixed knots for every s; on a grid there is one more knot by each that s needs.
            fixed = linear and not (name.startswith("Rect") and plain.get("s", 0.0))

            def make(v):
                return theirs(**{**plain, data: v.reshape(shape)})

            self._fit(given[data], make, fixed)

    Surface.__name__ = Surface.__qualname__ = name
    Surface.__doc__ = f"scipy.interpolate.{name}, differentiable in {'the data and ' if linear else ''}the points."
    CHAPTER.object(name, f"{constants[at]} points" if linear else "points", source)(Surface)


_surface("SmoothBivariateSpline", ("x", "y", "z", "w"), 2, False)
_surface("LSQBivariateSpline", ("x", "y", "z", "tx", "ty", "w"), 2, True)
_surface("SmoothSphereBivariateSpline", ("theta", "phi", "r", "w"), 2, False)
_surface("LSQSphereBivariateSpline", ("theta", "phi", "r", "tt", "tp", "w"), 2, True)
_surface("RectSphereBivariateSpline", ("u", "v", "r"), 2, True, DE_BOOR + "; r with s=0")

CHAPTER.classes("the base of the classes with rules", "BivariateSpline")

# -- regular grids ----------------------------------------------------------------------------------------------------

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


def grid_splines(grid, values, method, flat):
    """Splines along every axis of a regular grid, at points (count, axes)."""
    d = len(grid)
    method = method.removesuffix("_legacy")
    if method == "pchip":
        return _folded(grid, values, flat)
    k = _DEGREES[method]
    c, knots = values, []
    for axis, places in enumerate(grid):
        moved = ag.moveaxis(c, axis, 0)
        if recorded(places):
            knots.append(not_a_knot(places, k))
            c = ag.moveaxis(interpolating(places, moved, knots[-1], k), 0, axis)
            continue
        places = np.asarray(raw(places), dtype=float)
        made = lambda v, places=places: interpolate.make_interp_spline(places, v, k)
        knots.append(made(np.zeros(places.size)).t)
        shape = shape_of(moved)
        solved = linear_map(lambda v, made=made: made(v).c, ag.reshape(moved, (shape[0], -1)))
        c = ag.moveaxis(ag.reshape(solved, shape), 0, axis)
    return products(knots, [k] * d, c, [flat[:, i] for i in range(d)])


def _folded(grid, values, flat):
    """One axis after another from the last, as its slopes are not linear."""
    d = len(grid)
    found = []
    for j in range(shape_of(flat)[0]):
        v = values
        for axis in range(d - 1, -1, -1):
            v = NAMES["PchipInterpolator"](grid[axis], ag.moveaxis(v, axis, 0))(flat[j, axis])
        found.append(v)
    return ag.stack(found)
