# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_concat(object args)
cdef object forward_stack(object args)
cdef int rule_concat(Node node, Frame f) except -1
