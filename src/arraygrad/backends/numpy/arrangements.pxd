# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef extern from "arrangements.hpp" namespace "arraygrad":
    struct Around:
        Py_ssize_t outer, n, inner

cdef bint whole_number(object value, Py_ssize_t* number) except -1
cdef bint axis_of(object value, int ndim, int* axis) except -1
cdef Around around(const Py_ssize_t* dims, int ndim, int axis) noexcept
cdef object forward_astype(object args)
cdef object forward_pad(object args)
cdef int rule_diagonal(Node node, Frame f) except -1
cdef int rule_getitem(Node node, Frame f) except -1
cdef int rule_pad(Node node, Frame f) except -1
cdef int rule_stack(Node node, Frame f) except -1
cdef int rule_take(Node node, Frame f) except -1
cdef int rule_take_along_axis(Node node, Frame f) except -1
cdef int rule_vecdot(Node node, Frame f) except -1
cdef int rule_where(Node node, Frame f) except -1
