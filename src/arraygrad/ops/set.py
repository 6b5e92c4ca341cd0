"""Set functions. The distinct values are a gather from x, the first of equal elements; everything else is integers.

May import: ops.kinds, ops._helpers. Rules use only the standard and the table's internal operations.
"""

import math

from arraygrad.ops._helpers import device_of
from arraygrad.ops.kinds import gather, search


def _first_indices(xp, inverse, number):
    """Where each of `number` distinct values occurs first, from the index of every element's value."""
    inverse = xp.reshape(inverse, (-1,))
    order = xp.argsort(inverse, stable=True)
    values = xp.arange(number, dtype=inverse.dtype, device=device_of(inverse))
    return xp.take(order, xp.searchsorted(xp.take(inverse, order), values))


def _scatter_values(xp, g, x):
    """g, one for each distinct value, at the place where that occurs first."""
    if g is None:
        return None
    own = getattr(xp, "_library_distinct_gradient", None)
    found = None if own is None else own(g, x)
    if found is not None:
        return found
    try:
        first = xp.reshape(xp.unique_all(x).indices, (-1,))
    except NotImplementedError:  # PyTorch
        first = _first_indices(xp, xp.unique_inverse(x).inverse_indices, g.shape[0])
    return xp.reshape(xp._take_adjoint(g, first, (math.prod(x.shape),), 0), x.shape)


def _unique_values(xp, x):
    # some libraries return unique_values unsorted; the rule needs the order of unique_inverse
    return xp.unique_inverse(x).values


def _unique_all(xp, x):
    try:
        return xp.unique_all(x)
    except NotImplementedError:  # PyTorch
        values, inverse = xp.unique_inverse(x)
        return values, _first_indices(xp, inverse, values.shape[0]), inverse, xp.unique_counts(x).counts


_DISTINCT = "The distinct elements of x, in the order of `unique_all`. Equal elements: the first gets the gradient."

gather(
    "unique_values",
    "x, /",
    core="(n*)->(?)",
    derivative="nonlinear",
    forward=_unique_values,
    x=lambda xp, g, x: _scatter_values(xp, g, x),
    holomorphic=False,
    numpy=("unique_values",),
    doc=_DISTINCT,
)
gather(
    "unique_counts",
    "x, /",
    core="(n*)->(?),(?)",
    derivative="nonlinear",
    x=lambda xp, g, x: _scatter_values(xp, g[0], x),
    holomorphic=False,
    results=("values", "counts"),
    numpy=("unique_counts",),
    doc=_DISTINCT + " Also how often each occurs.",
)
gather(
    "unique_inverse",
    "x, /",
    core="(n*)->(?),(*n)",
    derivative="nonlinear",
    x=lambda xp, g, x: _scatter_values(xp, g[0], x),
    holomorphic=False,
    results=("values", "inverse_indices"),
    numpy=("unique_inverse",),
    doc=_DISTINCT + " Also, for each element of x, the index of its value.",
)
gather(
    "unique_all",
    "x, /",
    core="(n*)->(?),(?),(*n),(?)",
    derivative="nonlinear",
    forward=_unique_all,
    x=lambda xp, g, x: _scatter_values(xp, g[0], x),
    holomorphic=False,
    results=("values", "indices", "inverse_indices", "counts"),
    numpy=("unique_all",),
    doc=_DISTINCT + " Also the index of its first occurrence, for each element of x the index of its value, counts.",
)


def _isin(xp, x1, x2, invert):
    return xp.isin(x1, x2, invert=invert)


search(
    "isin",
    "x1, x2, /, *, invert=False",
    core="(),(n*)->()",
    forward=_isin,
    makes_arrays=True,
    numpy=("isin",),
    doc="Whether each element of x1 is among those of x2 (arrays or Python scalars): a boolean array.",
)
