# May cimport: engine.node.
from arraygrad.engine.node cimport Frame

cdef int write_out_gradient(Frame f) except -1
