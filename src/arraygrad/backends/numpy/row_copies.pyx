# Plain arrays laid out for another loop: row-major copies, and what repeats written out.
# May import: backends.numpy.ndarrays, backends.numpy.loops.
from arraygrad.backends.numpy.ndarrays cimport ArrayView, copy_into, empty_c, same_shape, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64, is_captured, item_size

cdef extern from "inner_loops.hpp" namespace "arraygrad" nogil:
    void gather(const ArrayView* v, Py_ssize_t item, char* out) noexcept

cdef extern from "shared_rules.hpp" namespace "arraygrad":
    void unlocked_repeats(int slot, const char* g, const Repeats& r, char* out, Py_ssize_t n) noexcept


cdef enum:
    SHORT = 16              # elements of a row up to which NumPy's way of copying it costs more than it does


cdef bint row_major_with_gaps(const ArrayView* x) noexcept:
    """Whether strides only fall, in whatever direction, as in the columns of a row-major matrix: NumPy's result is
    row-major then."""
    cdef int d
    cdef Py_ssize_t step, last = 0
    for d in range(x.ndim):
        step = x.strides[d] if x.strides[d] > 0 else -x.strides[d]
        if step == 0 or d and step > last:
            return False
        last = step
    return True


cdef object without_gaps(object array, ArrayView* x):
    """The array, or a row-major copy of its columns; `x` becomes its view. None: neither."""
    cdef object copy
    if x.c_order or x.f_order:
        return array
    if not row_major_with_gaps(x):
        return None
    copy = in_rows(array, x)
    view_of(copy, x)
    return copy


cdef object in_rows(object x, const ArrayView* v):
    """A row-major copy of an array of numbers or booleans, `v` being its view."""
    cdef ArrayView o
    cdef object out = empty_c(x, v.ndim, v.dims)
    if 1 <= v.ndim <= 2 and not is_captured() and (v.size <= SMALL or v.dims[v.ndim - 1] <= SHORT):
        view_of(out, &o)
        gather(v, item_size(v.slot) if v.slot >= 0 else 1, o.data)
    else:
        copy_into(out, x)
    return out


cdef bint is_mixed(const ArrayView* v, int n) noexcept:
    """Whether small arrays of one shape lie in both orders: NumPy's results are row-major then."""
    cdef int i
    cdef bint rows = False, columns = False
    for i in range(n):
        if v[i].size == 1:
            continue
        if v[i].size > SMALL or not same_shape(&v[0], &v[i]) or not (v[i].c_order or v[i].f_order):
            return False
        rows = rows or v[i].c_order
        columns = columns or not v[i].c_order
    return rows and columns


cdef object made_row_major(object x, ArrayView* v):
    """An array of which `v` is the view, or a number, as it is; of others a row-major copy, which `v` then shows."""
    cdef object out
    if v.c_order:
        return x
    out = in_rows(x, v)
    view_of(out, v)
    return out


cdef object written_out(object x):
    """What repeats over axes, as `is_repeats` says, as a row-major array."""
    cdef ArrayView v
    cdef object out
    view_of(x, &v)
    out = empty_c(x, v.ndim, v.dims)
    write_repeats(&v, out)
    return out


cdef bint write_repeats(ArrayView* view, object out) noexcept:
    """Write a row-major array out as `view` repeats it, over axes beside each other. False: over others."""
    cdef ArrayView r
    cdef Repeats repeats
    if view.slot > SLOT_F64 or not is_repeats(view, &repeats):
        return False
    view_of(out, &r)
    unlocked_repeats(view.slot, view.data, repeats, r.data, r.size)
    return True


cdef object spread(object x, object like):
    """A value that broadcasts against the array `like`, of its dtype, as an array of its shape."""
    cdef ArrayView v, g
    cdef int slot = view_of(like, &g)
    cdef object out
    if x is None or slot < 0 or view_of(x, &v) != slot or v.size <= 1 or v.ndim > g.ndim or same_shape(&v, &g):
        return x
    out = empty_c(like, g.ndim, g.dims)
    copy_into(out, x)
    return out
