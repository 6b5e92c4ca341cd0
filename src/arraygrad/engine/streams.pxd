# May cimport: engine.arrayops, engine.node, engine.input_buffer, engine.graph_task.
from arraygrad.engine.arrayops cimport DeviceRuntime
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.graph_task cimport GraphTask

cdef object stream_of(Node node)
cdef DeviceRuntime runtime_of(Node node)
cdef int survey(GraphTask task, Node root) except -1
cdef object crossing(Frame f, Node child, int nr)
cdef int note_leaf(GraphTask task, Frame f) except -1
cdef int join_caller(GraphTask task) except -1
cdef list enter_caller(GraphTask task)
cdef int leave_caller(list tokens) except -1
