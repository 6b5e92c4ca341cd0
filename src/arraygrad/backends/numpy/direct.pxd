# May cimport: core.op.
from arraygrad.core.op cimport Op

cdef object by_direct(Op op, object args)
