# May cimport: engine.graph_task, engine.node.
from libc.stdint cimport uint32_t
from arraygrad.engine.graph_task cimport CReadyQueue, GraphTask
from arraygrad.engine.node cimport Frame, ThreadState

cdef set shared_runs
cdef uint32_t thread_number(ThreadState* ts)
cdef int wait_on(CReadyQueue* queue, GraphTask task, Frame f) except -1
cdef bint stack_is_deep(ThreadState* ts) except -1
cdef object lent()
cdef int drive_elsewhere(GraphTask task) except -1
cdef int start_devices(GraphTask task) except -1
