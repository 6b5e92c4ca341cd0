# The loop that every thread of the engine runs: tasks out of a ready queue, and the end of a run.
# May import: every other room of engine but engine.engine, engine.pool and engine.threads. Knows no array and no
# operation.
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.node cimport Frame, Node, ThreadState, set_saved_hooks, thread_state
from arraygrad.engine.graph_task cimport CReadyQueue, DEPTH_EMPTY, GraphTask, NodeTask, handle_signals
from arraygrad.engine.context cimport enter_context, leave_context
from arraygrad.engine.evaluate cimport clear_frame, evaluate, evaluate_special, fail
from arraygrad.engine.free_threading cimport add_held
from arraygrad.engine.numbers cimport run_numbers, serves
from arraygrad.engine.streams cimport enter_caller, join_caller, keep, leave_caller, let_go, stream_of

cdef enum:
    # Ctrl-C is looked for after this many nodes (it costs a few ns), so that it is seen soon when each takes long.
    SIGNAL_INTERVAL = 8                         # a power of two

cdef object _commit = None             # set_commit


def set_commit(commit):
    """Register what an atomic run calls at its end with the updates [(accumulator, gradient, owned), ...]."""
    global _commit
    _commit = commit


cdef int _wake(GraphTask task) except -1:
    """Put an empty task into the owner's queue."""
    cdef NodeTask t
    t.task = <PyObject*>task
    t.node = NULL
    t.depth = DEPTH_EMPTY
    t.seq = 0
    Py_INCREF(task)
    add_held(task.outstanding, 1)
    task.queue.get().push(t)
    return 0


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


cdef int drain(CReadyQueue* queue, GraphTask until, Frame f) except -1:
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
                        f.zero_annihilates = task.zero_annihilates
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
                if add_held(task.outstanding, -1) == 1 and not task.completed:
                    _finish(task)
                task = until                    # a run whose caller has gone on is not kept alive from here
        except BaseException as error:
            failed = True
            clear_frame(f)
            node = None
            fail(task, error)
            if add_held(task.outstanding, -1) == 1 and not task.completed:
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


cdef void thread_main(CReadyQueue* queue, GraphTask until, Frame f, int milliseconds) noexcept:
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
    # drain itself catches everything that nodes raise; an error past that is a fault of the engine.
    try:
        return drain(queue, until, f)
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
