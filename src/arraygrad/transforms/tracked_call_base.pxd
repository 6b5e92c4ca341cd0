# May cimport: core.containers, core.value.
from arraygrad.core.containers cimport Structure
from arraygrad.core.value cimport TensorBase


cdef class TrackedCallBase:
    cdef readonly object name, function
    cdef readonly bint single               # argnums is an int
    cdef readonly tuple argnums
    cdef readonly Structure structure
    cdef readonly list kinds, metas, edges, static
    cdef readonly bint nested, before, plain, has_static
    cdef bint has_number, has_array         # some leaf is a Python number, a raw array
    cdef public bint alias                  # an argument is an alias of a Tensor of an outer graph
    cdef public object args                 # until the call
    cdef list handed                        # the same
    cdef object beside
    cdef public dict decisions              # places where recorded values were compared: core/decisions.pyx
    cdef public object aux, left, refused, warned, outputs, out_structure
    cdef public unsigned int thread     # that calls the function
    cdef public bint record
    cdef public bint is_told                # it was warned that the result is a constant

    cdef int begin(self, object name, object function, tuple args, object argnums) except -1
    cdef int make(self, dict kwargs, bint has_aux, bint check) except -1
    cdef object follow(self, Py_ssize_t i, object leaf)
    cpdef object follow_array(self, Py_ssize_t i, object raw, int kind)
    cpdef int note(self, int kind, object meta, object handed) except -1
    cpdef int note_static(self) except -1
    cpdef object array_of(self, object value)
    cpdef object run(self, dict kwargs)
    cpdef object plain_gradient(self)
    cpdef object value(self)
    cpdef object shown(self, TensorBase out)
    cdef object as_number(self, TensorBase out)
    cdef bint is_python_number(self, TensorBase out) except -1
    cpdef object give(self, object gradients, object beside=*)
    cpdef object give_checked(self, object gradients)
    cpdef object nest(self, object per_edge)
