# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef int complex_quotient(Node node, Frame f) except -1
cdef int complex_power(Node node, Frame f) except -1
cdef int attach_complex(dict ops, list done) except -1
