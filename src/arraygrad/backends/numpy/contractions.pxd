# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_einsum(object args)
cdef object forward_tensordot(object args)
cdef int rule_einsum(Node node, Frame f) except -1
cdef int rule_tensordot(Node node, Frame f) except -1
