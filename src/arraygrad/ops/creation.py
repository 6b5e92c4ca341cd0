"""Creation functions.

May import: ops.kinds, ops._creation. Rules use only the standard.
"""

from arraygrad.ops import _creation
from arraygrad.ops._helpers import device_of
from arraygrad.ops.kinds import creation, elementwise, view

LIKE = "x, /, *, dtype=None, device=None"
NEW = "shape, *, dtype=None, device=None"

view(
    "asarray",
    "obj, /, *, dtype=None, device=None, copy=None",
    core="()->()",
    obj=lambda g: g,
    may_view=True,
    numpy=("asarray",),
    doc="An array from an array, a Python scalar or nested lists; a Tensor as itself unless dtype, device or copy=True "
    "ask for another array, which is then recorded.",
)
creation("empty", NEW, core="->(*sized(shape))", doc="A new array of `shape` with arbitrary elements.")
creation(
    "empty_like",
    LIKE,
    core="()->()",
    makes_arrays=True,
    numpy=("empty_like",),
    doc="A new array like x with arbitrary elements.",
)
creation("zeros", NEW, core="->(*sized(shape))", doc="A new array of `shape`, all zeros.")
creation(
    "zeros_like", LIKE, core="()->()", makes_arrays=True, numpy=("zeros_like",), doc="A new array like x, all zeros."
)
creation("ones", NEW, core="->(*sized(shape))", doc="A new array of `shape`, all ones.")
creation("ones_like", LIKE, core="()->()", makes_arrays=True, numpy=("ones_like",), doc="A new array like x, all ones.")
creation(
    "full",
    "shape, fill_value, *, dtype=None, device=None",
    core="fill_value()->(*sized(shape))",
    derivative="linear",
    forward=_creation.full,
    fill_value=lambda g: g,
    makes_arrays=True,
    doc="A new array of `shape` filled with a Python scalar or a 0-d array, whose gradient is the sum.",
)
creation(
    "full_like",
    "x, /, fill_value, *, dtype=None, device=None",
    core="x(n*),fill_value()->(*n)",
    derivative="linear",
    forward=_creation.full_like,
    fill_value=lambda g: g,
    makes_arrays=True,
    numpy=("full_like",),
    doc="A new array like x filled with a Python scalar or a 0-d array, whose gradient is the sum.",
)
creation(
    "eye",
    "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
    core="->(n_rows,n_rows if n_cols is None else n_cols)",
    doc="A new matrix with ones on the k-th diagonal and zeros elsewhere.",
)
creation(
    "from_dlpack",
    "x, /, *, device=None, copy=None",
    core="()->()",
    forward=_creation.from_dlpack,
    doc="An array over the memory of any object that speaks DLPack.",
)


def _arange_start(xp, g, stop):
    return None if stop is None else xp.sum(g)


def _arange_step(xp, g):
    return xp.sum(g * xp.astype(xp.arange(g.shape[0], device=device_of(g)), g.dtype))


creation(
    "arange",
    "start, /, stop=None, step=1, *, dtype=None, device=None",
    core="->(?)",
    derivative="linear",
    forward=_creation.arange,
    start=_arange_start,
    step=_arange_step,
    doc="Evenly spaced numbers from `start` up to but not including `stop`, `step` apart (Python scalars, or 0-d "
    "arrays beyond the standard). Their number is taken as constant, so `stop` has no gradient.",
)
creation(
    "linspace",
    "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
    core="(),()->(num)",
    derivative="linear",
    forward=_creation.linspace,
    start=lambda xp, g, num, endpoint: xp.sum(g * (1 - _creation.ramp(xp, num, endpoint, g.dtype, device_of(g)))),
    stop=lambda xp, g, num, endpoint: xp.sum(g * _creation.ramp(xp, num, endpoint, g.dtype, device_of(g))),
    doc="`num` evenly spaced numbers from `start` to `stop`, which is left out if not `endpoint` (Python scalars, or "
    "0-d arrays beyond the standard).",
)


def _meshgrid(xp, g, arrays_shape, indexing):
    count = len(g)
    gradients = []
    for i, (piece, shape) in enumerate(zip(g, arrays_shape, strict=True)):
        if piece is not None:
            own = 1 - i if indexing == "xy" and count > 1 and i < 2 else i
            piece = xp.sum(piece, axis=(*range(own), *range(own + 1, count)))
            piece = piece if piece.shape == shape else xp.reshape(piece, shape)
        gradients.append(piece)
    return gradients


view(
    "meshgrid",
    "*arrays, indexing='xy'",
    core="[(n)]->[(*meshed(n, indexing))]",
    arrays=_meshgrid,
    may_view=True,
    results=("*",),
    sequence="arrays",
    numpy=("meshgrid",),
    doc="Coordinate matrices from one-dimensional arrays: a tuple, of arrays whose first two axes are exchanged if "
    "indexing='xy'.",
)
elementwise(
    "tril",
    "x, /, *, k=0",
    core="(m,n)->(m,n)",
    derivative="linear",
    x=lambda xp, g, k: xp.tril(g, k=k),
    numpy=("tril",),
    doc="The lower triangles, up to the k-th diagonal, of the matrices in x; zeros elsewhere.",
)
elementwise(
    "triu",
    "x, /, *, k=0",
    core="(m,n)->(m,n)",
    derivative="linear",
    x=lambda xp, g, k: xp.triu(g, k=k),
    numpy=("triu",),
    doc="The upper triangles, from the k-th diagonal on, of the matrices in x; zeros elsewhere.",
)
