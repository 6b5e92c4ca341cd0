# May cimport: nothing.

cdef int attach_factorizations(dict ops, list forwards, list done) except -1
