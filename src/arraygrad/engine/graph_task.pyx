# One call of backward() or grad(): the state of the run, and the walks over the graph that prepare it.
# May import: engine.arrayops, engine.node, engine.input_buffer.
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libcpp.atomic cimport atomic
from libcpp.memory cimport make_shared
from libcpp.unordered_map cimport unordered_map
from libcpp.unordered_set cimport unordered_set
from libcpp.vector cimport vector
cimport cython

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport (
    FREE_THREADED, Guard, add_held, gate_closed, read_stamp, swap_stamp,
)
from arraygrad.engine.node cimport (
    Edge, Node, ThreadState, thread_state, NODE_ACCUMULATE, NODE_SAVES, RUN_CAPTURE, RUN_DONE, RUN_NEEDED, RUN_VISITED,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

ctypedef PyObject* NodePointer

cdef atomic[int64_t] _task_ids
cdef vector[int64_t] _live             # ids of the runs in progress, in order of start; guarded by the GIL, _live_lock
cdef Guard _live_lock                   # what guards _live where there is no GIL


cdef int64_t begin_run() except -1:
    """The id of a new run, live from now on."""
    cdef int64_t task_id = add_held(_task_ids, 1) + 1
    _live_lock.lock()
    _live.push_back(task_id)
    _live_lock.unlock()
    return task_id


cdef void note_outside(GraphTask task, ThreadState* ts) noexcept:
    """Note the modes of a run's thread outside of all runs (`handle_signals`)."""
    if ts.task != NULL and (<GraphTask>ts.task).owner == task.owner:
        task.outside = (<GraphTask>ts.task).outside
    else:
        task.outside = ts[0]


cdef int handle_signals(GraphTask task) except -1:
    """Have Python run its handlers of signals that came, in the modes that the thread had outside of all runs.

    Where Python code of a rule or hook is interrupted, Python runs the handler by itself, in the modes of that code.
    """
    cdef ThreadState* ts = thread_state()
    cdef ThreadState now = ts[0]
    ts.grad_mode = task.outside.grad_mode
    ts.zero_annihilates = task.outside.zero_annihilates
    ts.inference = task.outside.inference
    try:
        PyErr_CheckSignals()
    finally:
        ts.grad_mode = now.grad_mode
        ts.zero_annihilates = now.zero_annihilates
        ts.inference = now.inference
    return 0


cdef int end_run(int64_t task_id) except -1:
    """The run is over: its stamps mean nothing any more."""
    cdef size_t k
    _live_lock.lock()
    for k in range(_live.size()):
        if _live[k] == task_id:
            _live.erase(_live.begin() + k)
            break
    _live_lock.unlock()
    return 0


cdef bint _is_live(int64_t task_id) noexcept:
    cdef size_t i
    cdef bint found = False
    _live_lock.lock()
    for i in range(_live.size()):
        if _live[i] == task_id:
            found = True
            break
    _live_lock.unlock()
    return found


@cython.freelist(8)
cdef class GraphTask:
    """One call of backward() or grad(): what is wanted, what has been computed, what is outstanding."""

    @property
    def outstanding_tasks(self):
        """Tasks of this run that are queued or running."""
        return self.outstanding.load()

    @property
    def exec_info_empty(self):
        """Whether everything reachable runs (a plain backward())."""
        return not self.has_exec_info


# Note [Stamps]
# ~~~~~~~~~~~~~
# PyTorch builds three hash maps per run (dependencies, not-ready buffers, exec info). Here that state stands in the
# node itself, valid where `node.stamp` is the run's id; ids are never reused, so nothing has to be cleared after a run.
# (1) A run claims each node it can reach when it counts dependencies. A stamp of a run that is over is simply replaced.
# (2) A node stamped by another run that is still going on (a nested backward through the same graph, or a second
#     thread's) keeps that stamp, and the later run keeps its own state for it in GraphTask.side.
# (3) A failed run leaves gradients in nodes that never ran; `sweep` takes them out before the error is raised, and
#     before the run is over: until then its nodes are its own.
# (4) Without the GIL two runs may want a node at once. The stamp is exchanged atomically: one gets the node, and the
#     other finds the stamp of a run that goes on.
# Guarded by test_CD1_*, test_ER7_* and the tests with two runs on one graph.
cdef class NodeState:
    pass


cdef bint _claim(GraphTask task, Node node) except -1:
    """Prepare `node` for the run; True the first time."""
    cdef NodeState st
    cdef uint64_t found
    cdef bint owned
    if read_stamp(&node.stamp) == <uint64_t>task.id:
        return False
    if task.side is not None and id(node) in task.side:
        return False                                            # (2), though the other run may be over by now
    while True:
        found = read_stamp(&node.stamp)
        if found != 0 and (FREE_THREADED or _live.size() > 1) and _is_live(<int64_t>found):
            owned = False
            break
        if swap_stamp(&node.stamp, found, <uint64_t>task.id):   # (4)
            owned = True
            break
    if not owned:
        if task.side is None:                                   # (2)
            task.side = {}
        st = NodeState.__new__(NodeState)
        task.side[id(node)] = st
    else:                                                       # (1)
        node.deps = 0
        node.rflags = 0
        if node.g0 is not None:
            node.g0 = None
    return True


cdef inline int _note_device(GraphTask task, Node node) except -1:
    """The run needs device threads if one of its nodes lies on a device."""
    if not task.shared and node.meta is not None:
        if type(node.meta) is GradMeta:
            if (<GradMeta>node.meta).device_key is not None:
                task.shared = True
        elif node.device_key() is not None:
            task.shared = True
    return 0


cdef NodeState side_state(GraphTask task, Node node):
    if task.side is None:
        return None
    return task.side.get(id(node))


cdef uint32_t run_flags(GraphTask task, Node node):
    cdef NodeState st
    if read_stamp(&node.stamp) == <uint64_t>task.id:
        return node.rflags
    st = side_state(task, node)
    return 0 if st is None else st.rflags


cdef int set_run_flags(GraphTask task, Node node, uint32_t bits) except -1:
    """Set bits; returns 0 without effect where the run does not reach the node."""
    cdef NodeState st
    if read_stamp(&node.stamp) == <uint64_t>task.id:
        node.rflags |= bits
        return 1
    st = side_state(task, node)
    if st is None:
        return 0
    st.rflags |= bits
    return 1


cdef int compute_dependencies(GraphTask task, Node root, uint32_t min_topo) except -1:
    """Count, for every reachable node, the edges that arrive at it. Nodes below min_topo are not expanded."""
    cdef vector[PyObject*] stack
    cdef Node node, child
    cdef NodeState st
    cdef Py_ssize_t i
    _claim(task, root)
    _note_device(task, root)
    stack.push_back(<PyObject*>root)
    while stack.size():
        node = <Node>stack.back()
        stack.pop_back()
        if task.nodes is not None:
            task.nodes.add(node)
        if node.topo < min_topo:
            continue
        for i in range(node.n_edges):
            child = node.e0 if i == 0 else node.e1 if i == 1 else node.edge_node(i)
            if child is None:
                continue
            if _claim(task, child):
                _note_device(task, child)
                stack.push_back(<PyObject*>child)
            if read_stamp(&child.stamp) == <uint64_t>task.id:
                child.deps += 1
            else:
                st = side_state(task, child)
                st.deps += 1
    return 0


cdef struct Step:
    PyObject* node
    Py_ssize_t next                     # the edge to look at next
    bint asked                          # it was asked for itself
    bint needed                         # something that is asked for lies behind it, and it is marked so


cdef int init_to_execute(GraphTask task, Node root, list inputs, bint accumulate_grad, uint32_t min_topo) except -1:
    """`compute_dependencies` of a run for some inputs, and what has to run for them: captures, all on a path to one.

    One walk, because each node that it comes to is out of the caches in a large graph.
    """
    cdef vector[Step] path                      # from the root; without those below min_topo, or without edges
    cdef Step here, below
    cdef PyObject* child                        # borrowed, as the nodes of `path`: the root keeps them all
    cdef Edge edge
    cdef Py_ssize_t k
    cdef uint32_t flags
    cdef bint descended
    path.reserve(32)                            # one request for memory where the graph is small
    task.has_exec_info = True
    task.captured = [None] * len(inputs)
    if not accumulate_grad:
        task.captures = {}
    for k in range(len(inputs)):                # before the walk, which hands on what it finds on its way back
        edge = <Edge>inputs[k]
        _claim(task, edge.node)
        set_run_flags(task, edge.node, RUN_NEEDED if accumulate_grad else RUN_CAPTURE)
    _visit(task, <PyObject*>root, 0)
    here.node = <PyObject*>root
    here.next = 0 if root.topo >= min_topo else root.n_edges
    here.asked = here.needed = False
    while True:
        descended = False
        while here.next < (<Node>here.node).n_edges:
            child = <PyObject*>(<Node>here.node).e0 if here.next == 0 else <PyObject*>(<Node>here.node).e1 \
                if here.next == 1 else borrowed_edge(<Node>here.node, here.next)
            here.next += 1
            if child == <PyObject*>None:
                continue
            flags = _visit(task, child, 1)
            if not flags & RUN_VISITED and (<Node>child).topo >= min_topo and (<Node>child).n_edges:
                path.push_back(here)
                here.node = child
                here.next = 0
                here.asked = flags & (RUN_NEEDED | RUN_CAPTURE) != 0
                here.needed = False
                descended = True
                break
            if flags & (RUN_NEEDED | RUN_CAPTURE) and not here.needed:
                here.needed = True
                need(task, here.node)
        if descended:
            continue
        if not path.size():
            break
        below = here
        here = path.back()
        path.pop_back()
        if (below.needed or below.asked) and not here.needed:
            here.needed = True
            need(task, here.node)
    for k in range(len(inputs)):
        edge = <Edge>inputs[k]
        if not run_flags(task, edge.node) & RUN_VISITED:        # the run does not come to it
            if read_stamp(&edge.node.stamp) == <uint64_t>task.id:
                swap_stamp(&edge.node.stamp, <uint64_t>task.id, 0)
            elif task.side is not None:
                task.side.pop(id(edge.node), None)
        elif not accumulate_grad:
            capture(task.captures, edge, k)
    return 0


cdef int capture(dict captures, Edge edge, Py_ssize_t k) except -1:
    """Note that what arrives at an edge is result `k`."""
    cdef object found = captures.get(edge.node)
    if found is None and edge.input_nr == 0:
        captures[edge.node] = k
    elif type(found) is list:
        (<list>found).append((edge.input_nr, k))
    else:
        captures[edge.node] = [(edge.input_nr, k)] if found is None else [(0, found), (edge.input_nr, k)]
    return 0


cdef inline PyObject* borrowed_edge(Node node, Py_ssize_t i) except NULL:
    cdef Node child = node.edge_node(i)
    return <PyObject*>child


cdef inline int need(GraphTask task, PyObject* node) except -1:
    """Something that is asked for lies behind `node`."""
    if read_stamp(&(<Node>node).stamp) == <uint64_t>task.id:
        (<Node>node).rflags |= RUN_NEEDED
        return 1
    return set_run_flags(task, <Node>node, RUN_NEEDED)


cdef inline uint32_t _visit(GraphTask task, PyObject* node, int arriving) except? 0xFFFFFFFF:
    """Claim `node`, count edges that arrive at it, and mark it as visited. Returns its flags before."""
    cdef NodeState st
    cdef uint32_t flags
    if read_stamp(&(<Node>node).stamp) != <uint64_t>task.id:
        if not FREE_THREADED and _live.size() == 1 and task.side is None and (<Node>node).g0 is None:
            (<Node>node).stamp = <uint64_t>task.id              # no other run goes on
            (<Node>node).deps = arriving
            (<Node>node).rflags = RUN_VISITED
            _note_device(task, <Node>node)
            if task.nodes is not None:
                task.nodes.add(<Node>node)
            return 0
        _claim(task, <Node>node)
    if read_stamp(&(<Node>node).stamp) == <uint64_t>task.id:
        flags = (<Node>node).rflags
        (<Node>node).rflags = <uint16_t>(flags | RUN_VISITED)
        (<Node>node).deps += arriving
    else:
        st = side_state(task, <Node>node)
        flags = st.rflags
        st.rflags = flags | RUN_VISITED
        st.deps += arriving
    if not flags & RUN_VISITED:
        _note_device(task, <Node>node)
        if task.nodes is not None:
            task.nodes.add(<Node>node)
    return flags


cdef int sweep(GraphTask task, Node root) except -1:
    """Drop what a failed run left in nodes (Note [Stamps], 3)."""
    cdef vector[PyObject*] stack
    cdef Node node, child
    cdef Py_ssize_t i
    cdef dict side = task.side or {}
    task.side = None
    if read_stamp(&root.stamp) == <uint64_t>task.id:
        root.g0 = None
        swap_stamp(&root.stamp, <uint64_t>task.id, 0)
    elif side.pop(id(root), None) is None:
        return 0
    stack.push_back(<PyObject*>root)
    while stack.size():
        node = <Node>stack.back()
        stack.pop_back()
        for i in range(node.n_edges):
            child = node.edge_node(i)
            if child is None:
                continue
            if read_stamp(&child.stamp) == <uint64_t>task.id:
                child.g0 = None             # first: without a stamp the node is anybody's
                swap_stamp(&child.stamp, <uint64_t>task.id, 0)
                stack.push_back(<PyObject*>child)
            elif side and side.pop(id(child), None) is not None:
                stack.push_back(<PyObject*>child)
    return 0


# Note [Pruned branches]
# ~~~~~~~~~~~~~~~~~~~~~~
# A run for some inputs only does not execute the other branches, and does not free what they have saved: the user may
# still hold a result of theirs, or run the graph again for other inputs. But where every way to a branch leads through
# nodes whose own saved values this run has freed, no later run can reach it. Such a node is told by its reference
# count: all its references are edges of nodes that are dead in this sense. Guarded by test_WK10_*.
cdef int free_pruned(GraphTask task, Node root) except -1:
    """Release the saved values of branches that were not executed and that no later run can reach."""
    cdef vector[PyObject*] stack
    cdef vector[PyObject*] dead
    cdef unordered_set[NodePointer] seen
    cdef unordered_map[NodePointer, Py_ssize_t] arriving
    cdef Node node, child
    cdef PyObject* p
    cdef Py_ssize_t i
    stack.push_back(<PyObject*>root)
    seen.insert(<PyObject*>root)
    while stack.size():
        node = <Node>stack.back()
        stack.pop_back()
        if read_stamp(&node.stamp) != <uint64_t>task.id or not node.rflags & RUN_DONE:
            continue
        if node.flags & NODE_SAVES and gate_closed(&node.gate):
            dead.push_back(<PyObject*>node)
        for i in range(node.n_edges):
            child = node.edge_node(i)
            if child is not None and seen.insert(<PyObject*>child).second:
                stack.push_back(<PyObject*>child)
    seen.clear()
    for i in range(<Py_ssize_t>dead.size()):
        seen.insert(dead[i])
    node = child = None
    while dead.size():
        node = <Node>dead.back()
        dead.pop_back()
        for i in range(node.n_edges):
            child = node.edge_node(i)
            if child is None or child.flags & NODE_ACCUMULATE:
                continue
            p = <PyObject*>child
            child = None                        # so that only others' references count
            arriving[p] += 1
            if arriving[p] == Py_REFCNT(p) and seen.count(p) == 0:
                seen.insert(p)
                child = <Node>p
                if child.flags & NODE_SAVES and not gate_closed(&child.gate):
                    child.release()
                dead.push_back(p)
                child = None
        node = None
    return 0


cdef class ReadyQueue:
    """A ready queue by itself, to test and to show its order."""
    cdef shared_ptr[CReadyQueue] queue
    cdef dict tags

    def __init__(self):
        self.queue = make_shared[CReadyQueue]()
        self.tags = {}

    def push_for_test(self, depth, seq, *, shutdown=False, empty=False, dead=False, tag=None):
        """Push a task; `pop_for_test` returns its tag."""
        cdef NodeTask t
        t.depth = DEPTH_SHUTDOWN if shutdown else DEPTH_EMPTY if empty else DEPTH_DEAD if dead else depth
        t.seq = seq
        t.task = <PyObject*>tag
        t.node = NULL
        Py_INCREF(tag)
        self.queue.get().push(t)

    def pop_for_test(self):
        """Pop the next task; raises IndexError if there is none."""
        cdef NodeTask t
        if not self.queue.get().try_pop(&t):
            raise IndexError("the queue is empty")
        tag = <object>t.task
        Py_DECREF(tag)
        return tag

    def __len__(self):
        return self.queue.get().size()

    def __dealloc__(self):
        cdef NodeTask t
        while self.queue.get() != NULL and self.queue.get().try_pop(&t):
            Py_XDECREF(t.task)


def current_graph_task_id():
    """Id of the run whose node, hook or callback this code belongs to; -1 outside of backward.

    It is an int, greater than those of the runs before. Nested runs have ids of their own.

    Examples
    --------
    >>> import arraygrad as ag
    >>> ag.autograd.graph.current_graph_task_id()
    -1
    """
    return thread_state().task_id


def current_node():
    """The node being evaluated on this thread, None outside of backward.

    In a hook it is the node that the hook belongs to, or runs before.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> handle = y.register_hook(lambda g: print(ag.autograd.graph.current_node().name()))
    >>> y.sum().backward()
    MulBackward
    """
    cdef ThreadState* ts = thread_state()
    return None if ts.node == NULL else <object>ts.node


def current_graph_task():
    """The running GraphTask on this thread, None outside of backward."""
    cdef ThreadState* ts = thread_state()
    return None if ts.task == NULL else <object>ts.task


def queue_callback(callback):
    """Call `callback()` once all nodes of the running backward are done, before it returns.

    Raises
    ------
    RuntimeError
        Outside of backward.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_hook(lambda g: ag.autograd.graph.queue_callback(lambda: print("done")))
    >>> x.sum().backward()
    done
    """
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    if ts.task == NULL:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task = <GraphTask>ts.task
    with cython.critical_section(task):
        if task.callbacks is None:
            task.callbacks = []
    task.callbacks.append(callback)


def current_graph_task_keep_graph():
    """Whether the running backward keeps what its nodes saved (`retain_graph`). True outside, as in PyTorch.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_hook(lambda g: print(ag.autograd.graph.current_graph_task_keep_graph()))
    >>> x.sum().backward()
    False
    """
    cdef ThreadState* ts = thread_state()
    return True if ts.task == NULL else bool((<GraphTask>ts.task).keep_graph)


def current_graph_task_execution_order():
    """The nodes that the running backward evaluates, in the order in which it comes to them.

    Where the run asks for some inputs only, nodes that lead to none of them are left out; one whose gradient is taken
    before it would run is there, because the hooks of its tensors run.

    Returns
    -------
    list of Node
        Of the whole run, what has run already included.

    Raises
    ------
    RuntimeError
        Outside of backward, and in a run that several threads drive (device nodes, `set_cpu_workers`): its order is
        not known beforehand. `autograd.set_multithreading_enabled(False)` makes it one thread's.

    Examples
    --------
    >>> import arraygrad as ag
    >>> from arraygrad.autograd import graph
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> def show(g):
    ...     print([node.name() for node in graph.current_graph_task_execution_order()])
    >>> handle = x.register_hook(show)
    >>> (x * x).sum().backward()
    ['SumBackward', 'MulBackward', 'AccumulateGrad']
    """
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    cdef unordered_map[NodePointer, int32_t] left
    cdef CReadyQueue queue              # the engine's own, so that ties are broken as it breaks them
    cdef NodeTask t
    cdef Node node, child
    cdef Py_ssize_t i
    cdef list order = []
    if ts.task == NULL:
        raise RuntimeError("current_graph_task_execution_order should only be called during the backward pass")
    task = <GraphTask>ts.task
    if task.multithreading and (task.shared or task.own_queue):
        raise RuntimeError("current_graph_task_execution_order expects the current backward to be executed with "
                           "multithreading disabled, because several threads drive it: call backward() under "
                           "autograd.set_multithreading_enabled(False)")
    count_arrivals(task, &left)
    t.task = NULL
    t.depth = 0
    t.node = <PyObject*>task.root
    t.seq = task.root.seq
    queue.push(t)
    while queue.try_pop(&t):
        node = <Node>t.node
        if node.n_inputs:               # the root of several outputs is no node of the graph's
            order.append(node)
        if task.has_exec_info and not run_flags(task, node) & RUN_NEEDED:
            continue
        for i in range(node.n_edges):
            child = node.edge_node(i)
            if child is None or task.has_exec_info and not run_flags(task, child) & (RUN_NEEDED | RUN_CAPTURE):
                continue
            left[<PyObject*>child] -= 1
            if left[<PyObject*>child] == 0:
                t.node = <PyObject*>child
                t.seq = child.seq
                queue.push(t)
    return order


cdef int count_arrivals(GraphTask task, unordered_map[NodePointer, int32_t]* left) except -1:
    """Per node that the run reaches, how many of its edges arrive there."""
    cdef vector[PyObject*] stack
    cdef Node node, child
    cdef Py_ssize_t i
    stack.push_back(<PyObject*>task.root)
    while stack.size():
        node = <Node>stack.back()
        stack.pop_back()
        for i in range(node.n_edges):
            child = node.edge_node(i)
            # Below the deepest of the requested inputs nothing was stamped, and nothing runs.
            if child is None or read_stamp(&child.stamp) != <uint64_t>task.id and side_state(task, child) is None:
                continue
            if left.count(<PyObject*>child) == 0:
                stack.push_back(<PyObject*>child)
            left[0][<PyObject*>child] += 1
    return 0


def will_execute(Node node):
    """Whether the running backward will execute `node`.

    A run with `inputs` leaves out the nodes that lead to none of them. Raises RuntimeError outside of backward.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x, y = (ag.tensor([1.0], requires_grad=True) for _ in range(2))
    >>> a, b = x * 2, y * 2
    >>> handle = a.register_hook(lambda g: print(ag.autograd.graph.will_execute(b.grad_fn)))
    >>> gradients = ag.autograd.grad((a + b).sum(), [x])
    False
    """
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    if ts.task == NULL:
        raise RuntimeError("will_execute should only be called during the backward pass")
    task = <GraphTask>ts.task
    if not (read_stamp(&node.stamp) == <uint64_t>task.id or side_state(task, node) is not None):
        return False
    if not task.has_exec_info:
        return True
    if run_flags(task, node) & RUN_CAPTURE and node.flags & NODE_ACCUMULATE:
        raise RuntimeError("A leaf node was passed to will_execute but we are currently running autograd.grad(). "
                           "This is currently not supported.")
    return bool(run_flags(task, node) & RUN_NEEDED)


def is_checkpoint_valid():
    """Whether every backward that this code is called from is a plain backward(), without `inputs`; True outside.

    A checkpoint calls its function again in backward. A program whose function has side effects may ask here whether
    every such call is needed.

    Examples
    --------
    >>> import arraygrad as ag
    >>> ag.autograd.is_checkpoint_valid()
    True
    """
    cdef ThreadState* ts = thread_state()
    return ts.task == NULL or (<GraphTask>ts.task).checkpoint_valid


def is_multithreading_enabled():
    """Whether this thread's backward calls use device threads.

    See `set_multithreading_enabled`. Nodes on the host run on the calling thread either way.

    Examples
    --------
    >>> import arraygrad as ag
    >>> ag.autograd.is_multithreading_enabled()
    True
    """
    return thread_state().multithreading != 0


def is_running(int64_t task_id):
    """Whether the run with this id is in progress."""
    return _is_live(task_id)


def will_receive(Node node):
    """Whether gradients arrive at `node` in the running backward, so that its tensor hooks run."""
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    if ts.task == NULL:
        raise RuntimeError("will_receive should only be called during the backward pass")
    task = <GraphTask>ts.task
    if not (read_stamp(&node.stamp) == <uint64_t>task.id or side_state(task, node) is not None):
        return False
    return not task.has_exec_info or bool(run_flags(task, node) & (RUN_NEEDED | RUN_CAPTURE))


def set_multithreading(bint mode):
    """Whether this thread's backward calls use device threads; returns the previous setting."""
    cdef ThreadState* ts = thread_state()
    previous = ts.multithreading
    ts.multithreading = mode
    return bool(previous)
