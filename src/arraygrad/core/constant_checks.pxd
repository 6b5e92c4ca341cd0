# May cimport: engine.*, core.op, core.value.
from libc.stdint cimport uint64_t
from arraygrad.engine.node cimport Node
from arraygrad.core.value cimport Backend, Value

# set_constant_check: what is done about raw arrays that nodes save.
cdef enum ConstantCheck:
    CONSTANT_OFF = 0
    CONSTANT_SAMPLE = 1
    CONSTANT_FULL = 2
    CONSTANT_COPY = 3

cdef int constant_check


cdef class Contents:
    cdef dict arrays                    # name -> array or Tensor
    cdef dict prints
    cdef bint full
    cdef bint tensors

    cdef int add(self, object name, object item, int depth) except -1
    cdef object print_of(self, object item)

cdef object constant_slot(Node node, object slot, Backend backend)
cdef uint64_t content_now(Node node, object slot, uint64_t before, Backend backend) except? 0
cdef object changed_error(Node node, list names, list slots, Backend backend)
cdef object overwritten_error(Value v, Node node)
