# May cimport: core.op.
from arraygrad.core.op cimport Op

# A compiled forward of several operations, of which the first argument says one. None: declined.
ctypedef object (*kernel_ptr)(int place, object args)

cdef object by_direct(Op op, object args)
cdef int offer_direct(dict ops, str name, kernel_ptr function, int place, tuple params, list done) except -1
