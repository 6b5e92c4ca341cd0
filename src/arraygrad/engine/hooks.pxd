# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport ArrayOps
from arraygrad.engine.node cimport Frame, Node

cdef ArrayOps ops_at(ArrayOps graph_ops, Node node, Py_ssize_t i)
cdef object shown_to_user(ArrayOps ops, object grad)
cdef int run_tensor_hooks(ArrayOps graph_ops, Node node, Frame f) except -1
cdef int run_pre_hooks(ArrayOps graph_ops, Node node, Frame f) except -1
cdef int run_post_hooks(ArrayOps graph_ops, Node node, Frame f, tuple grad_outputs) except -1
