"""scipy.spatial: distances, and queries of nearest neighbours by selection.

May import: arraygrad, scipy._declare, this folder, numpy, SciPy.
"""

import math

import numpy as np
from scipy import spatial as _spatial

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy._guards import NotDifferentiable, handed_out, holds_tensor
from arraygrad.scipy.spatial import distance, transform

__all__ = ["ConvexHull", "KDTree", "cKDTree", "distance", "transform"]

_CHAPTER = Chapter("spatial", _spatial)


def _array_of(points):
    """Points as a Tensor, where a Tensor is among them: in a list, too. In float64, as SciPy's tree has them."""
    return ag.astype(ag.asarray(points), ag.float64, copy=False) if holds_tensor(points) else np.asarray(points)


class KDTree:
    """scipy.spatial.KDTree of points that gradients reach: distances of a query are differentiable by selection.

    So are `data`, `mins` and `maxes`. Other methods are SciPy's own tree's: counts and indices, which jump. What would
    be numbers that depend on the points is refused.
    """

    def __init__(self, data, *args, **kwargs):
        if holds_tensor((args, kwargs), grad=True):
            raise NotDifferentiable("arraygrad.scipy.spatial.KDTree: data has a derivative, the other arguments none")
        self._points = data = _array_of(data)
        self._tree = _spatial.KDTree(raw(data), *[raw(a) for a in args], **{k: raw(v) for k, v in kwargs.items()})

    @property
    def scipy_object(self):
        """SciPy's own tree, of raw points."""
        return handed_out("spatial.KDTree", self._tree, self._points, "query, data, mins and maxes have one")

    @property
    def data(self):
        """The points."""
        return self._points

    @property
    def mins(self):
        """The least of each coordinate."""
        return self._ends("mins", ag.min)

    @property
    def maxes(self):
        """The largest of each coordinate."""
        return self._ends("maxes", ag.max)

    def _ends(self, name, function):
        points = self._points
        return function(points, axis=0) if isinstance(points, Tensor) and points.shape[0] else getattr(self._tree, name)

    def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        """Distances to the k nearest points, and their indices."""
        x = _array_of(x)
        found, places = self._tree.query(raw(x), k, eps, p, distance_upper_bound, workers)
        if not isinstance(x, Tensor) and not isinstance(self._points, Tensor):
            return found, places
        x, points = ag.asarray(x), ag.asarray(self._points)
        near = places < self._tree.n
        taken = ag.take(points, np.where(near, places, 0).ravel(), axis=0)
        taken = ag.reshape(taken, (*np.shape(places), points.shape[-1]))
        beside = x if np.ndim(places) == x.ndim - 1 else ag.expand_dims(x, axis=-2)
        away = ag.abs(self._nearest_image(beside - taken))
        if np.isinf(p):
            size = ag.max(away, axis=-1)
        elif p == 1:
            size = ag.sum(away, axis=-1)
        else:
            total = ag.sum(away**p, axis=-1)
            zero = np.asarray(raw(total)) == 0
            size = ag.where(zero, 0.0, ag.where(zero, 1.0, total) ** (1.0 / p))
        return ag.where(near, size, np.inf), places

    def _nearest_image(self, away):
        """Differences less the whole boxes in them, where coordinates repeat every boxsize (0: they do not)."""
        boxsize = getattr(self._tree, "boxsize", None)
        if boxsize is None:
            return away
        length = np.asarray(boxsize, dtype=float)
        boxes = np.rint(np.asarray(raw(away)) / np.where(length > 0, length, np.inf))
        return away - boxes * length

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._tree, name)
        if not callable(value):
            if name == "boxsize":  # was given, as a constant
                return value
            return handed_out(f"spatial.KDTree.{name}", value, self._points, "query, data, mins and maxes have one")

        def call(*args, **kwargs):
            given = [*args, *kwargs.values()]
            points = [a._points for a in given if isinstance(a, KDTree)]
            plain = [a._tree if isinstance(a, KDTree) else raw(a) for a in given]
            found = value(*plain[: len(args)], **dict(zip(kwargs, plain[len(args) :], strict=True)))
            # Distances, and sums of weights; counts and indices are integers.
            held = [self._points, points, given]
            return handed_out(f"spatial.KDTree.{name}", found, held, "query and distance_matrix have one")

        return call


cKDTree = KDTree
for _name in ("KDTree", "cKDTree"):
    _CHAPTER.object(_name, "data x (distances of a query; mins, maxes)", "definition; by selection")(KDTree)


@_CHAPTER.by_composition("distance_matrix", "x y", "definition")
def _distance_matrix(x, y, p=2, threshold=1000000):
    return distance.between(ag.asarray(x)[:, None, :], ag.asarray(y)[None, :, :], "minkowski", p=p)


@_CHAPTER.by_composition("minkowski_distance", "x y", "definition")
def _minkowski_distance(x, y, p=2.0):
    return distance.between(ag.asarray(x), ag.asarray(y), "minkowski", p=p)


@_CHAPTER.by_composition("minkowski_distance_p", "x y", "definition")
def _minkowski_distance_p(x, y, p=2.0):
    away = ag.abs(ag.asarray(x) - ag.asarray(y))
    return ag.max(away, axis=-1) if np.isinf(p) else ag.sum(away**p, axis=-1)


@_CHAPTER.by_composition("procrustes", "data1 data2", "Gower (1975), by sqrtm")
def _procrustes(data1, data2):
    from arraygrad.scipy.linalg import orthogonal_procrustes

    first, second = (ag.asarray(d) - ag.mean(ag.asarray(d), axis=0) for d in (data1, data2))
    first, second = (d / ag.sqrt(ag.sum(d * d)) for d in (first, second))
    turn, scale = orthogonal_procrustes(first, second)
    second = ag.matmul(second, ag.matrix_transpose(turn)) * scale
    away = first - second
    return first, second, ag.sum(away * away)


@_CHAPTER.by_composition("geometric_slerp", "start end t", "Shoemake (1985)")
def _geometric_slerp(start, end, t, tol=1e-7):
    start, end, t = (ag.astype(ag.asarray(v), ag.float64) for v in (start, end, t))
    cosine = ag.sum(start * end)
    across = end - cosine * start
    square = ag.sum(across * across)
    same = bool(np.asarray(raw(square)) < 1e-30)
    t = ag.reshape(t, (-1, 1)) if t.ndim else t
    if same:
        return start + t * (end - start)
    sine = ag.sqrt(square)
    angle = t * ag.atan2(sine, cosine)
    return ag.cos(angle) * start + ag.sin(angle) * (across / sine)


class _Structure:
    """A structure of SciPy's of a Tensor: one attribute is recorded, those that have indices and counts are SciPy's."""

    _recorded = _theirs = None
    _indices: tuple = ()

    def __new__(cls, data, *args, **kwargs):
        if not isinstance(data, Tensor):
            return cls._theirs(data, *args, **kwargs)
        return super().__new__(cls)

    def __init__(self, data, *args, **kwargs):
        self._data = ag.astype(data, ag.float64, copy=False)  # as Qhull computes
        self._plain = self._theirs(np.asarray(raw(self._data)), *[raw(a) for a in args], **kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name == self._recorded:
            return self._made()
        if self._data.requires_grad and name not in self._indices:
            raise NotDifferentiable(
                f"arraygrad.scipy.spatial.{type(self).__name__}: {name} has no rule; {self._recorded} has one"
            )
        return getattr(self._plain, name)


class Voronoi(_Structure):
    """scipy.spatial.Voronoi of a Tensor of points: `vertices` are recorded, as points of equal distance."""

    _theirs, _recorded = _spatial.Voronoi, "vertices"
    _indices = ("ridge_points", "ridge_vertices", "regions", "point_region", "furthest_site", "ndim", "npoints")

    def _made(self):
        points, plain = self._data, self._plain
        d = plain.points.shape[1]
        away = np.linalg.norm(plain.vertices[:, None, :] - plain.points, axis=-1)
        around = np.argsort(-away if plain.furthest_site else away, axis=1, kind="stable")[:, : d + 1]
        at = ag.reshape(ag.take(points, around.ravel(), axis=0), (-1, d + 1, d))
        square = ag.sum(at * at, axis=-1)
        rows, right = at[:, 1:, :] - at[:, :1, :], 0.5 * (square[:, 1:] - square[:, :1])
        return ag.linalg.solve(rows, right[..., None])[..., 0]


class HalfspaceIntersection(_Structure):
    """scipy.spatial.HalfspaceIntersection of a Tensor of halfspaces: `intersections` are recorded."""

    _theirs, _recorded = _spatial.HalfspaceIntersection, "intersections"
    _indices = ("dual_facets", "dual_vertices", "ndim", "nineq", "is_bounded")

    def _made(self):
        chosen = np.array([facet[: self._plain.ndim] for facet in self._plain.dual_facets])
        d = chosen.shape[1]
        rows = ag.reshape(ag.take(self._data, chosen.ravel(), axis=0), (-1, d, d + 1))
        return ag.linalg.solve(rows[..., :d], -rows[..., d:])[..., 0]


_CHAPTER.object("Voronoi", "points (vertices)", "definition; by selection")(Voronoi)
_CHAPTER.object("HalfspaceIntersection", "halfspaces (intersections)", "definition; by selection")(
    HalfspaceIntersection
)

_COUNTS = ("simplices", "vertices", "neighbors", "coplanar", "good", "ndim", "npoints", "nsimplex", "close")


class ConvexHull:
    """scipy.spatial.ConvexHull of a Tensor of points: `volume` and `area` are recorded, at the facets that it has."""

    def __new__(cls, points, *args, **kwargs):
        if not isinstance(points, Tensor) and not holds_tensor(points):
            return _spatial.ConvexHull(points, *args, **kwargs)
        return super().__new__(cls)

    def __init__(self, points, *args, **kwargs):
        self.points = points = ag.astype(_array_of(points), ag.float64, copy=False)  # as Qhull computes
        self._plain = _spatial.ConvexHull(np.asarray(raw(points)), *args, **kwargs)

    def _facets(self):
        """The corners of every facet (facets, corners, coordinates)."""
        corners = self._plain.simplices
        d = corners.shape[1]
        return ag.reshape(ag.take(self.points, corners.ravel(), axis=0), (-1, d, d))

    @property
    def volume(self):
        """The volume inside: of the simplices from a fixed point to every facet."""
        inner = np.mean(self._plain.points[self._plain.vertices], axis=0)
        parts = ag.linalg.det(self._facets() - inner)
        return ag.sum(parts * np.sign(raw(parts))) / math.factorial(self._plain.simplices.shape[1])

    @property
    def area(self):
        """The area of the surface, the perimeter in the plane."""
        facets = self._facets()
        edges = facets[:, 1:, :] - facets[:, :1, :]
        square = ag.linalg.det(ag.matmul(edges, ag.matrix_transpose(edges)))
        return ag.sum(ag.sqrt(square)) / math.factorial(edges.shape[1])

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in (
            "simplices",
            "vertices",
            "neighbors",
            "coplanar",
            "good",
            "ndim",
            "npoints",
            "nsimplex",
            "close",
        ):
            if self.points.requires_grad:
                raise NotDifferentiable(f"arraygrad.scipy.spatial.ConvexHull: {name} has no rule; volume and area have")
        return getattr(self._plain, name)


_CHAPTER.object("ConvexHull", "points (volume, area)", "determinants of the facets; by selection")(ConvexHull)
_CHAPTER.constants("tsearch")
_CHAPTER.classes("a structure of places, which jumps; ConvexHull and interpolate.LinearNDInterpolator have rules",
                 "Delaunay", "SphericalVoronoi", "Rectangle",
                 "convex_hull_plot_2d", "delaunay_plot_2d", "voronoi_plot_2d")  # fmt: skip

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _spatial)
