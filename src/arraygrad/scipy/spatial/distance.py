"""scipy.spatial.distance: distances between vectors, each by its definition.

May import: arraygrad, namespaces.kinks, scipy._declare, scipy._everyday, scipy._plainly, scipy._shares, numpy, SciPy.
A distance of equal vectors has the gradient zero where it has a kink (euclidean, minkowski, cityblock, jensenshannon).
"""

import numpy as np
from scipy.spatial import distance as _distance

import arraygrad as ag
from arraygrad.namespaces.kinks import root_of_form
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy._everyday import everyday
from arraygrad.scipy._guards import NotDifferentiable
from arraygrad.scipy._plainly import plainly
from arraygrad.scipy._shares import jensen_shannon

__all__ = []

_CHAPTER = Chapter("spatial.distance", _distance)
DEFINITION = "definition"


def _weighted(terms, w):
    return ag.sum(terms if w is None else terms * w, axis=-1)


def _share(away, size):
    """away / size, zero where both are."""
    zero = np.asarray(raw(size)) == 0
    return ag.where(zero, 0.0, away / ag.where(zero, 1.0, size))


def _cosine(x, y, w=None):
    return 1.0 - _weighted(x * y, w) / ag.sqrt(_weighted(x * x, w) * _weighted(y * y, w))


def _centred(x, w):
    if w is None:
        return x - ag.mean(x, axis=-1, keepdims=True)
    return x - ag.sum(x * w, axis=-1, keepdims=True) / ag.sum(ag.asarray(w))


def _jensenshannon(x, y, base=None, axis=-1, keepdims=False):
    """SciPy hands the axis to each step, which counts it by the array that it gets."""
    if axis is None:
        if x.shape != y.shape:
            raise NotDifferentiable(
                "arraygrad.scipy.spatial.distance.jensenshannon: for axis=None expected arrays of one shape, but got "
                f"{x.shape} and {y.shape}: broadcast them first"
            )
        found = _jensenshannon(ag.reshape(x, (-1,)), ag.reshape(y, (-1,)), base)
        return ag.reshape(found, (1,) * x.ndim) if keepdims else found
    dtype = ag.result_type(x, y)
    terms, away = jensen_shannon(x, y, axis)
    total = 0.5 * ag.sum(terms, axis=axis)
    found = root_of_form(total if base is None else total / np.log(base), ag.moveaxis(away, axis, -1))
    found = ag.expand_dims(found, axis=axis) if keepdims else found
    return found.astype(dtype) if found.dtype != dtype and np.issubdtype(dtype, np.floating) else found


def _euclidean(x, y, w=None):
    away = x - y
    return ag.linalg.vector_norm(away, axis=-1) if w is None else root_of_form(ag.sum(away**2 * w, axis=-1), away)


def _minkowski_of(x, y, p=2, w=None):
    """The norm of order p; weights are in the sum of powers."""
    if np.isinf(p):
        return _METRICS["chebyshev"](x, y)
    if w is None:
        return ag.linalg.vector_norm(x - y, axis=-1, ord=p)
    if p == 2:
        return _euclidean(x, y, w)
    total = _weighted(ag.abs(x - y) ** p, w)
    zero = np.asarray(raw(total)) == 0
    return ag.where(zero, 0.0, ag.where(zero, 1.0, total) ** (1.0 / p))


def _seuclidean_of(x, y, V):
    away = x - y
    return root_of_form(ag.sum(away**2 / V, axis=-1), away)


def _mahalanobis(x, y, VI):
    away = x - y
    return root_of_form(ag.sum(ag.matmul(away[..., None, :], VI)[..., 0, :] * away, axis=-1), away)


_METRICS: dict = {
    "euclidean": _euclidean,
    "sqeuclidean": lambda x, y, w=None: _weighted((x - y) ** 2, w),
    "cityblock": lambda x, y, w=None: _weighted(ag.abs(x - y), w),
    "chebyshev": lambda x, y, w=None: ag.max(
        ag.abs(x - y) if w is None else ag.abs(x - y) * (np.asarray(raw(w)) > 0), axis=-1),
    "minkowski": _minkowski_of,
    "cosine": _cosine,
    "correlation": lambda x, y, w=None, centered=True: _cosine(_centred(x, w), _centred(y, w), w) if centered else (
        _cosine(x, y, w)),
    "canberra": lambda x, y, w=None: _weighted(_share(ag.abs(x - y), ag.abs(x) + ag.abs(y)), w),
    "braycurtis": lambda x, y, w=None: _weighted(ag.abs(x - y), w) / _weighted(ag.abs(x + y), w),
    "seuclidean": _seuclidean_of,
    "mahalanobis": _mahalanobis,
    "jensenshannon": _jensenshannon,
}  # fmt: skip
_ALIASES = {"euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
            "manhattan": "cityblock", "cityblk": "cityblock", "cb": "cityblock", "c": "cityblock", "cos": "cosine",
            "minkowski": "minkowski", "mi": "minkowski", "m": "minkowski", "pnorm": "minkowski"}  # fmt: skip


def between(x, y, metric, **given):
    """Distances along the last axis, the others broadcast."""
    if not isinstance(metric, str):
        raise NotDifferentiable("arraygrad.scipy.spatial.distance: the derivative is known for metrics by name")
    name = _ALIASES.get(metric.lower(), metric.lower())
    if name not in _METRICS:
        raise NotDifferentiable(f"arraygrad.scipy.spatial.distance: metric {metric!r} has no rule")
    if name == "seuclidean" and given.get("V") is None:
        raise NotDifferentiable("arraygrad.scipy.spatial.distance: pass V=, whose own derivative counts")
    if name == "mahalanobis" and given.get("VI") is None:
        raise NotDifferentiable("arraygrad.scipy.spatial.distance: pass VI=, whose own derivative counts")
    return _METRICS[name](x, y, **{key: value for key, value in given.items() if value is not None})


def _function(name):
    def formula(u, v, w=None):
        return _METRICS[name](ag.asarray(u), ag.asarray(v), w=w)

    _CHAPTER.by_composition(name, "u v w", DEFINITION)(formula)


for _name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "canberra", "braycurtis"):
    _function(_name)


@_CHAPTER.by_composition("minkowski", "u v w", DEFINITION)
def _minkowski(u, v, p=2, w=None):
    return _METRICS["minkowski"](ag.asarray(u), ag.asarray(v), p, w)


@_CHAPTER.by_composition("correlation", "u v w", DEFINITION)
def _correlation(u, v, w=None, centered=True):
    return _METRICS["correlation"](ag.asarray(u), ag.asarray(v), w, centered)


@_CHAPTER.by_composition("seuclidean", "u v V", DEFINITION)
def _seuclidean(u, v, V):
    return _METRICS["seuclidean"](ag.asarray(u), ag.asarray(v), V)


@_CHAPTER.by_composition("mahalanobis", "u v VI", DEFINITION)
def _mahalanobis_of(u, v, VI):
    return _mahalanobis(ag.asarray(u), ag.asarray(v), ag.asarray(VI))


@_CHAPTER.by_composition("jensenshannon", "p q", DEFINITION)
def _jensenshannon_of(p, q, base=None, *, axis=0, keepdims=False):
    return _jensenshannon(ag.asarray(p), ag.asarray(q), base, axis, keepdims)


@_CHAPTER.by_composition("cdist", "XA XB w V VI", DEFINITION)
def _cdist(XA, XB, metric="euclidean", p=None, w=None, V=None, VI=None):
    return between(ag.asarray(XA)[:, None, :], ag.asarray(XB)[None, :, :], metric, p=p, w=w, V=V, VI=VI)


@_CHAPTER.by_composition("pdist", "X w V VI", DEFINITION)
def _pdist(X, metric="euclidean", p=None, w=None, V=None, VI=None):
    X = ag.asarray(X)
    first, second = np.triu_indices(X.shape[0], 1)
    x, y = ag.take(X, first, axis=0), ag.take(X, second, axis=0)
    return between(x, y, metric, p=p, w=w, V=V, VI=VI)


def _slopes(g, ans, metric):
    """(g times the factor of a metric, the function of a difference that it multiplies), None where it declines."""
    if not isinstance(metric, str) or not np.all(np.isfinite(ans)):
        return None
    name = _ALIASES.get(metric.lower(), metric.lower())
    if name == "euclidean":
        return np.divide(g, ans, out=np.zeros_like(ans), where=ans != 0), np.asarray
    if name == "sqeuclidean":
        return 2.0 * g, np.asarray
    return (g, np.sign) if name == "cityblock" else None


_FEW = 4096  # differences of all pairs that are made at once


@plainly("spatial.distance.cdist", "XA XB")
def _cdist_by_columns(g, ans, needs, XA, XB, metric="euclidean", p=None, w=None, V=None, VI=None):
    """One column of the points after the other: no array with an axis of points, of points and of columns."""
    slopes = _slopes(g, ans, metric)
    if slopes is None or not all(given is None for given in (p, w, V, VI)):
        return None
    factor, of = slopes
    x, y = np.asarray(XA, dtype=float), np.asarray(XB, dtype=float)
    if x.shape[0] * y.size <= _FEW:
        terms = factor[:, :, None] * of(x[:, None] - y)
        return {"XA": terms.sum(axis=1) if "XA" in needs else None, "XB": -terms.sum(axis=0) if "XB" in needs else None}
    found = {"XA": np.empty_like(x), "XB": np.empty_like(y)}
    terms = np.empty((x.shape[0], y.shape[0]))
    for k in range(x.shape[1]):
        np.subtract(x[:, k, None], y[None, :, k], out=terms)
        np.multiply(factor, of(terms), out=terms)
        if "XA" in needs:
            np.sum(terms, axis=1, out=found["XA"][:, k])
        if "XB" in needs:
            np.negative(np.sum(terms, axis=0), out=found["XB"][:, k])
    return found


@plainly("spatial.distance.pdist", "X")
def _pdist_by_columns(g, ans, X, metric="euclidean", p=None, w=None, V=None, VI=None):
    slopes = _slopes(g, ans, metric)
    if slopes is None or not all(given is None for given in (p, w, V, VI)):
        return None
    factor, of = slopes
    x = np.asarray(X, dtype=float)
    # Both triangles: a row has all that moves with its point.
    n = x.shape[0]
    whole = _distance.squareform(factor, checks=False) if n > 1 else np.zeros((n, n))
    found, terms = np.empty_like(x), np.empty((n, n))
    for k in range(x.shape[1]):
        np.subtract(x[:, k, None], x[None, :, k], out=terms)
        np.multiply(whole, of(terms), out=terms)
        np.sum(terms, axis=1, out=found[:, k])
    return found


everyday("spatial.distance.cdist", "XA, XB, metric='euclidean'", "XA XB", ndims=(2, 2), dtypes="d")
everyday("spatial.distance.pdist", "X, metric='euclidean'", "X", ndims=(2,), dtypes="d")


@_CHAPTER.by_composition("squareform", "X", "definition (linear)")
def _squareform(X, force="no", checks=True):
    X = ag.asarray(X)
    if X.ndim == 2:
        first, second = np.triu_indices(X.shape[0], 1)
        return X[first, second]
    n = int(np.ceil(np.sqrt(2 * X.shape[0])))
    places = np.zeros((n, n), dtype=int)
    first, second = np.triu_indices(n, 1)
    places[first, second] = places[second, first] = np.arange(first.size)
    return ag.reshape(ag.take(X, places.ravel()), (n, n)) * (1.0 - np.eye(n))


@_CHAPTER.by_composition("directed_hausdorff", "u v", "by selection", inert="rng seed")
def _directed_hausdorff(u, v):
    _, i, j = _distance.directed_hausdorff(raw(u), raw(v))
    return _METRICS["euclidean"](ag.asarray(u)[i], ag.asarray(v)[j]), None, None


# -- of truth values --------------------------------------------------------------------------------------------------


def _counts(u, v, w):
    """Weights of the places where both are false, only v is true, only u is true, both are true.

    SciPy multiplies, so that these are polynomials in vectors of real numbers, and linear in the weights.
    """
    kind = ag.result_type(u.dtype, v.dtype, np.int64)
    u, v = u.astype(kind), v.astype(kind)
    return [_weighted(a * b, w) for a, b in ((1.0 - u, 1.0 - v), (1.0 - u, v), (u, 1.0 - v), (u, v))]


def _yule(u, v, w):
    neither, second, first, both = _counts(u, v, w)
    apart = first * second
    return 2.0 * _share(apart, both * neither + apart)


def _dice(u, v, w):
    _, second, first, both = _counts(u, v, w)
    return (first + second) / (2.0 * both + first + second)


def _rogerstanimoto(u, v, w):
    neither, second, first, both = _counts(u, v, w)
    return 2.0 * (first + second) / (both + neither + 2.0 * (first + second))


def _russellrao(u, v, w):
    size = float(u.shape[-1]) if w is None else ag.sum(ag.asarray(w))
    return (size - _counts(u, v, w)[3]) / size


def _sokalsneath(u, v, w):
    _, second, first, both = _counts(u, v, w)
    return 2.0 * (first + second) / (both + 2.0 * (first + second))


def _hamming(u, v, w):
    unequal = np.asarray(raw(u) != raw(v), dtype=float)
    return 0.0 * ag.sum(u + v) + (np.mean(unequal) if w is None else _weighted(unequal, w) / ag.sum(ag.asarray(w)))


def _jaccard(u, v, w):
    one, other = raw(u) != 0, raw(v) != 0
    unequal, nonzero = (np.asarray(a, dtype=float) for a in (one ^ other, one | other))
    return 0.0 * ag.sum(u + v) + _share(_weighted(unequal, w), _weighted(nonzero, w))


def _of_truth_values(name, formula):
    @_CHAPTER.by_composition(name, "u v w", DEFINITION)
    def distance(u, v, w=None):
        return formula(ag.asarray(u), ag.asarray(v), w)


for _name, _formula in (
    ("dice", _dice), ("hamming", _hamming), ("jaccard", _jaccard), ("rogerstanimoto", _rogerstanimoto),
    ("russellrao", _russellrao), ("sokalsneath", _sokalsneath), ("yule", _yule),
):  # fmt: skip
    _of_truth_values(_name, _formula)

_CHAPTER.constants("is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y")

globals().update(_CHAPTER.names)

__getattr__, __dir__ = mirror(globals(), _distance)
