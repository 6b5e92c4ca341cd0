# May cimport: core.value.
from arraygrad.core.value cimport Backend, TensorBase

cdef TensorBase copied(TensorBase t, str order=*)
cdef object cast(TensorBase t, object dtype, object order, object casting, object copy)
cdef object copied_raw(object raw, str order, Backend backend)
cdef TensorBase deepcopied(TensorBase t, dict memo, bint deep)
cdef int warn_of_end(object data) except -1
cdef TensorBase shallow(TensorBase t)
