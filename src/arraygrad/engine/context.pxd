# May cimport: engine.node, engine.graph_task.
from arraygrad.engine.graph_task cimport GraphTask
from arraygrad.engine.node cimport ThreadState

cdef int take_context(GraphTask task, ThreadState* ts) except -1
cdef object enter_context(GraphTask task, ThreadState* ts, ThreadState* before)
cdef int leave_context(object entered, ThreadState* ts, const ThreadState* before) except -1
