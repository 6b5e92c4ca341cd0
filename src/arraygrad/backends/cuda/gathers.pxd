# May cimport: backends.cuda.prepared.
from libc.stdint cimport int64_t

from arraygrad.backends.cuda.prepared cimport Launcher


cdef class Gathers:
    """Gathers(launcher)"""
    cdef Launcher launcher
    cdef dict gathers                   # (dtype.char, that of the indices, how many) -> Prepared
    cdef dict scatters

    cpdef object taken(self, object x, object key)
    cpdef object added(self, object x, tuple shape, object key)
    cdef tuple parts_of(self, object x, tuple shape, object key, int device)
    cdef int launch(self, dict kernels, str name, int device, object x, tuple parts, object out, tuple shape,
                    Py_ssize_t size, int64_t apart) except -1
