# May cimport: core.op.
from arraygrad.core.op cimport Op

cdef list interned_args(Op op, tuple args)
