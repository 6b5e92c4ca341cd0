# May cimport: nothing.
cdef object small_product(object a, object b)
