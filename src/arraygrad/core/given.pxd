# May cimport: engine.*, core.op, core.value, core.constants.
from arraygrad.core.value cimport TensorBase, Value

cdef int give(TensorBase t) except -1
cdef int enter(Value v) except -1
