"""Linear algebra functions of the main namespace. The extension `linalg` has them too: see LINALG_NAMES.

May import: ops.kinds, ops._products. Rules use only the standard.
"""

from arraygrad.ops import _products
from arraygrad.ops.kinds import core, view

# Functions of this chapter that the namespace `linalg` repeats.
LINALG_NAMES = ("matmul", "matrix_transpose", "tensordot", "vecdot")

core(
    "matmul",
    "x1, x2, /",
    core="(m?,k),(k,n?)->(m?,n?)",
    derivative="multilinear",
    x1=_products.matmul_x1,
    x2=_products.matmul_x2,
    operator="matmul",
    numpy=("matmul",),
    doc="Matrix product of the last two axes; the others broadcast. A one-dimensional x1 is a row, a one-dimensional "
    "x2 a column, and that axis is missing from the result. Numeric dtypes.",
)
core(
    "tensordot",
    "x1, x2, /, *, axes=2",
    core="(m*),(n*)->(*contracted(m, n, axes))",
    derivative="multilinear",
    forward=_products.tensordot,
    x1=_products.tensordot_x1,
    x2=_products.tensordot_x2,
    makes_arrays=True,
    numpy=("tensordot",),
    doc="Sum of products over `axes`: the last n of x1 with the first n of x2, or a pair of sequences of axes. Complex "
    "arrays are not conjugated.",
)


core(
    "vecdot",
    "x1, x2, /, *, axis=-1",
    core="(n),(n)->()",
    derivative="multilinear",
    # conjugates x1, hence not holomorphic in it
    x1=lambda xp, g, x1_shape, x2, axis: _products.vecdot_rule(xp, xp.conj(g), x2, len(x1_shape), axis),
    x2=lambda xp, g, x1, x2_shape, axis: _products.vecdot_rule(xp, g, x1, len(x2_shape), axis),
    holomorphic=False,
    numpy=("vecdot",),
    doc="Sum of conj(x1) * x2 over `axis`, counted by each array's own number of dimensions; the other axes broadcast.",
)
view(
    "matrix_transpose",
    "x, /",
    core="(m,n)->(n,m)",
    x=lambda xp, g: xp.matrix_transpose(g),
    may_view=True,
    numpy=("matrix_transpose",),
    doc="The last two axes exchanged.",
)
