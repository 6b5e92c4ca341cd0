# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

cdef int windows_of(object lengths, object axes, int ndim, const Py_ssize_t* from_dims, const Py_ssize_t* from_strides,
                    Py_ssize_t* dims, Py_ssize_t* strides) except -2
cdef bint leads_to_windows(Node node) noexcept
cdef bint leave_region(Node node, GradMeta meta, object key, object grad) except -1
cdef int rule_windows(Node node, Frame f) except -1
