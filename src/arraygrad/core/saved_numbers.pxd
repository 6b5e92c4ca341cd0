# May cimport: engine.node.
from arraygrad.engine.node cimport Node

cdef int spell_out(Node node) except -1
