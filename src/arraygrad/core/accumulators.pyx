# The ends of the graph: how a leaf finds its AccumulateGrad, and how gradients are added to its `.grad`.
# May import: engine.*, core.value, core.write_protection, core.leaf_locks.
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport UINT64_MAX

from arraygrad.engine.arrayops cimport ArrayOps
from arraygrad.engine.free_threading cimport FREE_THREADED, Section, enable_try_incref, try_incref
from arraygrad.engine.node cimport (
    Frame, Node, NodeHooks, NodeKind, new_node, node_kind, refuse_creation, settle_leaf, thread_state,
    track, track_all, NODE_ACCUMULATE,
)
from arraygrad.engine.graph_task cimport GraphTask
from arraygrad.core.leaf_locks cimport leaf_lock
from arraygrad.core.write_protection cimport before_write, bump
from arraygrad.core.value cimport (
    Backend, Extra, TensorBase, grad_of, is_led_to, leads_back, need_extra, note_grad, replaced, set_grad, wrap,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

cdef ArrayOps _recorded = None          # operations on recorded gradients


def set_recorded_ops(ArrayOps ops):
    """Have gradients of recorded backward passes added by `ops`."""
    global _recorded
    _recorded = ops


cdef class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to the leaf's `.grad`. See Note [Accumulators]."""

    def __dealloc__(self):
        cdef Section section
        # The leaf is still alive here (s0 is cleared after this) unless a collection took both.
        if self.s0 is not None:
            section.begin(<PyObject*>self.s0)       # another thread may be following the pointer
            if (<TensorBase>self.s0).accumulator == <void*>self:
                (<TensorBase>self.s0).accumulator = NULL
            section.end()

    @property
    def variable(self):
        """The leaf."""
        return self.s0

    cdef NodeHooks need_hooks(self):
        cdef NodeHooks hooks = leaf_hooks(<TensorBase>self.s0)
        if self.hooks is not hooks:
            self.hooks = hooks
        return hooks

    cdef int apply(self, Frame f) except -1:
        cdef TensorBase leaf = <TensorBase>self.s0
        cdef object grad
        if f.grad is not None:
            if leaf.grad_fn_ is not None:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            if not leaf.tracked:
                return 0
            if thread_state().task != NULL and (<GraphTask>thread_state().task).deferred is not None:
                (<GraphTask>thread_state().task).deferred.append((self, f.grad, f.owned))
                f.grad = None
                return 0
            if f.create_graph:
                accumulate_recorded(leaf, <TensorBase>f.grad)
            elif f.owned:
                accumulate_raw(self, leaf, f.grad, True)
            else:
                grad = f.grad
                f.grad = None
                # What a hook or a custom Function returned and nobody holds any more is as good as a rule's own.
                accumulate_raw(self, leaf, grad, (<Backend>leaf.value.meta.ops).exclusive(grad))
        return run_post_accumulate(self, leaf)


refuse_creation(AccumulateGrad)
cdef NodeKind _leaf_kind = node_kind(AccumulateGrad, False)


cdef int run_post_accumulate(AccumulateGrad node, TensorBase leaf) except -1:
    if node.hooks is not None and node.hooks.post_accumulate:
        for hook in list(node.hooks.post_accumulate.values()):
            if hook(leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    return 0


def commit(updates):
    """Add the gradients of an atomic run to the leaves: sums first, all of them, then every `.grad`; then the hooks.

    `updates` is a list of (AccumulateGrad, gradient, owned).
    """
    cdef AccumulateGrad node
    cdef TensorBase leaf, old
    cdef Backend backend
    cdef list sums = []
    cdef list locks
    cdef Py_ssize_t held = 0
    # In one order everywhere, so that two runs that update the same leaves do not wait for each other.
    updates.sort(key=update_order)
    locks = [leaf_lock(<TensorBase>(<AccumulateGrad>update[0]).s0) for update in updates]
    try:
        for lock in locks:
            lock.acquire()
            held += 1
        for node, grad, _ in updates:               # what may fail
            leaf = <TensorBase>node.s0
            old = <TensorBase>leaf.grad_
            if isinstance(grad, TensorBase):
                sums.append(_recorded.clone(grad, grad) if old is None else _recorded.add(old, grad))
                continue
            backend = <Backend>leaf.value.meta.ops
            if old is None:
                sums.append(wrap(backend.clone(grad, leaf.value.raw), backend))
            else:
                sums.append(wrap(backend.add(old.value.raw, grad), backend))
                before_write(old)
        for (node, grad, _), result in zip(updates, sums):
            leaf = <TensorBase>node.s0
            old = <TensorBase>leaf.grad_
            if old is None or isinstance(grad, TensorBase):
                note_grad(leaf, <TensorBase>result)
                leaf.grad_ = result
                continue
            store_sum(old, (<TensorBase>result).value.raw)
    finally:
        while held:
            held -= 1
            locks[held].release()
    for node, _, _ in updates:
        run_post_accumulate(node, <TensorBase>node.s0)


def update_order(update):
    """The one order in which leaves are locked."""
    return id((<AccumulateGrad>update[0]).s0)


cdef int store_sum(TensorBase old, object result) except -1:
    """Put a sum into a `.grad` that exists: into its memory where that can be written."""
    cdef Backend backend = <Backend>old.value.meta.ops
    writeable = getattr(getattr(old.value.raw, "flags", None), "writeable", True)       # as NumPy's arrays say it
    if backend.mutable and writeable and backend.matches(old.value.meta, result):
        old.value.raw[...] = result
    else:
        old.value = replaced(old, result)
    bump(old)
    return 0


# Note [Accumulators]
# ~~~~~~~~~~~~~~~~~~~
# The graph owns a leaf's AccumulateGrad, and that owns the leaf; the leaf knows it only by a borrowed pointer, cleared
# when the node dies. So a graph that is dropped is freed at once, without the garbage collector. Hooks of a leaf, and
# hooks put on its AccumulateGrad node, are kept by the leaf: they survive the graph. See test_AG1_*, test_AG14_*.
# Without the GIL the pointer, and the node's hooks as they come from the leaf, are guarded by a critical section on the
# leaf; the pointer is followed as Note [Borrowed pointers] says.
cdef AccumulateGrad accumulator_of(TensorBase t):
    cdef AccumulateGrad node
    cdef PyObject* found = NULL
    cdef Section section
    if not FREE_THREADED:
        if t.accumulator != NULL and try_incref(<PyObject*>t.accumulator):
            node = <AccumulateGrad>t.accumulator
            Py_DECREF(node)
            return node
        return made_accumulator(t)
    section.begin(<PyObject*>t)
    if t.accumulator != NULL and try_incref(<PyObject*>t.accumulator):
        found = <PyObject*>t.accumulator
    section.end()
    if found != NULL:
        node = <AccumulateGrad>found
        Py_DECREF(node)                 # try_incref() added one
        return node
    return new_accumulator(t)


cdef AccumulateGrad new_accumulator(TensorBase t):
    cdef AccumulateGrad node
    with cython.critical_section(t):
        if t.accumulator != NULL and try_incref(<PyObject*>t.accumulator):
            node = <AccumulateGrad>t.accumulator        # another thread was faster
            Py_DECREF(node)
            return node
        return made_accumulator(t)


cdef inline AccumulateGrad made_accumulator(TensorBase t):
    cdef AccumulateGrad node = <AccumulateGrad>new_node(&_leaf_kind)
    node.seq = UINT64_MAX
    node.flags = NODE_ACCUMULATE
    node.meta = t.value.meta
    node.s0 = t
    if t.extra is not None:
        node.hooks = t.extra.hooks
    settle_leaf(node, node.hooks is not None or leads_back(t))
    enable_try_incref(<PyObject*>node)
    t.accumulator = <void*>node
    return node


cdef NodeHooks leaf_hooks(TensorBase t):
    cdef Extra e = need_extra(t)
    if e.hooks is None:
        if is_led_to(t):                # a hook may lead back to the leaf, or to one that has it as .grad
            track_all()
        with cython.critical_section(e):
            if e.hooks is None:
                e.hooks = NodeHooks.__new__(NodeHooks)
        with cython.critical_section(t):
            if t.accumulator != NULL and try_incref(<PyObject*>t.accumulator):
                (<AccumulateGrad>t.accumulator).hooks = e.hooks
                Py_DECREF(<AccumulateGrad>t.accumulator)
    return e.hooks


cdef int accumulate_recorded(TensorBase leaf, TensorBase grad) except -1:
    cdef TensorBase old
    # Two runs may meet at one leaf, and adding may let the other one in: one adds at a time.
    with leaf_lock(leaf):
        old = <TensorBase>grad_of(leaf)
        if old is not None:
            set_grad(leaf, _recorded.add(old, grad))
            return 0
        if Py_REFCNT(<PyObject*>grad) > 3:
            grad = _recorded.clone(grad, grad)      # the caller may still hold it
        note_grad(leaf, grad)
        with cython.critical_section(leaf):
            if leaf.grad_ is None:
                leaf.grad_ = grad
                return 0
        set_grad(leaf, _recorded.add(grad_of(leaf), grad))      # a plain backward of another thread was faster
    return 0


cdef int accumulate_raw(AccumulateGrad node, TensorBase leaf, object grad, bint owned) except -1:
    cdef Backend backend = <Backend>leaf.value.meta.ops
    cdef TensorBase old
    cdef object result
    cdef Section section
    cdef bint first
    section.begin(<PyObject*>leaf)
    first = leaf.grad_ is None
    section.end()
    if first:
        if not owned or not backend.same_layout(grad, leaf.value.raw):
            grad = backend.clone(grad, leaf.value.raw)
        old = wrap(grad, backend)
        old.is_grad = True
        track(<PyObject*>leaf)
        with cython.critical_section(leaf):
            if leaf.grad_ is None:              # cloning and wrapping may have let another thread's backward in
                leaf.grad_ = old
                return 0
    # Adding may release the GIL, and two runs may meet at one leaf: one adds at a time.
    with leaf_lock(leaf):
        old = <TensorBase>grad_of(leaf)
        if old is None:
            old = wrap(backend.clone(grad, leaf.value.raw), backend)
            old.is_grad = True
            track(<PyObject*>leaf)
            with cython.critical_section(leaf):
                if leaf.grad_ is None:
                    leaf.grad_ = old
                    return 0
            old = <TensorBase>grad_of(leaf)
        before_write(old)
        result = backend.add_into(old.value.raw, grad)
        if result is old.value.raw:
            bump(old)
        else:
            store_sum(old, result)
    return 0
