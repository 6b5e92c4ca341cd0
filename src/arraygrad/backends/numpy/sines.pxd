# May cimport: engine.node, core.op.
from arraygrad.engine.node cimport Frame, Node
from arraygrad.core.op cimport Op

cdef tuple sines_of(Op op, object x)
cdef int rule_sin(Node node, Frame f) except -1
cdef int rule_cos(Node node, Frame f) except -1
cdef int attach_sines(dict ops) except -1
