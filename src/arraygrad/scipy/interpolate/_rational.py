"""Rational and radial interpolants, polynomials as objects, nearest values, and smooth triangulated ones.

May import: arraygrad, core.constant_checks, scipy._declare, scipy.interpolate, numpy, SciPy.
"""

import numpy as np
from scipy import interpolate, spatial

import arraygrad as ag
from arraygrad.core.constant_checks import Contents
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.interpolate._chapter import (
    CHAPTER,
    Interpolant,
    at_value,
    constant_only,
    floating,
    has_tensor,
    real_points,
    refuse_narrow,
    shape_of,
)
from arraygrad.scipy.interpolate._scattered import _log_of, _sqrt, barycentric

__all__ = ["Poly1d"]

BERRUT = "Berrut and Trefethen (2004)"


@CHAPTER.object("FloaterHormannInterpolator", "points values x", "Floater and Hormann (2007)")
class FloaterHormannInterpolator(Interpolant):
    """scipy.interpolate.FloaterHormannInterpolator, differentiable in the nodes, the values and the points."""

    _scipy_class = getattr(interpolate, "FloaterHormannInterpolator", None)

    def __init__(self, points, values, *, d=3, axis=0):
        self._remember(points, values, d=d, axis=axis)
        self._axis = axis
        nodes, values = floating(points), ag.moveaxis(floating(values), axis, 0)
        order = _used_nodes(np.asarray(raw(nodes)), np.asarray(raw(values)))
        self._nodes, self._values = ag.take(nodes, order), ag.take(values, order, axis=0)
        z, n = self._nodes, order.size
        found = []
        for k in range(n):
            total = 0.0
            for i in range(max(k - d, 0), min(k + 1, n - d)):
                others = np.array([j for j in range(i, i + d + 1) if j != k], dtype=int)
                total = total + 1.0 / ag.prod(ag.abs(z[k] - ag.take(z, others)))
            found.append(total * (-1.0) ** (k - d))
        self._weights = ag.stack([ag.asarray(weight) for weight in found])  # 0.0 where fewer than d + 1 nodes are left

    def __call__(self, x):
        if self._is_plain(x):
            return self._plain(x)
        plain = np.asarray(raw(x))
        found = at_infinity(floating(x), self._nodes, self._weights, self._values)
        found = ag.moveaxis(found, 0, self._axis) if plain.ndim else found
        # SciPy computes in the precision of its arguments, and so rounds as these do.
        points, values = (np.asarray(raw(a)) for a in self._args)
        dtype = np.result_type(plain, np.result_type(points, 1.0), values)
        return found if raw(found).dtype == dtype else ag.astype(found, dtype)


def _used_nodes(points, values):
    """Which nodes SciPy's rational interpolants use, in their order: rising ones, each once, with finite values."""
    finite = np.flatnonzero(np.isfinite(values.reshape(points.size, -1)).all(axis=1))
    return finite[np.unique(points[finite], return_index=True)[1]]


def at_infinity(x, nodes, weights, values):
    """`barycentric`, with the limit of SciPy's rational interpolants at infinite points."""
    infinite = np.isinf(np.asarray(raw(x)))
    if not infinite.any():
        return barycentric(x, nodes, weights, values)
    inner = barycentric(ag.where(infinite, nodes[0], x), nodes, weights, values)
    trailing = [1] * (values.ndim - 1)
    limit = ag.sum(ag.reshape(weights, (-1, *trailing)) * values) / ag.sum(weights)
    return ag.where(infinite.reshape((*infinite.shape, *trailing)), limit, inner)


@CHAPTER.object("AAA", "points", "Nakatsukasa et al. (2018)")
class AAA(Interpolant):
    """scipy.interpolate.AAA, differentiable in the points of evaluation; the approximation is constant."""

    _scipy_class = getattr(interpolate, "AAA", None)

    def __init__(self, x, y, **options):
        for name, value in (("x", x), ("y", y)):
            constant_only("AAA", name, value)
        self._remember(x, y, **options)

    def __call__(self, z):
        if self._is_plain(z):
            return self._plain(z)
        plain = self._plain
        parts = [ag.asarray(np.asarray(a)) for a in (plain.support_points, plain.weights, plain.support_values)]
        return at_infinity(ag.asarray(z), *parts)


# -- radial functions -------------------------------------------------------------------------------------------------

_RADIAL = {
    "multiquadric": lambda r2, e: ag.sqrt(r2 / (e * e) + 1.0),
    "inverse": lambda r2, e: 1.0 / ag.sqrt(r2 / (e * e) + 1.0),
    "gaussian": lambda r2, e: ag.exp(-r2 / (e * e)), "linear": lambda r2, e: _sqrt(r2),
    "cubic": lambda r2, e: r2 * _sqrt(r2), "quintic": lambda r2, e: r2 * r2 * _sqrt(r2),
    "thin_plate": lambda r2, e: 0.5 * r2 * _log_of(r2),
}  # fmt: skip
_RADIAL_NAMES = {"inverse multiquadric": "inverse", "inverse_multiquadric": "inverse", "thin-plate": "thin_plate"}


@CHAPTER.object("Rbf", "args epsilon smooth points", "Hardy (1971)")
class Rbf(Interpolant):
    """scipy.interpolate.Rbf of Euclidean distances, differentiable in all real arguments and the points."""

    _scipy_class = interpolate.Rbf

    def __init__(self, *args, **kwargs):
        self._remember(*args, **kwargs)
        if kwargs.get("norm", "euclidean") != "euclidean":
            raise NotDifferentiable("arraygrad.scipy.interpolate.Rbf: norm='euclidean' has derivatives")
        kind = kwargs.get("function", "multiquadric")
        kind = _RADIAL_NAMES.get(kind, kind)
        if kind not in _RADIAL:
            raise NotDifferentiable("arraygrad.scipy.interpolate.Rbf: functions by name have derivatives")
        self._kernel = _RADIAL[kind]
        several = kwargs.get("mode", "1-D") == "N-D"
        self._at = ag.stack([ag.reshape(real_points(a), (-1,)) for a in args[:-1]], axis=1)
        d = floating(args[-1])
        n = shape_of(self._at)[0]
        self._tail = shape_of(d)[1:] if several else ()
        epsilon = kwargs.get("epsilon")
        if epsilon is None:
            edges = ag.max(self._at, axis=0) - ag.min(self._at, axis=0)
            wide = np.flatnonzero(np.asarray(raw(edges)))
            epsilon = (ag.prod(ag.take(edges, wide)) / n) ** (1.0 / wide.size)
        self._epsilon = epsilon
        matrix = self._kernel(self._square(self._at), epsilon) - kwargs.get("smooth", 0.0) * np.eye(n)
        self._weights = ag.linalg.solve(matrix, ag.reshape(d, (n, -1)))

    def _square(self, x):
        away = x[:, None, :] - self._at[None, :, :]
        return ag.sum(away * away, axis=-1)

    def __call__(self, *args):
        if self._is_plain(args):
            return self._plain(*args)
        args = ag.broadcast_arrays(*[real_points(a) for a in args])
        flat = ag.stack([ag.reshape(a, (-1,)) for a in args], axis=1)
        found = ag.matmul(self._kernel(self._square(flat), self._epsilon), self._weights)
        return ag.reshape(found, (*shape_of(args[0]), *self._tail))


# -- triangulations and nearest values --------------------------------------------------------------------------------


@CHAPTER.object("NearestNDInterpolator", "values", "by selection")
class NearestNDInterpolator(Interpolant):
    """scipy.interpolate.NearestNDInterpolator: each value is one of those given."""

    _scipy_class = interpolate.NearestNDInterpolator

    def __init__(self, x, y, rescale=False, tree_options=None):
        self._remember(x, y, rescale, tree_options)
        self._values = floating(y)

    def __call__(self, *args, **options):
        if self._is_plain(args):
            return self._plain(*args, **options)
        labels = np.arange(float(shape_of(self._values)[0]))
        x, _, *further = self._args
        args = [raw(a) for a in args]
        chosen = interpolate.NearestNDInterpolator(raw(x), labels, *further)(*args, **options)
        found = ag.take(self._values, np.nan_to_num(chosen).astype(int).ravel(), axis=0)
        found = ag.reshape(found, (*np.shape(chosen), *shape_of(self._values)[1:]))
        return found if np.all(np.isfinite(chosen)) else ag.where(
            np.isfinite(chosen).reshape((*np.shape(chosen), *[1] * (self._values.ndim - 1))), found, np.nan
        )  # fmt: skip


@CHAPTER.object("CloughTocher2DInterpolator", "values", "linear in the values; Nielson (1983), Alfeld (1984)")
class CloughTocher2DInterpolator(Interpolant):
    """scipy.interpolate.CloughTocher2DInterpolator, differentiable in the values; points and places are constants."""

    _scipy_class = interpolate.CloughTocher2DInterpolator

    def __init__(self, points, values, fill_value=np.nan, tol=1e-6, maxiter=400, rescale=False):
        points = constant_only("CloughTocher2DInterpolator", "points", points)
        if has_tensor(values) and ag.asarray(values).requires_grad and (tol > 1e-6 or maxiter < 400):
            raise NotDifferentiable(
                "arraygrad.scipy.interpolate.CloughTocher2DInterpolator: values requires grad, but the derivative of "
                f"slopes that are not solved for is not known: tol={tol!r} and maxiter={maxiter!r} were found; pass "
                "tol=1e-06 or less and maxiter=400 or more"
            )
        self._remember(points, values, fill_value, tol, maxiter, rescale)
        self._values, self._fill = floating(values), fill_value
        self._contents = Contents({"the values": values}, tensors=True)  # SciPy has computed the slopes of them

    def __call__(self, *args):
        if self._is_plain(args):
            return self._plain(*args)
        self._contents.check("scipy.interpolate.CloughTocher2DInterpolator")
        for place in args:
            constant_only("CloughTocher2DInterpolator", "xi", place)
        args = [raw(a) for a in args]
        n = shape_of(self._values)[0]
        points, _, _, tol, maxiter, rescale = self._args
        if not isinstance(points, spatial.Delaunay) and not rescale:
            points = spatial.Delaunay(np.asarray(points, dtype=float))
        # The slopes that it estimates are linear in the values; solved to more digits than one result needs.
        unit = interpolate.CloughTocher2DInterpolator(
            points, np.eye(n), 0.0, min(tol, 1e-12), max(maxiter, 4000), rescale
        )
        weights = unit(*args)
        found = ag.tensordot(ag.asarray(weights), self._values, axes=1)
        outside = np.all(weights == 0.0, axis=-1)
        if np.any(outside):
            found = ag.where(outside.reshape((*outside.shape, *[1] * (self._values.ndim - 1))), self._fill, found)
        return at_value(found, self._plain(*args))  # SciPy's slopes have its tolerance


# -- polynomials ------------------------------------------------------------------------------------------------------


class Poly1d:
    """What numpy.poly1d is, of a Tensor of coefficients.

    Attributes
    ----------
    c : Tensor
        The coefficients, the highest power first.
    """

    def __init__(self, c):
        self.c = c

    coeffs = coefficients = coef = property(lambda self: self.c)
    order = o = property(lambda self: shape_of(self.c)[0] - 1)

    def __len__(self):
        return self.order

    def __getitem__(self, power):
        return self.c[self.order - power] if 0 <= power <= self.order else 0.0

    def __call__(self, x):
        x = ag.asarray(x)
        found = 0.0 * x
        for i in range(self.order + 1):
            found = found * x + self.c[i]
        return found

    def deriv(self, m=1):
        """The m-th derivative."""
        c = self.c
        for _ in range(m):
            n = shape_of(c)[0]
            c = c[:-1] * np.arange(n - 1, 0, -1.0) if n > 1 else 0.0 * c
        return Poly1d(c)

    def integ(self, m=1, k=0):
        """The m-th antiderivative, with the constant k."""
        c = self.c
        for _ in range(m):
            c = ag.concat([c / np.arange(shape_of(c)[0], 0, -1.0), ag.reshape(ag.asarray(float(k)), (1,))])
        return Poly1d(c)


@CHAPTER.composition("lagrange", "x w", "Lagrange's formula")
def _lagrange(x, w):
    refuse_narrow("lagrange", x)
    x, w = floating(x), floating(w)
    n = shape_of(x)[0]
    total = 0.0
    for j in range(n):
        c = ag.reshape(w[j], (1,))
        for k in range(n):
            if k != j:
                c = (ag.pad(c, ((0, 1),)) - ag.pad(c, ((1, 0),)) * x[k]) / (x[j] - x[k])
        total = total + c
    return Poly1d(total)


@CHAPTER.composition("pade", "an", "Baker and Graves-Morris (1996)")
def _pade(an, m, n=None):
    given, an = an, floating(an)
    n = shape_of(an)[0] - 1 - m if n is None else n
    plain = interpolate.pade(np.asarray(raw(given)), m, n)  # SciPy's own checks, and its precision
    count = m + n
    an = an[: count + 1]
    # p_i - sum_j a_(i-j) q_j = a_i, with q_0 = 1
    columns = [ag.pad(-an[: count + 1 - j], ((j, 0),)) for j in range(1, m + 1)]
    known = [ag.asarray(np.eye(count + 1)[:, i]) for i in range(n + 1)]
    found = ag.linalg.solve(ag.stack([*known, *columns], axis=1), an)
    one = ag.asarray(np.ones(1))
    pair = ag.flip(found[: n + 1]), ag.flip(ag.concat([one, found[n + 1 :]]))
    return tuple([Poly1d(ag.astype(a, b.coeffs.dtype)) for a, b in zip(pair, plain, strict=True)])


@CHAPTER.composition("approximate_taylor_polynomial", "x closure", "linear in the samples of f")
def _approximate_taylor_polynomial(f, x, degree, scale, order=None):
    sampled, places = [], []

    def sample(at):
        places.append(np.asarray(at))
        return np.zeros(np.shape(at))

    interpolate.approximate_taylor_polynomial(sample, 0.0, degree, scale, order)
    at = places[0]
    values = ag.asarray(f(ag.asarray(x) + at))
    for unit in np.eye(at.size):
        made = interpolate.approximate_taylor_polynomial(lambda _, unit=unit: unit, 0.0, degree, scale, order)
        c = np.zeros(degree + 1)
        c[degree + 1 - made.c.size :] = made.c
        sampled.append(c)
    matrix = np.stack(sampled)
    first = int(np.argmax(np.any(matrix != 0, axis=0)))  # a polynomial has no leading zeros: there are for a low order
    return Poly1d(ag.matmul(values, ag.asarray(matrix[:, first:])))
