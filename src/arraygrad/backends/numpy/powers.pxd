# May cimport: engine.node, core.op, backends.numpy.loops.
from arraygrad.engine.node cimport Frame, Node

cdef object power(object a, object b)
cdef object power_by_operator(object a, object b)
cdef object forward_float_power(object args)
cdef int rule_pow(Node node, Frame f) except -1
cdef int attach_powers(dict ops, list done) except -1
