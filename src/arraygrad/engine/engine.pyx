# One execution of the graph: ready queues, graph tasks, the loop that drives them, device threads.
# May import: every other room of engine. Knows no array and no operation.
import sys

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.memory cimport make_shared, shared_ptr

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, read_stamp
from arraygrad.engine.node cimport (
    Edge, Frame, Node, ThreadState, anomaly_in_use, set_saved_hooks, thread_state,
    RUN_NEEDED,
)
from arraygrad.engine.graph_task cimport (
    CReadyQueue, DEPTH_EMPTY, DEPTH_SHUTDOWN, GraphTask, NodeState, NodeTask, begin_run, compute_dependencies, end_run,
    free_pruned, handle_signals, init_to_execute, local_queue, note_outside, set_run_flags, side_state, sweep,
)
from arraygrad.engine.anomaly cimport anomaly_flags, issue_notes
from arraygrad.engine.context cimport enter_context, leave_context, take_context
from arraygrad.engine.evaluate cimport DeviceQueue, clear_frame, conformed, evaluate, evaluate_special, fail, push
from arraygrad.engine.input_buffer cimport InputBuffer, OrderedBuffer
from arraygrad.engine.numbers cimport run_numbers, serves
from arraygrad.engine.sharing cimport team
from arraygrad.engine.streams cimport crossing, enter_caller, join_caller, keep, leave_caller, let_go, stream_of, survey

import arraygrad.engine.graph_task as _graph_task
from arraygrad.engine.lifecycle import devices, devices_lock, on_fork, thread_name
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

cdef int _cpu_workers = 0              # set_cpu_workers
cdef bint _deterministic = True        # set_deterministic
cdef object _tracer = None             # set_tracer
cdef object _commit = None             # set_commit
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


cdef bint runs_are_observed() noexcept:
    """Whether a tracer or anomaly mode is to see each node run."""
    return _tracer is not None or anomaly_in_use()


# Queues

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
cdef int _post_process(GraphTask task) except -1:
    """What the run still does when its last node has run: streams, the updates of an atomic run, callbacks."""
    cdef ThreadState* ts = thread_state()
    cdef int grad_mode = ts.grad_mode
    cdef void* outer = ts.task
    cdef int64_t outer_id = ts.task_id
    cdef list tokens = None
    if task.streams:
        try:
            join_caller(task)
        except BaseException as error:
            fail(task, error)
    cdef ThreadState before
    cdef object entered = None
    ts.node = NULL                      # it ran, and may be gone
    if not task.has_error.load():
        if task.pending.load() != 0:
            fail(task, RuntimeError("could not compute gradients for some functions"))
        elif task.callbacks is not None or task.deferred is not None:
            ts.grad_mode = task.create_graph
            ts.task = <void*>task
            ts.task_id = task.id
            try:
                if task.context is not None and ts.thread_id != task.owner:
                    entered = enter_context(task, ts, &before)
                if task.streams:
                    tokens = enter_caller(task)
                if task.deferred is not None:
                    deferred, task.deferred = task.deferred, None
                    if task.streams:
                        _keep_deferred(task, deferred)
                    _commit(deferred)
                while task.callbacks:           # a callback may add callbacks
                    task.callbacks.pop(0)()
            except BaseException as error:
                fail(task, error)
            finally:
                if tokens is not None:
                    leave_caller(tokens)
                if entered is not None:
                    leave_context(entered, ts, &before)
                ts.grad_mode = grad_mode
                ts.task = outer
                ts.task_id = outer_id
    if task.streams:
        try:
            let_go(task)
        except BaseException as error:
            fail(task, error)
    return 0


cdef int _keep_deferred(GraphTask task, list deferred) except -1:
    """Keep the gradients of an atomic run, made on the streams of leaves: the caller's streams are to add them."""
    cdef Node node
    cdef GradMeta meta
    for node, grad, _ in deferred:
        stream = stream_of(node)
        if stream is not None:
            meta = node.meta_at(0)
            caller = task.devices[node.device_key()][1]
            if caller is not None:
                keep(task, meta.ops, grad, stream, caller)
    return 0


cdef int _finish(GraphTask task) except -1:
    """By the one thread that completed the last task: post-processing, then the result is there, come what may."""
    try:
        _post_process(task)
    except BaseException as error:
        fail(task, error)
    task.deferred = None
    if task.own_queue:
        task.completed = True
        task.queue.get().close()
    elif thread_state().thread_id == task.owner:
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
                    if not task.has_error.load() and not task.completed:
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
                            evaluate_special(task, node, f)
                        elif task.numbers and serves(task, node):
                            run_numbers(task, node, queue, f)
                        else:
                            evaluate(task, node, f)
                        n += 1
                        if n & (SIGNAL_INTERVAL - 1) == 0:
                            handle_signals(task)
                    node = None                 # gradients and node go before the task is counted down
                if task.outstanding.fetch_sub(1) == 1 and not task.completed:
                    _finish(task)
                task = until                    # a run whose caller has gone on is not kept alive from here
        except BaseException as error:
            failed = True
            clear_frame(f)
            node = None
            fail(task, error)
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


cdef void _thread_main(CReadyQueue* queue, GraphTask until, Frame f, int milliseconds) noexcept:
    """The loop of every thread that runs nodes: wait without the GIL, then run what is ready with it.

    A device thread (until is None) goes on until it is told to end. The thread that called backward() stops when its
    own run is complete; meanwhile it may run tasks of other runs that it finds in its queue.

    The thread takes the GIL back by its own thread state (PyEval_RestoreThread, which `with nogil` ends with), never by
    PyGILState_Ensure: a daemon thread may wake up here after the interpreter has ended, when there is no state to find
    and none to make. Restoring ends such a thread.
    """
    cdef bint ready
    while True:
        with nogil:
            ready = queue.wait(milliseconds)
        if _drain_reporting(queue, until, f) if ready else _waiting(until):
            return


cdef int _drain_reporting(CReadyQueue* queue, object until, Frame f) noexcept:
    # _drain itself catches everything that nodes raise; an error past that is a fault of the engine.
    try:
        return _drain(queue, until, f)
    except BaseException as error:
        if until is not None:
            fail(<GraphTask>until, error)
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
        handle_signals(task)
    except BaseException as error:
        fail(task, error)
    return 0


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
    task.owner = _thread_id(ts)
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
                _start_devices(task)
                take_context(task, ts)
                _shared_runs.add(task)
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


cdef int _wait_on(CReadyQueue* queue, GraphTask task, Frame f) except -1:
    _thread_main(queue, task, f, WAIT_MILLISECONDS)
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
        cdef shared_ptr[CReadyQueue] queue
        cdef bint entered = False
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
                queue = task.queue                      # the caller's: runs nested in this one use it too
                local_queue().swap(queue)
                try:
                    if not _drain(local_queue().get(), task, f):
                        _wait_on(local_queue().get(), task, f)
                finally:
                    local_queue().swap(queue)
            elif not task.completed:
                entered = team.enter()                  # Note [Shared kernels] (4)
                _wait_on(task.queue.get(), task, f)
        finally:
            team.leave(entered)
            Py_XDECREF(<PyObject*>ts.op_hooks)
            before.saved_hooks = ts.saved_hooks
            ts[0] = before


cdef object _pool = None                # engine.pool: nested runs and workers import it, and `threading` with it


cdef object lent():
    global _pool
    if _pool is None:
        import arraygrad.engine.pool as found
        _pool = found
    return _pool


cdef int _drive_elsewhere(GraphTask task) except -1:
    """Let a thread of the pool drive the run while this one sleeps."""
    job = None
    try:
        job = lent().Job(_driver(task, True))
        lent().NESTED.submit(job)
    except BaseException as error:
        fail(task, error)
        if job is None or job.cancel():         # no thread has it, and none will: its tasks leave the queue here
            _drain(task.queue.get(), task, Frame.__new__(Frame))
            return 0
    while True:
        try:
            job.wait()
            return 0
        except BaseException as error:
            fail(task, error)          # Ctrl-C: nodes that have not run yet are discarded
        if task.completed:
            return 0


cdef Driver _driver(GraphTask task, bint nested):
    cdef Driver driver = Driver.__new__(Driver)
    driver.task = task
    driver.state = thread_state()[0]
    driver.nested = nested
    return driver


def _engage(GraphTask task):
    """One more worker for a run that has several large nodes ready. Not to get one costs time only."""
    task.workers -= 1
    try:
        lent().WORKERS.submit(lent().Job(_driver(task, False)))
    except RuntimeError:
        task.workers = 0


def helper_threads():
    """Threads lent to nested runs and to shared host work at the moment: a list of threading.Thread."""
    return lent().NESTED.threads() + lent().WORKERS.threads()


# Device threads
cdef class DeviceThread(DeviceQueue):
    """A daemon thread that runs the nodes of one device."""
    cdef readonly object key
    cdef readonly object thread
    cdef object started
    cdef bint serves

    def __init__(self, key):
        import threading

        self.key = key
        self.queue = make_shared[CReadyQueue]()
        self.queue.get().share()
        self.started = threading.Event()
        self.thread = threading.Thread(target=self.main, name=thread_name(key), daemon=True)

    def main(self):
        try:
            self.serve()
        finally:
            self.started.set()          # the caller waits for it

    cdef int serve(self) except -1:
        cdef ThreadState* ts = thread_state()
        cdef Frame f = Frame.__new__(Frame)
        ts.worker = 1
        # Nodes of a backward that a node of this device starts run here too: this queue is the thread's CPU queue.
        local_queue().swap(self.queue)
        self.queue = local_queue()
        self.serves = True
        self.started.set()
        _thread_main(local_queue().get(), None, f, -1)
        return 0

    def start(self):
        """Start the thread and wait until it serves its queue."""
        try:
            self.thread.start()
            self.started.wait()
            if not self.serves:
                raise RuntimeError(f"the thread for device {self.key} ended before it could run anything")
        except BaseException:           # Ctrl-C too, with the thread on its way
            self.stop()
            raise

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
        fail(task, RuntimeError("the process was forked in the middle of this backward, whose device threads did not "
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
    return _run([r for r in roots], [g for g in grads], keep_graph, create_graph, accumulate_grad, inputs, ops, atomic)


def queued_tasks():
    """Number of tasks in the calling thread's CPU queue (0 outside of backward, after errors too)."""
    return local_queue().get().size()
