# A value of TensorBase.array0d: computed without axes by the standard's functions. Note [Scalars] (5) in operands.pyx.
# May cimport: core.value.
from arraygrad.core.value cimport TensorBase

cdef enum:
    ITEMS_WRITTEN = 2           # a scalar as with 0, but its items may be written


cdef inline void let_items_be_written(TensorBase t) noexcept:
    (<int*>&t.array0d)[0] = ITEMS_WRITTEN           # Cython makes 1 of what is assigned to a bint
