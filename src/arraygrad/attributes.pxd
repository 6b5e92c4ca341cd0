# May cimport: value.
from arraygrad.value cimport TensorBase

cdef dict own_attributes(TensorBase t)
cdef int copy_attributes(TensorBase t, TensorBase out, dict memo) except -1
