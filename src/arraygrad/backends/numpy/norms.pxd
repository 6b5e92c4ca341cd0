# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_norm(object args)
cdef int rule_norm(Node node, Frame f) except -1
