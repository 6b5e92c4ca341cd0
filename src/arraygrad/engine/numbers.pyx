# Nodes whose gradients are single numbers, run one after another without arrays, frames and the queue.
# May import: engine.arrayops, engine.evaluate, engine.free_threading, engine.graph_task, engine.node. Knows no
# operation.
#
# Note [Numbers]
# ~~~~~~~~~~~~~~
# A program that computes number by number records a node for each, and most of what the engine does at a node is the
# same whether its gradient has a million elements or one. So where a gradient is one number of double precision, it
# waits in its node as a Python float (RUN_NUMBER), and the node's rule is arithmetic on C doubles (Node.apply_number).
# (1) Which nodes: those that a compiled forward marked, NODE_NUMBER, when all their operands and their result were such
#     numbers. Reads and writes of one element are marked NODE_ELEMENT: a read adds a number to the gradient of its
#     array where that waits, a write takes one out of it and leaves zero.
# (2) Which runs: of one thread, without streams, anomaly mode, tracer, create_graph or zero_annihilates. Which visits:
#     where no hook stands at the node, it is not captured, and the node is not another run's.
# (3) Everything else is declined, and the node takes the ordinary way (evaluate): so do sums and products that are not
#     finite, because a warning or an error may be due. Whoever takes a number out of its slot makes an array of it.
# (4) The float of a node that has run goes to the next node at which a first number arrives, if nobody else holds it
#     (number_boxes.hpp).
# (5) Nodes come in the order of the queue. A few that are ready wait beside it, because passing through it costs more
#     than their rules.
# (6) Where a list of numbers was joined, the mark is NODE_ELEMENT with EVERY in the place of a place: each edge gets
#     its element of the gradient.
# Nodes recorded under set_fast_paths(False) are not marked. Guarded by tests/backends/test_number_gradients.py.
from cpython.float cimport PyFloat_FromDouble
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF
from libc.float cimport DBL_MAX
from libc.math cimport fabs
from libc.stdint cimport uint32_t, uint64_t

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta
from arraygrad.engine.evaluate cimport deliver, evaluate, push
from arraygrad.engine.free_threading cimport add_held, read_stamp
from arraygrad.engine.graph_task cimport CReadyQueue, GraphTask, NodeTask, handle_signals
from arraygrad.engine.node cimport (
    Frame, Node, thread_state,
    NODE_CONSTANT, NODE_ELEMENT, NODE_FAST, NODE_NUMBER, NODE_PACKED, NODE_SAVES, NODE_ZERO_ABSORBS,
    RUN_CAPTURE, RUN_DONE, RUN_NEEDED, RUN_NUMBER, RUN_OWNED, RUN_PARTIAL, RUN_QUEUED, RUN_STARTED,
)

cdef extern from "Python.h":
    ctypedef struct PyFloatObject:
        double ob_fval
    Py_ssize_t Py_REFCNT(PyObject* o)
    PyTypeObject* type_of "Py_TYPE"(PyObject* o) noexcept
    double float_value "PyFloat_AS_DOUBLE"(PyObject* o) noexcept

cdef enum:
    MARKS = NODE_FAST | NODE_NUMBER | NODE_ELEMENT | NODE_CONSTANT | NODE_PACKED | NODE_ZERO_ABSORBS
    SIGNAL_INTERVAL = 64                # nodes after which Ctrl-C is looked for, a power of two
    MOST_READY = 12                     # nodes that wait beside the queue

cdef uint64_t EVERY = <uint64_t>-1      # `print` of a node whose edges are the elements in order (6)


cdef bint serves(GraphTask task, Node node) noexcept:
    """Whether a node that is ready may take this way (2)."""
    cdef uint32_t marks = node.flags & MARKS
    if not marks & (NODE_NUMBER | NODE_ELEMENT) or marks & (NODE_CONSTANT | NODE_PACKED | NODE_ZERO_ABSORBS):
        return False
    if not marks & NODE_FAST or node.hooks is not None or read_stamp(&node.stamp) != <uint64_t>task.id:
        return False
    if task.has_exec_info and (node.rflags & (RUN_NEEDED | RUN_CAPTURE)) != RUN_NEEDED:
        return False
    return True


cdef extern from "number_boxes.hpp" namespace "arraygrad":
    cdef cppclass FloatBoxes:
        pass
    void take_box(FloatBoxes& boxes, Node node) noexcept
    bint put_box(FloatBoxes& boxes, Node node, double x) except 0


cdef struct Ready:
    PyObject* nodes[MOST_READY]         # by rising sequence number; borrowed: the run's root keeps every node of it
    int n
    FloatBoxes* boxes


cdef int run_numbers(GraphTask task, Node first, CReadyQueue* queue, Frame f) except -1:
    """Run a node that `serves`, and what is ready after it as long as that does too."""
    cdef Node node = first
    cdef Ready ready
    cdef FloatBoxes boxes
    cdef NodeTask t
    cdef int n = 0
    ready.n = 0
    ready.boxes = &boxes
    while True:
        if not step(task, node, &ready):
            thread_state().node = <void*>node
            evaluate(task, node, f)
        n += 1
        if n & (SIGNAL_INTERVAL - 1) == 0:
            handle_signals(task)
        if ready.n:
            node = <Node>ready.nodes[ready.n - 1]
            if queue.precedes(task.depth, node.seq):
                ready.n -= 1
                if serves(task, node):
                    continue
                push(task, node)
        elif queue.size() == 0:
            return 0
        queue.try_pop(&t)
        if t.task != <PyObject*>task or t.node == NULL or not serves(task, <Node>t.node):
            queue.push(t)
            while ready.n:
                ready.n -= 1
                push(task, <Node>ready.nodes[ready.n])
            return 0
        node = <Node>t.node
        Py_DECREF(node)
        Py_DECREF(task)
        add_held(task.outstanding, -1)


cdef bint step(GraphTask task, Node node, Ready* ready) except -1:
    """Run one node. False: declined, nothing was done."""
    cdef double g
    cdef double out[2]
    if not node.flags & NODE_NUMBER:
        if node.print == EVERY:
            return scatter_step(task, node, node.g0, ready)
        return write_step(task, node, node.g0, ready)
    if node.rflags & RUN_NUMBER:
        g = float_value(<PyObject*>node.g0)
    elif node.g0 is None or node.rflags & RUN_PARTIAL or not (<GradMeta>node.meta).ops.read_number(node.g0, &g):
        return False
    if node.flags & NODE_ELEMENT:
        return read_step(task, node, g, ready)
    if not node.apply_number(g, out):
        return False
    taken(task, node, ready)
    if node.e0 is not None:
        hand_on(task, node.e0, node.n0, out[0], ready)
    if node.e1 is not None:
        hand_on(task, node.e1, node.n1, out[1], ready)
    return True


cdef inline int taken(GraphTask task, Node node, Ready* ready) except -1:
    """The node has its gradient: its slot is empty, and what it saved goes unless the graph is kept."""
    node.rflags |= RUN_DONE
    if node.rflags & RUN_NUMBER:
        take_box(ready.boxes[0], node)
    else:
        node.g0 = None
    if node.flags & NODE_SAVES and not task.keep_graph:
        node.release()
    return 0


cdef bint read_step(GraphTask task, Node node, double g, Ready* ready) except -1:
    """t[i]: the gradient is added to one element of what waits where the only edge leads."""
    cdef Node child = node.e0
    cdef GradMeta meta
    cdef object whole
    if child is None or not is_open(task, child) or type(child.meta) is not GradMeta:
        return False
    if child.g0 is not None and child.rflags & (RUN_OWNED | RUN_PARTIAL) != RUN_OWNED:
        return False
    meta = <GradMeta>child.meta
    whole = meta.ops.add_element(child.g0, meta, node.print, g)
    if whole is None:
        return False
    taken(task, node, ready)
    if child.g0 is None:
        child.g0 = whole
        child.rflags |= RUN_OWNED
    count_down(task, child, ready)
    return True


cdef bint write_step(GraphTask task, Node node, object held, Ready* ready) except -1:
    """t[i] = x: one element of the gradient goes to x, and the rest, with zero in its place, to what t was before."""
    cdef Node child = node.e0
    cdef ArrayOps ops
    cdef double g
    if held is None or node.rflags & (RUN_OWNED | RUN_PARTIAL) != RUN_OWNED or type(node.meta) is not GradMeta:
        return False
    ops = (<GradMeta>node.meta).ops
    if not ops.take_element(held, node.print, &g):
        return False
    taken(task, node, ready)
    if child is not None:
        if child.g0 is None and is_open(task, child):
            child.g0 = held
            child.rflags |= RUN_OWNED
            count_down(task, child, ready)
        else:
            deliver(task, child, node.n0, held, True, ops)
    if node.e1 is not None:
        hand_on(task, node.e1, node.n1, g, ready)
    return True


cdef bint scatter_step(GraphTask task, Node node, object held, Ready* ready) except -1:
    """Numbers joined to an array: each edge gets its element of the gradient (6)."""
    cdef ArrayOps ops
    cdef Node child
    cdef double x, last
    cdef int i, n = node.n_edges
    if held is None or node.rflags & RUN_PARTIAL or type(node.meta) is not GradMeta:
        return False
    ops = (<GradMeta>node.meta).ops
    if not node.rflags & RUN_OWNED:
        held = ops.clone(held, held)
    if not ops.take_element(held, n - 1, &last):
        return False
    taken(task, node, ready)
    for i in range(n):
        if i == n - 1:
            x = last
        elif not ops.take_element(held, i, &x):
            raise RuntimeError(f"{node.name()}: its gradient has fewer elements than the list had numbers")
        child = node.edge_node(i)
        if child is not None:
            hand_on(task, child, node.edge_nr(i), x, ready)
    return True


cdef inline bint is_open(GraphTask task, Node child) noexcept:
    """Whether the one slot of `child` takes a gradient of this run here and now."""
    return read_stamp(&child.stamp) == <uint64_t>task.id and child.n_inputs == 1 and child.deps > 0 and (
        not task.has_exec_info or child.rflags & (RUN_NEEDED | RUN_CAPTURE))


cdef int hand_on(GraphTask task, Node child, int nr, double x, Ready* ready) except -1:
    """`deliver` for a number."""
    cdef PyObject* held
    cdef double sum
    if not is_open(task, child) or type_of(<PyObject*>child.meta) != <PyTypeObject*>GradMeta:
        return deliver_array(task, child, nr, x)
    if child.rflags & RUN_NUMBER:
        held = <PyObject*>child.g0
        sum = float_value(held) + x
        if not fabs(sum) <= DBL_MAX:
            return deliver_array(task, child, nr, x)
        if Py_REFCNT(held) == 1:
            (<PyFloatObject*>held).ob_fval = sum
        else:
            child.g0 = PyFloat_FromDouble(sum)
    elif child.g0 is None:
        put_box(ready.boxes[0], child, x)
        child.rflags |= RUN_NUMBER
    else:
        return deliver_array(task, child, nr, x)
    return count_down(task, child, ready)


cdef int deliver_array(GraphTask task, Node child, int nr, double x) except -1:
    cdef GradMeta meta = child.meta_at(nr)
    if meta is None:
        raise RuntimeError(f"{child.name()} does not say what its gradient is")
    return deliver(task, child, nr, meta.ops.number(x), True, meta.ops)


cdef inline int count_down(GraphTask task, Node child, Ready* ready) except -1:
    """One edge fewer leads to `child`, which is open. What is complete is `ready`."""
    child.deps -= 1
    if child.deps:
        if not child.rflags & RUN_STARTED:
            child.rflags |= RUN_STARTED
            add_held(task.pending, 1)
        return 0
    if child.rflags & RUN_STARTED:
        add_held(task.pending, -1)
    child.rflags |= RUN_STARTED | RUN_QUEUED
    return add_ready(task, child, ready)


cdef inline int add_ready(GraphTask task, Node node, Ready* ready) except -1:
    """Let a node wait for its turn here. Where there are too many, the one that comes last waits in the queue."""
    cdef int k = ready.n
    if k == MOST_READY:
        push(task, <Node>ready.nodes[0] if (<Node>ready.nodes[0]).seq < node.seq else node)
        if (<Node>ready.nodes[0]).seq > node.seq:
            return 0
        for k in range(MOST_READY - 1):
            ready.nodes[k] = ready.nodes[k + 1]
        k = MOST_READY - 1
    else:
        ready.n += 1
    while k > 0 and (<Node>ready.nodes[k - 1]).seq > node.seq:
        ready.nodes[k] = ready.nodes[k - 1]
        k -= 1
    ready.nodes[k] = <PyObject*>node
    return 0
