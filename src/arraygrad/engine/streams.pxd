# May cimport: engine.arrayops, engine.node, engine.input_buffer, engine.graph_task.
from arraygrad.engine.arrayops cimport ArrayOps, DeviceRuntime, GradMeta
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.graph_task cimport GraphTask

cdef object stream_of(Node node)
cdef DeviceRuntime runtime_of(Node node)
cdef int survey(GraphTask task, Node root) except -1
cdef object crossing(GraphTask task, Frame f, Node child, int nr, object grad)
cdef int keep(GraphTask task, ArrayOps ops, object array, object maker, object reader) except -1
cdef int keep_saved(GraphTask task, Node node, object stream) except -1
cdef int note_read(GradMeta meta, object array) except -1
cdef int find_foreign(GradMeta meta, object array, object reader, list found) except -1
cdef GradMeta inherited(GradMeta own, GradMeta source)
cdef GradMeta meta_of_copy(GradMeta meta)
cdef int note_leaf(GraphTask task, Frame f) except -1
cdef int join_caller(GraphTask task) except -1
cdef int let_go(GraphTask task) except -1
cdef list enter_caller(GraphTask task)
cdef int leave_caller(list tokens) except -1
