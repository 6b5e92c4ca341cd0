# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_convolve(object args)
cdef object forward_correlate(object args)
cdef int rule_convolve(Node node, Frame f) except -1
cdef int rule_correlate(Node node, Frame f) except -1
