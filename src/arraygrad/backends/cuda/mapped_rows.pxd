# May cimport: backends.cuda.prepared.
from arraygrad.backends.cuda.prepared cimport Elementwise


cdef class MappedRows(Elementwise):
    """MappedRows(launcher, spec, name, row, tail=())"""
    cdef str row                # of the kernel over rows
    cdef tuple tail

    cdef tuple both(self, list arguments, tuple full, tuple layout, tuple read, tuple shape, tuple numbers,
                    bint ordered)
