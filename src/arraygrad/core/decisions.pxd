# May cimport: core.op, core.value.
from cpython.object cimport PyObject

from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

cdef int decided(Op op, object a, object b, TensorBase out) except -1
cdef int decided_by(object x, object outcome) except -1
cdef int ordered_by(str name, tuple args, dict kwargs, object places) except -1
cdef int ordered(Op op, tuple args, object result) except -1
cdef PyObject** watch_decisions(PyObject** found) noexcept
cdef dict decisions_in(PyObject** found)
