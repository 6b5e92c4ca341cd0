# May cimport: backends.numpy.ndarrays.
from arraygrad.backends.numpy.ndarrays cimport ArrayView


cdef extern from "arrangements.hpp" namespace "arraygrad" nogil:
    struct Around:
        Py_ssize_t outer, n, inner


cdef bint around_axis(object axis, const Py_ssize_t* dims, int ndim, Around* a) except -1
cdef bint as_it_lies(const ArrayView* v, object axis, Around* a) except -1
cdef bint lanes(const ArrayView* v, object axis, Around* a, bint in_order) except -1
cdef object row_major(object x)
cdef object small_row_major(object x)
cdef object mask_in_rows(object mask, ArrayView* m)
cdef object laid_along(object x, object like)
