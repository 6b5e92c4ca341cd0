# May cimport: engine.arrayops, engine.node, engine.input_buffer.
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.memory cimport shared_ptr
from arraygrad.engine.arrayops cimport ArrayOps
from arraygrad.engine.node cimport Frame, Node, ThreadState
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
        bint precedes(int64_t, uint64_t)
        bint wait(int)
        size_t size()
        void share()
        void close()
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
    cdef Node root                      # where the run begins
    cdef ArrayOps graph_ops             # operations on recorded gradients (create_graph), else None
    cdef bint has_exec_info
    cdef bint shared                    # has nodes on device threads
    cdef bint accumulate_grad
    cdef bint multithreading
    cdef bint zero_annihilates
    cdef bint streams                   # some node has a stream
    cdef bint several_queues            # nodes of several queues deliver gradients
    cdef bint ordered                   # sums do not depend on the timing of threads (deterministic mode)
    cdef int workers                    # threads that may still join in the host work
    cdef bint careful                   # ordered or with streams: gradients on their way may have to be kept apart
    cdef bint pruned                    # some gradient went to a node that nothing needs
    cdef bint own_queue                 # `queue` serves this run alone and is closed with it
    cdef object engage                  # engage(task): one more worker
    cdef object tracer                  # called with what each node did, or None
    cdef dict devices                   # device key -> (runtime, the caller's stream), where shared
    cdef bint numbers                   # gradients that are single numbers may take engine.numbers' way
    cdef bint special                   # nodes run by evaluate_special: device threads, anomaly mode, a tracer
    cdef bint checkpoint_valid          # this run and all that it is nested in are plain backward() calls
    cdef int anomaly                    # bits of engine.anomaly: 1 on, 2 look for nan
    cdef object context                 # the caller's contextvars.Context, where other threads run nodes; else None
    cdef ThreadState modes              # the caller's modes, valid where context is not None
    cdef ThreadState outside            # modes of the thread outside of all runs, for its signal handlers
    cdef object saved_hooks             # the caller's saved-tensor hooks (GM4), None: none
    cdef uint32_t owner                 # thread that waits for the result
    cdef shared_ptr[CReadyQueue] queue  # its CPU queue
    cdef dict captures                  # node -> index of the result that is its input 0, or list of (input, index)
    # Guarded by the GIL (by `mutex` on free-threaded builds, for the fields that are not atomic).
    cdef atomic[int64_t] outstanding    # tasks queued or running
    cdef atomic[int64_t] pending        # nodes that hold a gradient but wait for more
    cdef readonly object error          # first exception
    cdef atomic[bint] has_error         # looked at by every thread of the run before each node
    cdef bint finished                  # all done; the owner has yet to be told
    cdef bint completed
    cdef list captured
    cdef dict side                      # id(node) -> NodeState, for nodes stamped by another live run
    cdef list callbacks
    cdef list deferred                  # (accumulator, gradient, owned) of an atomic run
    cdef dict leaf_streams              # (device key, id) -> (runtime, stream) on which the run ended somewhere
    cdef list kept                      # (runtime, home, reader, array, whether home is known): see Note [Streams]
    cdef dict homes                     # ArrayOps.owner of memory that is kept -> the stream whose it is
    cdef list notes                     # anomaly mode: what to warn of before the error is raised
    cdef readonly set nodes             # nodes in the graph, kept only when asked for


cdef int64_t begin_run() except -1
cdef int end_run(int64_t task_id) except -1
cdef int handle_signals(GraphTask task) except -1
cdef void note_outside(GraphTask task, ThreadState* ts) noexcept
cdef NodeState side_state(GraphTask task, Node node)
cdef uint32_t run_flags(GraphTask task, Node node)
cdef int set_run_flags(GraphTask task, Node node, uint32_t bits) except -1
cdef int compute_dependencies(GraphTask task, Node root, uint32_t min_topo) except -1
cdef int init_to_execute(GraphTask task, Node root, list inputs, bint accumulate_grad, uint32_t min_topo) except -1
cdef int sweep(GraphTask task, Node root) except -1
cdef int free_pruned(GraphTask task, Node root) except -1
