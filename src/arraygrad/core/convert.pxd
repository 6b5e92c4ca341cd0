# May cimport: core.value.
from arraygrad.core.value cimport TensorBase

cdef object item_of(TensorBase t, str how=*)
cdef object one_element(TensorBase t, str what)
cdef object taken(TensorBase t, tuple index)
cdef object listed(TensorBase t)
cdef object number(TensorBase t, str how)
cdef object recorded_copy(TensorBase t)
cpdef int before_bytes(TensorBase t, str how) except -1
cdef bint are_two_keys(TensorBase t, object other) except -1
cdef object to_numpy(object raw)
cdef int refuse_conversion(TensorBase t, str how) except -1
cdef int refuse_store(TensorBase t) except -1
cdef str representation(TensorBase t)
cdef bint asked_by_sparse() except -1
cdef bint is_asked_by_name() except -1
cdef object no_array()
cdef object values_of(TensorBase t, str how, object dtype=*)
cdef int warn_of_hooks(TensorBase t) except -1

cdef int looked_at(TensorBase t, str how) except -1
cdef int leaving(TensorBase t, str how) except -1
cdef object left(TensorBase t, str how)
