# May cimport: core.op, backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport forward_ptr
from arraygrad.core.op cimport Op

cdef object by_direct(Op op, object args)
cdef int offer_direct(dict ops, str name, forward_ptr function, tuple params, list done) except -1
