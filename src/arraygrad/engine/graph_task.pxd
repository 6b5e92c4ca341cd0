# May cimport: engine.arrayops, engine.node, engine.input_buffer.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.memory cimport shared_ptr
from arraygrad.engine.arrayops cimport ArrayOps
from arraygrad.engine.node cimport Frame, Node
from arraygrad.engine.input_buffer cimport InputBuffer

cdef extern from "ready_queue.hpp" namespace "arraygrad" nogil:
    const int64_t DEPTH_SHUTDOWN
    const int64_t DEPTH_EMPTY
    const int64_t DEPTH_DEAD
    cdef cppclass NodeTask:
        PyObject* task
        PyObject* node
        int64_t depth
        uint64_t seq
    cdef cppclass CReadyQueue "arraygrad::ReadyQueue":
        CReadyQueue() except +
        void push(const NodeTask&) except +
        bint try_pop(NodeTask*)
        bint wait(int)
        size_t size()
        void share()
        void unshare()
    shared_ptr[CReadyQueue]& local_queue()


cdef class NodeState:
    """A node's state of one run, where the node itself carries another run's."""
    cdef uint32_t rflags
    cdef int32_t deps
    cdef object g0


cdef class GraphTask:
    # Written before the first task is queued, read-only after.
    cdef readonly int64_t id
    cdef readonly bint keep_graph
    cdef readonly bint create_graph
    cdef readonly int64_t depth
    cdef ArrayOps graph_ops             # operations on recorded gradients (create_graph), else None
    cdef bint has_exec_info
    cdef bint shared                    # has nodes on device threads
    cdef bint accumulate_grad
    cdef bint multithreading
    cdef bint zero_annihilates
    cdef object saved_hooks             # the caller's saved-tensor hooks (GM4), None: none
    cdef uint32_t owner                 # thread that waits for the result
    cdef shared_ptr[CReadyQueue] queue  # its CPU queue
    cdef dict captures                  # node -> list of (input number, index of the result)
    # Guarded by the GIL (by `mutex` on free-threaded builds, for the fields that are not atomic).
    cdef atomic[int64_t] outstanding    # tasks queued or running
    cdef atomic[int64_t] pending        # nodes that hold a gradient but wait for more
    cdef readonly object error          # first exception
    cdef bint has_error
    cdef bint finished                  # all done; the owner has yet to be told
    cdef bint completed
    cdef list captured
    cdef dict side                      # id(node) -> NodeState, for nodes stamped by another live run
    cdef list callbacks
    cdef readonly set nodes             # nodes in the graph, kept only when asked for


cdef int64_t begin_run() except -1
cdef int end_run(int64_t task_id) except -1
cdef NodeState side_state(GraphTask task, Node node)
cdef uint32_t run_flags(GraphTask task, Node node)
cdef int set_run_flags(GraphTask task, Node node, uint32_t bits) except -1
cdef int compute_dependencies(GraphTask task, Node root, uint32_t min_topo) except -1
cdef int init_to_execute(GraphTask task, Node root, list inputs, bint accumulate_grad, uint32_t min_topo) except -1
cdef int sweep(GraphTask task, Node root) except -1
