# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_max(object args)
cdef object forward_min(object args)
cdef int rule_extremum(Node node, Frame f, object saved, object axis, bint turned) except -1
