# May cimport: core.value.
from arraygrad.core.value cimport Backend

# A new array of so many axes with the numbers, in row-major order; None: declined.
ctypedef object (*make_ptr)(int ndim, const Py_ssize_t* dims, const double* numbers)

cdef int serve_lists(Backend backend, make_ptr make) except -1
cpdef object joined_numbers(object items)
