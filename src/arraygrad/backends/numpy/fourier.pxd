# May cimport: nothing.

cdef int attach_transforms(dict ops, list forwards, list done) except -1
