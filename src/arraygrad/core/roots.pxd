# May cimport: core.value.
from arraygrad.core.value cimport TensorBase

cdef bint plain_backward(TensorBase t, object gradient, object retain_graph) except -1
