# May cimport: engine.*, op, value, constants.
from arraygrad.value cimport TensorBase, Value

cdef int give(TensorBase t) except -1
cdef int enter(Value v) except -1
