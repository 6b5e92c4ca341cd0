# Sorting of few elements, distinct values, partitions, quantiles and medians of plain arrays, and gradients of some.
# May import: numpy (Python only), backends.numpy.elementwise, backends.numpy.lanes, backends.numpy.loops.
#
# Forwards give NumPy's values bit by bit; what could differ (zeros of both signs, nan, infinities, large arrays, which
# NumPy sorts by vectors) is left to NumPy's functions. Gradients are those that the table's rules and
# numpy_api.recorded_statistics spell, found without sorting again where only a rank is wanted. None, or 0: declined.
# set_fast_paths(False) leaves all of it alone. Guarded by tests/ops/test_fast_functions.py.
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.lanes cimport Around, laid_along, lanes, row_major
from arraygrad.backends.numpy.loops cimport (
    SLOT_F32, SLOT_F64, SUM_START, ArrayView, cloned, empty_c, empty_dense, fast_enabled, fp_begin, fp_end, view_of,
)

cdef extern from "ranks.hpp" namespace "arraygrad":
    enum:
        SHORT_LANE
    struct Quantiles:
        const double* q
        Py_ssize_t count
        bint ignoring, middle, last
    bint sorted_lanes(int slot, const char* x, char* out, Around a, bint stable) noexcept
    bint unsorted_lanes(int slot, const char* x, const char* y, const char* g, char* out, Around a) noexcept
    Py_ssize_t distinct(int slot, const char* x, Py_ssize_t n, char* values, int64_t* first, int64_t* inverse,
                        int64_t* counts) noexcept
    double sum_start
    bint quantiles(int slot, const char* x, char* out, Around a, Quantiles p) noexcept
    bint quantiles_gradient(int slot, const char* x, const char* ans, const char* g, char* out, Around a,
                            Quantiles p) noexcept

cdef enum:
    FEW = 64                    # elements of short lanes, which are sorted before NumPy is called
    PARTITIONED = 2048          # elements of a lane up to which two orders cost less than numpy.argpartition
    PLAIN_QUANTILES = 4096      # elements up to which quantiles that look at every element are computed here
    RANKS = 64                  # of which arrays are kept: NumPy makes one of a number, which takes as long as sorting
    DISTINCT_POSITIONS = 512    # elements up to which np.unique's work costs less than its calls


def _given(name):
    function = getattr(np, name)
    return getattr(function, "_implementation", function)


_quantile, _percentile = _given("quantile"), _given("percentile")
_nanquantile, _nanpercentile = _given("nanquantile"), _given("nanpercentile")
_median, _nanmedian = _given("median"), _given("nanmedian")
cdef object _ndarray = np.ndarray
cdef object _double = np.dtype(np.float64)
cdef object _positions = np.zeros(0, np.intp)
cdef tuple _ranks = tuple([np.array(i, np.intp) for i in range(RANKS)])
cdef double HALF = 0.5
sum_start = SUM_START
cdef int _agrees[2]             # by slot: 0 not asked yet, 1 NumPy computes quantiles as we do, -1 it does not


# Few elements: sorting.pyx has the others

cdef inline bint few(const ArrayView* v, object axis, Around* a) except -1:
    return v.size <= FEW and axis is not None and lanes(v, axis, a, True) and a.n <= SHORT_LANE


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


def partition(a, kth, axis=-1):
    """numpy.partition of a plain array without long lanes; None: better composed."""
    cdef ArrayView v
    cdef Around lane
    if not fast_enabled() or not PyLong_CheckExact(kth) or axis is None or real_view(a, &v) < 0 \
            or not lanes(&v, axis, &lane, True) or lane.n > PARTITIONED:
        return None
    out = cloned(a, a)
    out.partition(_ranks[kth] if 0 <= kth < RANKS else kth, axis)
    return out


# Distinct values

cdef tuple found_distinct(object x, int wanted):
    """(values, first occurrences, inverse, counts) of a plain array, those of the bits 1, 2, 4; None: declined."""
    cdef ArrayView v, o, places[3]
    cdef Py_ssize_t n, found
    cdef list parts
    cdef object values
    if real_view(x, &v) < 0 or not 0 < v.size <= DISTINCT_POSITIONS or not 0 < v.ndim <= 8 \
            or sizeof(Py_ssize_t) != sizeof(int64_t):
        return None
    x = row_major(x)
    view_of(x, &v)
    n = v.size
    values = empty_c(x, 1, &n)
    view_of(values, &o)
    parts = [empty_c(_positions, 1, &n), empty_c(_positions, v.ndim, v.dims), empty_c(_positions, 1, &n)]
    for i in range(3):
        view_of(parts[i], &places[i])
    found = distinct(v.slot, v.data, n, o.data, <int64_t*>places[0].data, <int64_t*>places[1].data,
                     <int64_t*>places[2].data)
    if found < 0:
        return None
    if found < n:
        values = values[:found].copy()
        if wanted & 1:
            parts[0] = parts[0][:found].copy()
        if wanted & 4:
            parts[2] = parts[2][:found].copy()
    return values, parts[0], parts[1], parts[2]


cdef object forward_unique_values(object args):
    found = found_distinct(args[0], 0)
    return None if found is None else found[0]


cdef object forward_unique_counts(object args):
    found = found_distinct(args[0], 4)
    return None if found is None else (found[0], found[3])


cdef object forward_unique_inverse(object args):
    found = found_distinct(args[0], 2)
    return None if found is None else (found[0], found[2])


cdef object forward_unique_all(object args):
    return found_distinct(args[0], 7)


# Quantiles

cdef object fractions(object q, bint percent, int slot):
    """The fractions of a quantile as float64, without axes for a plain number; None: not served."""
    cdef double value
    if type(q) is float or percent and type(q) is int:
        value = q
        return value / 100 if percent else value
    if type(q) is list or type(q) is tuple:
        q = np.asarray(q)
    if type(q) is not _ndarray or slot != SLOT_F64 or q.ndim > 2 or q.size == 0 or q.dtype.kind not in "fi":
        return None
    if percent:
        q = np.true_divide(q, 100)
    if q.dtype is not _double:
        return None
    return q if q.flags.c_contiguous else q.copy()


cdef object computed(object a, object q, object axis, bint keepdims, Quantiles p):
    """The values at fractions (a float or an array of them), one for each lane; None: declined."""
    cdef ArrayView v, o, w
    cdef Around lane
    cdef Py_ssize_t dims[10]
    cdef Py_ssize_t k, at
    cdef int nd = 0, d
    cdef double number
    cdef bint done
    cdef object out
    if real_view(a, &v) < 0 or not lanes(&v, axis, &lane, True):
        return None
    if type(q) is float:
        number = q
        p.q = &number
        p.count = 1
    else:
        view_of(q, &w)
        p.q = <const double*>w.data
        p.count = w.size
        for d in range(w.ndim):
            dims[d] = w.dims[d]
        nd = w.ndim
    for k in range(p.count):
        if not 0.0 <= p.q[k] <= 1.0:
            return None
    if not p.ignoring and v.size > PLAIN_QUANTILES or nd + v.ndim > 8:
        return None
    at = -1 if axis is None else axis if axis >= 0 else axis + v.ndim
    for d in range(v.ndim):
        if axis is not None and d != at:
            dims[nd] = v.dims[d]
            nd += 1
        elif keepdims:
            dims[nd] = 1
            nd += 1
    out = empty_c(a, nd, dims)
    view_of(out, &o)
    fp_begin()
    done = quantiles(v.slot, v.data, o.data, lane, p)
    if fp_end() or not done:
        return None
    return out if nd else out[()]


cdef bint as_numpy(int slot) except -1:
    """Whether NumPy computes quantiles and medians by the formulas that are here: its versions differ for float32."""
    if _agrees[slot] == 0:
        a = np.array([0.37, 1.71, -2.2, 5.13, 0.1, 0.77, 2.9]).astype("f" if slot == SLOT_F32 else "d")
        same = True
        for x in (a, a[:-1].copy()):
            for q in (0.13, 0.5, 0.83, 1.0):
                ours = computed(x, q, 0, False, Quantiles(NULL, 0, False, False, False))
                same = same and _alike(ours, _quantile(x, q, 0)) and _alike(ours, _nanquantile(x, q, 0)) \
                    and _alike(computed(x, q * 100 / 100, None, False, Quantiles(NULL, 0, False, False, False)),
                               _percentile(x, q * 100))
            ours = computed(x, HALF, 0, False, Quantiles(NULL, 0, False, True, False))
            same = same and _alike(ours, _median(x, 0)) and _alike(ours, _nanmedian(x, 0))
        _agrees[slot] = 1 if same else -1
    return _agrees[slot] > 0


cdef bint _alike(object a, object b) except -1:
    return a is not None and type(a) is type(b) and a.tobytes() == b.tobytes()


cdef object quantile_of(object a, object q, object axis, object keepdims, bint percent, bint ignoring):
    cdef ArrayView v
    cdef int slot = real_view(a, &v)
    if not fast_enabled() or slot < 0 or keepdims is not False and keepdims is not True or not as_numpy(slot):
        return None
    q = fractions(q, percent, slot)
    if q is None:
        return None
    return computed(a, q, axis, keepdims, Quantiles(NULL, 0, ignoring, False, False))


def quantile(a, q, axis=None, *, keepdims=False):
    """numpy.quantile of plain arrays."""
    out = quantile_of(a, q, axis, keepdims, False, False)
    return _quantile(a, q, axis, keepdims=keepdims) if out is None else out


def percentile(a, q, axis=None, *, keepdims=False):
    """numpy.percentile of plain arrays."""
    out = quantile_of(a, q, axis, keepdims, True, False)
    return _percentile(a, q, axis, keepdims=keepdims) if out is None else out


def nanquantile(a, q, axis=None, *, keepdims=False):
    """numpy.nanquantile of plain arrays. None: better composed."""
    if np.ndim(q) > 1:
        return None
    out = quantile_of(a, q, axis, keepdims, False, True)
    return _nanquantile(a, q, axis, keepdims=keepdims) if out is None else lanes_first(out, q, axis, a.ndim)


def nanpercentile(a, q, axis=None, *, keepdims=False):
    """numpy.nanpercentile of plain arrays. None: better composed."""
    if np.ndim(q) > 1:
        return None
    out = quantile_of(a, q, axis, keepdims, True, True)
    return _nanpercentile(a, q, axis, keepdims=keepdims) if out is None else lanes_first(out, q, axis, a.ndim)


cdef object lanes_first(object out, object q, object axis, int ndim):
    """The values of each lane together in memory, as NumPy leaves those of several fractions along some of the axes."""
    if np.ndim(q) == 0 or axis is None or ndim == 1:
        return out
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(out, 0, -1)), -1, 0)


cdef object median_of(object a, object axis, object keepdims, bint ignoring):
    cdef ArrayView v
    cdef int slot = real_view(a, &v)
    if not fast_enabled() or slot < 0 or keepdims is not False and keepdims is not True or not as_numpy(slot):
        return None
    return computed(a, HALF, axis, keepdims, Quantiles(NULL, 0, ignoring, True, False))


def median(a, axis=None, *, keepdims=False):
    """numpy.median of plain arrays."""
    out = median_of(a, axis, keepdims, False)
    return _median(a, axis, keepdims=keepdims) if out is None else out


def nanmedian(a, axis=None, *, keepdims=False):
    """numpy.nanmedian of plain arrays."""
    out = median_of(a, axis, keepdims, True)
    return _nanmedian(a, axis, keepdims=keepdims) if out is None else out


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
    p.ignoring, p.middle, p.last = ignoring, False, last
    out = empty_dense(a)
    view_of(out, &o)
    return out if quantiles_gradient(v.slot, v.data, y.data, r.data, o.data, lane, p) else None
