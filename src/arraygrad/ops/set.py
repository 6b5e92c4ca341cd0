"""Set functions. The distinct values are a gather from x, the first of equal elements; everything else is integers.

May import: ops.kinds. Rules use only the standard and the table's internal operations.
"""

import math

from arraygrad.ops.kinds import general, nondifferentiable


def _scatter_values(xp, g, x):
    if g is None:
        return None
    first = xp.unique_all(x).indices
    flat = xp._take_adjoint(g, xp.reshape(first, (-1,)), (math.prod(x.shape),), 0)
    return xp.reshape(flat, x.shape)


def _unique_values(xp, x):
    # some libraries return unique_values unsorted; the rule needs the order of unique_all
    return xp.unique_all(x).values


_DISTINCT = "The distinct elements of x, in the order of `unique_all`. Equal elements: the first gets the gradient."

general(
    "unique_values",
    "x, /",
    forward=_unique_values,
    x=lambda xp, g, x: _scatter_values(xp, g, x),
    holomorphic=False,
    numpy=("unique_values",),
    doc=_DISTINCT,
)
general(
    "unique_counts",
    "x, /",
    x=lambda xp, g, x: _scatter_values(xp, g[0], x),
    holomorphic=False,
    results=("values", "counts"),
    numpy=("unique_counts",),
    doc=_DISTINCT + " Also how often each occurs.",
)
general(
    "unique_inverse",
    "x, /",
    x=lambda xp, g, x: _scatter_values(xp, g[0], x),
    holomorphic=False,
    results=("values", "inverse_indices"),
    numpy=("unique_inverse",),
    doc=_DISTINCT + " Also, for each element of x, the index of its value.",
)
general(
    "unique_all",
    "x, /",
    x=lambda xp, g, x: _scatter_values(xp, g[0], x),
    holomorphic=False,
    results=("values", "indices", "inverse_indices", "counts"),
    numpy=("unique_all",),
    doc=_DISTINCT + " Also the index of its first occurrence, for each element of x the index of its value, counts.",
)


def _isin(xp, x1, x2, invert):
    return xp.isin(x1, x2, invert=invert)


nondifferentiable(
    "isin",
    "x1, x2, /, *, invert=False",
    forward=_isin,
    numpy=("isin",),
    doc="Whether each element of x1 is among those of x2 (arrays or Python scalars): a boolean array.",
)
