# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

cdef object forward_flip(object args)
cdef object forward_windows(object args)
cdef bint leads_to_windows(Node node) noexcept
cdef bint leave_region(Node node, GradMeta meta, object key, object grad) except -1
cdef int rule_windows(Node node, Frame f) except -1
