# May cimport: engine.arrayops, core.op, core.value.
from cpython.object cimport PyObject
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

cdef TensorBase number_operation(Op op, PyObject* a, PyObject* b)
cdef object as_float(Op op, object x, GradMeta meta, bint on_right)
cdef bint read_operand(PyObject* operand, PyObject** tensor, double* x) except -1
