# May cimport: engine.arrayops.
from cpython.object cimport PyObject
from libc.stdint cimport uint16_t, uint32_t, uint64_t, int32_t, int64_t
from libcpp.atomic cimport atomic
from arraygrad.engine.arrayops cimport ArrayOps, DeviceRuntime, GradMeta

cdef extern from "tls.hpp" namespace "arraygrad":
    cdef struct ThreadState:
        int grad_mode                   # 1: operations are recorded
        int depth                       # nested execute() calls on this thread's stack
        int total_depth                 # reentrant depth, counting the calls that led here from other threads
        int worker                      # 1 on an engine thread
        int64_t task_id                 # running graph task, -1 outside
        uint32_t thread_id              # small number given to each thread on first use, from 1
        void* node                      # node being evaluated (borrowed), NULL outside
        void* task                      # its graph task (borrowed), NULL outside
        int zero_annihilates
        int multithreading
        int inference                   # bit 0: inference mode; bit 1: grad mode was switched on within it
        const void* stack_base          # an address in the frame of the outermost execute() on this thread
        void* saved_hooks               # top of the stack of saved-tensor hooks (owned), NULL: none
        int transforms                  # function transforms that are calling their functions
        void* op_hooks                  # hooks around operations (owned), NULL: none

cdef extern from "untracked.hpp" namespace "arraygrad":
    atomic[uint64_t] sequence           # of the node that was recorded last
    void track(PyObject* o) noexcept
    void track_with(PyObject* holder, PyObject* held) noexcept
    void untrack(PyObject* o) noexcept
    void track_all() noexcept

cdef extern from "settled.hpp" namespace "arraygrad":
    bint settle_node(PyObject* node, bint plain) noexcept

cdef int set_saved_hooks(ThreadState* ts, object hooks) except -1
cdef ThreadState* thread_state() noexcept nogil

# Whether any thread ever was in inference mode: until then no new value has to ask. Never set back.
cdef int inference_used

# Anomaly mode (engine.anomaly): `note` is called with every new node while some context has the mode on.
cdef void set_node_watcher(int (*note)(Node) except -1) noexcept
cdef void count_anomaly_modes(long change) noexcept
cdef bint anomaly_in_use() noexcept nogil

# Node.flags: 16 bits
cdef enum NodeFlag:
    NODE_FAST = 1                       # saved by a compiled forward: its compiled rule applies
    NODE_REALIFY = 2                    # a complex gradient for a real input is cut to its real part
    NODE_NUMBER = 4                     # its gradient is one number, and apply_number serves it (engine.numbers)
    NODE_SAVES = 8                      # keeps something that `release` frees
    NODE_HAS_PARENT = 16                # some edge points here: own edges are fixed now
    NODE_PYTHON = 32                    # apply is user code (error texts differ)
    NODE_ACCUMULATE = 64
    NODE_ZERO_ABSORBS = 128             # recorded under zero_annihilates: a zero gradient stays zero
    NODE_PACKED = 256                   # saved values went through a pack hook
    NODE_CONSTANT = 512                 # saved raw arrays, whose content when it was recorded is told by `print`
    NODE_CONSTANT_FULL = 1024           # ... by every byte of it, not by a sample
    NODE_BARE = 2048                    # keeps nothing and has no room to: at most two edges, one input
    NODE_ASIDE = 4096                   # its compiled forward left something for its compiled rule, in `args`
    # 8192 and 16384 are adoption's (adoption/builtin_answers.pyx)
    NODE_ELEMENT = 32768                # reads or writes one element, whose place stands in `print` instead of `args`

# Node.rflags: state of the current run, valid where Node.stamp is the run's id
cdef enum RunFlag:
    RUN_NEEDED = 1                      # exec_info: the node executes
    RUN_CAPTURE = 2                     # exec_info: an input of it is a requested result
    RUN_STARTED = 4                     # a first gradient (or undefined) arrived
    RUN_OWNED = 8                       # g0 is a buffer that only the engine holds
    RUN_QUEUED = 16
    RUN_DONE = 32
    RUN_VISITED = 64                    # exec_info: the search for needed nodes has been here
    RUN_WIDE = 128                      # more than two edges arrive: the order of addition can be seen in the sum
    RUN_PARTIAL = 256                   # g0 is a PartialGradient, with RUN_OWNED
    RUN_NUMBER = 512                    # g0 is a Python float, which stands for an array without axes


cdef class Frame:
    """What passes between the engine and one call of Node.apply. One per driving loop, reused."""
    # incoming; set by the engine
    cdef object grad                    # gradient of input 0 (nodes with one input)
    cdef list grads                     # gradients of all inputs (nodes with several), else None
    cdef bint owned                     # `grad` is held by nobody else and may be overwritten
    cdef uint64_t needs                 # bit i: the gradient of edge i is wanted (bit 63 for all i >= 63)
    cdef bint create_graph              # gradients are Tensors and operations on them are recorded
    cdef bint keep_graph
    cdef bint zero_annihilates          # an exactly zero gradient stays zero
    cdef DeviceRuntime runtime          # of the node's device; these three are None on the host
    cdef object key
    cdef object stream
    # outgoing; set by apply, cleared by the engine
    cdef object out0
    cdef object out1
    cdef list more                      # gradients of edges 2, 3, ... ; None where there are at most two
    cdef uint32_t out_owned             # bit i (0 or 1): out_i was made by this call and is held by nobody else

    cdef object input(self, Py_ssize_t i)
    cdef int set_out(self, Py_ssize_t i, object grad) except -1
    cdef object out(self, Py_ssize_t i)
    cdef int set_outs(self, object grads) except -1


cdef class Edge:
    cdef readonly Node node
    cdef readonly int input_nr


cdef class NodeHooks:
    """All hooks of one node, and its rarely used extras."""
    cdef public object tensor_pre       # dict id -> (input_nr, callable), in order of registration
    cdef public object retains          # dict input_nr -> callable
    cdef public object pre              # dict id -> callable
    cdef public object post             # dict id -> callable
    cdef public object post_accumulate  # dict id -> callable
    cdef public object metadata         # user dict, anomaly traces
    cdef long next_id


cdef class Node:
    # engine/node_memory.hpp knows this order: the weak references, six references, and at the end what bare nodes lack.
    cdef object __weakref__
    # Written at construction, read-only once another node points here (TN3).
    cdef Node e0                        # next edges 0 and 1; further ones in `more`
    cdef Node e1
    cdef object meta                    # GradMeta of input 0, or a tuple of GradMeta/None, one per input
    cdef NodeHooks hooks                # None until the first hook or metadata
    cdef object g0                      # of one run: gradient of input 0 (one input), or an InputBuffer (several)
    cdef object op                      # what computes (an Op, a callable)
    cdef uint64_t seq
    # State of one run, guarded by the GIL (without one by a critical section on the node, docs/architecture.md). Valid
    # where stamp == GraphTask.id; another run that meets the node meanwhile uses its own side table.
    cdef uint64_t stamp
    cdef int32_t deps                   # edges of this run that have not delivered yet
    cdef uint16_t rflags
    cdef uint16_t flags
    cdef int n0
    cdef int n1
    cdef int n_edges
    cdef int n_inputs
    cdef uint32_t topo
    cdef uint32_t thread_id             # thread that built the node
    # What follows a node with NODE_BARE does not have (Note [Bare nodes]).
    cdef list more                      # [node2, nr2, node3, nr3, ...]
    cdef object s0                      # saved values
    cdef object s1
    cdef object s2
    cdef object args                    # static parameters
    cdef uint64_t print                 # fingerprint of raw arrays among the saved values (NODE_CONSTANT); NODE_ELEMENT
    cdef int32_t gate                   # rules reading the saved values, and whether those are freed (Note [Gates])

    cdef int apply(self, Frame f) except -1
    cdef bint apply_number(self, double g, double* out) except -1
    cdef int release(self) except -1
    cdef Py_ssize_t saved_bytes(self) except -1
    cdef int keep_foreign(self, object stream, list found) except -1
    cpdef str name(self)
    cdef Node edge_node(self, Py_ssize_t i)
    cdef int edge_nr(self, Py_ssize_t i)
    cdef GradMeta meta_at(self, Py_ssize_t i)
    cdef int add_edge(self, Node node, int input_nr) except -1
    cdef NodeHooks need_hooks(self)
    cdef object device_key(self)


cdef class PyNode(Node):
    pass

# A compiled class of nodes that adds no field, as `new_node` needs it.
cdef struct NodeKind:
    void* cls
    void* vtable
    int flags

# What a node of a known shape holds from the start. NULL is None; references are counted, but s0 and s1 taken over.
cdef struct NodeParts:
    PyObject* e0
    PyObject* e1
    PyObject* meta
    PyObject* op
    PyObject* s0
    PyObject* s1
    int n0
    int n1
    int n_edges
    uint32_t topo
    uint32_t flags
    uint32_t thread_id

cdef inline void put_saved(Node node, Py_ssize_t k, object slot) noexcept:
    """Set slot k of three."""
    if k == 0:
        node.s0 = slot
    elif k == 1:
        node.s1 = slot
    else:
        node.s2 = slot

cdef NodeKind node_kind(type cls, bint bare) except *
cdef Node new_node(const NodeKind* kind)
cdef Node new_node_of(const NodeKind* kind, NodeParts* parts)
cdef void set_recycler(bint (*keep)(PyObject*) noexcept) noexcept
cdef int drop_args(Node node) except -1
# Which nodes and Tensors the garbage collector sees: Note [What the collector does not see] in untracked.hpp.
cdef inline bint settle(Node node) noexcept:
    """Track a complete node, whose operation is the table's, if it may be in a cycle. Returns whether it is tracked."""
    return settle_node(<PyObject*>node, node.flags & NODE_FAST != 0)      # compiled rules read plain slots only

cdef void settle_leaf(Node node, bint leads_back) noexcept
cdef int track_graph(Node node) except -1
cdef uint64_t next_sequence_nr() noexcept
cdef int share_deallocation(type cls) except -1
cdef int refuse_creation(type cls) except -1
