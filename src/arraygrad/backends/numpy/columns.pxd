# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object softmax_of_any(object args)
cdef object log_softmax_of_any(object args)
cdef object logsumexp_of_any(object args)
cdef object sum_of_any(object args)
cdef object max_of_any(object args)
cdef object min_of_any(object args)
cdef object where_of_any(object args)
cdef int rule_extremum_of_any(Node node, Frame f) except -1
cdef int rule_logsumexp_of_any(Node node, Frame f) except -1
cdef int rule_prod_of_any(Node node, Frame f) except -1
