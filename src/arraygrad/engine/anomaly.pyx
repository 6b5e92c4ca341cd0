# Anomaly mode: nodes remember where they were recorded, results are searched for nan, errors say where they come from.
# May import: engine.arrayops, engine.node.
import contextvars
import sys
import warnings

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.node cimport (
    Frame, Node, NodeHooks, ThreadState, anomaly_in_use, count_anomaly_modes, set_node_watcher, thread_state,
)

# Keys of Node.metadata, PyTorch's names.
TRACEBACK = "traceback_"
PARENT = "parent_"

cdef str NO_FORWARD = ("No forward pass information available. Enable detect anomaly during forward pass for more "
                       "information.")


# Note [Anomaly mode is local to a context]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The mode is the value of a ContextVar, so threads and asyncio tasks don't see each other's, and a device thread, which
# runs nodes in a copy of its caller's context, sees the caller's. Reading a ContextVar for every node would cost those
# who don't use the mode. So the value is an object that counts itself: while none is alive in the whole process, a new
# node tests one number and goes on; it falls back to zero when the last context that holds a mode is dropped.
# Guarded by test_AN5_*.
cdef class AnomalyMode:
    """The value of the context variable where the mode is on."""
    cdef readonly bint check_nan

    def __cinit__(self, bint check_nan):
        self.check_nan = check_nan
        count_anomaly_modes(1)

    def __dealloc__(self):
        count_anomaly_modes(-1)


_mode = contextvars.ContextVar("arraygrad_anomaly_mode", default=None)


def switch_anomaly_mode(check_nan):
    """Anomaly mode with or without `check_nan` in this context, off with None; returns the previous setting."""
    previous = _mode.get()
    _mode.set(None if check_nan is None else AnomalyMode(check_nan))
    return previous


def restore_anomaly_mode(previous):
    """Go back to a setting that `switch_anomaly_mode` returned."""
    _mode.set(previous)


def is_anomaly_enabled():
    """Whether anomaly mode is on in this context.

    `detect_anomaly` and `set_detect_anomaly` change it.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.autograd.set_detect_anomaly(True):
    ...     ag.autograd.is_anomaly_enabled()
    True
    """
    return _mode.get() is not None


def is_anomaly_check_nan_enabled():
    """Whether gradients are searched for nan in this context (False where anomaly mode is off).

    `detect_anomaly(check_nan=False)` explains errors only.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.autograd.set_detect_anomaly(True, check_nan=False):
    ...     ag.autograd.is_anomaly_check_nan_enabled()
    False
    """
    cdef AnomalyMode mode = _mode.get()
    return mode is not None and mode.check_nan


cdef int anomaly_flags() except -1:
    """The mode of the current context, as bits."""
    cdef AnomalyMode mode
    if not anomaly_in_use():
        return 0
    mode = _mode.get()
    if mode is None:
        return 0
    return ANOMALY_ON | (ANOMALY_CHECK_NAN if mode.check_nan else 0)


cdef int note_creation(Node node) except -1:
    """Keep with a new node where it was recorded, and the node whose evaluation recorded it."""
    cdef ThreadState* ts = thread_state()
    cdef NodeHooks hooks
    if _mode.get() is None:
        return 0
    # Not need_hooks(): nobody else has the node yet, and an accumulator's would ask for its leaf, which is not there.
    if node.hooks is None:
        node.hooks = NodeHooks.__new__(NodeHooks)
    hooks = node.hooks
    if hooks.metadata is None:
        hooks.metadata = {}
    hooks.metadata[TRACEBACK] = where_we_are()
    if ts.node != NULL:
        hooks.metadata[PARENT] = <Node>ts.node
    return 0


set_node_watcher(note_creation)


cdef object where_we_are():
    """The Python stack without frames of arraygrad, oldest call first. Source lines are read if they are shown."""
    cdef list frames = []
    import traceback                    # here: importing arraygrad has no need of it

    frame = sys._getframe()
    while frame is not None:
        if not is_ours(frame.f_globals.get("__name__")):
            code = frame.f_code
            frames.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name, lookup_line=False))
        frame = frame.f_back
    frames.reverse()
    return traceback.StackSummary.from_list(frames)


cdef bint is_ours(object module) except -1:
    return isinstance(module, str) and (module == "arraygrad" or module.startswith("arraygrad."))


cdef int check_nan(ArrayOps graph_ops, Node node, Frame f) except -1:
    """Raise if a gradient that the node computed holds a nan."""
    cdef Py_ssize_t i
    cdef Node child
    cdef GradMeta meta
    cdef bint found
    for i in range(node.n_edges):
        child = node.edge_node(i)
        grad = f.out(i)
        if child is None or grad is None:
            continue
        meta = child.meta_at(node.edge_nr(i))
        if graph_ops is not None:
            found = graph_ops.has_nan(grad)
        elif meta is not None:
            found = meta.ops.has_nan(grad)
        else:
            found = grad != grad
        if found:
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    return 0


cdef str _recorded_at(dict metadata, str heading):
    """The heading's text with the forward traceback, where there is one."""
    stack = None if metadata is None else metadata.get(TRACEBACK)
    if stack is None:
        return f". {NO_FORWARD}"
    return f". {heading}\n{''.join(stack.format())}"


cdef list describe_failure(Node node):
    """Texts that say where a node that failed was recorded, and the nodes that led to it (create_graph)."""
    cdef dict metadata = None if node.hooks is None else node.hooks.metadata
    cdef list texts = [f"Error detected in {node.name()}"
                       + _recorded_at(metadata, "Traceback of forward call that caused the error:")]
    cdef Node parent
    cdef set seen = {node}
    while metadata is not None and isinstance(metadata.get(PARENT), Node):
        parent = <Node>metadata[PARENT]
        if parent in seen:              # the user may write into metadata
            break
        seen.add(parent)
        metadata = None if parent.hooks is None else parent.hooks.metadata
        texts.append(f"Previous calculation was induced by {parent.name()}"
                     + _recorded_at(metadata, "Traceback of forward call that induced the previous calculation:"))
    return texts


cdef int issue_notes(list notes, object error) except -1:
    """Warn of them in the caller.

    Where its filters turn warnings into errors, the run's own error counts: it carries the text as a note, and stderr
    has it as in PyTorch, for those who catch the error and show its message alone.
    """
    for text in notes:
        try:
            warnings.warn(text, UserWarning, stacklevel=2)
        except Warning:
            error.add_note(text)
            if sys.stderr is not None:
                print(f"UserWarning: {text}", file=sys.stderr)
    return 0
