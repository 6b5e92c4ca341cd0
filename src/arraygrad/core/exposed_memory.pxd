# May cimport: engine.*, core.op, core.value, core.constant_checks.
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from arraygrad.core.value cimport Storage, TensorBase, Value

cdef int expose(TensorBase t) except -1
cdef int enter(Value v) except -1
cdef list living(Storage s)
cdef TensorBase returned(object raw, Py_ssize_t held, object args, bint recorded, str name)
cdef int note_returned(TensorBase t, Py_ssize_t held, str name) except -1


cdef class ArgumentWatch:
    cdef tuple items
    cdef str name
    cdef bint full
    cdef vector[Py_ssize_t] places
    cdef vector[long] versions
    cdef vector[uint64_t] prints

    cdef int note(self, Py_ssize_t i) except -1
    cpdef int check(self, tuple dirty=*) except -1
