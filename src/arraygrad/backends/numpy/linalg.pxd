# May cimport: engine.node.
from cpython.long cimport PyLong_CheckExact

from arraygrad.engine.node cimport Frame, Node


cdef inline bint is_int(object value, long wanted) noexcept:
    """Whether an argument is that Python int."""
    return PyLong_CheckExact(value) and value == wanted


cdef int rule_cholesky(Node node, Frame f) except -1
cdef int rule_solve(Node node, Frame f) except -1
cdef object outer(object a, object b)
cdef object forward_solve(object args)
cdef object forward_matmul(object args)
cdef int rule_matmul(Node node, Frame f) except -1
