# May cimport: engine.node.
from arraygrad.engine.node cimport Node

cdef object run_one(Node root, int nr, object grad, bint keep_graph)
cdef object run_for_inputs(Node root, int nr, object grad, list inputs)
cdef bint runs_are_observed() noexcept
