# Gradients of NumPy's reductions and scans that leave out nan, of plain arrays.
# May import: backends.numpy.elementwise, backends.numpy.lanes, backends.numpy.ndarrays, backends.numpy.loops.
#
# They are those of numpy_api.primitive_statistics, in one pass by one kernel for each lane. None: declined.
# set_fast_paths(False) leaves all of it alone. Guarded by tests/backends/test_fast_functions.py.
from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.lanes cimport Around, laid_along, lanes
from arraygrad.backends.numpy.ndarrays cimport ArrayView, empty_dense, view_of
from arraygrad.backends.numpy.loops cimport fast_enabled, report

cdef extern from "gaps.hpp" namespace "arraygrad":
    enum:
        GAP_SUM
        GAP_MEAN
        GAP_EXTREMUM
        GAP_PRODUCT
        GAP_VARIANCE
        GAP_DEVIATION
        GAP_SUMS
        GAP_PRODUCTS
    int gap_gradient(int rule, int slot, const char* x, const char* ans, const char* g, char* out, Around a,
                     double ddof) noexcept


cdef object gradient(int rule, object g, object a, object ans, object axis, double ddof):
    """The gradient of `a`, where `rule` is one of GAP_*. None: declined."""
    cdef ArrayView v, r, y, o
    cdef Around lane
    cdef bint scan_rule = rule == GAP_SUMS or rule == GAP_PRODUCTS
    cdef const char* its_ans = NULL
    cdef object out
    if not fast_enabled() or real_view(a, &v) < 0 or not lanes(&v, axis, &lane, False) or real_view(g, &r) != v.slot:
        return None
    if ans is not None and (real_view(ans, &y) != v.slot or not y.c_order or y.size != lane.outer * lane.inner):
        return None
    if ans is not None:
        its_ans = y.data
    if scan_rule:
        if axis is None:
            if not v.c_order or not r.c_order or r.size != v.size:
                return None
        else:
            g = laid_along(g, a)
            if real_view(g, &r) < 0:
                return None
    elif not r.c_order or r.size != lane.outer * lane.inner:
        return None
    out = empty_dense(a)
    view_of(out, &o)
    report("multiply", gap_gradient(rule, v.slot, v.data, its_ans, r.data, o.data, lane, ddof))
    return out


def nansum_gradient(g, a, axis):
    """The gradient of nansum's array. None: declined, as all of these may."""
    return gradient(GAP_SUM, g, a, None, axis, 0.0)


def nanmean_gradient(g, a, axis):
    """The gradient of nanmean's array."""
    return gradient(GAP_MEAN, g, a, None, axis, 0.0)


def nanextremum_gradient(g, a, ans, axis):
    """The gradient of the array of nanmax or nanmin: elements that tie share."""
    return gradient(GAP_EXTREMUM, g, a, ans, axis, 0.0)


def nanprod_gradient(g, a, axis):
    """The gradient of nanprod's array."""
    return gradient(GAP_PRODUCT, g, a, None, axis, 0.0)


def nanvar_gradient(g, a, axis, double ddof):
    """The gradient of nanvar's array."""
    return gradient(GAP_VARIANCE, g, a, None, axis, ddof)


def nanstd_gradient(g, a, ans, axis, double ddof):
    """The gradient of nanstd's array."""
    return gradient(GAP_DEVIATION, g, a, ans, axis, ddof)


def nancumsum_gradient(g, a, axis):
    """The gradient of nancumsum's array."""
    return gradient(GAP_SUMS, g, a, None, axis, 0.0)


def nancumprod_gradient(g, a, axis):
    """The gradient of nancumprod's array."""
    return gradient(GAP_PRODUCTS, g, a, None, axis, 0.0)
