# May cimport: engine.arrayops, core.op, backends.numpy.ndarrays, backends.numpy.loops.
from libc.stdint cimport uint64_t
from arraygrad.core.op cimport number_ptr, number_value_ptr
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.backends.numpy.ndarrays cimport ArrayView
from arraygrad.backends.numpy.loops cimport LoopSet

cdef extern from "single.hpp" namespace "arraygrad":
    char* element_at(const ArrayView* v, object key) noexcept
    char* numbered_element(const ArrayView* v, uint64_t number) noexcept
    bint finite_sum[T](char* to, const char* b) noexcept
    enum:
        SINGLE_ADD
        SINGLE_SUBTRACT
        SINGLE_MULTIPLY
        SINGLE_DIVIDE
    bint single_result(int code, double x, double y, double* out) noexcept

cdef bint is_single(object x) noexcept
cdef object single_loop(const LoopSet* loops, object a, object b, object out)
cdef object single_element(object array, object key, uint64_t* place)
cdef bint single_number_at(object array, object key, uint64_t* place, double* x) noexcept
cdef object array_of_numbers(int ndim, const Py_ssize_t* dims, const double* numbers)
cdef bint put_single(object array, object key, object value, uint64_t* place) except -1
cdef bint read_number_array(object grad, double* x) noexcept
cdef object with_element(object held, GradMeta meta, uint64_t place, double x)
cdef bint element_taken(object held, uint64_t place, double* x) noexcept
cdef bint kept_number(object slot, double* x) noexcept
cdef int serve_numbers(dict ops, str name, number_ptr rule, tuple saves, number_value_ptr value=*) except -1
cdef int attach_numbers(dict ops) except -1
