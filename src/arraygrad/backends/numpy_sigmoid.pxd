# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_sigmoid(object args)
cdef int rule_sigmoid(Node node, Frame f) except -1
