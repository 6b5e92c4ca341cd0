# May cimport: core.op, core.value.
from cpython.object cimport PyObject

from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

cdef int decided(Op op, object a, object b, TensorBase out) except -1
cdef PyObject* watch_decisions(PyObject* found) noexcept
