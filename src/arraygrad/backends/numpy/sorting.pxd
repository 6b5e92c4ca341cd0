# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_sort(object args)
cdef int rule_sort(Node node, Frame f) except -1
