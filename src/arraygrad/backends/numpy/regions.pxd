# May cimport: engine.arrayops, engine.input_buffer, engine.node.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.input_buffer cimport PartialGradient
from arraygrad.engine.node cimport Node

cdef bint write_region(PartialGradient p, object key, object grad) except -1
cdef bint begin_partial(Node node, GradMeta meta, object key, object grad) except -1
