# May cimport: core.op, core.value.
from cpython.object cimport PyObject
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

cdef TensorBase number_operation(Op op, PyObject* a, PyObject* b)
