# May cimport: nothing.
cdef int attach_joins(dict ops, list forwards, list done) except -1
