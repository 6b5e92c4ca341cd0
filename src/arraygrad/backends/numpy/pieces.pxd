# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef int rule_concat(Node node, Frame f) except -1
