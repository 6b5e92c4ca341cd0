# May cimport: core.op.
from arraygrad.core.op cimport Op

cdef tuple sines_of(Op op, object x)
cdef int attach_sines(dict ops, list done) except -1
