# May cimport: engine.*, op, value, nodes, apply.
from arraygrad.op cimport Op
from arraygrad.value cimport TensorBase

cdef object inplace(TensorBase t, Op op, object other)
cdef int setitem(TensorBase t, object key, object value) except -1
