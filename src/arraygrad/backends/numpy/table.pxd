# May cimport: core.op.
from arraygrad.core.op cimport Op

cdef int use_loops(Op op) except -1
