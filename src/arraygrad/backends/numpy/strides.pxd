# May cimport: nothing.
cdef int attach_views(dict ops, list forwards, list done) except -1
