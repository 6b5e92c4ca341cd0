# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

cdef extern from "arrangements.hpp" namespace "arraygrad":
    struct Around:
        Py_ssize_t outer, n, inner

cdef bint whole_number(object value, Py_ssize_t* number) except -1
cdef bint axis_of(object value, int ndim, int* axis) except -1
cdef Around around(const Py_ssize_t* dims, int ndim, int axis) noexcept
cdef object forward_astype(object args)
cdef GradMeta meta_saved(Node node, int k)
cdef int rule_gather(Node node, Frame f) except -1
cdef int rule_vecdot(Node node, Frame f) except -1
cdef int rule_where(Node node, Frame f) except -1
