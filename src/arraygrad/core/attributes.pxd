# May cimport: core.value.
from arraygrad.core.value cimport TensorBase

cdef dict own_attributes(TensorBase t)
cdef int copy_attributes(TensorBase t, TensorBase out, dict memo) except -1
