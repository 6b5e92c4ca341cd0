# The static graph: nodes, edges, hooks, sequence and topological numbers, and the state that each thread carries.
# May import: engine.arrayops, engine.later.
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint16_t, uint32_t, uint64_t, int64_t, UINT64_MAX
from libcpp.atomic cimport atomic
cimport cython

import sys
from types import CellType, FunctionType

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, add_held, make_immortal

from arraygrad.engine.later import called_later

cdef extern from *:
    """
    #include "tls.hpp"
    static thread_local arraygrad::ThreadState ag_thread_state;
    static inline arraygrad::ThreadState* ag_tls() {
        arraygrad::ThreadState* found = &ag_thread_state;
    #ifdef __GNUC__
        __asm__("" : "+r"(found));      // kept: the compiler would rather call for the address again than save it
    #endif
        return found;
    }
    #if defined(ARRAYGRAD_DEBUG) && ARRAYGRAD_DEBUG
    #define AG_DEBUG 1
    #else
    #define AG_DEBUG 0
    #endif
    """
    ThreadState* ag_tls() noexcept nogil
    const bint AG_DEBUG

cdef atomic[uint32_t] _threads
cdef atomic[int64_t] _anomaly_modes     # anomaly modes alive in the contexts of this process
cdef int (*_note_node)(Node) except -1


cdef ThreadState* thread_state() noexcept nogil:
    return ag_tls()


cdef int set_saved_hooks(ThreadState* ts, object hooks) except -1:
    """Make `hooks` (None: none) the top of the thread's stack of saved-tensor hooks."""
    cdef PyObject* old = <PyObject*>ts.saved_hooks
    if hooks is None:
        ts.saved_hooks = NULL
    else:
        Py_INCREF(hooks)
        ts.saved_hooks = <void*>hooks
    Py_XDECREF(old)
    return 0


cdef uint64_t next_sequence_nr() noexcept:
    # One counter for the process: graphs built by several threads run in the order in which they were recorded.
    return add_held(sequence, 1)


def take_sequence_nr():
    """A sequence number that no node has: nodes made before have smaller ones, later nodes larger ones."""
    return next_sequence_nr()


cdef extern from "node_memory.hpp" namespace "arraygrad":
    atomic[int64_t] live_nodes
    object alloc_node(void* cls, void* vtable)
    object alloc_node_of(void* cls, void* vtable, const NodeParts* parts, Node like)
    void use_layout(void* cls, Py_ssize_t more) noexcept
    void make_bare(void* cls) noexcept
    bint (*recycler)(PyObject* array) noexcept
    void recycle_args(PyObject* args) noexcept
    int probe_heads() except -1
    void settle_end(PyObject* node, bint leads_back) noexcept
    int track_below(PyObject* node) except -1


cdef extern from "Python.h":
    ctypedef void (*destructor)(PyObject*)
    ctypedef int (*traverseproc)(PyObject*, void*, void*)
    ctypedef int (*inquiry)(PyObject*)
    ctypedef struct PyTypeObject
    ctypedef PyObject* (*newfunc)(PyTypeObject*, PyObject*, PyObject*) noexcept
    ctypedef struct PyTypeObject:
        Py_ssize_t tp_basicsize
        PyTypeObject* tp_base
        destructor tp_dealloc
        traverseproc tp_traverse
        inquiry tp_clear
        newfunc tp_new
        void* tp_vectorcall
        const char* tp_name
    Py_ssize_t Py_REFCNT(PyObject* o) noexcept
    PyObject* PyErr_Format(object kind, const char* text, ...)


cdef int share_deallocation(type cls) except -1:
    """Give a compiled class that adds no field its base's deallocation slots (Note [Freeing a graph]).

    Cython writes wrappers around the base's for a class in another module, and what compares the type's own slot, as
    the trashcan does, then never takes effect.
    """
    cdef PyTypeObject* t = <PyTypeObject*>cls
    if t.tp_basicsize != t.tp_base.tp_basicsize:
        raise TypeError(f"{cls.__name__} adds fields to its base, whose deallocation would not free them")
    t.tp_dealloc = t.tp_base.tp_dealloc
    t.tp_traverse = t.tp_base.tp_traverse
    t.tp_clear = t.tp_base.tp_clear
    return 0


MADE_BY = {}                            # class -> what to call instead of it; written while modules are imported


cdef PyObject* _refused_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) noexcept:
    cdef PyObject* hint = PyDict_GetItem(MADE_BY, <object>cls)
    if hint == NULL:
        PyErr_Format(TypeError, b"%s is made by arraygrad's own functions, and not by itself", cls.tp_name)
    else:
        PyErr_Format(TypeError, b"%s is made by arraygrad's own functions, and not by itself: %U", cls.tp_name, hint)
    return NULL


cdef int refuse_creation(type cls) except -1:
    """Let nobody but compiled code that knows the class's own function make instances of it.

    `cls.__new__(cls)`, and what stands for it in a pickle, would make one whose fields hold nothing, and whose
    methods crash.
    """
    (<PyTypeObject*>cls).tp_new = _refused_new
    (<PyTypeObject*>cls).tp_vectorcall = NULL           # calls of a class without __init__ would not come to tp_new
    return 0


cdef uint32_t _this_thread() noexcept nogil:
    cdef ThreadState* ts = ag_tls()
    if ts.thread_id == 0:
        ts.thread_id = _threads.fetch_add(1) + 1
    return ts.thread_id


def live_counts():
    """Live objects per kind in a debug build ({} in a release build)."""
    return {"Node": live_nodes.load()} if AG_DEBUG else {}


def is_debug_build():
    """Whether the extensions were built with assertions and live-object counters."""
    return bool(AG_DEBUG)


cdef void set_node_watcher(int (*note)(Node) except -1) noexcept:
    global _note_node
    _note_node = note


cdef void count_anomaly_modes(long change) noexcept:
    _anomaly_modes.fetch_add(change)


cdef bint anomaly_in_use() noexcept nogil:
    return _anomaly_modes.load() != 0


def is_grad_enabled():
    """Whether grad mode is on for this thread: operations are recorded (never in inference mode).

    `no_grad`, `enable_grad` and `set_grad_enabled` change it.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.no_grad():
    ...     ag.is_grad_enabled()
    False
    """
    cdef ThreadState* ts = thread_state()
    return ts.grad_mode != 0 or (ts.inference & 2) != 0


def set_grad_mode(bint mode):
    """Record operations on this thread or not; returns the previous setting."""
    cdef ThreadState* ts = thread_state()
    if ts.inference:                    # nothing is recorded, but the setting is there to be read
        previous = (ts.inference & 2) != 0
        ts.inference = 1 | mode << 1
        return previous
    previous = ts.grad_mode != 0
    ts.grad_mode = mode
    return previous


def is_inference_mode_enabled():
    """Whether this thread is in inference mode.

    See `inference_mode`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.inference_mode():
    ...     ag.is_inference_mode_enabled()
    True
    """
    return thread_state().inference != 0


def switch_inference(int state):
    """Enter (1) or leave (0) inference mode on this thread, or restore what an earlier call returned.

    Grad mode goes with it: off inside, on outside, as in PyTorch.
    """
    global inference_used
    cdef ThreadState* ts = thread_state()
    cdef int previous = 4 | ts.grad_mode | ts.inference << 3
    if state == 1:
        inference_used = 1
        ts.grad_mode = 0
        ts.inference = 1
    elif state == 0:
        ts.grad_mode = 1
        ts.inference = 0
    else:
        ts.grad_mode = state & 1
        ts.inference = state >> 3
    return previous


def set_zero_annihilates(bint mode):
    """Treat zero gradients as absorbing in elementwise rules of this thread; returns the previous setting."""
    cdef ThreadState* ts = thread_state()
    previous = ts.zero_annihilates != 0
    ts.zero_annihilates = mode
    return previous


def keep_for_ever(*objects):
    """Let objects that live as long as the process be used by many threads without counting references to them.

    Of a function its code and closure too, of a dict, list, tuple or set its items. Does nothing where there is a GIL.
    """
    if not FREE_THREADED:
        return
    stack = list(objects)
    seen = set()
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        make_immortal(<PyObject*>one)
        if type(one) is dict:
            stack.extend(one.values())
        elif type(one) in (tuple, list, set, frozenset):
            stack.extend(one)
        elif type(one) is FunctionType:
            stack.append(one.__code__)
            if one.__closure__ is not None:
                stack.append(one.__closure__)
        elif type(one) is CellType:
            try:
                stack.append(one.cell_contents)
            except ValueError:          # still empty
                pass


def keep_package_for_ever(str package):
    """`keep_for_ever` for what the modules of a package hold that are imported now."""
    if FREE_THREADED:
        keep_for_ever(*[vars(module) for name, module in list(sys.modules.items())
                        if name.partition(".")[0] == package])


@cython.freelist(8)
cdef class Frame:
    """Gradients on their way into and out of one call of Node.apply."""

    cdef object input(self, Py_ssize_t i):
        """Gradient of input `i`, None if undefined."""
        if self.grads is None:
            return self.grad if i == 0 else None
        return self.grads[i]

    cdef int set_out(self, Py_ssize_t i, object grad) except -1:
        """Set the gradient of edge `i`."""
        if i == 0:
            self.out0 = grad
        elif i == 1:
            self.out1 = grad
        else:
            if self.more is None:
                self.more = []
            while len(self.more) <= i - 2:
                self.more.append(None)
            self.more[i - 2] = grad
        return 0

    cdef object out(self, Py_ssize_t i):
        """Gradient of edge `i`, None if undefined."""
        if i == 0:
            return self.out0
        if i == 1:
            return self.out1
        if self.more is None or i - 2 >= len(self.more):
            return None
        return self.more[i - 2]

    cdef int set_outs(self, object grads) except -1:
        """Set the gradients of all edges from a sequence."""
        cdef Py_ssize_t i
        self.out0 = self.out1 = None
        self.more = None
        self.out_owned = 0
        for i, g in enumerate(grads):
            self.set_out(i, g)
        return 0


@cython.final
@cython.freelist(16)
cdef class Edge:
    """Edge(node, input_nr)
--

    An arrow of the graph: input `input_nr` of `node`. An edge without a node leads nowhere.
    """

    def __init__(self, Node node, int input_nr=0):
        self.node = node
        self.input_nr = input_nr

    def __bool__(self):
        return self.node is not None

    def __eq__(self, other):
        if not isinstance(other, Edge):
            return NotImplemented
        return self.node is (<Edge>other).node and self.input_nr == (<Edge>other).input_nr

    def __hash__(self):
        return hash((id(self.node), self.input_nr))

    def __repr__(self):
        return f"Edge({'None' if self.node is None else self.node.name()}, {self.input_nr})"


@cython.final
cdef class HookHandle:
    """Returned by the register functions: `remove()` takes the hook away again, at any time. Also a context manager."""
    cdef object hooks
    cdef object key

    def __cinit__(self, hooks, key):
        self.hooks = hooks
        self.key = key

    def remove(self):
        """Take the hook away; does nothing the second time."""
        with cython.critical_section(self):         # of two threads one finds the hook
            hooks, self.hooks = self.hooks, None
        if hooks is not None:
            hooks.pop(self.key, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def make_handle(dict hooks, object key):
    """A HookHandle that removes `key` from `hooks`."""
    return HookHandle(hooks, key)


cdef class NodeHooks:
    """Hooks of one node by kind, in order of registration, and the node's user metadata."""

    def add(self, str kind, object hook):
        """Add a hook of a kind ("tensor_pre", "pre", "post", "post_accumulate"); returns its handle."""
        cdef dict hooks
        called = hook[1] if kind == "tensor_pre" else hook
        if not callable(called):
            raise TypeError(f"a hook must be callable, but got {type(called).__name__}")
        with cython.critical_section(self):         # one dict per kind, and no key twice
            hooks = getattr(self, kind)
            if hooks is None:
                hooks = {}
                setattr(self, kind, hooks)
            self.next_id += 1
            key = self.next_id
        hooks[key] = hook
        return HookHandle(hooks, key)


cdef class Node:
    """A vertex of the graph: takes one gradient per output of the forward operation and returns one per next edge.

    Nodes are made by recorded operations; calling one applies it to gradients given by hand.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> node = (x * 3.0).grad_fn
    >>> node.name(), len(node.next_functions)
    ('MulBackward', 2)
    """

    def __cinit__(self):
        self.seq = next_sequence_nr()
        self.thread_id = _this_thread()
        self.n_inputs = 1
        if AG_DEBUG:
            live_nodes.fetch_add(1)
        if _anomaly_modes.load() != 0:
            _note_node(self)

    def __init__(self):
        raise TypeError(f"{type(self).__name__} is made by recorded operations, it can't be instantiated")

    # Public API

    def __call__(self, *grads):
        """Apply the node to gradients given by hand, one per output of the forward operation (None: undefined).

        Returns the gradient of its only next edge, or a tuple of all. Raises TypeError if the count differs.
        """
        if len(grads) != self.n_inputs:
            raise TypeError(f"{self.name()} expected {self.n_inputs} arguments, got {len(grads)} instead")
        return apply_by_hand(self, grads)

    cpdef str name(self):
        """Name of the operation's derivative, e.g. "MulBackward"."""
        return type(self).__name__

    @property
    def next_functions(self):
        """Tuple of (node or None, input number), one per next edge."""
        return tuple([(self.edge_node(i), self.edge_nr(i)) for i in range(self.n_edges)])

    @property
    def metadata(self):
        """A dict of the user's own, kept with the node. Anomaly mode keeps "traceback_" and "parent_" here."""
        cdef NodeHooks hooks = self.need_hooks()
        with cython.critical_section(hooks):
            if hooks.metadata is None:
                hooks.metadata = {}
        return hooks.metadata

    @property
    def sequence_nr(self):
        """Number of the recording in this process; ready nodes run highest first. Accumulators have 2**64 - 1."""
        return self.seq

    def _set_sequence_nr(self, uint64_t number):
        """For tests and tools."""
        self.seq = number

    @property
    def topological_nr(self):
        """Length of the longest path from here to a node without next edges."""
        return self.topo

    @property
    def input_metadata(self):
        """Tuple of GradMeta (None: not known), one per input."""
        return tuple([self.meta_at(i) for i in range(self.n_inputs)])

    @property
    def device(self):
        """Key of the device the node runs on: the first of its inputs' that is not the host; None is the host."""
        return self.device_key()

    @property
    def creating_thread(self):
        """Small number of the thread that recorded the node."""
        return self.thread_id

    @property
    def saved(self):
        """What the node's rule keeps, by name (read-only)."""
        return {}

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before the node runs; it may return a tuple to take their place."""
        return self.need_hooks().add("pre", called_later(hook))

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` after the node ran; it may return a tuple in place of grad_inputs."""
        return self.need_hooks().add("post", called_later(hook))

    def __repr__(self):
        return f"<{self.name()} at {id(self):#x}>"

    # For the engine and subclasses

    cdef int apply(self, Frame f) except -1:
        """Compute f's outs from f's gradients. Only the edges in f.needs have to be computed."""
        raise TypeError(f"{self.name()} can't be applied")

    cdef bint apply_number(self, double g, double* out) except -1:
        """`apply` where gradients are numbers: that of each edge goes to `out`. False: declined, nothing was done."""
        return False

    cdef int release(self) except -1:
        """Free saved values. Called when the node ran and the graph is not kept."""
        return 0

    cdef Py_ssize_t saved_bytes(self) except -1:
        """Bytes of the arrays that `release` would let go."""
        return 0

    cdef int keep_foreign(self, object stream, list found) except -1:
        """Append (ops, its home, array) for each saved array whose home is not `stream`, where it is to be read now.

        `stream` waits for the events of those that have one (Note [Streams], 2 and 5).
        """
        return 0

    cdef Node edge_node(self, Py_ssize_t i):
        if i == 0:
            return self.e0
        if i == 1:
            return self.e1
        return <Node?>self.more[2 * (i - 2)] if self.more[2 * (i - 2)] is not None else None

    cdef int edge_nr(self, Py_ssize_t i):
        if i == 0:
            return self.n0
        if i == 1:
            return self.n1
        return self.more[2 * (i - 2) + 1]

    cdef GradMeta meta_at(self, Py_ssize_t i):
        if type(self.meta) is tuple:
            return <GradMeta>(<tuple>self.meta)[i]
        return <GradMeta>self.meta if i == 0 else None

    cdef int add_edge(self, Node node, int input_nr) except -1:
        """Append an edge (node may be None) and keep the topological number the longest path."""
        cdef int i = self.n_edges
        if self.flags & NODE_HAS_PARENT:
            raise RuntimeError(f"Cannot update a node's topological_nr after it already has a parent. "
                               f"If we allow this, we can no longer guarantee that a parent's topo_nr is always "
                               f"greater than those of all its children ({self.name()})")
        if i == 0:
            self.e0 = node
            self.n0 = input_nr
        elif i == 1:
            self.e1 = node
            self.n1 = input_nr
        else:
            if self.more is None:
                self.more = []
            self.more.append(node)
            self.more.append(input_nr)
        self.n_edges = i + 1
        if node is not None:
            if not node.flags & NODE_HAS_PARENT:    # other threads may read the node: write no more than needed
                node.flags |= NODE_HAS_PARENT
            if node.topo >= self.topo:
                self.topo = node.topo + 1
        return 0

    cdef NodeHooks need_hooks(self):
        cdef NodeHooks hooks
        if self.hooks is None:                      # a hook may lead back here
            track(<PyObject*>self)
            if self.flags & NODE_HAS_PARENT or Py_REFCNT(<PyObject*>self) > 1:      # the one is a Tensor, which asks
                track_all()
        with cython.critical_section(self):         # several threads may be registering
            if self.hooks is None:
                self.hooks = NodeHooks.__new__(NodeHooks)
            hooks = self.hooks
        return hooks

    cdef object device_key(self):
        cdef GradMeta m
        cdef Py_ssize_t i
        if type(self.meta) is tuple:
            for i in range(len(<tuple>self.meta)):
                m = <GradMeta>(<tuple>self.meta)[i]
                if m is not None and m.device_key is not None:
                    return m.device_key
            return None
        if self.meta is None:
            return None
        return (<GradMeta>self.meta).device_key


cdef NodeKind node_kind(type cls, bint bare) except *:
    """What `new_node` needs to make instances of `cls`; if `bare`, from now on without the end of a node."""
    cdef NodeKind kind
    kind.cls = <void*>cls
    kind.vtable = PyCapsule_GetPointer(cls.__dict__["__pyx_vtable__"], NULL)
    kind.flags = NODE_BARE if bare else 0
    if bare:
        make_bare(<void*>cls)
    return kind


cdef Node new_node(const NodeKind* kind):
    """An empty node, as `cls.__new__(cls)` makes it, without the detour over a call of a type."""
    cdef Node node = <Node>alloc_node(kind.cls, kind.vtable)
    cdef ThreadState* ts = ag_tls()
    node.seq = next_sequence_nr()
    node.thread_id = ts.thread_id if ts.thread_id else _this_thread()
    node.n_inputs = 1
    node.flags = <uint16_t>(kind.flags | (NODE_ZERO_ABSORBS if ts.zero_annihilates else 0))
    if _anomaly_modes.load() != 0:
        _note_node(node)
    return node


cdef Node new_node_of(const NodeKind* kind, NodeParts* parts):
    """A node that holds `parts`, and nothing else."""
    cdef Node node
    parts.flags |= kind.flags
    if parts.thread_id == 0:
        parts.thread_id = _this_thread()
    node = <Node>alloc_node_of(kind.cls, kind.vtable, parts, None)
    node.seq = next_sequence_nr()
    if _anomaly_modes.load() != 0:
        _note_node(node)
    return node


cdef void set_recycler(bint (*keep)(PyObject*) noexcept) noexcept:
    """Offer `keep` the arrays that only a node's static arguments hold, when the node lets go of them."""
    global recycler
    recycler = keep


cdef int drop_args(Node node) except -1:
    """Let go of static arguments, as a node that dies does."""
    if node.args is not None:
        recycle_args(<PyObject*>node.args)
        node.args = None
    return 0


cdef void settle_leaf(Node node, bint leads_back) noexcept:
    """`settle` for an accumulator: its leaf says whether it may be in a cycle."""
    settle_end(<PyObject*>node, leads_back)


cdef int track_graph(Node node) except -1:
    """Track a node and all that it leads to."""
    return track_below(<PyObject*>node)


cdef int _use_layout(Node probe) except -1:
    # `thread_id` is the last field before the end that bare nodes lack; the next one is a reference, and aligned.
    use_layout(<void*>Node, <char*>&probe.thread_id + sizeof(probe.thread_id) - <char*><void*>probe)
    return 0


_use_layout(Node.__new__(Node))
probe_heads()


cdef object apply_by_hand(Node node, tuple grads):
    cdef Frame f = Frame.__new__(Frame)
    cdef GradMeta m
    cdef list raw = []
    cdef object ops = None
    cdef Py_ssize_t i
    for i, g in enumerate(grads):
        m = node.meta_at(i)
        if m is not None:
            ops = m.ops
            if g is not None:
                g = m.ops.from_user(g)
        raw.append(g)
    if node.n_inputs == 1:
        f.grad = raw[0]
    else:
        f.grads = raw
    f.needs = UINT64_MAX
    f.keep_graph = True
    f.zero_annihilates = ag_tls().zero_annihilates != 0
    node.apply(f)
    outs = []
    for i in range(node.n_edges):
        g = f.out(i)
        outs.append(g if g is None or ops is None else (<ArrayOps>ops).to_user(g))
    if len(outs) == 1:
        return outs[0]
    return tuple(outs)


def function_of(PyNode node):
    """The function that a node calls."""
    return node.op


cdef class PyNode(Node):
    """PyNode(name, fn, edges=(), metas=None, release=None)
--

    A node whose `fn(*grads)` is a Python function returning one gradient per edge (one alone need not be a tuple).

    Parameters
    ----------
    edges : sequence of Edge, (node, input_nr) or None
    metas : sequence of GradMeta or None, one per input; None: one input of which nothing is known
    release : callable, optional
        Called when the graph is not kept and the node has run.
    """

    def __init__(self, str name, fn, edges=(), metas=None, release=None):
        self.args = name
        self.op = fn
        self.s0 = release
        self.flags |= NODE_PYTHON
        if release is not None:
            self.flags |= NODE_SAVES
        metas = (None,) if metas is None else tuple(metas)
        for m in metas:
            if m is not None and not isinstance(m, GradMeta):
                raise TypeError(f"PyNode metas must be GradMeta or None, but got {type(m).__name__}")
        self.n_inputs = <int>len(metas)
        self.meta = metas[0] if len(metas) == 1 else metas
        for e in edges:
            if e is None:
                self.add_edge(None, 0)
            elif isinstance(e, Edge):
                self.add_edge((<Edge>e).node, (<Edge>e).input_nr)
            else:
                self.add_edge(e[0], e[1])

    cpdef str name(self):
        return self.args

    cdef int apply(self, Frame f) except -1:
        if f.grads is not None:
            result = self.op(*f.grads)
        elif self.n_inputs == 0:
            result = self.op()
        else:
            result = self.op(f.grad)
        if type(result) is not tuple:
            result = (result,) if self.n_edges else ()
        n = len(result)
        while n > self.n_edges and result[n - 1] is None:
            n -= 1
        if n != self.n_edges:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients "
                               f"(expected {self.n_edges}, got {len(result)})")
        f.set_outs(result[:n])
        return 0

    cdef int release(self) except -1:
        if self.s0 is not None:
            self.s0()
        return 0


share_deallocation(PyNode)
