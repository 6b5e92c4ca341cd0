# NumPy's reductions and scans that leave out nan, of plain arrays: values and gradients.
# May import: numpy (Python only), backends.numpy.elementwise, backends.numpy.lanes, backends.numpy.loops,
# backends.numpy.reductions.
#
# Values are NumPy's bit by bit, by the loops that its functions call, without their wrappers; so are warnings: what
# NumPy warns of is left to its functions. Gradients are those of numpy_api.recorded_statistics. None: declined.
# set_fast_paths(False) leaves all of it alone. Guarded by tests/ops/test_fast_functions.py.
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.lanes cimport Around, laid_along, lanes, row_major
from arraygrad.backends.numpy.loops cimport (
    SLOT_F64, ArrayView, any_nan, empty_c, empty_dense, fast_enabled, positions_of, report, view_of,
)
from arraygrad.backends.numpy.reductions cimport accumulated, forward_mean, forward_std, forward_sum, forward_var

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
    void fill_gaps(int slot, const char* x, char* out, Py_ssize_t n, double value) noexcept
    void replace_all(int slot, const char* x, char* out, Py_ssize_t n, double nan, double high, double low) noexcept
    double greatest_size(int slot, const char* x, Py_ssize_t n) noexcept
    void repeat_to_next(int slot, const char* x, const int64_t* places, Py_ssize_t m, char* out,
                        Around a) noexcept
    bint divide_counts(int slot, const char* x, char* sums, Around a) noexcept
    int gap_gradient(int rule, int slot, const char* x, const char* ans, const char* g, char* out, Around a,
                     double ddof) noexcept


def _given(name):
    function = getattr(np, name)
    return getattr(function, "_implementation", function)


_nansum, _nanprod, _nanmean = _given("nansum"), _given("nanprod"), _given("nanmean")
_nanmax, _nanmin = _given("nanmax"), _given("nanmin")
_nanvar, _nanstd = _given("nanvar"), _given("nanstd")
_nancumsum, _nancumprod = _given("nancumsum"), _given("nancumprod")
_nan_to_num = _given("nan_to_num")
_add, _multiply, _fmax, _fmin = np.add.reduce, np.multiply.reduce, np.fmax.reduce, np.fmin.reduce
_isnan, _invert, _divide, _subtract, _square = np.isnan, np.logical_not, np.divide, np.subtract, np.multiply
_sqrt, _copyto = np.sqrt, np.copyto
cdef object _intp = np.intp
cdef object _ndarray = np.ndarray


cdef inline bint lost(const ArrayView* v) noexcept:
    return any_nan(<double*>v.data, v.size) if v.slot == SLOT_F64 else any_nan(<float*>v.data, v.size)


cdef object filled(object a, double value):
    """A dense array with `value` for its nan: the array itself where there is none. None: it is no plain array."""
    cdef ArrayView v, o
    cdef object out
    if not fast_enabled() or real_view(a, &v) < 0 or not (v.c_order or v.f_order) or v.ndim == 0 or v.size == 0:
        return None
    if not lost(&v):
        return a
    out = empty_dense(a)
    view_of(out, &o)
    fill_gaps(v.slot, v.data, o.data, v.size, value)
    return out


cdef inline object shown(object out):
    """What NumPy's function gives: a scalar where no axis is left."""
    cdef ArrayView v
    return out[()] if view_of(out, &v) >= 0 and v.ndim == 0 else out


cdef bint is_bool(object x) noexcept:
    return x is True or x is False


# Values

cdef object summed(object a, object axis, object keepdims):
    out = forward_sum((a, axis, None, keepdims))
    return _add(a, axis, None, None, keepdims) if out is None else shown(out)


def nansum(a, axis=None, *, keepdims=False):
    """numpy.nansum of plain arrays."""
    values = filled(a, 0.0) if is_bool(keepdims) else None
    return _nansum(a, axis, keepdims=keepdims) if values is None else summed(values, axis, keepdims)


def nanprod(a, axis=None, *, keepdims=False):
    """numpy.nanprod of plain arrays."""
    values = filled(a, 1.0) if is_bool(keepdims) else None
    return _nanprod(a, axis, keepdims=keepdims) if values is None else _multiply(values, axis, None, None, keepdims)


cdef object extremum(object a, object axis, object keepdims, object reduce):
    """The extremum of what is no nan; None: there is none in some place, or another array."""
    cdef ArrayView v
    if not fast_enabled() or real_view(a, &v) < 0 or v.size == 0 or v.ndim == 0 or not is_bool(keepdims):
        return None
    out = reduce(a, axis, None, None, keepdims)
    if view_of(out, &v) >= 0:
        return None if not (v.c_order or v.f_order) or lost(&v) else out
    return out if out == out else None


def nanmax(a, axis=None, *, keepdims=False):
    """numpy.nanmax of plain arrays."""
    out = extremum(a, axis, keepdims, _fmax)
    return _nanmax(a, axis, keepdims=keepdims) if out is None else out


def nanmin(a, axis=None, *, keepdims=False):
    """numpy.nanmin of plain arrays."""
    out = extremum(a, axis, keepdims, _fmin)
    return _nanmin(a, axis, keepdims=keepdims) if out is None else out


def nanmean(a, axis=None, *, keepdims=False):
    """numpy.nanmean of plain arrays."""
    cdef ArrayView v, o
    cdef Around lane
    values = filled(a, 0.0) if is_bool(keepdims) else None
    if values is a:
        out = forward_mean((a, axis, keepdims))
        if out is not None:
            return shown(out)
    if values is not None and real_view(a, &v) >= 0 and lanes(&v, axis, &lane, False):
        out = summed(values, axis, keepdims)
        if type(out) is not _ndarray:
            out = np.asarray(out)
            if view_of(out, &o) == v.slot and divide_counts(v.slot, v.data, o.data, lane):
                return out[()]
        elif view_of(out, &o) == v.slot and o.c_order and divide_counts(v.slot, v.data, o.data, lane):
            return out
    return _nanmean(a, axis, keepdims=keepdims)


cdef object spread(object a, object axis, object ddof, object keepdims, bint root):
    """The variance of what is no nan, or its root; None: declined."""
    cdef ArrayView v
    cdef Around lane
    cdef double reach
    if not fast_enabled() or not is_bool(keepdims) or not PyLong_CheckExact(ddof) or real_view(a, &v) < 0 \
            or not (v.c_order or v.f_order) or not lanes(&v, axis, &lane, False):
        return None
    reach = greatest_size(v.slot, v.data, v.size)
    if reach > (1e150 if v.slot == SLOT_F64 else 1e17):     # squares may overflow, of which NumPy's function warns
        return None
    if reach == reach:
        if ddof >= lane.n:
            return None
        out = forward_std((a, axis, ddof, keepdims)) if root else forward_var((a, axis, ddof, keepdims))
        if out is not None:
            return shown(out)
    gaps = _isnan(a)
    away = filled(a, 0.0)
    view_of(away, &v)
    if greatest_size(v.slot, v.data, v.size) > (1e150 if v.slot == SLOT_F64 else 1e17):
        return None
    count = _add(_invert(gaps), axis, _intp, None, True)
    left = count - ddof
    if not (left > 0).all():
        return None
    mean = _add(away, axis, None, None, True)
    _divide(mean, count, out=mean, casting="unsafe")
    away = _subtract(away, mean)
    _copyto(away, 0, where=gaps)
    out = _add(_square(away, away, away), axis, None, None, keepdims)
    if type(out) is not _ndarray:
        out = type(out)(out / left.reshape(-1)[0])
        return type(out)(_sqrt(out)) if root else out
    _divide(out, left if keepdims else left.squeeze(axis), out=out, casting="unsafe")
    return _sqrt(out, out) if root else out


def nanvar(a, axis=None, *, ddof=0, keepdims=False):
    """numpy.nanvar of plain arrays."""
    out = spread(a, axis, ddof, keepdims, False)
    return _nanvar(a, axis, ddof=ddof, keepdims=keepdims) if out is None else out


def nanstd(a, axis=None, *, ddof=0, keepdims=False):
    """numpy.nanstd of plain arrays."""
    out = spread(a, axis, ddof, keepdims, True)
    return _nanstd(a, axis, ddof=ddof, keepdims=keepdims) if out is None else out


def nancumsum(a, axis=None):
    """numpy.nancumsum of plain arrays."""
    values = filled(a, 0.0)
    if values is None:
        return _nancumsum(a, axis)
    out = accumulated(values, axis, False)
    return values.cumsum(axis) if out is None else out


def nancumprod(a, axis=None):
    """numpy.nancumprod of plain arrays."""
    values = filled(a, 1.0)
    if values is None:
        return _nancumprod(a, axis)
    out = accumulated(values, axis, True)
    return values.cumprod(axis) if out is None else out


# Segments along an axis

def increasing(indices, Py_ssize_t n):
    """The places of ufunc.reduceat as int64 where they increase and are below n. None: they are others."""
    cdef Py_ssize_t count = 0, k
    cdef const int64_t* places
    cdef object starts
    if not fast_enabled() or type(indices) is not _ndarray or indices.ndim != 1 or indices.dtype.kind not in "iu":
        return None
    starts = np.array(indices, np.int64)
    places = positions_of(starts, &count)
    if places == NULL or count == 0 or places[0] < 0 or places[count - 1] >= n:
        return None
    for k in range(1, count):
        if places[k] <= places[k - 1]:
            return None
    return starts


def repeated(x, starts, Py_ssize_t n, Py_ssize_t axis):
    """Each element along the axis repeated up to the next one's place, as increasing() has them. None: declined."""
    cdef ArrayView v, o
    cdef Around lane
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t dims[8]
    cdef const int64_t* places
    cdef object out
    cdef int d
    if not fast_enabled():
        return None
    x = row_major(x)
    places = positions_of(starts, &count)
    if x is None or places == NULL or real_view(x, &v) < 0 or not lanes(&v, axis, &lane, True) or lane.n != count:
        return None
    for d in range(v.ndim):
        dims[d] = v.dims[d]
    dims[axis if axis >= 0 else axis + v.ndim] = lane.n = n
    out = empty_c(x, v.ndim, dims)
    view_of(out, &o)
    repeat_to_next(v.slot, v.data, places, count, o.data, lane)
    return out


cdef bint is_number(object x) except -1:
    """Whether `x` is None or a float that is no nan."""
    return x is None or type(x) is float and x == x


def nan_to_num(x, *, nan=0.0, posinf=None, neginf=None):
    """numpy.nan_to_num of plain arrays."""
    cdef ArrayView v, o
    cdef double none = float("nan")
    cdef bint usual = type(nan) is float and nan == 0.0 and posinf is None and neginf is None
    if fast_enabled() and real_view(x, &v) >= 0 and (v.c_order or v.f_order) and v.ndim and (
            usual or v.slot == SLOT_F64 and type(nan) is float and is_number(posinf) and is_number(neginf)):
        out = empty_dense(x)
        view_of(out, &o)
        replace_all(v.slot, v.data, o.data, v.size, nan, none if posinf is None else posinf,
                    none if neginf is None else neginf)
        return out
    return _nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


# Gradients

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
