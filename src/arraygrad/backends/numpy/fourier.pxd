# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef int rule_rfftn(Node node, Frame f) except -1
cdef int rule_irfft(Node node, Frame f) except -1
cdef int rule_rfft(Node node, Frame f) except -1
cdef int rule_irfftn(Node node, Frame f) except -1
