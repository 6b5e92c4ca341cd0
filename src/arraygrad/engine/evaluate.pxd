# May cimport: engine.arrayops, engine.node, engine.graph_task, engine.input_buffer.
from libcpp.memory cimport shared_ptr
from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.graph_task cimport CReadyQueue, GraphTask
from arraygrad.engine.input_buffer cimport PartialGradient
from arraygrad.engine.node cimport Frame, Node

cdef class DeviceQueue:
    cdef shared_ptr[CReadyQueue] queue

cdef int push(GraphTask task, Node node) except -1
cdef int deliver(GraphTask task, Node child, int nr, object grad, bint owned, ArrayOps ops) except -1
cdef int evaluate(GraphTask task, Node node, Frame f) except -1
cdef int evaluate_special(GraphTask task, Node node, Frame f) except -1
cdef int fail(GraphTask task, object error) except -1
cdef int clear_frame(Frame f) except -1
cdef object conformed(ArrayOps ops, GradMeta meta, object grad, bint realify, object key)
cdef object waiting_gradient(Node node)
cdef Node sole_reader(Node node)
cdef PartialGradient partial_gradient(Node node)
cdef bint leave_partial(Node node, PartialGradient gradient) except -1
