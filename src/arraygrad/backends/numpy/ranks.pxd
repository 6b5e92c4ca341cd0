# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_sort(object args)
cdef int rule_sort(Node node, Frame f) except -1
cdef object forward_unique_values(object args)
cdef object forward_unique_counts(object args)
cdef object forward_unique_inverse(object args)
cdef object forward_unique_all(object args)
cdef int rule_unique_values(Node node, Frame f) except -1
