# May cimport: nothing.

cdef object forward_unstack(object args)
cdef object forward_broadcast_arrays(object args)
cdef object forward_meshgrid(object args)
