# May cimport: engine.arrayops, engine.node.
from libc.stdint cimport uint64_t
from arraygrad.engine.arrayops cimport ArrayOps

cdef object accumulate(ArrayOps ops, object held, bint held_owned, object grad, bint grad_owned, bint grad_mode)

cdef class PartialGradient:
    cdef object array
    # What was written, in bytes from the start of its memory. low == -1: nothing, and the node's rule may be given this
    # object as it is, where nobody else looks (Note [Regions of windows] in backends/numpy/windows.pyx).
    cdef Py_ssize_t low, high
    cdef object (*finish)(PartialGradient)      # writes zeros elsewhere and returns the array


cdef class InputBuffer:
    cdef list slots
    cdef uint64_t owned_bits        # bit i: slot i is a buffer that only the engine holds (slots past 63: never)

    cdef int put(self, Py_ssize_t pos, object grad, bint owned, ArrayOps ops, bint grad_mode) except -1


cdef class OrderedBuffer:
    cdef list items                 # (order, edge, slot, grad, owned, ops, crossing or None)
    cdef InputBuffer before         # what had been added up before, or None
    cdef ArrayOps before_ops

    cdef int put(self, object order, Py_ssize_t edge, Py_ssize_t slot, object grad, bint owned, ArrayOps ops,
                 object crossing) except -1
    cdef InputBuffer fold(self, Py_ssize_t n, bint grad_mode, object stream, bint copied)
