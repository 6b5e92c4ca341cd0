"""Whether a composition has the values of SciPy's function, whose derivative it is to be.

May import: numpy_api.functions, scipy._guards, scipy._libraries, numpy.
"""

import numpy

from arraygrad.numpy_api.functions import beside
from arraygrad.scipy._guards import NotDifferentiable, raw
from arraygrad.scipy._libraries import host_array

__all__ = ["agreed", "all_nan"]


def all_nan(ans):
    """Whether all numbers of SciPy's results are nan."""
    parts = [host_array(raw(part)) for part in (ans if isinstance(ans, (tuple, list)) else (ans,)) if part is not None]
    parts = [part for part in parts if getattr(part, "size", 0) and part.dtype.kind in "fc"]
    return bool(parts) and all(part[(0,) * part.ndim] != part[(0,) * part.ndim] for part in parts) and all(
        numpy.isnan(part).all() for part in parts
    )  # fmt: skip


# How far values of a composition may be from SciPy's, relative to the largest: what another axis or another shape gives
# is farther away, and what rounding does to differences of nearly equal numbers is not.
_NEAR = {8: 1e-3, 4: 3e-2}
# How far they may be apart in any case, relative to the largest argument: results that are zero but for rounding, as a
# skewness is by symmetry. Arguments below one count as one.
_ROUNDED = {8: 1e-13, 4: 2e-5}
# Results that are roots of such differences, which SciPy computes without regard to rounding.
_ROOTS = frozenset(("spatial.distance.jensenshannon", "stats.circstd"))


def agreed(name, out, ans, g, tensors):
    """The gradient of SciPy's result `ans` for the composition's `out`; nan where SciPy's is nan and ours is not.

    `tensors` are the arguments that it is differentiated by.

    Raises
    ------
    NotDifferentiable
        If `out` is another result than `ans`, apart from axes of length one.
    """
    ours, theirs = host_array(out.array), host_array(raw(ans))
    if ours.shape != theirs.shape:
        if [n for n in ours.shape if n != 1] != [n for n in theirs.shape if n != 1]:
            raise _other_function(name, f"its shape is {theirs.shape}, of the formula {ours.shape}")
        ours = ours.reshape(theirs.shape)
    if not theirs.size:
        return g
    if ours.dtype.kind == "c" and theirs.dtype.kind != "c":
        ours = ours.real
    kinds = [a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1) for a in (ours, theirs)]
    kind = 8 if min(kinds) >= 8 else 4
    near = _NEAR[kind]
    away, size = numpy.abs(ours - theirs), numpy.abs(theirs)
    if not away.max() <= near * size.max():  # nan and infinities too
        known = numpy.isfinite(away) & numpy.isfinite(size)
        rounded = _ROUNDED[kind] ** 0.5 if name in _ROOTS else _ROUNDED[kind] * _size(tensors)
        most = near * numpy.max(size[known], initial=0.0) + rounded
        if numpy.any(away[known] > most):
            raise _other_function(name, f"the formula gives {ours}, SciPy {theirs}")
        missing = numpy.isnan(theirs) & ~numpy.isnan(ours)
        if missing.any():
            return g + beside(numpy.where(missing, numpy.nan, 0.0).astype(theirs.real.dtype), out)
    return g


def _size(tensors):
    """The largest size of finite elements, at least one."""
    arrays = [numpy.abs(host_array(raw(t))) for t in tensors]
    return max([1.0, *[float(numpy.max(a, where=numpy.isfinite(a), initial=0.0)) for a in arrays]])


def _other_function(name, found):
    return NotDifferentiable(
        f"arraygrad.scipy.{name}: the formula that its derivative is taken of has another result than SciPy's function "
        f"at these arguments ({found}). Pass arrays of equally many axes and the axis from zero on, or compose the "
        "function of others; and please report it"
    )
