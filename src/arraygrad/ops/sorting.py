"""Sorting functions.

May import: ops.kinds. Rules use only the standard.
"""

from arraygrad.ops.kinds import scan


def _sort(xp, g, x, axis, descending):
    # the adjoint of a permutation is its inverse: a second argsort, no scatter
    if axis is None:  # flattened, an option of NumPy's
        return xp.reshape(_sort(xp, g, xp.reshape(x, (-1,)), -1, descending), x.shape)
    order = xp.argsort(x, axis=axis, descending=descending)
    return xp.take_along_axis(g, xp.argsort(order, axis=axis), axis=axis)


def _sorted(xp, x, axis, descending, stable):
    if axis is None and not descending:
        return xp.sort(x, axis=axis, stable=stable)
    found = xp.sort(x, axis=axis, descending=descending, stable=stable)
    # array-api-compat flips NumPy's ascending order: a copy has an array's usual strides, whichever way computed it.
    return found.copy(order="K") if descending and type(found).__module__ == "numpy" else found


scan(
    "sort",
    "x, /, *, axis=-1, descending=False, stable=True",
    x=_sort,
    forward=_sorted,
    holomorphic=False,
    numpy=("sort",),
    doc="x sorted along `axis`, real dtypes. Equal elements keep their order, and so get their own gradients, even "
    "with stable=False.",
)
scan(
    "argsort",
    "x, /, *, axis=-1, descending=False, stable=True",
    numpy=("argsort",),
    doc="Indices that sort x along `axis`: an integer array.",
)
