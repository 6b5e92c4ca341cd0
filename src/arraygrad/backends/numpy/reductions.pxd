# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef bint added_whole(Py_ssize_t n) except -1
cdef object summed(object x, object axis, bint keepdims, Py_ssize_t* count)
cdef object accumulated(object x, object axis, bint product)
cdef object forward_cumulative_sum(object args)
cdef object forward_cumulative_prod(object args)
cdef object forward_sum(object args)
cdef object forward_mean(object args)
cdef object forward_var(object args)
cdef object forward_std(object args)
cdef object forward_softmax(object args)
cdef object forward_log_softmax(object args)
cdef int rule_sum(Node node, Frame f) except -1
cdef int rule_mean(Node node, Frame f) except -1
cdef int rule_var(Node node, Frame f) except -1
cdef int rule_std(Node node, Frame f) except -1
cdef int rule_softmax(Node node, Frame f) except -1
cdef int rule_log_softmax(Node node, Frame f) except -1
cdef object forward_logsumexp(object args)
cdef int rule_logsumexp(Node node, Frame f, object saved, object axis, bint turned) except -1
cdef int rule_cumulative_sum(Node node, Frame f) except -1
cdef int rule_cumulative_prod(Node node, Frame f) except -1
cdef int rule_prod(Node node, Frame f, object saved, object axis, bint turned) except -1
cdef int rule_divide(Node node, Frame f) except -1
