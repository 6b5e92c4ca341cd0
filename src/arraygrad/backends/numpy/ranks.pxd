# May cimport nothing.
cdef bint is_short(object x, object axis) except -1
cdef object sorted_short(object args)
cdef object unsorted(object x, object y, object g, object axis)
cdef object forward_unique_values(object args)
cdef object forward_unique_counts(object args)
cdef object forward_unique_inverse(object args)
cdef object forward_unique_all(object args)
