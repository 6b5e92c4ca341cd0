# May cimport: core.value.
from arraygrad.core.value cimport TensorBase

cdef object array_of(TensorBase t, object dtype, object copy)
cdef object array_interface(TensorBase t)
cdef int fill_buffer(TensorBase t, Py_buffer* view, int flags) except -1
cdef object shared(TensorBase t)
cdef int refuse_exported(TensorBase t) except -1
cdef int tell_holders(TensorBase t) except -1
cdef dict exported
