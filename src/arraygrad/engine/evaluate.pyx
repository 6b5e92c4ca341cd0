# What happens at one node: its gradients and hooks, the node itself, what it hands on and to whom; ready nodes queued.
# May import: every other room of engine but engine.engine. Knows no array and no operation.
from time import perf_counter_ns

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, uint32_t, uint64_t, UINT64_MAX
cimport cython

from arraygrad.engine.anomaly cimport ANOMALY_CHECK_NAN, check_nan, describe_failure
from arraygrad.engine.arrayops cimport ArrayOps, DeviceRuntime, GradMeta
from arraygrad.engine.context cimport enter_context, leave_context
from arraygrad.engine.dead_gradients cimport let_go, let_go_of_grad
from arraygrad.engine.free_threading cimport FREE_THREADED, Section, add_held, read_stamp
from arraygrad.engine.graph_task cimport GraphTask, NodeState, NodeTask, run_flags, side_state
from arraygrad.engine.hooks cimport ops_at, run_post_hooks, run_pre_hooks, run_tensor_hooks, shown_to_user
from arraygrad.engine.input_buffer cimport InputBuffer, OrderedBuffer, PartialGradient, accumulate
from arraygrad.engine.node cimport (
    Frame, Node, ThreadState, thread_state,
    NODE_PYTHON, NODE_REALIFY, NODE_SAVES,
    RUN_CAPTURE, RUN_DONE, RUN_NEEDED, RUN_NUMBER, RUN_OWNED, RUN_PARTIAL, RUN_QUEUED, RUN_STARTED, RUN_WIDE,
)
from arraygrad.engine.streams cimport crossing, keep_saved, note_leaf

from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.engine.lifecycle import devices

cdef enum:
    # A worker is woken for a second ready node on the host if its gradient has at least this many elements.
    WORTH_A_THREAD = 16384

cdef dict _devices = devices            # device key -> DeviceQueue
cdef object _AFTER_ALL = 1 << 64


cdef class DeviceQueue:
    """The ready queue of one device."""


cdef int push(GraphTask task, Node node) except -1:
    """Queue a node that has all its gradients, on its device's queue."""
    cdef NodeTask t
    cdef object key = None
    cdef bint engage = False
    t.task = <PyObject*>task
    t.node = <PyObject*>node
    t.depth = task.depth
    t.seq = node.seq
    if task.shared and task.multithreading:
        key = node.device_key()
    if key is None and task.workers and task.queue.get().size():
        engage = _worth_a_thread(node)
    Py_INCREF(task)
    Py_INCREF(node)
    add_held(task.outstanding, 1)       # from here to the queue nothing may raise: what is counted must be taken out
    if key is None:
        task.queue.get().push(t)
        if engage:
            task.engage(task)
    else:
        (<DeviceQueue>_devices[key]).queue.get().push(t)
    return 0


cdef bint _worth_a_thread(Node node) except -1:
    cdef GradMeta meta = node.meta_at(0)
    size = None if meta is None else meta.size
    return size is not None and size >= WORTH_A_THREAD


cdef str _invalid(Node node, Py_ssize_t i, object error):
    way = ": backward gives a gradient of the shape of that argument of forward" if "shape" in str(error) else ""
    return f"Function {node.name()} returned an invalid gradient at index {i} - {error}{way}"


cdef int _meet(GraphTask task, Node child, object grad, bint owned, ArrayOps ops) except -1:
    """Add a gradient to the only input of `child`, where one may wait already."""
    cdef object held
    cdef uint32_t rflags
    cdef bint held_owned
    cdef Section section
    # As in InputBuffer.put: what is there is taken out, added outside of the slot, and put back.
    while True:
        section.begin(<PyObject*>child)
        held = child.g0
        rflags = child.rflags
        held_owned = (rflags & RUN_OWNED) != 0
        if held is None:
            child.g0 = grad
            if owned:
                child.rflags |= RUN_OWNED
        elif type(held) is not OrderedBuffer:
            child.g0 = None
            child.rflags &= ~<uint32_t>(RUN_OWNED | RUN_PARTIAL | RUN_NUMBER)
        section.end()
        if held is None:
            return 0
        if type(held) is OrderedBuffer:         # begun by another thread since (_buffer_apart)
            return (<OrderedBuffer>held).put(-_AFTER_ALL, 0, 0, grad, owned, ops, None)
        if type(held) is PartialGradient:
            held = (<PartialGradient>held).finish(<PartialGradient>held)
        elif rflags & RUN_NUMBER:
            held = ops.number(<double>held)
            held_owned = True
        grad = accumulate(ops, held, held_owned, grad, owned, task.create_graph)
        owned = not task.create_graph
        held = None


cdef int _put_beside(GraphTask task, Node child, NodeState st, int nr, object grad, bint owned, ArrayOps ops) except -1:
    """Add a gradient to one of several inputs of `child`, or of a node that several runs have at once."""
    cdef object buf
    with cython.critical_section(child):
        if st is None:
            buf = child.g0
            if buf is None:
                buf = child.g0 = InputBuffer(child.n_inputs)
        else:
            buf = st.g0
            if buf is None:
                buf = st.g0 = InputBuffer(child.n_inputs)
    if type(buf) is OrderedBuffer:
        return (<OrderedBuffer>buf).put(-_AFTER_ALL, nr, nr, grad, owned, ops, None)
    return (<InputBuffer>buf).put(nr, grad, owned, ops, task.create_graph)


cdef int deliver(GraphTask task, Node child, int nr, object grad, bint owned, ArrayOps ops) except -1:
    """Add a gradient to an input of `child`, count the edge down, queue `child` when it is complete."""
    cdef NodeState st = None
    cdef uint32_t rflags
    cdef int32_t deps
    cdef bint skip
    cdef Section section
    if read_stamp(&child.stamp) != <uint64_t>task.id:
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
            add_held(task.pending, 1)
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
        if st is None and child.n_inputs == 1:
            if not FREE_THREADED and child.g0 is None:
                child.g0 = grad
                if owned:
                    child.rflags |= RUN_OWNED
            else:
                _meet(task, child, grad, owned, ops)
        else:
            _put_beside(task, child, st, nr, grad, owned, ops)
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
        add_held(task.pending, -1)
        push(task, child)
    return 0


cdef int _note_if_wide(Node child, NodeState st) except -1:
    """At the first delivery: whether so many gradients meet at `child` that their order counts."""
    with cython.critical_section(child):
        if st is None:
            if not child.rflags & RUN_STARTED and child.deps > 2:
                child.rflags |= RUN_WIDE
        elif not st.rflags & RUN_STARTED and st.deps > 2:
            st.rflags |= RUN_WIDE
    return 0


cdef OrderedBuffer _buffer_apart(Node child, NodeState st, ArrayOps ops, bint crosses):
    """The buffer in which the gradients of `child` wait one by one, begun if they must; else None.

    Without the GIL another thread may be delivering meanwhile: an InputBuffer that it adds to is kept as it is until
    the sums are made, and deliver puts what it took out of the slot into the buffer that it finds there now.
    """
    cdef OrderedBuffer buf
    cdef object held
    cdef uint32_t rflags
    with cython.critical_section(child):
        held = child.g0 if st is None else st.g0
        rflags = child.rflags if st is None else st.rflags
        if type(held) is OrderedBuffer:
            return <OrderedBuffer>held
        if not crosses and not rflags & RUN_WIDE:
            return None
        buf = OrderedBuffer.__new__(OrderedBuffer)
        if type(held) is InputBuffer:
            buf.before = <InputBuffer>held
            buf.before_ops = ops
        elif held is not None:
            buf.put(-_AFTER_ALL, 0, 0, held, rflags & RUN_OWNED != 0, ops, None)
        if st is None:
            child.g0 = buf
        else:
            st.g0 = buf
    return buf


cdef int _keep_apart(GraphTask task, Node node, Py_ssize_t i, Node child, object grad, bint owned, ArrayOps ops,
                     Frame f) except -1:
    """As deliver, where the sum must not follow the order of arrival or gradients change streams on their way."""
    cdef NodeState st = None if read_stamp(&child.stamp) == <uint64_t>task.id else side_state(task, child)
    cdef int nr = node.edge_nr(i)
    cdef object crossed = None
    cdef OrderedBuffer buf
    if read_stamp(&child.stamp) != <uint64_t>task.id and st is None:
        raise RuntimeError(f"dependency not found for {child.name()}")
    if task.ordered:
        _note_if_wide(child, st)
    if grad is None or task.has_exec_info and not run_flags(task, child) & (RUN_NEEDED | RUN_CAPTURE):
        return deliver(task, child, nr, None, False, ops)
    if task.streams:
        crossed = crossing(task, f, child, nr, grad)
    buf = _buffer_apart(child, st, ops, crossed is not None)
    if buf is None:
        return deliver(task, child, nr, grad, owned, ops)
    buf.put(-<object>node.seq, i, nr, grad, owned, ops, crossed)
    return deliver(task, child, nr, None, False, ops)


# Called through a pointer so that the compiler keeps it out of the common way's code.
cdef int (*_rare_keep_apart)(GraphTask, Node, Py_ssize_t, Node, object, bint, ArrayOps, Frame) except -1
_rare_keep_apart = _keep_apart


cdef inline PyObject* edge_target(Node node, Py_ssize_t i) except NULL:
    """Where edge `i` leads, borrowed from the node; None: nowhere."""
    cdef Node target
    if i == 0:
        return <PyObject*>node.e0
    if i == 1:
        return <PyObject*>node.e1
    target = node.edge_node(i)
    return <PyObject*>target


cdef int evaluate(GraphTask task, Node node, Frame f) except -1:
    """Run one node: hooks, captures, the node itself, and its gradients handed on."""
    cdef NodeState st
    cdef uint32_t rflags
    cdef object buf, grad, fitted, where, nr, k
    cdef tuple grad_outputs = ()
    cdef set post_before = None
    cdef PyObject* child                # these three are borrowed: the node keeps where it leads, and each of those its
    cdef PyObject* meta                 # metadata
    cdef PyObject* ops
    cdef GradMeta several
    cdef Py_ssize_t i
    cdef bint owned
    # what arrived
    if read_stamp(&node.stamp) == <uint64_t>task.id:
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
    if rflags & (RUN_PARTIAL | RUN_NUMBER):
        if rflags & RUN_PARTIAL:
            if (<PartialGradient>buf).low >= 0 or node.hooks is not None or rflags & RUN_CAPTURE:
                buf = (<PartialGradient>buf).finish(<PartialGradient>buf)
        else:
            buf = (<GradMeta>node.meta).ops.number(<double>buf)
            rflags |= RUN_OWNED
    f.owned = False
    if task.careful and type(buf) is OrderedBuffer:
        buf = (<OrderedBuffer>buf).fold(node.n_inputs, task.create_graph, f.stream, rflags & RUN_CAPTURE != 0)
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
            where = task.captures[node]
            if type(where) is int:
                task.captured[<Py_ssize_t>where] = f.input(0) if f.key is None else let_out(task, node, f, 0)
            else:
                for nr, k in <list>where:
                    task.captured[<Py_ssize_t>k] = f.input(nr) if f.key is None else let_out(task, node, f, nr)
            f.owned = False
            if task.streams:
                note_leaf(task, f)
        if not rflags & RUN_NEEDED:
            return clear_frame(f)
        f.needs = 0
        for i in range(node.n_edges):
            child = edge_target(node, i)
            if child != <PyObject*>None and run_flags(task, <Node>child) & (RUN_NEEDED | RUN_CAPTURE):
                f.needs |= <uint64_t>1 << (i if i < 63 else 63)
    if node.hooks is not None:
        if node.hooks.pre:
            run_pre_hooks(task.graph_ops, node, f)
        if node.hooks.post:
            post_before = set(node.hooks.post)
            f.owned = False
            grad_outputs = tuple([
                shown_to_user(ops_at(task.graph_ops, node, i), f.input(i)) for i in range(node.n_inputs)])
    # the node
    if task.streams and node.flags & (NODE_SAVES | NODE_PYTHON) and f.stream is not None:
        keep_saved(task, node, f.stream)
    node.apply(f)
    if type(node.meta) is GradMeta:
        let_go_of_grad(f, (<GradMeta>node.meta).ops.recycle)
    else:
        f.grad = None
    if f.grads is not None:
        f.grads = None
    if node.hooks is not None and node.hooks.post:
        _check_outs(task, node, f)
        run_post_hooks(task.graph_ops, node, f, grad_outputs if post_before is not None else ())
        grad_outputs = None
    if node.flags & NODE_SAVES and not task.keep_graph:
        node.release()
    # what leaves
    if node.n_edges == 0:
        if task.streams:
            note_leaf(task, f)
        return clear_frame(f)
    if task.anomaly & ANOMALY_CHECK_NAN:
        _check_outs(task, node, f)
        check_nan(task.graph_ops, node, f)
        f.out_owned = 0
    for i in range(node.n_edges):
        child = edge_target(node, i)
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
        if child == <PyObject*>None:
            grad = None
            continue
        ops = <PyObject*>task.graph_ops
        if grad is not None:
            if type((<Node>child).meta) is GradMeta:
                meta = <PyObject*>(<Node>child).meta
            else:
                several = (<Node>child).meta_at(node.edge_nr(i))
                meta = <PyObject*>several
            if meta != <PyObject*>None:
                if ops == <PyObject*>None:
                    ops = <PyObject*>(<GradMeta>meta).ops
                if not (<ArrayOps>ops).matches(<GradMeta>meta, grad):
                    fitted = _conform(<ArrayOps>ops, <GradMeta>meta, grad, node, i, f.key)
                    let_go(grad, (<ArrayOps>ops).recycle)
                    grad = fitted
                    fitted = None
                    owned = task.graph_ops is None and (<ArrayOps>ops).exclusive(grad)
        if task.has_error.load():
            return clear_frame(f)
        if task.careful:
            _rare_keep_apart(task, node, i, <Node>child, grad, owned, <ArrayOps>ops, f)
        else:
            deliver(task, <Node>child, node.edge_nr(i), grad, owned, <ArrayOps>ops)
        if ops == <PyObject*>None:
            grad = None
        else:
            let_go(grad, (<ArrayOps>ops).recycle)
    if f.more is not None:
        f.more = None
    f.out_owned = 0
    return 0


cdef object let_out(GraphTask task, Node node, Frame f, Py_ssize_t i):
    """Gradient `i` of a node on a device, for who asked for it."""
    cdef object grad = f.input(i)
    cdef ArrayOps ops = ops_at(task.graph_ops, node, i)
    return grad if grad is None or ops is None else ops.let_out(grad)


cdef Node _open_child(Node node):
    """The node where edge 0 of the running `node` leads, if a rule may write to what waits there; else None.

    Only in a run whose host work is one thread's, and where nothing looks at what this node itself returns.
    """
    cdef ThreadState* ts = thread_state()
    cdef GraphTask task
    cdef Node child = node.e0
    if FREE_THREADED or ts.task == NULL or ts.node != <void*>node or node.hooks is not None or child is None:
        return None
    task = <GraphTask>ts.task
    if task.careful or task.own_queue or task.shared or task.anomaly:
        return None
    if read_stamp(&child.stamp) != <uint64_t>task.id or child.n_inputs != 1:
        return None
    if task.has_exec_info and not child.rflags & (RUN_NEEDED | RUN_CAPTURE):
        return None
    return child


cdef object waiting_gradient(Node node):
    """What waits where edge 0 of the running `node` leads, if its rule may add to it in place; else None.

    The rule then returns None for that edge. Only a buffer that the engine alone holds.
    """
    cdef Node child = _open_child(node)
    cdef PartialGradient partial
    if child is None or not child.rflags & RUN_OWNED:
        return None
    if child.rflags & RUN_PARTIAL:
        partial = <PartialGradient>child.g0
        child.g0 = partial.finish(partial)
        child.rflags &= ~<uint32_t>RUN_PARTIAL
    return child.g0


cdef Node sole_reader(Node node):
    """The node where edge 0 of the running `node` leads, if it gets no other gradient, and only it sees this one."""
    cdef Node child = _open_child(node)
    if child is None or child.deps != 1 or child.g0 is not None or child.hooks is not None \
            or child.rflags & RUN_CAPTURE:
        return None
    return child


cdef PartialGradient partial_gradient(Node node):
    """As waiting_gradient, but only one that is written in part so far, which it may stay."""
    cdef Node child = _open_child(node)
    return None if child is None or not child.rflags & RUN_PARTIAL else <PartialGradient>child.g0


cdef bint leave_partial(Node node, PartialGradient gradient) except -1:
    """Let a gradient that is written in part wait where edge 0 of the running `node` leads, if nothing waits there.

    The rule then returns None for that edge.
    """
    cdef Node child = _open_child(node)
    cdef GradMeta meta
    if child is None or child.g0 is not None or child.deps <= 0:
        return False
    meta = child.meta_at(0)
    if meta is None or not meta.ops.matches(meta, gradient.array):
        return False
    child.g0 = gradient
    child.rflags |= RUN_OWNED | RUN_PARTIAL
    return True


cdef object _conform(ArrayOps ops, GradMeta meta, object grad, Node node, Py_ssize_t i, object key):
    try:
        return conformed(ops, meta, grad, (node.flags & NODE_REALIFY) != 0, key)
    except InvalidGradient as error:
        raise InvalidGradient(_invalid(node, i, error)) from None


cdef object conformed(ArrayOps ops, GradMeta meta, object grad, bint realify, object key):
    """`grad` made to match, with the device of `meta` current; `key` is the one that is current already."""
    cdef DeviceRuntime runtime
    if meta.device_key is None or meta.ops.runtime is None or key == meta.device_key:
        return ops.conform(meta, grad, realify)
    runtime = meta.ops.runtime
    token = runtime.enter(meta.device_key, None)
    try:
        return ops.conform(meta, grad, realify)
    finally:
        runtime.leave(token)


cdef int _check_outs(GraphTask task, Node node, Frame f) except -1:
    """validate_outputs ahead of post-hooks, so that they see gradients of the right shape and dtype."""
    cdef Py_ssize_t i
    cdef Node child
    cdef GradMeta meta
    cdef ArrayOps ops
    for i in range(node.n_edges):
        child = node.e0 if i == 0 else node.e1 if i == 1 else node.edge_node(i)
        grad = f.out(i)
        if child is None or grad is None:
            continue
        meta = child.meta_at(node.edge_nr(i))
        if meta is None:
            continue
        ops = meta.ops if task.graph_ops is None else task.graph_ops
        if not ops.matches(meta, grad):
            f.set_out(i, _conform(ops, meta, grad, node, i, f.key))
    return 0


cdef int fail(GraphTask task, object error) except -1:
    """Record the first error of a run; its remaining tasks are discarded."""
    with cython.critical_section(task):
        if not task.has_error.load():
            task.error = error
            task.has_error.store(True)
    return 0


cdef int clear_frame(Frame f) except -1:
    f.grad = f.grads = f.out0 = f.out1 = f.more = None
    f.out_owned = 0
    f.owned = False
    return 0


cdef int evaluate_special(GraphTask task, Node node, Frame f) except -1:
    """As evaluate, within the caller's context if this is another thread; errors explained (anomaly mode); traced."""
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
        if task.anomaly and not task.has_error.load():
            task.notes = describe_failure(node)
        raise
    finally:
        if entered is not None:
            leave_context(entered, ts, &before)


cdef int _evaluate_on_device(GraphTask task, Node node, Frame f) except -1:
    """As evaluate, with the node's device and forward stream made current around it."""
    cdef object key = node.device_key()
    cdef GradMeta meta = None
    cdef DeviceRuntime runtime
    cdef Py_ssize_t i
    if key is None:
        return evaluate(task, node, f)
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
        evaluate(task, node, f)
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
