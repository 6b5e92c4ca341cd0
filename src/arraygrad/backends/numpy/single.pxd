# May cimport: backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport ArrayView, LoopSet

cdef extern from "single.hpp" namespace "arraygrad":
    char* element_at(const ArrayView* v, object key) noexcept
    bint finite_sum[T](char* to, const char* b) noexcept

cdef bint is_single(object x) noexcept
cdef object single_loop(const LoopSet* loops, object a, object b, object out)
cdef object single_element(object array, object key)
cdef bint put_single(object array, object key, object value) except -1
