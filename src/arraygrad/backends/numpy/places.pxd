# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

cdef object rows_at(object x, object places)
cdef object buffer_for(Node node, GradMeta meta, object grad)
cdef int rule_getitem(Node node, Frame f) except -1
cdef int rule_take(Node node, Frame f) except -1
