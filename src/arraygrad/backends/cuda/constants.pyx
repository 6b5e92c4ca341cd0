# Numbers that the host knows, in the memory of a device: what a backward begins with, and what rules make of it.
# May import: core.op.
#
# Note [Constants of a backward]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A backward of a loss begins with 1. Sums, means, differences, negatives and multiples by a number make another number
# of it, the same everywhere, which the host can compute. Written by launches, these would be a quarter of those of a
# small network's step. So such a number is written once, into an array without axes that stays, and a gradient is that
# array or a view that repeats it. What a rule makes of a view or array that is here is another one.
# (1) Nobody may write them. The engine writes only into what it owns: `owns_memory` says no. Whoever is shown a
#     gradient, or gets it, has a copy (`to_user`, `let_out`); a leaf's `.grad` is a copy, as it does not own it either.
# (2) A constant belongs to the stream on which it was written: work on that stream comes after. Each stream has its
#     own, and the engine has one wait for the other where a gradient crosses, as for all gradients.
# (3) There are none within a capture: they would be written when the graph runs, and the graph keeps what it reads.
# (4) Zero and what is not finite are no constants: 0 and -0 are one key, and nan is none.
# Guarded by tests/gpu/test_constants.py.
from cpython.object cimport PyObject
from libc.math cimport isfinite

from arraygrad.core.op cimport Op

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef enum:
    MOST = 256                  # constants; those that nobody uses go then
    MOST_SPREADS = 64           # shapes of one


cdef class Constant:
    pass


cdef class Constants:
    """Constants(array_type, spread)
--

    `spread` is the library's broadcast_to.
    """

    def __init__(self, array_type, spread):
        self.array_type = array_type
        self.spread = spread
        self.known = {}
        self.by_array = {}

    cdef Constant find(self, double number, object dtype, object device, object stream):
        """The constant of a number, None: it is to be written and added."""
        return <Constant>self.known.get((number, dtype.char, device, id(stream)))

    cdef Constant add(self, double number, object array, object device, object stream):
        """Take an array without axes that holds a number, written on `stream`. None: there is no room."""
        cdef Constant constant
        if len(self.known) >= MOST:
            self.forget_unused()
            if len(self.known) >= MOST:
                return None
        constant = Constant.__new__(Constant)
        constant.array, constant.number, constant.stream, constant.spreads = array, number, stream, {}
        self.known[number, array.dtype.char, device, id(stream)] = constant
        self.by_array[id(array)] = constant
        return constant

    cdef Constant of(self, object array):
        """The constant that an array is or repeats; None: it is another one."""
        cdef object base, found
        if not self.by_array or type(array) is not self.array_type:
            return None
        found = self.by_array.get(id(array))
        if found is None:
            base = array.base
            if base is not None:
                found = self.by_array.get(id(base))
        return <Constant>found

    cdef object repeated(self, Constant constant, tuple shape):
        """An array of a shape that is a constant everywhere, which nobody may write."""
        cdef object found
        if not shape:
            return constant.array
        found = constant.spreads.get(shape)
        if found is None:
            found = self.spread(constant.array, shape)
            if len(constant.spreads) < MOST_SPREADS:
                constant.spreads[shape] = found
                self.by_array[id(found)] = constant
        return found

    cdef int forget_unused(self) except -1:
        """Let go of constants that nobody else holds."""
        cdef Constant constant
        cdef object key
        for key in list(self.known):
            constant = <Constant>self.known[key]
            for view in constant.spreads.values():
                del self.by_array[id(view)]
            view = None
            constant.spreads.clear()
            if Py_REFCNT(<PyObject*>constant.array) == 1:
                del self.by_array[id(constant.array)]
                del self.known[key]
        return 0

    cdef bint operand(self, Op op, str name, list saved, double* number) except -1:
        """Whether an operation saved a Python number for the input `name`; it is written to `number`."""
        cdef object found
        if name not in op.saves:
            return False
        found = saved[op.saves.index(name)]
        if type(found) is not float and type(found) is not int:
            return False
        number[0] = found
        return True


cdef bint is_constant(double number) noexcept:
    """Whether there may be a Constant of a number: Note [Constants of a backward] (4)."""
    return number != 0.0 and isfinite(number)
