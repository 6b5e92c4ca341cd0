# May cimport: nothing.
cdef int attach_complex(dict ops, list done) except -1
