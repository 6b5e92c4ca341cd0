# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef tuple sines_of(const void* loops, object x)
cdef int rule_sin(Node node, Frame f) except -1
cdef int rule_cos(Node node, Frame f) except -1
cdef int attach_sines(dict ops) except -1
