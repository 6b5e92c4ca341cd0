"""Sorting functions.

May import: ops.kinds. Rules use only the standard.
"""

from arraygrad.ops.kinds import general, nondifferentiable


def _sort(xp, g, x, axis, descending):
    # the adjoint of a permutation is its inverse: a second argsort, no scatter
    if axis is None:  # flattened, an option of NumPy's
        return xp.reshape(_sort(xp, g, xp.reshape(x, (-1,)), -1, descending), x.shape)
    order = xp.argsort(x, axis=axis, descending=descending)
    return xp.take_along_axis(g, xp.argsort(order, axis=axis), axis=axis)


general(
    "sort",
    "x, /, *, axis=-1, descending=False, stable=True",
    x=_sort,
    holomorphic=False,
    numpy=("sort",),
    doc="x sorted along `axis`, real dtypes. Equal elements keep their order, and so get their own gradients, even "
    "with stable=False.",
)
nondifferentiable(
    "argsort",
    "x, /, *, axis=-1, descending=False, stable=True",
    numpy=("argsort",),
    doc="Indices that sort x along `axis`: an integer array.",
)
