# May cimport: core.op, engine.arrayops.
from arraygrad.core.op cimport Op


cdef class Constant:
    """A number in the memory of a device."""
    cdef object array                   # without axes
    cdef double number
    cdef object stream                  # CuPy's, on which it was written; kept, so that no other one has its handle
    cdef dict spreads                   # shape -> the view that repeats it


cdef class Constants:
    """Constants(array_type, spread)"""
    cdef object array_type
    cdef object spread                  # the library's broadcast_to
    cdef dict known                     # (number, letter of the dtype, device, id of the stream) -> Constant
    cdef dict by_array                  # id of its array, or of one of its spreads -> Constant

    cdef Constant find(self, double number, object dtype, object device, object stream)
    cdef Constant add(self, double number, object array, object device, object stream)
    cdef Constant of(self, object array)
    cdef object repeated(self, Constant constant, tuple shape)
    cdef int forget_unused(self) except -1
    cdef bint operand(self, Op op, str name, list saved, double* number) except -1


cdef bint is_constant(double number) noexcept
