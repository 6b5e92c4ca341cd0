# May cimport: engine.graph_task, engine.node.
from arraygrad.engine.graph_task cimport CReadyQueue, GraphTask
from arraygrad.engine.node cimport Frame

cdef int drain(CReadyQueue* queue, GraphTask until, Frame f) except -1
cdef void thread_main(CReadyQueue* queue, GraphTask until, Frame f, int milliseconds) noexcept
