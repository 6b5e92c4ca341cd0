"""Searching functions.

May import: ops.kinds. Rules use only the standard.
"""

from arraygrad.ops.kinds import elementwise, reduction, search

elementwise(
    "where",
    "condition, x1, x2, /",
    derivative="linear",
    # chosen, not multiplied: an infinite or nan gradient must not reach the branch that was not taken
    x1=lambda xp, g, condition: xp.where(condition, g, 0.0),
    x2=lambda xp, g, condition: xp.where(condition, 0.0, g),
    makes_arrays=True,
    numpy=("where",),
    doc="x1 where `condition` (boolean) holds, else x2; all broadcast, x1 or x2 may be a Python scalar. The branch not "
    "taken gets zeros; a nan that its own computation makes of them (log at 0) is beyond this function.",
)
reduction(
    "argmax",
    "x, /, *, axis=None, keepdims=False",
    core="(n)->()",
    method=True,
    numpy=("argmax",),
    doc="Index of the (first) largest element along `axis`, or of the flattened array: an integer array.",
)
reduction(
    "argmin",
    "x, /, *, axis=None, keepdims=False",
    core="(n)->()",
    method=True,
    numpy=("argmin",),
    doc="Index of the (first) smallest element along `axis`, or of the flattened array: an integer array.",
)
reduction(
    "count_nonzero",
    "x, /, *, axis=None, keepdims=False",
    numpy=("count_nonzero",),
    doc="Number of elements over `axis` (None: all, an int or a tuple) that are not zero: an integer array.",
)
search(
    "nonzero",
    "x, /",
    core="(n*)->[(?)]",
    results=("*",),
    numpy=("nonzero",),
    doc="Indices of the elements that are not zero: a tuple with an integer array for each axis.",
)


def _searchsorted(xp, x1, x2, side, sorter):
    if sorter is None:
        return xp.searchsorted(x1, x2, side=side)
    return xp.searchsorted(x1, x2, side=side, sorter=sorter)


search(
    "searchsorted",
    "x1, x2, /, *, side='left', sorter=None",
    core="(n),()->()",
    forward=_searchsorted,
    numpy=("searchsorted",),
    doc="Where to insert x2 (an array or a Python scalar) into the sorted one-dimensional x1: an integer array.",
)
