# May cimport nothing.
cdef object forward_floor_divide(object args)
