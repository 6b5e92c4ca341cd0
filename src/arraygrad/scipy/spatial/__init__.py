"""scipy.spatial: distances, and queries of nearest neighbours by selection.

May import: arraygrad, scipy._declare, this folder, numpy, SciPy.
"""

import numpy as np
from scipy import spatial as _spatial

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy.spatial import distance

__all__ = ["KDTree", "cKDTree", "distance"]

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

OBJECTS = {"KDTree": KDTree, "cKDTree": KDTree}


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

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _spatial)
