# Sorting of few elements of plain arrays, and the gradients of that and of quantiles and medians.
# May import: numpy (Python only), backends.numpy.elementwise, backends.numpy.lanes, backends.numpy.ndarrays,
# backends.numpy.loops.
#
# Sorted values are NumPy's bit by bit; what could differ (zeros of both signs, nan) is left to NumPy. Gradients are
# those that the table's rules and numpy_api.primitive_statistics spell, found without sorting again where only a rank
# is wanted. None: declined. set_fast_paths(False) leaves all of it alone. Guarded by
# tests/backends/test_fast_functions.py.
import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.lanes cimport Around, laid_along, lanes
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_dense, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64, fast_enabled

cdef extern from "ranks.hpp" namespace "arraygrad":
    enum:
        SHORT_LANE
    struct Quantiles:
        const double* q
        Py_ssize_t count
        bint ignoring, last
    bint sorted_lanes(int slot, const char* x, char* out, Around a, bint stable) noexcept
    bint unsorted_lanes(int slot, const char* x, const char* y, const char* g, char* out, Around a) noexcept
    bint quantiles_gradient(int slot, const char* x, const char* ans, const char* g, char* out, Around a,
                            Quantiles p) noexcept

cdef enum:
    MOST_SORTED_AT_ONCE = 64    # elements of short lanes, which are sorted before NumPy is called


# Few elements: sorting.pyx has the others

cdef inline bint few(const ArrayView* v, object axis, Around* a) except -1:
    return v.size <= MOST_SORTED_AT_ONCE and axis is not None and lanes(v, axis, a, True) and a.n <= SHORT_LANE


cdef bint is_short(object x, object axis) except -1:
    """Whether the lanes of a plain real array are sorted here."""
    cdef ArrayView v
    cdef Around a
    return real_view(x, &v) >= 0 and few(&v, axis, &a)


cdef object sorted_short(object args):
    """The sorted values of few elements, ascending. None: declined."""
    cdef ArrayView v, o
    cdef Around a
    cdef object out
    if args[2] is not False or real_view(args[0], &v) < 0 or not few(&v, args[1], &a):
        return None
    out = empty_dense(args[0])
    view_of(out, &o)
    return out if sorted_lanes(v.slot, v.data, o.data, a, args[3] is True) else None


cdef object unsorted(object x, object y, object g, object axis):
    """The gradient of few elements x of that of the sorted ones, or of those of y, in the same order as x has them."""
    cdef ArrayView v, w, r, o
    cdef Around a
    cdef const char* others = NULL
    cdef object out
    if real_view(x, &v) < 0 or not few(&v, axis, &a):
        return None
    g = laid_along(g, x)
    if y is not None:
        y = laid_along(y, x)
        if real_view(y, &w) < 0:
            return None
        others = w.data
    if real_view(g, &r) < 0:
        return None
    out = empty_dense(x)
    view_of(out, &o)
    return out if unsorted_lanes(v.slot, v.data, others, r.data, o.data, a) else None


# Quantiles

def quantile_gradient(g, a, ans, q, axis, *, bint percent=False, bint ignoring=False, bint last=False):
    """The gradient of `a` from that of its quantiles `ans` at the fractions `q`. None: declined.

    Elements that tie keep their order in memory. A nan that makes the result nan gets the gradient: several share it,
    or (`last`) the last one has it. Where infinite numbers make it nan, that of both neighbours is nan.
    """
    cdef ArrayView v, r, y, w, o
    cdef Around lane
    cdef Quantiles p
    cdef double number
    cdef object out
    ans = np.ascontiguousarray(ans)         # that of several fractions may have its lanes together
    if not fast_enabled() or real_view(a, &v) < 0 or not lanes(&v, axis, &lane, True) \
            or real_view(g, &r) != v.slot or not r.c_order or real_view(ans, &y) != v.slot or not y.c_order:
        return None
    if type(q) is float or type(q) is int:
        number = q / 100 if percent else q
        p.q = &number
        p.count = 1
    else:
        q = np.true_divide(q, 100) if percent else np.asarray(q, np.float64)
        if real_view(q, &w) != SLOT_F64 or not w.c_order:
            return None
        p.q = <const double*>w.data
        p.count = w.size
    if r.size != p.count * lane.outer * lane.inner or y.size != r.size:
        return None
    p.ignoring, p.last = ignoring, last
    out = empty_dense(a)
    view_of(out, &o)
    return out if quantiles_gradient(v.slot, v.data, y.data, r.data, o.data, lane, p) else None
