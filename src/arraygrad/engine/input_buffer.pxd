# May cimport: engine.arrayops, engine.node.
from libc.stdint cimport uint64_t
from arraygrad.engine.arrayops cimport ArrayOps

cdef object accumulate(ArrayOps ops, object held, bint held_owned, object grad, bint grad_owned, bint grad_mode)

cdef class InputBuffer:
    cdef list slots
    cdef uint64_t owned_bits        # bit i: slot i is a buffer that only the engine holds (slots past 63: never)

    cdef int put(self, Py_ssize_t pos, object grad, bint owned, ArrayOps ops, bint grad_mode) except -1
