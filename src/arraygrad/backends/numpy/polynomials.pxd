# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_linspace(object args)
cdef int rule_linspace(Node node, Frame f) except -1
