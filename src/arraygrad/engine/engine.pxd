# May cimport: engine.node.
from arraygrad.engine.node cimport Node

cdef object run_one(Node root, int nr, object grad, bint keep_graph)
