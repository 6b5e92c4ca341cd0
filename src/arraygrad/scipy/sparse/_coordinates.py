"""Where the values of a sparse matrix stand: places of its elements, and sums and choices of values by place.

May import: arraygrad, core.tensor, ops, scipy._guards, scipy.sparse._devices, numpy, SciPy.

A place is the number of an element in the dense array, rows first, whatever the format and the number of axes. What
is done with patterns is done with places, so it is done once for all formats.
"""

import numpy as np
from scipy import sparse

import arraygrad as ag
from arraygrad.core.tensor import Tensor, apply_op
from arraygrad.ops import OPS
from arraygrad.scipy._guards import raw
from arraygrad.scipy._libraries import library_of
from arraygrad.scipy.sparse._devices import beside, native

__all__ = [
    "coordinates", "coordinates_of", "elements", "find_places", "gathered", "named_once", "places_of", "summed",
    "summed_by_place", "taken", "with_values",
]  # fmt: skip


def summed(values, places, count):
    """Sums of values by place: the transpose of a gather."""
    return apply_op(OPS["_take_adjoint"], (ag.asarray(values), beside(values, places), (count,), 0))


def gathered(values, places):
    """The values at `places`: the same Tensor where these are all of them in their order."""
    n = raw(values).shape[0]
    if places.size == n and np.array_equal(places, np.arange(n)):
        return ag.asarray(values)
    return taken(values, places)


def taken(a, places, axis=0):
    """The parts of `a` at `places` along an axis."""
    return ag.take(ag.asarray(a), beside(a, places), axis=axis)


def with_values(pattern, values):
    """SciPy's matrix with other values in the order of its own, which it may reorder: they are a copy.

    That of the library of the values, where it is another one.
    """
    if library_of((values,)) is not None:
        return native(pattern, values)
    matrix = pattern.copy()
    matrix.data = np.array(values).reshape(pattern.data.shape)
    return matrix


def elements(pattern):
    """(coordinates by axis, positions of the values in `data`) of the elements of a pattern of any format."""
    labels = with_values(pattern, np.arange(1.0, pattern.data.size + 1.0)).tocoo()
    coords = labels.coords if hasattr(labels, "coords") else (labels.row, labels.col)
    kept = labels.data > 0
    if not kept.all():
        coords, data = tuple(c[kept] for c in coords), labels.data[kept]
    else:
        data = labels.data
    return coords, data.astype(np.int64) - 1


def coordinates(pattern):
    """(rows, columns, positions of the values in `data`) of a pattern with two axes."""
    (rows, columns), positions = elements(pattern)
    return rows, columns, positions


def places_of(coords, shape):
    """Numbers of the elements in the dense array."""
    return np.ravel_multi_index([np.asarray(c, dtype=np.int64) for c in coords], shape).astype(np.int64)


def coordinates_of(places, shape):
    """The inverse of `places_of`."""
    return np.unravel_index(places, shape)


def summed_by_place(places, values):
    """(sorted places, each named once; sums of the values there)."""
    if places.size < 2 or np.all(places[1:] > places[:-1]):
        return places, values
    unique, inverse = np.unique(places, return_inverse=True)
    if unique.size == places.size:
        return unique, taken(values, np.argsort(places, kind="stable"))
    return unique, summed(values, inverse, unique.size)


def named_once(places):
    """Whether no place is named twice."""
    if np.all(places[1:] > places[:-1]):
        return True
    ordered = np.sort(places)
    return bool(np.all(ordered[1:] > ordered[:-1]))


def find_places(wanted, places):
    """(index of each wanted place in the sorted `places`, whether it is there)."""
    if not places.size:
        return np.zeros(wanted.size, dtype=np.int64), np.zeros(wanted.size, dtype=bool)
    at = np.minimum(np.searchsorted(places, wanted), places.size - 1)
    return at, places[at] == wanted


def of_places(places, data, shape, kind):
    """A COO matrix of SciPy's of the kind ("array" or "matrix")."""
    return getattr(sparse, f"coo_{kind}")((data, tuple(coordinates_of(places, shape))), shape=shape)


def is_tracked(value):
    return isinstance(value, Tensor) and value.requires_grad
