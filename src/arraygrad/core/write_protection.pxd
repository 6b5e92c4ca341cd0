# May cimport: core.value.
from arraygrad.core.value cimport TensorBase, Value


cdef int protect(Value v, object written, Py_ssize_t held, bint copy) except -1
cdef int before_write(TensorBase t) except -1
cdef int bump(TensorBase t) except -1
cdef int mark_overwritten(TensorBase t) except -1
