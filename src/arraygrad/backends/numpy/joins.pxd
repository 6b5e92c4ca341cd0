# May cimport: engine.node, backends.numpy.loops.
from arraygrad.backends.numpy.loops cimport ArrayView
from arraygrad.engine.node cimport Frame, Node

cdef object own(str name)
cdef object together(object array, ArrayView* v)
cdef object forward_concat(object args)
cdef object forward_stack(object args)
cdef object forward_tile(object args)
cdef object forward_full_like(object args)
cdef int rule_concat(Node node, Frame f) except -1
cdef int rule_vstack(Node node, Frame f) except -1
cdef int rule_hstack(Node node, Frame f) except -1
cdef int rule_dstack(Node node, Frame f) except -1
cdef int rule_column_stack(Node node, Frame f) except -1
cdef int rule_block(Node node, Frame f) except -1
cdef int rule_append(Node node, Frame f) except -1
cdef int rule_tile(Node node, Frame f) except -1
cdef int rule_repeat(Node node, Frame f) except -1
cdef int rule_diag(Node node, Frame f) except -1
cdef int rule_diagflat(Node node, Frame f) except -1
