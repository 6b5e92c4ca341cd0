# One execution of the graph: ready queues, graph tasks, the loop that drives them, device threads.
# May import: every other room of engine. Knows no array and no operation.
import sys
import threading
from time import perf_counter_ns

from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, UINT64_MAX
from libcpp.memory cimport make_shared, shared_ptr
cimport cython

from arraygrad.engine.arrayops cimport ArrayOps, DeviceRuntime, GradMeta
from arraygrad.engine.node cimport (
    Edge, Frame, Node, ThreadState, set_saved_hooks, thread_state,
    NODE_REALIFY, NODE_SAVES,
    RUN_CAPTURE, RUN_DONE, RUN_NEEDED, RUN_OWNED, RUN_QUEUED, RUN_STARTED, RUN_WIDE,
)
from arraygrad.engine.free_threading cimport Section
from arraygrad.engine.graph_task cimport (
    CReadyQueue, DEPTH_EMPTY, DEPTH_SHUTDOWN, GraphTask, NodeState, NodeTask, begin_run, compute_dependencies, end_run,
    free_pruned, init_to_execute, local_queue, run_flags, set_run_flags, side_state, sweep,
)
from arraygrad.engine.anomaly cimport ANOMALY_CHECK_NAN, anomaly_flags, check_nan, describe_failure, issue_notes
from arraygrad.engine.context cimport enter_context, leave_context, take_context
from arraygrad.engine.hooks cimport ops_at, run_post_hooks, run_pre_hooks, run_tensor_hooks, shown_to_user
from arraygrad.engine.input_buffer cimport InputBuffer, OrderedBuffer, accumulate
from arraygrad.engine.streams cimport crossing, enter_caller, join_caller, leave_caller, note_leaf, survey

import arraygrad.engine.graph_task as _graph_task
from arraygrad.engine.lifecycle import devices, devices_lock, on_fork, thread_name
from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.engine.pool import Pool
from arraygrad.engine.graph_task import (  # no-cython-lint: this module is where Python code finds them
    ReadyQueue, current_graph_task, current_graph_task_id, current_node, queue_callback,  # no-cython-lint
    is_checkpoint_valid, is_multithreading_enabled, set_multithreading, will_execute,  # no-cython-lint
)

globals()["GraphTask"] = _graph_task.GraphTask      # a C type above; Python code imports it from here too

cdef enum:
    # Ctrl-C is looked for after this many nodes (it costs a few ns), so that it is seen soon when each takes long.
    SIGNAL_INTERVAL = 8                         # a power of two
    # A waiting thread wakes up this often to let Ctrl-C through.
    WAIT_MILLISECONDS = 20
    # A nested backward goes on in another thread when this many stand on the stack of one (PyTorch's MAX_DEPTH),
    # when they have used so many bytes of it, or half of the frames that Python permits.
    NESTED_RUNS = 60
    NESTED_BYTES = 512 * 1024
    # A worker is woken for a second ready node on the host if its gradient has at least this many elements.
    WORTH_A_THREAD = 16384

cdef object _pool = Pool("arraygrad_nested")
cdef object _worker_pool = Pool("arraygrad_worker")
cdef int _cpu_workers = 0              # set_cpu_workers
cdef bint _deterministic = True        # set_deterministic
cdef object _tracer = None             # set_tracer
cdef object _commit = None             # set_commit
cdef object _AFTER_ALL = 1 << 64
cdef ArrayOps _graph_ops = None        # operations on recorded gradients, registered by the tensor module
cdef dict _devices = devices            # device key -> DeviceThread; changed under devices_lock()
cdef set _shared_runs = set()          # the runs in progress that use device threads, for a forked child


def set_graph_ops(ArrayOps ops):
    """Register the operations on gradients that are recorded themselves (create_graph)."""
    global _graph_ops
    _graph_ops = ops


def set_commit(commit):
    """Register what an atomic run calls at its end with the updates [(accumulator, gradient, owned), ...]."""
    global _commit
    _commit = commit


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


# Queues

cdef int _push(GraphTask task, Node node) except -1:
    """Queue a node that has all its gradients, on its device's queue."""
    cdef NodeTask t
    cdef object key = None
    t.task = <PyObject*>task
    t.node = <PyObject*>node
    t.depth = task.depth
    t.seq = node.seq
    if task.shared and task.multithreading:
        key = node.device_key()
    Py_INCREF(task)
    Py_INCREF(node)
    task.outstanding.fetch_add(1)
    if key is None:
        if task.workers and task.queue.get().size() and _worth_a_thread(node):
            _engage(task)
        task.queue.get().push(t)
    else:
        (<DeviceThread>_devices[key]).queue.get().push(t)
    return 0


cdef int _wake(GraphTask task) except -1:
    """Put an empty task into the owner's queue."""
    cdef NodeTask t
    t.task = <PyObject*>task
    t.node = NULL
    t.depth = DEPTH_EMPTY
    t.seq = 0
    Py_INCREF(task)
    task.outstanding.fetch_add(1)
    task.queue.get().push(t)
    return 0


# The run
cdef str _invalid(Node node, Py_ssize_t i, object error):
    return f"Function {node.name()} returned an invalid gradient at index {i} - {error}"


cdef int _deliver(GraphTask task, Node child, int nr, object grad, bint owned, ArrayOps ops) except -1:
    """Add a gradient to an input of `child`, count the edge down, queue `child` when it is complete."""
    cdef NodeState st = None
    cdef uint32_t rflags
    cdef int32_t deps
    cdef object held, buf
    cdef bint held_owned, skip
    cdef Section section
    if child.stamp != <uint64_t>task.id:
        st = side_state(task, child)
        if st is None:
            raise RuntimeError(f"dependency not found for {child.name()}")
    # Without the GIL two threads of one run may deliver here at once: a section on the node guards its slot and its
    # count. Arrays are added outside of it.
    section.begin(<PyObject*>child)
    deps = child.deps if st is None else st.deps
    rflags = child.rflags if st is None else st.rflags
    skip = task.has_exec_info and not rflags & (RUN_NEEDED | RUN_CAPTURE)
    if deps > 0:
        if skip:
            if st is None:
                child.deps = deps - 1
            else:
                st.deps = deps - 1
        elif not rflags & RUN_STARTED:
            task.pending.fetch_add(1)
            if st is None:
                child.rflags = rflags | RUN_STARTED
            else:
                st.rflags = rflags | RUN_STARTED
    section.end()
    if deps <= 0:
        raise RuntimeError(f"dependency not found for {child.name()}")
    if skip:
        task.pruned = True
        return 0
    if grad is not None:
        if child.n_inputs == 1 and st is None:
            # As in InputBuffer.put: what is there is taken out, added outside of the slot, and put back.
            while True:
                section.begin(<PyObject*>child)
                held = child.g0
                held_owned = (child.rflags & RUN_OWNED) != 0
                if held is None:
                    child.g0 = grad
                    if owned:
                        child.rflags |= RUN_OWNED
                else:
                    child.g0 = None
                    child.rflags &= ~<uint32_t>RUN_OWNED
                section.end()
                if held is None:
                    break
                grad = accumulate(ops, held, held_owned, grad, owned, task.create_graph)
                owned = not task.create_graph
                held = None
        else:
            with cython.critical_section(child):
                if st is None:
                    buf = child.g0
                    if buf is None:
                        buf = child.g0 = InputBuffer(child.n_inputs)
                else:
                    buf = st.g0
                    if buf is None:
                        buf = st.g0 = InputBuffer(child.n_inputs)
            (<InputBuffer>buf).put(nr, grad, owned, ops, task.create_graph)
    section.begin(<PyObject*>child)
    if st is None:
        child.deps -= 1
        deps = child.deps
        if deps == 0:
            child.rflags |= RUN_QUEUED
    else:
        st.deps -= 1
        deps = st.deps
        if deps == 0:
            st.rflags |= RUN_QUEUED
    section.end()
    if deps == 0:
        task.pending.fetch_sub(1)
        _push(task, child)
    return 0


cdef int _keep_apart(GraphTask task, Node node, Py_ssize_t i, Node child, object grad, bint owned, ArrayOps ops,
                     Frame f) except -1:
    """As _deliver, where the sum must not follow the order of arrival or gradients change streams on their way."""
    cdef NodeState st = None if child.stamp == <uint64_t>task.id else side_state(task, child)
    cdef int nr = node.edge_nr(i)
    cdef object crossed = None
    cdef object held
    cdef OrderedBuffer buf
    if child.stamp != <uint64_t>task.id and st is None:
        raise RuntimeError(f"dependency not found for {child.name()}")
    if task.ordered and not run_flags(task, child) & RUN_STARTED and (child.deps if st is None else st.deps) > 2:
        set_run_flags(task, child, RUN_WIDE)
    if grad is None or task.has_exec_info and not run_flags(task, child) & (RUN_NEEDED | RUN_CAPTURE):
        return _deliver(task, child, nr, None, False, ops)
    if task.streams:
        crossed = crossing(f, child, nr)
    held = child.g0 if st is None else st.g0
    if type(held) is OrderedBuffer:
        buf = <OrderedBuffer>held
    elif crossed is None and not run_flags(task, child) & RUN_WIDE:
        return _deliver(task, child, nr, grad, owned, ops)
    else:
        buf = OrderedBuffer.__new__(OrderedBuffer)
        if type(held) is InputBuffer:
            for slot, earlier in enumerate((<InputBuffer>held).slots):
                if earlier is not None:
                    buf.put(-_AFTER_ALL, slot, slot, earlier, (<InputBuffer>held).owned(slot), ops, None)
        elif held is not None:
            buf.put(-_AFTER_ALL, 0, 0, held, (run_flags(task, child) & RUN_OWNED) != 0, ops, None)
        if st is None:
            child.g0 = buf
        else:
            st.g0 = buf
    buf.put(-<object>node.seq, i, nr, grad, owned, ops, crossed)
    return _deliver(task, child, nr, None, False, ops)


# Rare ways, called through pointers so that the compiler keeps them out of the common one's code.
cdef int (*_rare_evaluate)(GraphTask, Node, Frame) except -1
cdef int (*_rare_keep_apart)(GraphTask, Node, Py_ssize_t, Node, object, bint, ArrayOps, Frame) except -1
_rare_keep_apart = _keep_apart


cdef int _evaluate(GraphTask task, Node node, Frame f) except -1:
    """Run one node: hooks, captures, the node itself, and its gradients handed on."""
    cdef NodeState st
    cdef uint32_t rflags
    cdef object buf, grad, nr, k
    cdef tuple grad_outputs = ()
    cdef set post_before = None
    cdef Node child
    cdef GradMeta meta
    cdef ArrayOps ops
    cdef Py_ssize_t i
    cdef bint owned
    # what arrived
    if node.stamp == <uint64_t>task.id:
        rflags = node.rflags
        node.rflags |= RUN_DONE
        buf = node.g0
        node.g0 = None
    else:
        st = side_state(task, node)
        if st is None:
            raise RuntimeError(f"dependency not found for {node.name()}")
        rflags = st.rflags
        buf = st.g0
        st.g0 = None
    f.owned = False
    if task.careful and type(buf) is OrderedBuffer:
        buf = (<OrderedBuffer>buf).fold(node.n_inputs, task.create_graph, f.stream, task.kept)
    if type(buf) is InputBuffer:
        if node.n_inputs == 1:
            f.grad = (<InputBuffer>buf).slots[0]
            f.owned = (<InputBuffer>buf).owned_bits & 1
            f.grads = None
        else:
            f.grads = (<InputBuffer>buf).variables()
    elif node.n_inputs == 1:
        f.grad = buf
        f.owned = (rflags & RUN_OWNED) != 0
        f.grads = None
    else:
        f.grads = [None] * node.n_inputs
    buf = None
    # hooks and captures
    if node.hooks is not None:
        run_tensor_hooks(task.graph_ops, node, f)
    f.needs = UINT64_MAX
    if task.has_exec_info:
        if rflags & RUN_CAPTURE:
            for nr, k in task.captures[node]:
                task.captured[k] = f.input(nr)
                f.owned = False
            if task.streams:
                note_leaf(task, f)
        if not rflags & RUN_NEEDED:
            return _clear(f)
        f.needs = 0
        for i in range(node.n_edges):
            child = node.edge_node(i)
            if child is not None and run_flags(task, child) & (RUN_NEEDED | RUN_CAPTURE):
                f.needs |= <uint64_t>1 << (i if i < 63 else 63)
    if node.hooks is not None:
        if node.hooks.pre:
            run_pre_hooks(task.graph_ops, node, f)
        if node.hooks.post:
            post_before = set(node.hooks.post)
            f.owned = False
        grad_outputs = tuple([shown_to_user(ops_at(task.graph_ops, node, i), f.input(i)) for i in range(node.n_inputs)])
    # the node
    node.apply(f)
    f.grad = None
    f.grads = None
    if node.hooks is not None and node.hooks.post:
        _check_outs(task, node, f)
        run_post_hooks(task.graph_ops, node, f, grad_outputs if post_before is not None else ())
    grad_outputs = None
    if not task.keep_graph and node.flags & NODE_SAVES:
        node.release()
    # what leaves
    if node.n_edges == 0:
        if task.streams:
            note_leaf(task, f)
        return _clear(f)
    if task.anomaly & ANOMALY_CHECK_NAN:
        _check_outs(task, node, f)
        check_nan(task.graph_ops, node, f)
        f.out_owned = 0
    for i in range(node.n_edges):
        child = node.edge_node(i)
        if i == 0:
            grad = f.out0
            f.out0 = None
            owned = f.out_owned & 1
        elif i == 1:
            grad = f.out1
            f.out1 = None
            owned = (f.out_owned & 2) != 0
        else:
            grad = f.out(i)
            owned = False
        if child is None:
            grad = None
            continue
        ops = task.graph_ops
        if grad is not None:
            meta = <GradMeta>child.meta if type(child.meta) is GradMeta else child.meta_at(node.edge_nr(i))
            if meta is not None:
                if ops is None:
                    ops = meta.ops
                if not ops.matches(meta, grad):
                    grad = _conform(ops, meta, grad, node, i)
                    owned = task.graph_ops is None and ops.exclusive(grad)
        if task.has_error:
            return _clear(f)
        if task.careful:
            _rare_keep_apart(task, node, i, child, grad, owned, ops, f)
        else:
            _deliver(task, child, node.edge_nr(i), grad, owned, ops)
        grad = None
    f.more = None
    f.out_owned = 0
    return 0


cdef object _conform(ArrayOps ops, GradMeta meta, object grad, Node node, Py_ssize_t i):
    try:
        return ops.conform(meta, grad, (node.flags & NODE_REALIFY) != 0)
    except InvalidGradient as error:
        raise InvalidGradient(_invalid(node, i, error)) from None


cdef int _check_outs(GraphTask task, Node node, Frame f) except -1:
    """validate_outputs ahead of post-hooks, so that they see gradients of the right shape and dtype."""
    cdef Py_ssize_t i
    cdef Node child
    cdef GradMeta meta
    cdef ArrayOps ops
    for i in range(node.n_edges):
        child = node.edge_node(i)
        grad = f.out(i)
        if child is None or grad is None:
            continue
        meta = child.meta_at(node.edge_nr(i))
        if meta is None:
            continue
        ops = meta.ops if task.graph_ops is None else task.graph_ops
        if not ops.matches(meta, grad):
            f.set_out(i, _conform(ops, meta, grad, node, i))
    return 0


cdef int _fail(GraphTask task, object error) except -1:
    """Record the first error of a run; its remaining tasks are discarded."""
    with cython.critical_section(task):
        if not task.has_error:
            task.error = error
            task.has_error = True
    return 0


cdef int _finish(GraphTask task) except -1:
    """Post-processing by the one thread that completed the last task: callbacks, then the result is there."""
    cdef ThreadState* ts = thread_state()
    cdef int grad_mode = ts.grad_mode
    cdef void* outer = ts.task
    cdef int64_t outer_id = ts.task_id
    cdef list tokens = None
    if task.streams:
        try:
            join_caller(task)
        except BaseException as error:
            _fail(task, error)
    cdef ThreadState before
    cdef object entered = None
    ts.node = NULL                      # it ran, and may be gone
    if not task.has_error:
        if task.pending.load() != 0:
            _fail(task, RuntimeError("could not compute gradients for some functions"))
        elif task.callbacks is not None or task.deferred is not None:
            ts.grad_mode = task.create_graph
            ts.task = <void*>task
            ts.task_id = task.id
            if task.context is not None and ts.thread_id != task.owner:
                entered = enter_context(task, ts, &before)
            try:
                if task.streams:
                    tokens = enter_caller(task)
                if task.deferred is not None:
                    deferred, task.deferred = task.deferred, None
                    _commit(deferred)
                while task.callbacks:           # a callback may add callbacks
                    task.callbacks.pop(0)()
            except BaseException as error:
                _fail(task, error)
            finally:
                if tokens is not None:
                    leave_caller(tokens)
                if entered is not None:
                    leave_context(entered, ts, &before)
                ts.grad_mode = grad_mode
                ts.task = outer
                ts.task_id = outer_id
    task.deferred = None
    if task.own_queue:
        task.completed = True
        task.queue.get().close()
    elif ts.thread_id == task.owner:
        task.completed = True
    else:
        task.finished = True
        _wake(task)                     # completed when the owner takes this out of its queue
    return 0


cdef int _drain(CReadyQueue* queue, GraphTask until, Frame f) except -1:
    """Run tasks of `queue` until it is empty (returns 0), `until` is complete or the thread is told to end (1).

    Called with the GIL. Everything that a node may see as "the current ..." is set before each node and restored at
    the end, on errors too.
    """
    cdef ThreadState* ts = thread_state()
    cdef ThreadState before = ts[0]
    cdef object hooks_before = None if ts.saved_hooks == NULL else <object>ts.saved_hooks
    cdef NodeTask t
    cdef GraphTask task = until
    cdef Node node = None
    cdef int n = 0
    cdef bint failed
    cdef int rc = 0
    while True:
        failed = False
        try:
            while True:
                if until is not None and until.completed:
                    rc = 1
                    break
                if not queue.try_pop(&t):
                    rc = 0
                    break
                if t.task == NULL:
                    rc = 1
                    break
                task = <GraphTask>t.task
                Py_DECREF(task)
                if t.node == NULL:
                    node = None
                    if task.finished:
                        task.completed = True
                else:
                    node = <Node>t.node
                    Py_DECREF(node)
                    if not task.has_error and not task.completed:
                        ts.grad_mode = task.create_graph
                        ts.zero_annihilates = task.zero_annihilates
                        if ts.saved_hooks != NULL or task.saved_hooks is not None:
                            set_saved_hooks(ts, task.saved_hooks)
                        ts.task = <void*>task
                        ts.task_id = task.id
                        ts.node = <void*>node
                        f.create_graph = task.create_graph
                        f.keep_graph = task.keep_graph
                        if task.special:
                            _rare_evaluate(task, node, f)
                        else:
                            _evaluate(task, node, f)
                        n += 1
                        if n & (SIGNAL_INTERVAL - 1) == 0:
                            PyErr_CheckSignals()
                    node = None                 # gradients and node go before the task is counted down
                if task.outstanding.fetch_sub(1) == 1 and not task.completed:
                    _finish(task)
                task = until                    # a run whose caller has gone on is not kept alive from here
        except BaseException as error:
            failed = True
            _clear(f)
            node = None
            _fail(task, error)
            if task.outstanding.fetch_sub(1) == 1 and not task.completed:
                _finish(task)
        if not failed:
            break
    ts.grad_mode = before.grad_mode
    ts.zero_annihilates = before.zero_annihilates
    if ts.saved_hooks != NULL or hooks_before is not None:
        set_saved_hooks(ts, hooks_before)
    ts.task = before.task
    ts.task_id = before.task_id
    ts.node = before.node
    return rc


cdef int _clear(Frame f) except -1:
    f.grad = f.grads = f.out0 = f.out1 = f.more = None
    f.out_owned = 0
    f.owned = False
    return 0


cdef int _evaluate_special(GraphTask task, Node node, Frame f) except -1:
    """As _evaluate, within the caller's context if this is another thread; errors explained (anomaly mode); traced."""
    cdef ThreadState* ts = thread_state()
    cdef ThreadState before
    cdef object entered = None
    if task.context is not None and ts.thread_id != task.owner:
        entered = enter_context(task, ts, &before)
    try:
        if task.tracer is not None:
            return _evaluate_traced(task, node, f)
        return _evaluate_on_device(task, node, f)
    except BaseException:
        if task.anomaly and not task.has_error:
            task.notes = describe_failure(node)
        raise
    finally:
        if entered is not None:
            leave_context(entered, ts, &before)


cdef int _evaluate_on_device(GraphTask task, Node node, Frame f) except -1:
    """As _evaluate, with the node's device and forward stream made current around it."""
    cdef object key = node.device_key()
    cdef GradMeta meta = None
    cdef DeviceRuntime runtime
    cdef Py_ssize_t i
    if key is None:
        return _evaluate(task, node, f)
    for i in range(node.n_inputs):
        meta = node.meta_at(i)
        if meta is not None and meta.device_key == key:
            break
    runtime = meta.ops.runtime
    token = runtime.enter(key, meta.stream)
    f.runtime = runtime
    f.key = key
    f.stream = meta.stream
    try:
        _evaluate(task, node, f)
    finally:
        f.runtime = None
        f.key = f.stream = None
        runtime.leave(token)
    return 0


cdef int _evaluate_traced(GraphTask task, Node node, Frame f) except -1:
    """As _evaluate_on_device, and the tracer is told of it."""
    cdef Py_ssize_t held
    held = node.saved_bytes()
    start = perf_counter_ns()
    try:
        _evaluate_on_device(task, node, f)
    finally:
        task.tracer(node.name(), node.seq, task.id, node.device_key(), start, perf_counter_ns(), held,
                    held - node.saved_bytes())
    return 0


_rare_evaluate = _evaluate_special


cdef void _thread_main(CReadyQueue* queue, PyObject* until, PyObject* frame, int milliseconds) noexcept nogil:
    """The loop of every thread that runs nodes: wait without the GIL, then run what is ready with it.

    A device thread (until is None) goes on until it is told to end. The thread that called backward() stops when its
    own run is complete; meanwhile it may run tasks of other runs that it finds in its queue.
    """
    cdef int rc
    while True:
        if queue.wait(milliseconds):
            with gil:
                rc = _drain_reporting(queue, <object>until, <Frame>frame)
            if rc:
                return
        else:
            with gil:
                rc = _waiting(<object>until)
            if rc:
                return


cdef int _drain_reporting(CReadyQueue* queue, object until, Frame f) noexcept:
    # _drain itself catches everything that nodes raise; an error past that is a fault of the engine.
    try:
        return _drain(queue, until, f)
    except BaseException as error:
        if until is not None:
            _fail(<GraphTask>until, error)
            (<GraphTask>until).completed = True
        return 1


cdef int _waiting(object until) noexcept:
    """Between two waits: let Ctrl-C through. It becomes the run's error; nodes that still run are waited for."""
    cdef GraphTask task = <GraphTask>until
    if task is None:
        return 0
    if task.completed:
        return 1
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        _fail(task, error)
    return 0


cdef class GraphRoot(Node):
    """The start of a run with several roots: its next edges are the roots, its result the given gradients."""
    cpdef str name(self):
        return "GraphRoot"

    cdef int apply(self, Frame f) except -1:
        f.set_outs(self.args)
        return 0


def _root_gradient(Edge root, object grad, ArrayOps graph_ops, Py_ssize_t i):
    cdef GradMeta meta = root.node.meta_at(root.input_nr)
    cdef ArrayOps ops
    if grad is None or meta is None:
        return grad
    ops = meta.ops if graph_ops is None else graph_ops
    if ops.matches(meta, grad):
        return grad
    return ops.conform(meta, grad, False)


cdef object _run(list roots, list grads, bint keep_graph, bint create_graph, bint accumulate_grad,
                 object inputs, ArrayOps graph_ops, bint atomic_updates):
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    cdef Node root
    cdef GraphRoot many
    cdef Edge edge
    cdef uint32_t min_topo = 0
    cdef Py_ssize_t i
    cdef Frame f
    cdef int inference = ts.inference
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
    task = GraphTask.__new__(GraphTask)
    task.keep_graph = keep_graph
    task.create_graph = create_graph
    task.accumulate_grad = accumulate_grad
    task.multithreading = ts.multithreading
    task.zero_annihilates = ts.zero_annihilates
    task.saved_hooks = None if ts.saved_hooks == NULL else <object>ts.saved_hooks
    task.graph_ops = graph_ops
    task.depth = 0 if ts.task == NULL else (<GraphTask>ts.task).depth + 1
    task.checkpoint_valid = not inputs and (ts.task == NULL or (<GraphTask>ts.task).checkpoint_valid)
    task.anomaly = anomaly_flags()
    task.owner = _thread_id(ts)
    task.tracer = _tracer
    if atomic_updates:
        task.deferred = []
    if _cpu_workers and task.multithreading and ts.task == NULL:
        task.workers = _cpu_workers
        task.own_queue = True
        task.queue = make_shared[CReadyQueue]()
        task.queue.get().share()
    else:
        task.queue = local_queue()
    if len(roots) == 1:
        edge = <Edge>roots[0]
        root = edge.node
    else:
        many = GraphRoot.__new__(GraphRoot)
        for i in range(len(roots)):
            edge = <Edge>roots[i]
            many.add_edge(edge.node, edge.input_nr)
        many.args = tuple(grads)
        many.n_inputs = 0
        root = many
    if inputs:
        min_topo = 0xFFFFFFFF
        for e in inputs:
            edge = <Edge?>e
            if edge.node.topo < min_topo:
                min_topo = edge.node.topo
    task.id = begin_run()
    ts.inference = 0                    # gradients are ordinary values
    try:
        compute_dependencies(task, root, min_topo)
        if inputs:
            init_to_execute(task, root, list(inputs), accumulate_grad, min_topo)
            if len(roots) > 1:
                set_run_flags(task, root, RUN_NEEDED)
        if task.shared:
            task.leaf_streams = {}
            task.kept = []
            survey(task, root)
            if task.multithreading:
                _start_devices(task)
                take_context(task, ts)
                _shared_runs.add(task)
                task.queue.get().share()
        task.special = task.shared or task.anomaly or task.tracer is not None
        task.ordered = _deterministic and (task.several_queues or task.own_queue)
        task.careful = task.ordered or task.streams
        try:
            f = Frame.__new__(Frame)
            if len(roots) == 1:
                _put_root(task, root, (<Edge>roots[0]).input_nr, grads[0], f)
            grads = None
            _push(task, root)
            ts.depth += 1
            if ts.depth == 1:
                ts.stack_base = <const void*>&min_topo
            try:
                if ts.depth > 1 and _stack_is_deep(ts):
                    _drive_elsewhere(task)
                elif not _drain(task.queue.get(), task, f):
                    _wait_for(task, f)
            finally:
                ts.depth -= 1
        finally:
            if task.shared and task.multithreading:
                task.queue.get().unshare()
                _shared_runs.discard(task)
        if task.pruned and not keep_graph and not task.has_error:
            free_pruned(task, root)
    finally:
        ts.inference = inference
        try:
            if not task.completed or task.has_error:
                task.completed = True
                sweep(task, root)
        finally:
            end_run(task.id)            # last: until then the nodes are this run's alone (Note [Stamps], 3)
    if task.has_error:
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


cdef int _wait_on(CReadyQueue* queue, GraphTask task, Frame f) except -1:
    cdef PyObject* p = <PyObject*>task
    cdef PyObject* pf = <PyObject*>f
    with nogil:
        _thread_main(queue, p, pf, WAIT_MILLISECONDS)
    return 0


cdef int _wait_for(GraphTask task, Frame f) except -1:
    """The caller's part of a run whose nodes are with other threads now."""
    if not task.shared and not task.own_queue:
        raise RuntimeError("could not compute gradients for some functions")
    return _wait_on(task.queue.get(), task, f)


cdef int _put_root(GraphTask task, Node root, int nr, object grad, Frame f) except -1:
    cdef NodeState st
    cdef InputBuffer buf
    cdef OrderedBuffer apart
    crossed = crossing(f, root, nr) if task.streams and grad is not None else None
    if crossed is not None:
        apart = OrderedBuffer.__new__(OrderedBuffer)
        apart.put(0, 0, nr, grad, False, None, crossed)
        if root.stamp == <uint64_t>task.id:
            root.g0 = apart
        else:
            st = side_state(task, root)
            st.g0 = apart
    elif root.n_inputs > 1 or root.stamp != <uint64_t>task.id:
        buf = InputBuffer(root.n_inputs)
        buf.put(nr, grad, False, None, True)
        if root.stamp == <uint64_t>task.id:
            root.g0 = buf
        else:
            st = side_state(task, root)
            st.g0 = buf
    else:
        root.g0 = grad
    return 0


cdef uint32_t _thread_id(ThreadState* ts):
    if ts.thread_id == 0:
        GraphRoot.__new__(GraphRoot)            # making a node numbers the thread
    return ts.thread_id


# Other threads for host work: nested runs that need a stack of their own, and workers that share a run's nodes

cdef bint _stack_is_deep(ThreadState* ts) except -1:
    """Whether a nested run should leave this thread's stack."""
    cdef char here = 0
    cdef Py_ssize_t used = <const char*>ts.stack_base - &here
    cdef int frames = 0
    if ts.depth > NESTED_RUNS or used > NESTED_BYTES or -used > NESTED_BYTES:
        return True
    if ts.depth % 8 == 0:                       # counting takes as long as there are frames
        frame = sys._getframe()
        while frame is not None:
            frames += 1
            frame = frame.f_back
        return frames > sys.getrecursionlimit() // 2
    return False


cdef class Driver:
    """Drives a run on a thread of the pool, with the modes of the thread that called backward()."""
    cdef GraphTask task
    cdef ThreadState state              # the caller's
    cdef bint nested                    # in place of the caller, who sleeps; else beside it

    def __call__(self):
        cdef ThreadState* ts = thread_state()
        cdef uint32_t number = _thread_id(ts)
        cdef ThreadState before = ts[0]
        cdef GraphTask task = self.task
        cdef Frame f = Frame.__new__(Frame)
        self.task = None
        ts[0] = self.state
        ts.thread_id = number
        ts.saved_hooks = before.saved_hooks             # the loop sets the run's
        Py_XINCREF(<PyObject*>ts.op_hooks)
        ts.depth = 1
        ts.stack_base = <const void*>&number
        try:
            if self.nested:
                task.owner = number
                local_queue().swap(task.queue)          # runs nested in this one use the caller's queue too
                try:
                    if not _drain(local_queue().get(), task, f):
                        _wait_on(local_queue().get(), task, f)
                finally:
                    local_queue().swap(task.queue)
            elif not task.completed:
                _wait_on(task.queue.get(), task, f)
        finally:
            Py_XDECREF(<PyObject*>ts.op_hooks)
            before.saved_hooks = ts.saved_hooks
            ts[0] = before


cdef int _drive_elsewhere(GraphTask task) except -1:
    """Let a thread of the pool drive the run while this one sleeps."""
    job = _pool.submit(_driver(task, True))
    while True:
        try:
            job.wait()
            return 0
        except BaseException as error:
            _fail(task, error)          # Ctrl-C: nodes that have not run yet are discarded
        if task.completed:
            return 0


cdef Driver _driver(GraphTask task, bint nested):
    cdef Driver driver = Driver.__new__(Driver)
    driver.task = task
    driver.state = thread_state()[0]
    driver.nested = nested
    return driver


cdef bint _worth_a_thread(Node node) except -1:
    cdef GradMeta meta = node.meta_at(0)
    size = None if meta is None else meta.size
    return size is not None and size >= WORTH_A_THREAD


cdef int _engage(GraphTask task) except -1:
    """One more worker for a run that has several large nodes ready. Not to get one costs time only."""
    task.workers -= 1
    try:
        _worker_pool.submit(_driver(task, False))
    except RuntimeError:
        task.workers = 0
    return 0


def helper_threads():
    """Threads lent to nested runs and to shared host work at the moment: a list of threading.Thread."""
    return _pool.threads() + _worker_pool.threads()


# Device threads
cdef class DeviceThread:
    """A daemon thread that runs the nodes of one device."""
    cdef shared_ptr[CReadyQueue] queue
    cdef readonly object key
    cdef readonly object thread
    cdef object started

    def __init__(self, key):
        self.key = key
        self.queue = make_shared[CReadyQueue]()
        self.queue.get().share()
        self.started = threading.Event()
        self.thread = threading.Thread(target=self.main, name=thread_name(key), daemon=True)

    def main(self):
        cdef ThreadState* ts = thread_state()
        cdef Frame f = Frame.__new__(Frame)
        cdef PyObject* pf = <PyObject*>f
        cdef PyObject* none = <PyObject*>None
        ts.worker = 1
        # Nodes of a backward that a node of this device starts run here too: this queue is the thread's CPU queue.
        local_queue().swap(self.queue)
        self.queue = local_queue()
        self.started.set()
        with nogil:
            _thread_main(local_queue().get(), none, pf, -1)

    def start(self):
        self.thread.start()
        self.started.wait()

    def stop(self):
        cdef NodeTask t
        t.task = NULL
        t.node = NULL
        t.depth = DEPTH_SHUTDOWN
        t.seq = 0
        self.queue.get().push(t)


cdef int _start_devices(GraphTask task) except -1:
    """Start a thread for each device of the graph that has none yet."""
    for key in task.devices:
        if key not in _devices:
            with devices_lock():
                if key not in _devices:
                    worker = DeviceThread(key)
                    worker.start()
                    _devices[key] = worker
    return 0


def device_threads():
    """The engine's device threads: a dict from device key to threading.Thread."""
    return {key: worker.thread for key, worker in _devices.items()}


def _renew_after_fork():
    """In a forked child: a fresh queue for this thread, an end to runs that wait for lost threads; returns the old."""
    cdef shared_ptr[CReadyQueue] queue = make_shared[CReadyQueue]()
    cdef DeviceThread old = DeviceThread.__new__(DeviceThread)
    cdef GraphTask task
    local_queue().swap(queue)
    old.queue = queue
    left = [old, *_shared_runs]
    for task in _shared_runs:
        _fail(task, RuntimeError("the process was forked in the middle of this backward, whose device threads did not "
                                 "come along: call backward() in the child, or fork outside of it"))
        task.completed = True
    _shared_runs.clear()
    return left


on_fork.append(_renew_after_fork)


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
    return _run(list(roots), list(grads), keep_graph, create_graph, accumulate_grad, inputs, ops, atomic)


def queued_tasks():
    """Number of tasks in the calling thread's CPU queue (0 outside of backward, after errors too)."""
    return local_queue().get().size()
