# May cimport: value.
from arraygrad.value cimport TensorBase

cdef TensorBase copied(TensorBase t)
cdef TensorBase deepcopied(TensorBase t, dict memo, bint deep)
cdef TensorBase shallow(TensorBase t)
