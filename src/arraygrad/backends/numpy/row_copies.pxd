# May cimport: backends.numpy.ndarrays.
from arraygrad.backends.numpy.ndarrays cimport ArrayView

cdef extern from "shared_rules.hpp" namespace "arraygrad":
    struct Repeats:
        Py_ssize_t times, behind
    bint is_repeats(const ArrayView* v, Repeats* r) noexcept

cdef enum:
    SMALL = 1 << 10             # elements of an array that is copied in less time than another way through it takes

cdef object in_rows(object x, const ArrayView* v)
cdef object without_gaps(object array, ArrayView* x)
cdef bint is_mixed(const ArrayView* v, int n) noexcept
cdef object made_row_major(object x, ArrayView* v)
cdef object written_out(object x)
cdef bint write_repeats(ArrayView* view, object out) noexcept
cdef object spread(object x, object like)
