# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_clip(object args)
cdef int rule_clip(Node node, Frame f) except -1
