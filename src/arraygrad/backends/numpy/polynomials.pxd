# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_linspace(object args)
cdef int rule_polyadd(Node node, Frame f) except -1
cdef int rule_polysub(Node node, Frame f) except -1
cdef int rule_polyint(Node node, Frame f) except -1
cdef int rule_polyder(Node node, Frame f) except -1
cdef int rule_polyval(Node node, Frame f) except -1
cdef int rule_vander(Node node, Frame f) except -1
cdef int rule_poly(Node node, Frame f) except -1
cdef int rule_linspace(Node node, Frame f) except -1
cdef int rule_logspace(Node node, Frame f) except -1
