# May cimport: engine.node, core.value.
from arraygrad.engine.node cimport Node, NodeHooks
from arraygrad.core.value cimport TensorBase


cdef class AccumulateGrad(Node):
    pass


cdef AccumulateGrad accumulator_of(TensorBase t)
cdef NodeHooks leaf_hooks(TensorBase t)
