# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node

cdef enum Gathering:
    BY_KEY
    BY_PLACES
    ALONG_AXIS

cdef object raw_of(object slot)
cdef object buffer_for(Node node, GradMeta meta, object grad)
cdef bint add_at(object x, object key, object value) except -1
cdef int rule_scatter(Node node, Frame f) except -1
cdef object forward_where(object args)
cdef int region_rule(Node node, Frame f) except -1
cdef int rows_added(Node node, Frame f, GradMeta meta, object places, int lead) except -1
cdef int rule_setitem(Node node, Frame f) except -1
cdef int attach_places(dict ops, list forwards) except -1
