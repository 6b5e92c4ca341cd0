# May cimport: nothing.

cdef object softmax_of_any(object args)
cdef object log_softmax_of_any(object args)
cdef object logsumexp_of_any(object args)
cdef object sum_of_any(object args)
cdef object max_of_any(object args)
cdef object min_of_any(object args)
cdef object where_of_any(object args)
