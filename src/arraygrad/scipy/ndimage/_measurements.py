"""Sums, moments and extremes of regions.

May import: arraygrad, core.tensor, ops, scipy._declare, scipy.ndimage._chapter, numpy.
"""

import numpy as np

import arraygrad as ag
from arraygrad.core.tensor import apply_op
from arraygrad.ops import OPS
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor
from arraygrad.scipy.ndimage._chapter import CHAPTER, NAMES, shape_of

__all__ = []


def _regions(a, labels, index):
    """(places of the elements that count, the number of the region of each, how many there are, scalar?)."""
    shape = shape_of(a)
    if labels is None:
        return np.arange(int(np.prod(shape))), np.zeros(int(np.prod(shape)), dtype=int), 1, True
    labels = np.broadcast_to(np.asarray(raw(labels)), shape).ravel()
    if index is None:
        places = np.flatnonzero(labels > 0)
        return places, np.zeros(places.size, dtype=int), 1, True
    wanted = np.atleast_1d(np.asarray(raw(index))).ravel()
    places, numbers = [], []
    for number, label in enumerate(wanted):
        found = np.flatnonzero(labels == label)
        places.append(found)
        numbers.append(np.full(found.size, number))
    return np.concatenate(places), np.concatenate(numbers), wanted.size, np.ndim(raw(index)) == 0


def _summed(values, numbers, count):
    """Sums by region: the transpose of a gather."""
    return apply_op(OPS["_take_adjoint"], (values, numbers, (count,), 0))


def _shaped(found, scalar, index):
    if scalar:
        return found[0]
    return ag.reshape(found, np.shape(raw(index)))


def _sum_of(input, labels, index):
    a = ag.asarray(input)
    places, numbers, count, scalar = _regions(a, labels, index)
    return _shaped(_summed(ag.take(ag.reshape(a, (-1,)), places), numbers, count), scalar, index)


@CHAPTER.by_composition("sum_labels", "input", "definition (linear)")
def _sum_labels(input, labels=None, index=None):
    return _sum_of(input, labels, index)


@CHAPTER.by_composition("sum", "input", "definition (linear)")
def _sum(input, labels=None, index=None):
    return _sum_of(input, labels, index)


def _moments(input, labels, index):
    a = ag.asarray(input)
    places, numbers, count, scalar = _regions(a, labels, index)
    values = ag.take(ag.reshape(a, (-1,)), places)
    sizes = np.bincount(numbers, minlength=count)
    mean = _summed(values, numbers, count) / sizes
    return mean, _summed((values - ag.take(mean, numbers)) ** 2, numbers, count) / sizes, scalar


@CHAPTER.by_composition("mean", "input", "definition")
def _mean(input, labels=None, index=None):
    mean, _, scalar = _moments(input, labels, index)
    return _shaped(mean, scalar, index)


@CHAPTER.by_composition("variance", "input", "definition")
def _variance(input, labels=None, index=None):
    _, variance, scalar = _moments(input, labels, index)
    return _shaped(variance, scalar, index)


@CHAPTER.by_composition("standard_deviation", "input", "definition")
def _standard_deviation(input, labels=None, index=None):
    _, variance, scalar = _moments(input, labels, index)
    return ag.sqrt(_shaped(variance, scalar, index))


@CHAPTER.composition("center_of_mass", "input", "definition")
def _center_of_mass(input, labels=None, index=None):
    a = ag.asarray(input)
    places, numbers, count, scalar = _regions(a, labels, index)
    values = ag.take(ag.reshape(a, (-1,)), places)
    total = _summed(values, numbers, count)
    grids = np.unravel_index(places, shape_of(a))
    found = [_summed(values * grid.astype(float), numbers, count) / total for grid in grids]
    each = [tuple(part[i] for part in found) for i in range(count)]
    return each[0] if scalar else each


def _chosen(a, labels, index, name):
    """By selection: a choice gives the places, within a region, whose mean is the result."""
    places, numbers, count, scalar = _regions(a, labels, index)
    values, flat = np.asarray(raw(a)).ravel(), ag.reshape(a, (-1,))
    found = []
    for number in range(count):
        own = places[numbers == number]
        if own.size:
            found.append(ag.mean(ag.take(flat, own[_CHOICES[name](values[own])])))
        elif name == "median" and not scalar:
            # SciPy takes the least element of the least label for the median of a region without elements.
            every = np.broadcast_to(np.asarray(raw(labels)), shape_of(a)).ravel()
            found.append(flat[int(np.lexsort((values, every))[0])])
        else:
            found.append(ag.zeros_like(flat[0]))  # constant: 0, or nan for one number
    return _shaped(ag.stack(found), scalar, index)


def _middle(values):
    order = np.argsort(values, kind="stable")
    n = values.size
    return order[[(n - 1) // 2, n // 2]]


_CHOICES = {
    "minimum": lambda values: np.array([np.argmin(values)]),
    "maximum": lambda values: np.array([np.argmax(values)]),
    "median": _middle,
}


def _selecting(name):
    @CHAPTER.by_composition(name, "input", "by selection")
    def formula(input, labels=None, index=None):
        return _chosen(ag.asarray(input), labels, index, name)


for _name in _CHOICES:
    _selecting(_name)

CHAPTER.constants("minimum_position", "maximum_position")


@CHAPTER.by_composition("extrema", "input", "by selection")
def _extrema(input, labels=None, index=None):
    return NAMES["minimum"](input, labels, index), NAMES["maximum"](input, labels, index), None, None


CHAPTER.no_rule("the function is a callback", "labeled_comprehension")
CHAPTER.constants("histogram", "watershed_ift", "generate_binary_structure", "value_indices")


def _structures(theirs):
    @CHAPTER.composition("iterate_structure", "", "")
    def iterate_structure(structure, iterations, origin=None):
        if iterations < 2 and isinstance(structure, ag.Tensor):
            return structure.copy()  # all that SciPy does then, whatever the dtype
        return theirs(raw(structure), iterations, origin)

    REGISTRY["ndimage.iterate_structure"].reason = "constant"


_structures(CHAPTER.values("iterate_structure"))


def _distances(name):
    """Distances of a mask, which is constant; they depend on what separates its elements."""
    theirs = CHAPTER.values(name)

    @CHAPTER.composition(name, "", "")
    def function(input, *args, **kwargs):
        if holds_tensor((args, kwargs), grad=True):
            raise NotDifferentiable(f"arraygrad.scipy.ndimage.{name}: an argument requires grad: the mask is constant, "
                                    "and the sampling has no rule here")  # fmt: skip
        return theirs(raw(input), *[raw(a) for a in args], **{key: raw(value) for key, value in kwargs.items()})

    REGISTRY[f"ndimage.{name}"].reason = "constant"


for _name in ("distance_transform_bf", "distance_transform_cdt", "distance_transform_edt"):
    _distances(_name)
