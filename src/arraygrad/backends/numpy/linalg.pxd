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
cdef object forward_vecdot(object args)
cdef object forward_matvec(object args)
cdef object forward_vecmat(object args)
cdef object forward_inner(object args)
cdef object forward_matrix_power(object args)
cdef int rule_matmul(Node node, Frame f) except -1
cdef int rule_matvec(Node node, Frame f) except -1
cdef int rule_vecmat(Node node, Frame f) except -1
cdef int rule_inner(Node node, Frame f) except -1
