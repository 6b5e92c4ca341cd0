"""Interpolation on grids and of scattered data, and polynomials through points.

May import: arraygrad, core.constant_checks, scipy._declare, scipy._guards, scipy.interpolate._chapter, numpy, SciPy.
"""

import itertools

import numpy as np
from scipy import interpolate, spatial

import arraygrad as ag
from arraygrad.core.constant_checks import Contents
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable, taken_down
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    NAMES,
    Interpolant,
    at_value,
    floating,
    has_tensor,
    kept,
    real_points,
    refuse_narrow,
    shape_of,
)

__all__ = ["barycentric"]


def _points(xi, ndim):
    """(points (n, ndim), their shape) of an array, or a tuple of arrays of coordinates."""
    if isinstance(xi, tuple):
        xi = ag.stack([floating(a) for a in ag.broadcast_arrays(*[floating(a) for a in xi])], axis=-1)
    xi = real_points(xi)
    if xi.ndim == 1:
        xi = ag.reshape(xi, (-1, 1)) if ndim == 1 else ag.reshape(xi, (1, -1))
        return xi, (shape_of(xi)[0],)
    return ag.reshape(xi, (-1, shape_of(xi)[-1])), shape_of(xi)[:-1]


@CHAPTER.object("RegularGridInterpolator", "points values xi", "definition (multilinear); de Boor (2001), XVII")
class RegularGridInterpolator(Interpolant):
    """scipy.interpolate.RegularGridInterpolator, differentiable in the grid, the values and the points."""

    _scipy_class = interpolate.RegularGridInterpolator

    def __init__(self, points, values, method="linear", bounds_error=True, fill_value=np.nan, **further):
        self._remember(points, values, method, bounds_error, fill_value, **further)
        self._grid = [floating(p) for p in points]
        self._values, self._method, self._fill = floating(values), method, fill_value
        # SciPy makes the spline of its method at once, and looks at the values again in each call of another one.
        self._of_spline = floating(taken_down(values)) if method in ("slinear", "cubic", "quintic") else None
        self._given = kept(values)  # the nearest value is one of them as it is
        self._bounds_error = bounds_error

    def __call__(self, xi, method=None, **further):
        if self._is_plain(xi):
            return self._plain(xi, method, **further)
        method = self._method if method is None else method
        splines = method.removesuffix("_legacy") in ("slinear", "cubic", "quintic", "pchip")
        if not (splines or method in ("linear", "nearest")) or further.get("nu") is not None:
            raise NotDifferentiable(
                f"arraygrad.scipy.interpolate.RegularGridInterpolator: no derivative is known for method={method!r}"
            )
        d = len(self._grid)
        flat, shape = _points(xi, d)
        if self._bounds_error:
            self._plain(np.asarray(raw(flat)), "nearest")  # SciPy's own error
        places, shares = [], []
        outside = np.zeros(shape_of(flat)[0], dtype=bool)
        for axis, grid in enumerate(self._grid):
            x, g = flat[:, axis], np.asarray(raw(grid))
            sign = 1.0 if g[-1] > g[0] else -1.0
            values = np.asarray(raw(x))
            outside |= (sign * values < sign * g[0]) | (sign * values > sign * g[-1])
            if g.size == 1:
                places.append(np.zeros(values.size, dtype=int))
                shares.append(0.0 * x)
                continue
            at = np.clip(np.searchsorted(sign * g, sign * values, side="right") - 1, 0, g.size - 2)
            places.append(at)
            low, high = ag.take(grid, at), ag.take(grid, at + 1)
            shares.append((x - low) / (high - low))
        if method == "nearest":
            chosen = [at + (np.asarray(raw(s)) > 0.5) for at, s in zip(places, shares, strict=True)]
            found = self._given[tuple(chosen)]
        elif splines:
            from arraygrad.scipy.interpolate._surfaces import grid_splines

            values = self._values if self._of_spline is None or method != self._method else self._of_spline
            found = grid_splines(self._grid, values, method, flat)
        else:
            found = self._blended(places, shares)
        trailing = shape_of(self._values)[d:]
        if self._fill is not None:
            found = ag.where(outside.reshape((-1, *[1] * len(trailing))), self._fill, found)
        found = ag.reshape(found, (*shape, *trailing))
        if splines and not method.startswith("pchip"):  # SciPy's coefficients have the tolerance of its solver
            plain = raw(xi) if isinstance(xi, tuple) else np.asarray(raw(xi))
            return at_value(found, self._plain(plain, method))
        if splines and raw(self._given).dtype.itemsize < raw(found).dtype.itemsize:  # SciPy stores slopes as values
            found = ag.astype(found, raw(self._given).dtype)
        return found

    def _blended(self, places, shares):
        total, trailing = 0.0, [1] * (self._values.ndim - len(places))
        sizes = [shape_of(g)[0] for g in self._grid]
        for corner in itertools.product((0, 1), repeat=len(places)):
            weight = 1.0
            for share, up in zip(shares, corner, strict=True):
                weight = weight * (share if up else 1.0 - share)
            key = tuple(np.minimum(at + up, n - 1) for at, up, n in zip(places, corner, sizes, strict=True))
            total = total + ag.reshape(weight, (-1, *trailing)) * self._values[key]
        return total


@CHAPTER.composition("interpn", "points values xi", "definition (multilinear)")
def _interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


# -- triangulations ---------------------------------------------------------------------------------------------------


def _barycentric(points, values, flat, triangulation, fill_value):
    """Linear interpolation in the simplex of each point; outside of the hull `fill_value`."""
    plain = np.asarray(raw(flat))
    simplex = triangulation.find_simplex(plain)
    inside = simplex >= 0
    corners = triangulation.simplices[np.where(inside, simplex, 0)]
    d = plain.shape[1]
    at = ag.reshape(ag.take(points, corners.ravel(), axis=0), (-1, d + 1, d))
    last = at[:, d, :]
    edges = ag.matrix_transpose(at[:, :d, :] - last[:, None, :])
    away = ag.where(inside[:, None], flat - last, 0.0)
    shares = ag.linalg.solve(edges, away[..., None])[..., 0]
    shares = ag.concat([shares, 1.0 - ag.sum(shares, axis=1, keepdims=True)], axis=1)
    taken = ag.reshape(ag.take(values, corners.ravel(), axis=0), (-1, d + 1, *shape_of(values)[1:]))
    weights = ag.reshape(shares, (*shape_of(shares), *[1] * (values.ndim - 1)))
    found = ag.sum(weights * taken, axis=1)
    return ag.where(inside.reshape((-1, *[1] * (values.ndim - 1))), found, fill_value)


@CHAPTER.object("LinearNDInterpolator", "points values xi", "barycentric coordinates")
class LinearNDInterpolator(Interpolant):
    """scipy.interpolate.LinearNDInterpolator, differentiable in points, values and xi; the triangulation is fixed."""

    _scipy_class = interpolate.LinearNDInterpolator

    def __init__(self, points, values, fill_value=np.nan, rescale=False):
        self._remember(points, values, fill_value, rescale)
        if rescale:
            raise NotDifferentiable("arraygrad.scipy.interpolate.LinearNDInterpolator: rescale=False has derivatives")
        self._points, self._values, self._fill = floating(points), floating(values), fill_value
        self._triangulation = spatial.Delaunay(np.asarray(raw(self._points)))

    def __call__(self, *args):
        if self._is_plain(args):
            return self._plain(*args)
        d = shape_of(self._points)[1]
        flat, shape = _points(args if len(args) > 1 else args[0], d)
        found = _barycentric(self._points, self._values, flat, self._triangulation, self._fill)
        return ag.reshape(found, (*shape, *shape_of(self._values)[1:]))


@CHAPTER.composition("griddata", "points values xi", "barycentric coordinates; by selection")
def _griddata(points, values, xi, method="linear", fill_value=np.nan, rescale=False):
    points = ag.stack([floating(p) for p in points], axis=-1) if isinstance(points, tuple) else floating(points)
    if points.ndim == 1 or shape_of(points)[-1] == 1:
        raise NotDifferentiable("arraygrad.scipy.interpolate.griddata: in one dimension use interp1d")
    if rescale or method not in ("linear", "nearest"):
        raise NotDifferentiable(
            "arraygrad.scipy.interpolate.griddata: the derivative is known for method 'linear' and 'nearest', without "
            "rescale"
        )
    flat, shape = _points(xi, shape_of(points)[-1])
    values = floating(values)
    if method == "nearest":
        _, places = spatial.cKDTree(np.asarray(raw(points))).query(np.asarray(raw(flat)))
        found = ag.take(values, places, axis=0)
    else:
        triangulation = spatial.Delaunay(np.asarray(raw(points)))
        found = _barycentric(points, values, flat, triangulation, fill_value)
    return ag.reshape(found, (*shape, *shape_of(values)[1:]))


# -- radial basis functions -------------------------------------------------------------------------------------------


def _log_of(r):
    """log(r), 0 at r = 0."""
    zero = np.asarray(raw(r)) == 0
    return ag.log(ag.where(zero, 1.0, r))


_KERNELS = {
    "linear": lambda r2: -_sqrt(r2), "thin_plate_spline": lambda r2: 0.5 * r2 * _log_of(r2),
    "cubic": lambda r2: r2 * _sqrt(r2), "quintic": lambda r2: -r2 * r2 * _sqrt(r2),
    "multiquadric": lambda r2: -ag.sqrt(r2 + 1.0), "inverse_multiquadric": lambda r2: 1.0 / ag.sqrt(r2 + 1.0),
    "inverse_quadratic": lambda r2: 1.0 / (r2 + 1.0), "gaussian": lambda r2: ag.exp(-r2),
}  # fmt: skip
_LEAST_DEGREE = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}
_SCALE_FREE = ("linear", "thin_plate_spline", "cubic", "quintic")


def _sqrt(r2):
    zero = np.asarray(raw(r2)) == 0
    return ag.where(zero, 0.0, ag.sqrt(ag.where(zero, 1.0, r2)))


@CHAPTER.object("RBFInterpolator", "y d x smoothing epsilon", "Fasshauer (2007)")
class RBFInterpolator(Interpolant):
    """scipy.interpolate.RBFInterpolator without neighbors: differentiable in all real arguments and the points."""

    _scipy_class = interpolate.RBFInterpolator

    def __init__(self, y, d, neighbors=None, smoothing=0.0, kernel="thin_plate_spline", epsilon=None, degree=None):
        self._remember(y, d, neighbors, smoothing, kernel, epsilon, degree)
        if neighbors is not None:
            raise NotDifferentiable("arraygrad.scipy.interpolate.RBFInterpolator: neighbors=None has derivatives")
        self._y, d = real_points(y), floating(d)
        self._kernel, self._epsilon = kernel, 1.0 if epsilon is None else epsilon
        n, dims = shape_of(self._y)
        degree = max(_LEAST_DEGREE.get(kernel, -1), 0) if degree is None else degree
        self._powers = [p for p in itertools.product(range(degree + 1), repeat=dims) if sum(p) <= degree]
        low, high = np.min(raw(self._y), axis=0), np.max(raw(self._y), axis=0)
        self._shift, self._scale = 0.5 * (low + high), np.where(high > low, 0.5 * (high - low), 1.0)
        diagonal = ag.asarray(smoothing) * np.eye(n) if np.ndim(raw(smoothing)) == 0 else (
            ag.asarray(smoothing)[:, None] * np.eye(n))  # fmt: skip
        inner = self._kernel_matrix(self._y) + diagonal
        self._tail = shape_of(d)[1:]
        right = ag.reshape(d, (n, -1))
        m = len(self._powers)
        if m:
            polynomial = self._polynomials(self._y)
            zeros = ag.asarray(np.zeros((m, m)))
            top = ag.concat([inner, polynomial], axis=1)
            inner = ag.concat([top, ag.concat([ag.matrix_transpose(polynomial), zeros], axis=1)], axis=0)
            right = ag.concat([right, ag.asarray(np.zeros((m, shape_of(right)[1])))], axis=0)
        self._weights = ag.linalg.solve(inner, right)

    def _kernel_matrix(self, x):
        away = x[:, None, :] - self._y[None, :, :]
        return _KERNELS[self._kernel](ag.sum(away * away, axis=-1) * (self._epsilon * self._epsilon))

    def _polynomials(self, x):
        x = (x - self._shift) / self._scale
        columns = []
        for powers in self._powers:
            column = 1.0 + 0.0 * x[:, 0]
            for axis, power in enumerate(powers):
                if power:
                    column = column * x[:, axis] ** power
            columns.append(column)
        return ag.stack(columns, axis=1)

    def __call__(self, x):
        if self._is_plain(x):
            return self._plain(x)
        x = real_points(x)
        rows = self._kernel_matrix(x)
        if self._powers:
            rows = ag.concat([rows, self._polynomials(x)], axis=1)
        return ag.reshape(ag.matmul(rows, self._weights), (shape_of(x)[0], *self._tail))


# -- polynomials through points ---------------------------------------------------------------------------------------


def _lagrange(xi, yi, x):
    """sum_i y_i prod_(j != i) (x - x_j) / (x_i - x_j): smooth at the nodes too."""
    n = shape_of(xi)[0]
    flat = ag.reshape(x, (-1,))
    basis = []
    for i in range(n):
        others = np.array([j for j in range(n) if j != i])
        taken = ag.take(xi, others)
        basis.append(ag.prod((flat[:, None] - taken) / (xi[i] - taken), axis=1))
    found = ag.tensordot(ag.stack(basis, axis=1), yi, axes=1)
    return ag.reshape(found, (*shape_of(x), *shape_of(yi)[1:]))


def barycentric(x, nodes, weights, values):
    """sum_j w_j f_j / (x - x_j) over sum_j w_j / (x - x_j): both times the distance from the nearest node."""
    flat = ag.reshape(x, (-1,))
    plain = np.asarray(raw(flat))[:, None] - np.asarray(raw(nodes))
    near = np.argmin(np.abs(plain), axis=1)
    rows = np.arange(near.size)
    others = np.ones(plain.shape, dtype=bool)
    others[rows, near] = False
    away = flat[:, None] - nodes
    least = away[rows, near]
    shares = ag.where(others, weights / ag.where(others, away, 1.0), 0.0) * least[:, None]
    first = ag.take(weights, near)
    trailing = [1] * (values.ndim - 1)
    above = ag.tensordot(shares, values, axes=1) + ag.reshape(first, (-1, *trailing)) * ag.take(values, near, axis=0)
    below = ag.reshape(ag.sum(shares, axis=1) + first, (-1, *trailing))
    return ag.reshape(above / below, (*shape_of(x), *shape_of(values)[1:]))


def _polynomial(name):
    class Polynomial(Interpolant):
        _scipy_class = getattr(interpolate, name)

        def __init__(self, xi, yi=None, axis=0, **further):
            if name == "KroghInterpolator":
                yi = taken_down(yi)  # SciPy has computed what it needs of the values
            self._remember(xi, yi, axis, **further)
            self._xi, self._axis, self._wi = floating(xi), axis, further.get("wi")
            self._contents = Contents({"the nodes": xi}, tensors=True)  # of which SciPy has computed a part
            if yi is None:
                return
            if name == "KroghInterpolator":
                refuse_narrow(name, xi)
            self._yi = ag.moveaxis(floating(yi), axis, 0)
            if len(shape_of(self._xi)) != 1:
                raise ValueError(
                    f"arraygrad.scipy.interpolate.{name}: xi: expected nodes along one axis, found an array of shape "
                    f"{shape_of(self._xi)}"
                )
            if np.unique(np.asarray(raw(self._xi))).size < shape_of(self._xi)[0]:
                raise NotDifferentiable(f"arraygrad.scipy.interpolate.{name}: nodes once each have derivatives")

        def __call__(self, x):
            if self._is_plain(x):
                return self._plain(x)
            self._contents.check(f"scipy.interpolate.{name}")
            x = floating(x)
            if self._wi is None:
                found = _lagrange(self._xi, self._yi, x)
            else:
                found = barycentric(x, self._xi, floating(self._wi), self._yi)
            axis = self._axis % self._yi.ndim
            if not axis:
                return found
            return ag.moveaxis(found, list(range(x.ndim)), list(range(axis, axis + x.ndim)))

    if name == "BarycentricInterpolator":

        def set_yi(self, yi, axis=None):
            """Take other values."""
            self.__init__(self._args[0], yi, self._axis if axis is None else axis, **self._kwargs)

        def add_xi(self, xi, yi=None):
            """Take further nodes and their values."""
            if self._wi is not None or yi is None:
                raise NotDifferentiable(f"arraygrad.scipy.interpolate.{name}.add_xi: pass yi, and no wi before")
            yi = ag.moveaxis(floating(yi), self._axis, 0)
            both = ag.moveaxis(ag.concat([self._yi, yi], axis=0), 0, self._axis)
            nodes = ag.concat([self._xi, floating(xi)])
            plain = not has_tensor(self._args, xi, yi) or not (both.requires_grad or nodes.requires_grad)
            self.__init__(raw(nodes) if plain else nodes, raw(both) if plain else both, self._axis, **self._kwargs)

        Polynomial.set_yi, Polynomial.add_xi = set_yi, add_xi

    Polynomial.__name__ = Polynomial.__qualname__ = name
    Polynomial.__doc__ = f"scipy.interpolate.{name}, differentiable in xi, yi and the points."
    CHAPTER.object(name, "xi yi x", "Lagrange's formula")(Polynomial)


_polynomial("KroghInterpolator")
_polynomial("BarycentricInterpolator")


@CHAPTER.by_composition("barycentric_interpolate", "xi yi x", "Lagrange's formula", inert="rng")
def _barycentric_interpolate(xi, yi, x, axis=0):
    return NAMES["BarycentricInterpolator"](xi, yi, axis=axis)(x)


@CHAPTER.by_composition("krogh_interpolate", "xi yi x", "Lagrange's formula")
def _krogh_interpolate(xi, yi, x, der=0, axis=0):
    if np.ndim(der) or der:
        raise NotDifferentiable("arraygrad.scipy.interpolate.krogh_interpolate: der=0 has derivatives")
    return NAMES["KroghInterpolator"](xi, yi, axis=axis)(x)
