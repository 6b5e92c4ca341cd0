"""Data type functions.

May import: ops.kinds, ops._dtypes. Rules use only the standard.
"""

from arraygrad.ops import _dtypes
from arraygrad.ops.kinds import linear, nondifferentiable


def _astype(xp, x, dtype, copy, device):
    if device is None:
        return xp.astype(x, dtype, copy=copy)
    return xp.astype(x, dtype, copy=copy, device=device)


linear(
    "astype",
    "x, dtype, /, *, copy=True, device=None",
    forward=_astype,
    x=lambda g: g,
    method=True,
    may_view=True,
    numpy=("astype",),
    doc="x as `dtype`; with copy=False x itself if it has that dtype. Its gradient is cast back. Complex to real is an "
    "error (take `real`, `imag` or `abs`); a cast to an integer or boolean dtype ends the graph.",
)
nondifferentiable(
    "can_cast",
    "from_, to, /",
    numpy=("can_cast",),
    doc="Whether one dtype (or an array's) can be cast to another by the standard's promotion rules: a bool.",
)
nondifferentiable(
    "finfo",
    "type, /",
    forward=_dtypes.finfo,
    doc="Limits of a floating-point dtype (or an array's), as Python floats: bits, eps, max, min, smallest_normal, "
    "dtype.",
)
nondifferentiable(
    "iinfo",
    "type, /",
    forward=_dtypes.iinfo,
    doc="Limits of an integer dtype (or an array's), as Python ints: bits, max, min, dtype.",
)
nondifferentiable(
    "isdtype", "dtype, kind", doc="Whether a dtype is of a kind, equals another, or any of a tuple of them: a bool."
)
nondifferentiable(
    "result_type",
    "*arrays_and_dtypes",
    numpy=("result_type",),
    doc="The dtype to which arrays, dtypes and Python scalars promote together.",
)
