# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef int rule_getitem(Node node, Frame f) except -1
cdef int rule_take(Node node, Frame f) except -1
