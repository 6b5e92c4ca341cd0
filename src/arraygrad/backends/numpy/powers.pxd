# May cimport: engine.node, core.op, backends.numpy.loops.

cdef object power(object a, object b)
cdef object power_by_operator(object a, object b)
cdef int attach_powers(dict ops, list done) except -1
