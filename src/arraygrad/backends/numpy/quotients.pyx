# Quotients rounded down, of plain arrays and numbers.
# May import: backends.numpy.ndarrays, backends.numpy.loops.
#
# The table repairs numpy.floor_divide where exactly one operand is infinite (ops/_elementwise.py). Where all operands
# are finite nothing is to be repaired, and NumPy's own loop gives the value and its warnings. What is not served goes
# the table's way. Guarded by tests/backends/test_fast_functions.py.
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from libc.math cimport isfinite

from arraygrad.backends.numpy.ndarrays cimport ArrayView, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64, LoopSet, at_first_use, binary_loop, item_size

cdef extern from "matrices.hpp" namespace "arraygrad" nogil:
    bint run_all_finite(int slot, const char* x, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t row_step,
                        Py_ssize_t column_step) noexcept

cdef LoopSet* FLOOR_DIVIDE = NULL           # at_first_use


cdef object forward_floor_divide(object args):
    """x1 // x2 of finite real numbers. None: declined."""
    if not is_finite(args[0]) or not is_finite(args[1]):
        return None
    return binary_loop(at_first_use(&FLOOR_DIVIDE, "floor_divide"), args[0], args[1], None)


cdef bint is_finite(object x):
    """Whether an operand is a number, or a dense array of numbers, that are all finite."""
    cdef ArrayView v
    if PyFloat_CheckExact(x):
        return isfinite(PyFloat_AS_DOUBLE(x))
    if PyLong_CheckExact(x):
        return True
    if not 0 <= view_of(x, &v) <= SLOT_F64 or not (v.c_order or v.f_order):
        return False
    return run_all_finite(v.slot, v.data, 1, v.size, 0, item_size(v.slot))
