# May cimport: engine.*, op, value, nodes, apply, inplace.
from arraygrad.nodes cimport AccumulateGrad, OpNode, saved_slot
from arraygrad.value cimport Backend, Extra, Storage, TensorBase, Value, find_backend, wrap


cdef class Tensor(TensorBase):
    pass
