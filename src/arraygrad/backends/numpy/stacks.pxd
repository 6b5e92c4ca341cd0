# May cimport: nothing.
cdef object cholesky_of_stack(object factor, object g, bint upper)
cdef object determinants_of_stack(object x, object g, bint logarithm)
cdef object qr_of_stack(object g_q, object g_r, object q, object r)
cdef tuple solutions_of_stack(object x, object g, object ans, bint first, bint second)
