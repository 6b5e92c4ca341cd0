# Elements of plain arrays at the places where a mask holds: x[mask] and its gradient.
# May import: engine.arrayops, backends.numpy.lanes, backends.numpy.ndarrays, backends.numpy.loops,
# backends.numpy.row_copies.
#
# None: declined. Guarded by tests/backends/test_fast_places.py.
from arraygrad.backends.numpy.lanes cimport Around, mask_in_rows, small_row_major
from arraygrad.backends.numpy.ndarrays cimport ArrayView, bools_of, empty_c, view_of
from arraygrad.backends.numpy.loops cimport item_size
from arraygrad.backends.numpy.row_copies cimport SMALL
from arraygrad.engine.arrayops cimport GradMeta

cdef extern from "choices.hpp" namespace "arraygrad":
    Py_ssize_t count_true(const char* mask, Py_ssize_t n) noexcept
    void masked(Py_ssize_t item, const char* mask, const char* x, char* out, Around a, Py_ssize_t found,
                bint back) noexcept


cdef bint leads(const ArrayView* m, const Py_ssize_t* dims, int ndim, Around* way) noexcept:
    """Whether a mask, row-major, has the lengths of an array's first axes."""
    cdef int d
    if not m.c_order or not 0 < m.ndim <= ndim or ndim > 8:
        return False
    way.outer = way.inner = way.n = 1
    for d in range(ndim):
        if d >= m.ndim:
            way.inner *= dims[d]
        elif m.dims[d] == dims[d]:
            way.n *= dims[d]
        else:
            return False
    return True


cdef int pick(int slot, const char* mask, const char* x, char* out, Around way, Py_ssize_t found, bint back) except -1:
    """`masked` for elements of a slot: complex ones are pairs."""
    cdef Py_ssize_t item = item_size(slot)
    if item > 8:
        item //= 2
        way.inner *= 2
    masked(item, mask, x, out, way, found, back)
    return 0


cdef object at_mask(object x, object mask):
    """x[mask] of a row-major array for a mask over its first axes. None: declined."""
    cdef ArrayView m, v, o
    cdef Around way
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t found
    cdef int d
    cdef object out
    if not bools_of(mask, &m) or view_of(x, &v) < 0:
        return None
    if not v.c_order and m.ndim == v.ndim:
        x = small_row_major(x)
    if view_of(x, &v) < 0 or not v.c_order:
        return None
    if not m.c_order and m.size <= SMALL:
        mask = mask_in_rows(mask, &m)
    if not leads(&m, v.dims, v.ndim, &way):
        return None
    dims[0] = found = count_true(m.data, m.size)
    for d in range(m.ndim, v.ndim):
        dims[d - m.ndim + 1] = v.dims[d]
    out = empty_c(x, v.ndim - m.ndim + 1, dims)
    view_of(out, &o)
    pick(v.slot, m.data, v.data, o.data, way, found, False)
    return out


cdef object spread_by_mask(object g, object mask, GradMeta meta):
    """Zeros that match `meta` with a row-major g at [mask]. None: declined."""
    cdef ArrayView m, r, o
    cdef Around way
    cdef Py_ssize_t found
    cdef object out
    if not bools_of(mask, &m) or view_of(g, &r) < 0 or not r.c_order:
        return None
    if not m.c_order and m.size <= SMALL:
        mask = mask_in_rows(mask, &m)
    if not leads(&m, meta.dims, meta.ndim, &way):
        return None
    found = count_true(m.data, m.size)
    if r.size != found * way.inner:
        return None
    out = empty_c(g, meta.ndim, meta.dims)
    view_of(out, &o)
    pick(r.slot, m.data, r.data, o.data, way, found, True)
    return out
