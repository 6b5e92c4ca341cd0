# May cimport: engine.*, core.op, core.value, core.accumulators, core.nodes, core.apply, core.inplace.
from arraygrad.core.accumulators cimport AccumulateGrad
from arraygrad.core.nodes cimport OpNode, saved_slot
from arraygrad.core.value cimport Backend, Extra, Storage, TensorBase, Value, find_backend, wrap


cdef class Tensor(TensorBase):
    pass


cdef Tensor leaf_over(object raw, bint requires_grad)
cdef int set_requires_grad(Tensor t, bint mode, str text) except -1
