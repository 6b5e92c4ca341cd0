# May cimport: core.value.
from arraygrad.core.value cimport TensorBase

cdef object leaf_lock(TensorBase leaf)
