# What the caller's context holds, carried to the threads that run nodes of its backward, and to a rule's own threads.
# May import: engine.node, engine.graph_task.
import functools

from arraygrad.engine.graph_task cimport GraphTask
from arraygrad.engine.node cimport Node, ThreadState, thread_state

cdef extern from "Python.h":
    object PyContext_CopyCurrent()
    object PyContext_Copy(object ctx)
    int PyContext_Enter(object ctx) except -1
    int PyContext_Exit(object ctx) except -1


# Note [The caller's context]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A node that runs on another thread than its backward was called on sees what its caller sees:
# (1) every ContextVar (NumPy's errstate, decimal contexts, anomaly mode, the user's own): a run that uses other threads
#     takes one copy of the caller's context before it starts, and each node is run in a copy of that. (A Context can be
#     entered by one thread at a time, hence the second copy; both cost about 50 ns.) What a rule sets in it is gone
#     after the node.
# (2) the modes that are integers of the thread's state, because reading them must cost nothing: `inherit` copies them.
#     Whoever adds such a mode adds it there. Grad mode and zero_annihilates belong to the run: the loop sets them.
# A run on the caller's thread alone is in the caller's context anyway and takes no copy.
# Warnings need no more than this. Up to Python 3.13 filters and recorders (catch_warnings, pytest.warns) belong to the
# process, so a warning on a device thread meets the caller's own: it is shown, recorded, ignored, or raised there, and
# then it is the run's error. Where filters belong to a context (3.14, -X context_aware_warnings), the copy holds them.
# Collecting warnings to issue them again later would need catch_warnings on the device thread, which changes the state
# of the whole process and is not safe there.
# Guarded by test_GM4_*, test_GM5_*.
cdef int take_context(GraphTask task, ThreadState* ts) except -1:
    """Keep the caller's context and modes for the threads that will run nodes of the task."""
    task.context = PyContext_CopyCurrent()
    task.modes = ts[0]
    return 0


cdef inline void inherit(ThreadState* ts, const ThreadState* source) noexcept:
    ts.multithreading = source.multithreading
    ts.inference = source.inference


cdef object enter_context(GraphTask task, ThreadState* ts, ThreadState* before):
    """Make the caller's context and modes current on this thread; returns and fills in what leave_context needs."""
    cdef object entered = PyContext_Copy(task.context)
    PyContext_Enter(entered)
    before[0] = ts[0]
    inherit(ts, &task.modes)
    return entered


cdef int leave_context(object entered, ThreadState* ts, const ThreadState* before) except -1:
    """Restore the thread's own."""
    inherit(ts, before)
    PyContext_Exit(entered)
    return 0


cdef class Carried:
    """A function together with the context, modes, node and graph task of the thread that made it."""
    cdef object function
    cdef object context
    cdef ThreadState modes
    cdef GraphTask task
    cdef Node node
    cdef dict __dict__                  # the function's name and docstring

    def __init__(self, function):
        cdef ThreadState* ts = thread_state()
        if not callable(function):
            raise TypeError(f"carry_context: expected a function, but got {type(function).__name__}")
        self.function = function
        self.context = PyContext_CopyCurrent()
        self.modes = ts[0]
        if ts.task != NULL:
            self.task = <GraphTask>ts.task
            self.node = None if ts.node == NULL else <Node>ts.node

    def __call__(self, *args, **kwargs):
        cdef ThreadState* ts = thread_state()
        cdef ThreadState before = ts[0]
        cdef object context = PyContext_Copy(self.context)
        cdef bint running = self.task is not None and not self.task.completed
        inherit(ts, &self.modes)
        ts.grad_mode = self.modes.grad_mode
        ts.zero_annihilates = self.modes.zero_annihilates
        ts.task = <void*>self.task if running else NULL
        ts.task_id = self.task.id if running else -1
        ts.node = <void*>self.node if running and self.node is not None else NULL
        PyContext_Enter(context)
        try:
            return self.function(*args, **kwargs)
        finally:
            PyContext_Exit(context)
            inherit(ts, &before)
            ts.grad_mode = before.grad_mode
            ts.zero_annihilates = before.zero_annihilates
            ts.task = before.task
            ts.task_id = before.task_id
            ts.node = before.node


def carry_context(function):
    """`function`, to be called on another thread as if on this one.

    It sees this thread's context variables, grad mode, `zero_annihilates`, anomaly mode and, if made inside a backward
    run, that run's `current_graph_task_id()` and `current_node()` for as long as the run goes on. A rule or hook that
    hands work to a thread pool passes `carry_context(work)`.

    Raises
    ------
    TypeError
        If `function` is not callable.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import arraygrad as ag
    >>> with ThreadPoolExecutor(1) as pool, ag.no_grad():
    ...     pool.submit(ag.autograd.graph.carry_context(ag.is_grad_enabled)).result()
    False
    """
    carried = Carried(function)
    functools.update_wrapper(carried, function)
    return carried
