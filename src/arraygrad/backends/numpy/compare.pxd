# May cimport: nothing.

cdef object forward_equal(object args)
cdef object forward_not_equal(object args)
cdef object forward_less(object args)
cdef object forward_less_equal(object args)
cdef object forward_greater(object args)
cdef object forward_greater_equal(object args)
cdef object forward_isnan(object args)
cdef object forward_isinf(object args)
cdef object forward_isfinite(object args)
cdef object forward_logical_and(object args)
cdef object forward_logical_or(object args)
