# Elements of plain arrays chosen by masks and by numbers, as NumPy's functions of these names do, and their gradients.
# May import: numpy (Python only), backends.numpy.elementwise, backends.numpy.loops.
#
# Values are NumPy's, results row-major. A function leaves to NumPy's what it does not serve; a gradient is then None.
# set_fast_paths(False) leaves all of it alone. Guarded by tests/ops/test_fast_functions.py.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.loops cimport (
    ArrayView, bools_of, empty_c, fast_enabled, item_size, positions_of, same_shape, view_of,
)

cdef extern from "choices.hpp" namespace "arraygrad":
    struct Around:
        Py_ssize_t outer, n, inner
    Py_ssize_t count_true(const char* mask, Py_ssize_t n) noexcept
    void masked(Py_ssize_t item, const char* mask, const char* x, char* out, Around a, Py_ssize_t found,
                bint back) noexcept
    void selected(int slot, const char* const* masks, char* const* parts, int count, char* x, double rest,
                  Py_ssize_t n, bint back) noexcept
    bint numbered(int slot, const int64_t* numbers, char* const* parts, int count, char* x, Py_ssize_t n,
                  bint back) noexcept

cdef enum:
    MOST_PARTS = 16


def _given(name):
    function = getattr(np, name)
    return getattr(function, "_implementation", function)


_compress, _extract, _select, _choose = _given("compress"), _given("extract"), _given("select"), _given("choose")


# Where a mask holds

cdef bint mask_along(object condition, object a, object axis, ArrayView* m, ArrayView* v, Around* way) except -1:
    """Whether a mask of plain booleans chooses along `axis` (None: among all elements of) a row-major array."""
    if not fast_enabled() or not bools_of(condition, m) or not m.c_order or real_view(a, v) < 0 or not v.c_order \
            or not 0 < v.ndim <= 8:
        return False
    return way_along(m, v.dims, v.ndim, axis, way)


cdef bint way_along(const ArrayView* m, const Py_ssize_t* dims, int ndim, object axis, Around* way) except -1:
    cdef Py_ssize_t at, d
    way.outer = way.inner = way.n = 1
    if axis is None:
        for d in range(ndim):
            way.n *= dims[d]
        return m.size == way.n
    if not PyLong_CheckExact(axis) or not -ndim <= axis < ndim:
        return False
    at = PyLong_AsSsize_t(axis)
    if at < 0:
        at += ndim
    for d in range(ndim):
        if d < at:
            way.outer *= dims[d]
        elif d > at:
            way.inner *= dims[d]
    way.n = dims[at]
    return m.ndim == 1 and m.size == way.n


cdef object taken(object condition, object a, object axis):
    cdef ArrayView m, v, o
    cdef Around way
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t found
    cdef int d, nd = 1
    cdef object out
    if not mask_along(condition, a, axis, &m, &v, &way):
        return None
    found = count_true(m.data, m.size)
    dims[0] = found
    if axis is not None:
        nd = v.ndim
        for d in range(nd):
            dims[d] = v.dims[d]
        dims[axis if axis >= 0 else axis + nd] = found
    out = empty_c(a, nd, dims)
    view_of(out, &o)
    masked(item_size(v.slot), m.data, v.data, o.data, way, found, False)
    return out


def compress(condition, a, axis=None):
    """numpy.compress of plain arrays."""
    cdef ArrayView m
    out = taken(condition, a, axis) if bools_of(condition, &m) and m.ndim == 1 else None
    return _compress(condition, a, axis) if out is None else out


def extract(condition, arr):
    """numpy.extract of plain arrays."""
    out = taken(condition, arr, None)
    return _extract(condition, arr) if out is None else out


def masked_gradient(g, condition, tuple shape, axis=None):
    """Zeros of `shape` with g where a mask chose along `axis`. None: declined."""
    cdef ArrayView m, r, o
    cdef Around way
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t found
    cdef int d, nd = <int>len(shape)
    cdef object out
    if not fast_enabled() or not 0 < nd <= 8 or not bools_of(condition, &m) or not m.c_order \
            or real_view(g, &r) < 0 or not r.c_order:
        return None
    for d in range(nd):
        dims[d] = shape[d]
    if not way_along(&m, dims, nd, axis, &way):
        return None
    found = count_true(m.data, m.size)
    if r.size != way.outer * found * way.inner:
        return None
    out = empty_c(g, nd, dims)
    view_of(out, &o)
    masked(item_size(r.slot), m.data, r.data, o.data, way, found, True)
    return out


# One of several arrays

cdef int read_masks(object conditions, const ArrayView* like, const char** masks) except -1:
    """How many masks of one shape there are; 0: other ones."""
    cdef ArrayView m
    cdef int k = 0
    if type(conditions) is not list and type(conditions) is not tuple or not 0 < len(conditions) <= MOST_PARTS:
        return 0
    for item in conditions:
        if not bools_of(item, &m) or not m.c_order or not same_shape(&m, like):
            return 0
        masks[k] = m.data
        k += 1
    return k


cdef int read_parts(object items, ArrayView* first, char** parts) except -1:
    """How many row-major arrays of one shape and dtype there are; 0: other ones."""
    cdef ArrayView v
    cdef int k = 0
    if type(items) is not list and type(items) is not tuple or not 0 < len(items) <= MOST_PARTS:
        return 0
    for item in items:
        if real_view(item, &v) < 0 or not v.c_order or v.ndim > 8 or v.ndim == 0:
            return 0
        if k == 0:
            first[0] = v
        elif v.slot != first.slot or not same_shape(&v, first):
            return 0
        parts[k] = v.data
        k += 1
    return k


cdef list new_parts(object like, const ArrayView* v, int count, char** parts):
    cdef ArrayView o
    cdef list found = []
    for k in range(count):
        found.append(empty_c(like, v.ndim, v.dims))
        view_of(found[k], &o)
        parts[k] = o.data
    return found


def select(condlist, choicelist, default=0):
    """numpy.select of plain arrays."""
    cdef ArrayView v, o
    cdef const char* masks[MOST_PARTS]
    cdef char* parts[MOST_PARTS]
    cdef int count = read_parts(choicelist, &v, parts) if fast_enabled() else 0
    cdef double rest
    if count and (type(default) is float or type(default) is int and -2**24 <= default <= 2**24) \
            and read_masks(condlist, &v, masks) == count:
        rest = default
        if v.slot or rest == 0.0 or type(default) is int:       # numbers that float32 may not hold are NumPy's
            out = empty_c(choicelist[0], v.ndim, v.dims)
            view_of(out, &o)
            selected(v.slot, masks, parts, count, o.data, rest, v.size, False)
            return out
    return _select(condlist, choicelist, default)


def select_gradient(g, condlist):
    """The gradients of what numpy.select chooses from. None: declined."""
    cdef ArrayView r
    cdef const char* masks[MOST_PARTS]
    cdef char* parts[MOST_PARTS]
    cdef int count
    if not fast_enabled() or real_view(g, &r) < 0 or not r.c_order or r.ndim > 8:
        return None
    count = read_masks(condlist, &r, masks)
    if not count:
        return None
    found = new_parts(g, &r, count, parts)
    selected(r.slot, masks, parts, count, r.data, 0.0, r.size, True)
    return found


def choose(a, choices):
    """numpy.choose of plain arrays."""
    cdef ArrayView v, o, w
    cdef char* parts[MOST_PARTS]
    cdef int count = read_parts(choices, &v, parts) if fast_enabled() else 0
    cdef Py_ssize_t n = 0
    cdef const int64_t* numbers = positions_of(a, &n)
    if count and numbers != NULL:
        view_of(a, &w)
        if same_shape(&w, &v):
            out = empty_c(choices[0], v.ndim, v.dims)
            view_of(out, &o)
            if numbered(v.slot, numbers, parts, count, o.data, v.size, False):
                return out
    return _choose(a, choices)


def choose_gradient(g, a, int count):
    """The gradients of the `count` arrays that numpy.choose chooses from. None: declined."""
    cdef ArrayView r, w
    cdef char* parts[MOST_PARTS]
    cdef Py_ssize_t n = 0
    cdef const int64_t* numbers = positions_of(a, &n)
    if not fast_enabled() or numbers == NULL or not 0 < count <= MOST_PARTS or real_view(g, &r) < 0 or not r.c_order \
            or r.ndim > 8:
        return None
    view_of(a, &w)
    if not same_shape(&w, &r):
        return None
    found = new_parts(g, &r, count, parts)
    return found if numbered(r.slot, numbers, parts, count, r.data, r.size, True) else None
