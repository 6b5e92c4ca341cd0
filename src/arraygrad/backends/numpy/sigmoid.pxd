# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_sigmoid(object args)
cdef object forward_softmax(object args)
cdef object forward_log_softmax(object args)
cdef object forward_relu(object args)
cdef int rule_softmax(Node node, Frame f) except -1
cdef int rule_log_softmax(Node node, Frame f) except -1
