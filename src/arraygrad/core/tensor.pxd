# May cimport: engine.*, core.op, core.value, core.nodes, core.apply, core.inplace.
from arraygrad.core.nodes cimport AccumulateGrad, OpNode, saved_slot
from arraygrad.core.value cimport Backend, Extra, Storage, TensorBase, Value, find_backend, wrap


cdef class Tensor(TensorBase):
    pass
