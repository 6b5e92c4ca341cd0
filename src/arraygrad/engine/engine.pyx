# One execution of the graph: its roots, what it computes and where, and its result.
# May import: every other room of engine. Knows no array and no operation.
from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport make_shared

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, read_stamp
from arraygrad.engine.node cimport Edge, Frame, Node, ThreadState, anomaly_in_use, thread_state, RUN_NEEDED
from arraygrad.engine.graph_task cimport (
    CReadyQueue, GraphTask, NodeState, begin_run, compute_dependencies, end_run, free_pruned, init_to_execute,
    local_queue, note_outside, set_run_flags, side_state, sweep,
)
from arraygrad.engine.anomaly cimport anomaly_flags, issue_notes
from arraygrad.engine.context cimport take_context
from arraygrad.engine.evaluate cimport conformed, push
from arraygrad.engine.input_buffer cimport InputBuffer, OrderedBuffer
from arraygrad.engine.sharing cimport team
from arraygrad.engine.streams cimport crossing, survey
from arraygrad.engine.thread_main cimport drain
from arraygrad.engine.threads cimport (
    drive_elsewhere, lent, shared_runs, stack_is_deep, start_devices, thread_number, wait_on,
)

import arraygrad.engine.graph_task as _graph_task
from arraygrad.engine.graph_task import (  # no-cython-lint: this module is where Python code finds them
    ReadyQueue, current_graph_task, current_graph_task_id, current_node, queue_callback,  # no-cython-lint
    is_checkpoint_valid, is_multithreading_enabled, set_multithreading, will_execute,  # no-cython-lint
)
from arraygrad.engine.threads import engage as _engage

globals()["GraphTask"] = _graph_task.GraphTask      # a C type above; Python code imports it from here too

cdef int _cpu_workers = 0              # set_cpu_workers
cdef bint _deterministic = True        # set_deterministic
cdef object _tracer = None             # set_tracer
cdef ArrayOps _graph_ops = None        # operations on recorded gradients, registered by the tensor module


def set_graph_ops(ArrayOps ops):
    """Register the operations on gradients that are recorded themselves (create_graph)."""
    global _graph_ops
    _graph_ops = ops


def set_cpu_workers(int n):
    """Let up to `n` further threads share the host work of a run; returns the previous number."""
    global _cpu_workers
    if n < 0:
        raise ValueError(f"set_cpu_workers: n must be 0 or more, got {n}")
    previous = _cpu_workers
    _cpu_workers = n
    return previous


def set_deterministic(bint mode):
    """Add gradients in an order that does not depend on the timing of threads; returns the previous setting."""
    global _deterministic
    previous = _deterministic
    _deterministic = mode
    return bool(previous)


def set_tracer(tracer):
    """Call `tracer(name, sequence_nr, run, device, start_ns, end_ns, bytes_saved, bytes_freed)` after each node.

    None: nothing is called. Returns the previous tracer.
    """
    global _tracer
    previous = _tracer
    _tracer = tracer
    return previous


cdef bint runs_are_observed() noexcept:
    """Whether a tracer or anomaly mode is to see each node run."""
    return _tracer is not None or anomaly_in_use()


cdef class GraphRoot(Node):
    """The start of a run with several roots: its next edges are the roots, its result the given gradients."""
    cpdef str name(self):
        return "GraphRoot"

    cdef int apply(self, Frame f) except -1:
        f.set_outs(self.args)
        return 0


cdef object _root_gradient(Edge root, object grad, ArrayOps graph_ops, Py_ssize_t i):
    cdef GradMeta meta = root.node.meta_at(root.input_nr)
    cdef ArrayOps ops
    if grad is None or meta is None:
        return grad
    ops = meta.ops if graph_ops is None else graph_ops
    if ops.matches(meta, grad):
        return grad
    return conformed(ops, meta, grad, False, None)


cdef object _run(list roots, list grads, bint keep_graph, bint create_graph, bint accumulate_grad,
                 object inputs, ArrayOps graph_ops, bint atomic_updates):
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    cdef GraphRoot many
    cdef Edge edge
    cdef Py_ssize_t i
    if len(roots) != len(grads):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    if not roots:
        return () if accumulate_grad else tuple([None] * len(inputs))
    if not accumulate_grad and not inputs:
        raise RuntimeError("grad requires non-empty inputs.")
    for i in range(len(roots)):
        edge = <Edge?>roots[i]
        if edge.node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        grads[i] = _root_gradient(edge, grads[i], graph_ops, i)
    task = _new_task(ts, keep_graph)
    task.create_graph = create_graph
    task.accumulate_grad = accumulate_grad
    task.graph_ops = graph_ops
    if inputs:
        task.checkpoint_valid = False
    if atomic_updates:
        task.deferred = []
    if len(roots) == 1:
        edge = <Edge>roots[0]
        return _execute(ts, task, edge.node, edge.input_nr, grads.pop(), inputs)
    many = GraphRoot.__new__(GraphRoot)
    for i in range(len(roots)):
        edge = <Edge>roots[i]
        many.add_edge(edge.node, edge.input_nr)
    many.args = tuple(grads)
    many.n_inputs = 0
    grads.clear()
    return _execute(ts, task, many, 0, None, inputs)


cdef object run_one(Node root, int nr, object grad, bint keep_graph):
    """A plain backward() from input `nr` of one node. `grad` matches the root's metadata."""
    cdef ThreadState* ts = thread_state()
    return _execute(ts, _new_task(ts, keep_graph), root, nr, grad, ())


cdef object run_for_inputs(Node root, int nr, object grad, list inputs):
    """The gradients that arrive at some edges: the graph is freed, no leaf gets any. `grad` as for run_one."""
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task = _new_task(ts, False)
    task.accumulate_grad = False
    task.checkpoint_valid = False
    return _execute(ts, task, root, nr, grad, inputs)


cdef GraphTask _new_task(ThreadState* ts, bint keep_graph):
    """A run with the modes of this thread."""
    cdef GraphTask task = GraphTask.__new__(GraphTask)
    task.keep_graph = keep_graph
    task.accumulate_grad = True
    task.multithreading = ts.multithreading
    task.zero_annihilates = ts.zero_annihilates
    if ts.saved_hooks != NULL:
        task.saved_hooks = <object>ts.saved_hooks
    if ts.task == NULL:
        task.checkpoint_valid = True
    else:
        task.depth = (<GraphTask>ts.task).depth + 1
        task.checkpoint_valid = (<GraphTask>ts.task).checkpoint_valid
    task.anomaly = anomaly_flags()
    task.owner = thread_number(ts)
    note_outside(task, ts)
    task.tracer = _tracer
    if _cpu_workers and task.multithreading and ts.task == NULL:
        task.workers = _cpu_workers
        if team.threads.load() > 1:     # one bound for all that computes (set_num_threads)
            task.workers = min(task.workers, team.threads.load() - 1)
        task.own_queue = True
        task.engage = _engage
        task.queue = make_shared[CReadyQueue]()
        task.queue.get().share()
    else:
        task.queue = local_queue()
    return task


cdef object _execute(ThreadState* ts, GraphTask task, Node root, int nr, object grad, object inputs):
    """Run a task from `root`: `grad` arrives at its input `nr` (GraphRoot has no input and holds the gradients)."""
    cdef Edge edge
    cdef uint32_t min_topo = 0
    cdef Frame f
    cdef int inference = ts.inference
    if inputs:
        min_topo = 0xFFFFFFFF
        for e in inputs:
            edge = <Edge?>e
            if edge.node.topo < min_topo:
                min_topo = edge.node.topo
    task.root = root
    task.id = begin_run()
    ts.inference = 0                    # gradients are ordinary values
    try:
        if not inputs:
            compute_dependencies(task, root, min_topo)
        else:
            inputs = inputs if type(inputs) is list else list(inputs)
            init_to_execute(task, root, inputs, task.accumulate_grad, min_topo)
            if root.n_inputs == 0:
                set_run_flags(task, root, RUN_NEEDED)
        if task.shared:
            task.leaf_streams = {}
            task.kept = []
            task.homes = {}
            survey(task, root)
            if task.multithreading:
                start_devices(task)
                take_context(task, ts)
                shared_runs.add(task)
                task.queue.get().share()
        task.special = task.shared or task.anomaly or task.tracer is not None
        task.ordered = _deterministic and (task.several_queues or task.own_queue)
        task.careful = task.ordered or task.streams
        task.numbers = not (FREE_THREADED or task.special or task.careful or task.own_queue or task.create_graph
                            or task.zero_annihilates)
        try:
            f = Frame.__new__(Frame)
            if root.n_inputs:
                _put_root(task, root, nr, grad, f)
            grad = None
            push(task, root)
            ts.depth += 1
            if ts.depth == 1:
                ts.stack_base = <const void*>&min_topo
            try:
                if ts.depth == 2:
                    lent()              # where the stack has room for an import
                if ts.depth > 1 and stack_is_deep(ts):
                    drive_elsewhere(task)
                elif not drain(task.queue.get(), task, f):
                    _wait_for(task, f)
            finally:
                ts.depth -= 1
        finally:
            if task.shared and task.multithreading:
                task.queue.get().unshare()
                shared_runs.discard(task)
        if task.pruned and not task.keep_graph and not task.has_error.load():
            free_pruned(task, root)
    finally:
        ts.inference = inference
        try:
            if not task.completed or task.has_error.load():
                task.completed = True
                sweep(task, root)
        finally:
            task.root = None            # who holds the task for longer does not hold the graph
            end_run(task.id)            # last: until then the nodes are this run's alone (Note [Stamps], 3)
    if task.has_error.load():
        error = task.error
        task.error = None
        if task.notes is not None:
            issue_notes(task.notes, error)
        task.captured = None
        task.callbacks = None
        try:
            raise error
        finally:
            error = None        # the traceback refers to this frame: no cycle
    if task.captured is None:
        return ()
    captured = tuple(task.captured)
    task.captured = None                # a device thread may still hold the task for a moment
    return captured


cdef int _wait_for(GraphTask task, Frame f) except -1:
    """The caller's part of a run whose nodes are with other threads now."""
    if not task.shared and not task.own_queue:
        raise RuntimeError("could not compute gradients for some functions")
    return wait_on(task.queue.get(), task, f)


cdef int _put_root(GraphTask task, Node root, int nr, object grad, Frame f) except -1:
    cdef NodeState st
    cdef InputBuffer buf
    cdef OrderedBuffer apart
    crossed = crossing(task, f, root, nr, grad) if task.streams and grad is not None else None
    if crossed is not None and crossed[2] is not None:
        apart = OrderedBuffer.__new__(OrderedBuffer)
        apart.put(0, 0, nr, grad, False, None, crossed)
        if read_stamp(&root.stamp) == <uint64_t>task.id:
            root.g0 = apart
        else:
            st = side_state(task, root)
            st.g0 = apart
    elif root.n_inputs > 1 or read_stamp(&root.stamp) != <uint64_t>task.id:
        buf = InputBuffer(root.n_inputs)
        buf.put(nr, grad, False, None, True)
        if read_stamp(&root.stamp) == <uint64_t>task.id:
            root.g0 = buf
        else:
            st = side_state(task, root)
            st.g0 = buf
    else:
        root.g0 = grad
    return 0


# Python's view

def execute(roots, grads, *, keep_graph=False, create_graph=False, accumulate_grad=True, inputs=(), ops=None,
            atomic=False):
    """Run the graph from `roots` and return the captured gradients.

    Parameters
    ----------
    roots : list of Edge
    grads : list of gradients, one per root (None: undefined)
        Of the backend's arrays; Tensors with `create_graph`. They are checked against the roots' metadata.
    keep_graph, create_graph : bool
        Keep saved values; record the backward itself.
    accumulate_grad : bool
        True for backward() (`inputs` restricts it), False for grad(): the gradients of `inputs` are captured.
    inputs : sequence of Edge
    ops : ArrayOps, optional
        Operations on recorded gradients, if not the registered ones.
    atomic : bool
        Update the leaves once everything has been computed: all of them, or none if anything raises.

    Returns
    -------
    tuple
        One gradient (or None) per input; empty for a plain backward().
    """
    if ops is None and create_graph:
        ops = _graph_ops
    return _run([r for r in roots], [g for g in grads], keep_graph, create_graph, accumulate_grad, inputs, ops, atomic)


def queued_tasks():
    """Number of tasks in the calling thread's CPU queue (0 outside of backward, after errors too)."""
    return local_queue().get().size()
