# May cimport: engine.node, core.value.
from arraygrad.core.value cimport TensorBase
from arraygrad.engine.node cimport Edge

cdef bint plain_backward(TensorBase t, object gradient, object retain_graph) except -1
cdef Edge edge_or_none(TensorBase t)
