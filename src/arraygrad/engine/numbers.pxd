# May cimport: engine.graph_task, engine.node.
from arraygrad.engine.graph_task cimport CReadyQueue, GraphTask
from arraygrad.engine.node cimport Frame, Node

cdef bint serves(GraphTask task, Node node) noexcept
cdef int run_numbers(GraphTask task, Node first, CReadyQueue* queue, Frame f) except -1
