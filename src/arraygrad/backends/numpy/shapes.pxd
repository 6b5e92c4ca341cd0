# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

cdef object raw_of(object slot)
cdef object buffer_for(Node node, GradMeta meta, object grad)
cdef object forward_reshape(object args)
cdef object forward_permute_dims(object args)
cdef object forward_squeeze(object args)
cdef object forward_expand_dims(object args)
cdef object forward_broadcast_to(object args)
cdef object forward_diagonal(object args)
cdef object forward_getitem(object args)
cdef object forward_getitem_adjoint(object args)
cdef bint add_at(object x, object key, object value) except -1
cdef object forward_add_at(object args)
cdef int rule_add_at(Node node, Frame f) except -1
cdef object forward_take(object args)
cdef object forward_where(object args)
cdef int rule_reshape(Node node, Frame f) except -1
cdef int rule_permute_dims(Node node, Frame f) except -1
cdef int rule_getitem(Node node, Frame f) except -1
cdef int rule_getitem_adjoint(Node node, Frame f) except -1
cdef int rule_take(Node node, Frame f) except -1
cdef int rule_setitem(Node node, Frame f) except -1
