# May cimport: nothing.
cdef object forward_cumulative_sum(object args)
cdef object forward_cumulative_prod(object args)
