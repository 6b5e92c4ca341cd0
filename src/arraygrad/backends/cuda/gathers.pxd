# May cimport: backends.cuda.prepared.
from libc.stdint cimport int64_t

from arraygrad.backends.cuda.prepared cimport Launcher, Prepared


cdef class Gathers:
    """Gathers(launcher)"""
    cdef Launcher launcher
    cdef dict gathers                   # (dtype.char, that of the indices, how many) -> Prepared
    cdef dict scatters
    cdef dict row_kernels               # what a kernel over rows with indices depends on -> Prepared
    cdef dict layouts                   # (shape, number of indices) -> how such a kernel goes through it, or None

    cpdef object taken(self, object x, object key)
    cpdef object added(self, object x, tuple shape, object key)
    cdef tuple added_rows(self, object x, tuple shape, object key, str row, object ans)
    cdef tuple taken_and_reduced(self, object x, object key, str row, tuple tail, tuple numbers,
                                 tuple found)
    cdef Prepared kernel_of(self, str kind, str row, tuple tail, object dtype, tuple parts)
    cdef tuple parts_of(self, object x, tuple shape, object key, int device)
    cdef int launch(self, dict kernels, str name, int device, object x, tuple parts, object out, tuple shape,
                    Py_ssize_t size, int64_t apart) except -1
