# May cimport: engine.*, core.op, core.value.
from libc.stdint cimport uint64_t
from arraygrad.core.value cimport Backend, TensorBase, Value


cdef class HookPair:
    """One level of a thread's stack of saved-tensor hooks; immutable, levels are linked downwards."""
    cdef object pack
    cdef object unpack
    cdef str message            # not None: hooks are disabled, with this text
    cdef HookPair below
    cdef bint counted           # a pair of hooks counts as long as it lives (5)


cdef class Packed:
    """What a saved slot holds where a pack hook was active."""
    cdef object unpack
    cdef object data            # what the hook returned; a Value where that was the tensor it was given
    cdef Backend backend
    cdef Value kept             # not None: what the hook kept of the tensor it was given shows this memory (7)
    cdef object given           # not None: the array that the hook took out of that tensor, weakly if it can be (8)
    cdef uint64_t print         # of that array then


ctypedef void (*counter)(int) noexcept

cdef int count_pairs_by(counter count) except -1
cdef bint packing() noexcept
cdef Packed packed_by(Value v, object pack, object unpack)
cdef object pack_slot(object slot, Backend backend)
cdef Py_ssize_t bytes_of(object saved) except -1
cdef object packed_array(Packed p)
cdef Value packed_value(Packed p)
