# May cimport: nothing.

cdef object forward_where(object args)
cdef object forward_concat(object args)
cdef object forward_stack(object args)
