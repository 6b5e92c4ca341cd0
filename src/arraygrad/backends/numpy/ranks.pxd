# May cimport nothing.
cdef bint is_short(object x, object axis) except -1
cdef object sorted_short(object args)
cdef object unsorted(object x, object y, object g, object axis)
