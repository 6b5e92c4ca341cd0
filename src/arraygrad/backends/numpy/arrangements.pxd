# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef extern from "arrangements.hpp" namespace "arraygrad":
    struct Around:
        Py_ssize_t outer, n, inner

cdef bint whole_number(object value, Py_ssize_t* number) except -1
cdef bint axis_of(object value, int ndim, int* axis) except -1
cdef Around around(const Py_ssize_t* dims, int ndim, int axis) noexcept
cdef object forward_astype(object args)
cdef object forward_cross(object args)
cdef object forward_diff(object args)
cdef object forward_moveaxis(object args)
cdef object forward_outer(object args)
cdef object forward_pad(object args)
cdef object forward_roll(object args)
cdef object forward_take_along_axis(object args)
cdef object forward_trace(object args)
cdef object forward_tril(object args)
cdef object forward_triu(object args)
cdef object rolled(object x, object shift, object axis, bint back)
cdef int rule_cross(Node node, Frame f) except -1
cdef int rule_diagonal(Node node, Frame f) except -1
cdef int rule_diff(Node node, Frame f) except -1
cdef int rule_getitem_along_any(Node node, Frame f) except -1
cdef int rule_moveaxis(Node node, Frame f) except -1
cdef int rule_outer(Node node, Frame f) except -1
cdef int rule_pad(Node node, Frame f) except -1
cdef int rule_roll(Node node, Frame f) except -1
cdef int rule_stack(Node node, Frame f) except -1
cdef int rule_take_along_any(Node node, Frame f) except -1
cdef int rule_take_along_axis(Node node, Frame f) except -1
cdef int rule_trace(Node node, Frame f) except -1
cdef int rule_tril(Node node, Frame f) except -1
cdef int rule_triu(Node node, Frame f) except -1
cdef int rule_vecdot(Node node, Frame f) except -1
cdef int rule_where(Node node, Frame f) except -1
