# May cimport: core.op, core.value.
from arraygrad.core.op cimport Op
from arraygrad.core.value cimport TensorBase

from cpython.object cimport PyObject

cdef extern from "adopted.hpp" nogil:
    PyObject* arraygrad_adopting        # what the adopted call that this thread runs exchanges; NULL outside of one
    PyObject* arraygrad_set_adopting(PyObject* found) noexcept  # returns what was there
    bint arraygrad_has_gil

cdef extern from "adopted.hpp" namespace "arraygrad" nogil:
    bint any_adopted() noexcept
    void count_adopted(int by) noexcept

cdef object class_of(TensorBase t)
cdef object asked(TensorBase t, str name, object value)
cdef object asked_shape(TensorBase t)
cdef str text_of(TensorBase t, bint shown)
cpdef str note_text(str text)
cdef str formatted(TensorBase t, str spec)
cdef object numbers_first(Op op, object a, object b)
cdef object numbers_inplace(Op op, TensorBase a, object b)
