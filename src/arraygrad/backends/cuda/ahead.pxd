# May cimport: core.op.
from arraygrad.core.op cimport Op


cdef class Ahead:
    """Ahead()"""
    cdef dict followers                 # address of an operand that sums repeat -> Op; MOST_VAIN: expect nothing
    cdef dict vain                      # the same -> how often its Op was expected in vain
    cdef tuple summed                   # (weak reference to the latest sum with nothing foretold, address), or None
    cdef tuple made                     # (weak reference to a sum, Op, its value of it, stream, address), or None

    cdef Op foretold(self, size_t address)
    cdef int note_sum(self, object out, size_t address) except -1
    cdef int put(self, object out, Op op, object value, object stream, size_t address) except -1
    cdef object take(self, Op op, object x, object stream)
    cdef int end(self, object address) except -1
    cdef int drop(self) except -1
    cdef inline bint is_asked(self) noexcept:
        """Whether `take` has to be asked before a map is computed."""
        return self.summed is not None or self.made is not None
