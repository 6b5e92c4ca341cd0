# May cimport: nothing.
cdef bint added_whole(Py_ssize_t n) except -1
cdef object summed(object x, object axis, bint keepdims, Py_ssize_t* count)
cdef int attach_reductions(dict ops, list forwards, list done) except -1
