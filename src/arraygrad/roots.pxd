# May cimport: value.
from arraygrad.value cimport TensorBase

cdef bint plain_backward(TensorBase t, object gradient, object retain_graph) except -1
