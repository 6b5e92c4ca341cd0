"""scipy.spatial: distances, and queries of nearest neighbours by selection.

May import: arraygrad, scipy._declare, this folder, numpy, SciPy.
"""

import math

import numpy as np
from scipy import spatial as _spatial

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy.spatial import distance, transform

__all__ = ["ConvexHull", "KDTree", "cKDTree", "distance", "transform"]

_CHAPTER = Chapter("spatial", _spatial)


class KDTree:
    """scipy.spatial.KDTree of points that gradients reach: distances of a query are differentiable by selection.

    Other methods are SciPy's own tree's, whose results are counts and indices.
    """

    def __init__(self, data, *args, **kwargs):
        self._points = data if isinstance(data, Tensor) else np.asarray(data)
        self._tree = _spatial.KDTree(raw(data), *args, **kwargs)

    @property
    def data(self):
        """The points."""
        return self._points

    def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        """Distances to the k nearest points, and their indices."""
        found, places = self._tree.query(raw(x), k, eps, p, distance_upper_bound, workers)
        if not isinstance(x, Tensor) and not isinstance(self._points, Tensor):
            return found, places
        x, points = ag.asarray(x), ag.asarray(self._points)
        near = places < self._tree.n
        taken = ag.take(points, np.where(near, places, 0).ravel(), axis=0)
        taken = ag.reshape(taken, (*np.shape(places), points.shape[-1]))
        beside = x if np.ndim(places) == x.ndim - 1 else ag.expand_dims(x, axis=-2)
        away = ag.abs(beside - taken)
        if np.isinf(p):
            size = ag.max(away, axis=-1)
        elif p == 1:
            size = ag.sum(away, axis=-1)
        else:
            total = ag.sum(away**p, axis=-1)
            zero = np.asarray(raw(total)) == 0
            size = ag.where(zero, 0.0, ag.where(zero, 1.0, total) ** (1.0 / p))
        return ag.where(near, size, np.inf), places

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._tree, name)
        if not callable(value):
            return value
        return lambda *args, **kwargs: value(*[raw(a) for a in args], **{k: raw(v) for k, v in kwargs.items()})


cKDTree = KDTree
for _name in ("KDTree", "cKDTree"):
    _CHAPTER.object(_name, "data x (distances of a query)", "definition; by selection")(KDTree)


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


_CHAPTER.no_rule("the result mixes a matching of shapes with a disparity; it has no rule", "procrustes")


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


_COUNTS = ("simplices", "vertices", "neighbors", "coplanar", "good", "ndim", "npoints", "nsimplex", "close")


class ConvexHull:
    """scipy.spatial.ConvexHull of a Tensor of points: `volume` and `area` are recorded, at the facets that it has."""

    def __new__(cls, points, *args, **kwargs):
        if not isinstance(points, Tensor):
            return _spatial.ConvexHull(points, *args, **kwargs)
        return super().__new__(cls)

    def __init__(self, points, *args, **kwargs):
        self.points = points
        self._plain = _spatial.ConvexHull(np.asarray(raw(points), dtype=float), *args, **kwargs)

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
                 "Delaunay", "Voronoi", "SphericalVoronoi", "HalfspaceIntersection", "Rectangle",
                 "convex_hull_plot_2d", "delaunay_plot_2d", "voronoi_plot_2d")  # fmt: skip

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _spatial)
