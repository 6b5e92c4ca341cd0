# How plain arrays are gone through along one axis.
# May import: backends.numpy.elementwise, backends.numpy.ndarrays, backends.numpy.row_copies.
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact

from arraygrad.backends.numpy.elementwise cimport real_view
from arraygrad.backends.numpy.ndarrays cimport ArrayView, bools_of, copy_into, empty_dense, same_shape
from arraygrad.backends.numpy.row_copies cimport SMALL, in_rows


cdef bint around_axis(object axis, const Py_ssize_t* dims, int ndim, Around* a) except -1:
    """What is before, along and behind an axis, an int, of row-major arrays. False: they have no such axis."""
    cdef Py_ssize_t at, d
    if not PyLong_CheckExact(axis) or not -ndim <= axis < ndim:
        return False
    at = PyLong_AsSsize_t(axis)
    if at < 0:
        at += ndim
    a.outer = a.inner = 1
    a.n = dims[at]
    for d in range(at):
        a.outer *= dims[d]
    for d in range(at + 1, ndim):
        a.inner *= dims[d]
    return True


cdef bint as_it_lies(const ArrayView* v, object axis, Around* a) except -1:
    """How a dense array is gone through along an axis, an int, in memory: a column-major one as its transpose.

    False: not so, or it has no elements.
    """
    cdef Py_ssize_t dims[8]
    cdef int d
    if v.size == 0 or not 0 < v.ndim <= 8 or not (v.c_order or v.f_order) or not around_axis(axis, v.dims, v.ndim, a):
        return False
    if not v.c_order:
        for d in range(v.ndim):
            dims[d] = v.dims[v.ndim - 1 - d]
        around_axis(-1 - axis, dims, v.ndim, a)
    return True


cdef bint lanes(const ArrayView* v, object axis, Around* a, bint in_order) except -1:
    """How a dense array is gone through along `axis`, None: along all. False: not so, or it has no elements.

    All elements of a column-major array come in another order, which is told by `in_order` to matter.
    """
    cdef bint first
    if v.size == 0 or not 0 < v.ndim <= 8:
        return False
    if axis is None:
        a.outer = a.inner = 1
        a.n = v.size
        return v.c_order or v.f_order and not in_order
    if v.c_order:
        return around_axis(axis, v.dims, v.ndim, a)
    if not v.f_order or v.ndim != 2 or not around_axis(axis, v.dims, 2, a):
        return False
    first = axis == 0 or axis == -2
    a.outer = v.dims[1] if first else 1             # a transposed matrix: one kept axis has one order only
    a.inner = 1 if first else v.dims[0]
    return True


cdef object small_row_major(object x):
    """`row_major` of an array of up to SMALL elements. None: of others."""
    cdef ArrayView v
    if real_view(x, &v) < 0 or v.size > SMALL or v.ndim > 8:
        return None
    return x if v.c_order else in_rows(x, &v)


cdef object row_major(object x):
    """A plain real array as a row-major one: itself, or a copy. None: it is no plain array."""
    cdef ArrayView v
    if real_view(x, &v) < 0 or v.ndim > 8:
        return None
    return x if v.c_order else in_rows(x, &v)


cdef object mask_in_rows(object mask, ArrayView* m):
    """An array of booleans as a row-major one, itself or a copy, with its view."""
    cdef object out
    if m.c_order:
        return mask
    out = in_rows(mask, m)
    bools_of(out, m)
    return out


cdef object laid_along(object x, object like):
    """A plain real array with its elements in memory as a dense `like` of the same shape and dtype has its own.

    None: `x` has another shape or dtype.
    """
    cdef ArrayView v, w
    if real_view(x, &v) < 0 or real_view(like, &w) != v.slot or not same_shape(&v, &w):
        return None
    if v.c_order and w.c_order or v.f_order and w.f_order:
        return x
    out = empty_dense(like)
    copy_into(out, x)
    return out
