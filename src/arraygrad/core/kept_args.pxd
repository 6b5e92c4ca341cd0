# May cimport: core.op.
from arraygrad.core.op cimport Op

cdef list shared_args(Op op, tuple args)
