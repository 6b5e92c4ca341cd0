# In-place writes: operators, t[key] = value, and the history of views that are written.
# May import: engine.*, op, value, nodes, saving, apply.

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport set_bit
from arraygrad.engine.node cimport Frame, Node, share_deallocation, thread_state, NODE_HAS_PARENT
from arraygrad.apply cimport (
    apply_op, binary, check_operand, connect, forbidden_view, has_tensor, keep_retaining, mixed, observed_call,
    refresh, to_raw, wants_grad,
)
from arraygrad.nodes cimport OpNode, accumulator_of, new_op_node
from arraygrad.op cimport Op, named_op
from arraygrad.saving cimport keep_args, save
from arraygrad.value cimport Backend, Extra, TensorBase, before_write, bump, find_backend, replaced, set_history

cdef object _asarray = None


def set_asarray(function):
    """Register the function that makes a Tensor of a list of Tensors."""
    global _asarray
    _asarray = function


cdef class ViewWrite(Node):
    """The old parent (edge 0) with the region of a view replaced by the view's new value (edge 1)."""

    cpdef str name(self):
        return "ViewWriteBackward"

    cdef int apply(self, Frame f) except -1:
        cdef Op op = <Op>self.op
        cdef Backend backend = <Backend>self.meta_at(0).ops
        cdef object region
        if f.grad is None:
            return 0
        if f.create_graph:
            region = apply_op(op, (f.grad, *self.args))
            if self.e0 is not None and f.needs & 1 and not op.transfers:
                f.out0 = unary_copy(<TensorBase>f.grad)
                fill_region(<TensorBase>f.out0, op, self.args, backend)
            if self.e1 is not None and f.needs & 2:
                f.out1 = region
            return 0
        if self.e1 is not None and f.needs & 2:
            region = backend.call(op, (f.grad, *to_raw(self.args)))
            f.out1 = find_backend(region).clone(region, region if op.transfers else f.grad)
        # A transfer shows all of its parent: of the parent's old value nothing is left.
        if self.e0 is not None and f.needs & 1 and not op.transfers:
            f.out0 = f.grad if f.owned else backend.clone(f.grad, f.grad)
            backend.call(op, (f.out0, *to_raw(self.args)))[...] = 0
        return 0


share_deallocation(ViewWrite)


cdef TensorBase unary_copy(TensorBase t):
    return <TensorBase>binary(named_op("multiply"), t, 1.0)


cdef int fill_region(TensorBase t, Op op, tuple args, Backend backend) except -1:
    apply_op(op, (t, *args))[...] = 0
    return 0


cdef int adopt(TensorBase t, Node node, int nr) except -1:
    """Give `t` a new history after a recorded in-place write, and its parents theirs (2)."""
    if t.value.storage is None:
        return adopt_locked(t, node, nr)
    t.value.storage.writing.lock()      # another thread may be writing another view: both become part of the history
    try:
        adopt_locked(t, node, nr)
    finally:
        t.value.storage.writing.unlock()
    return 0


cdef int adopt_locked(TensorBase t, Node node, int nr) except -1:
    keep_retaining(t, node, nr)
    set_history(t, node, nr)
    set_bit(&node.flags, NODE_HAS_PARENT)
    return rewrite_parents(t)


cdef int rewrite_parents(TensorBase t) except -1:
    """The history of `t` is another one: note that, and give the Tensors it is a view of theirs (2)."""
    cdef Extra e = t.extra
    cdef ViewWrite write
    cdef TensorBase parent
    if t.value.storage is not None:
        t.value.storage.history += 1
    if not (<Backend>t.value.meta.ops).mutable:
        return 0                        # write_back does the parents
    while e is not None and e.parent is not None:
        e.seen = t.value.storage.history
        parent = e.parent
        write = ViewWrite.__new__(ViewWrite)
        write.op = e.view_op
        write.args = e.view_args[1:]
        write.meta = parent.value.meta
        if covers(t.value.meta, parent.value.meta):
            write.add_edge(None, 0)             # nothing of the old parent is left
        else:
            write.add_edge(parent_node(parent), parent.output_nr_)
        write.add_edge(t.grad_fn_, t.output_nr_)
        keep_retaining(parent, write, 0)
        set_history(parent, write, 0)
        t = parent
        e = t.extra
    return 0


cdef int write_back(TensorBase t) except -1:
    """Write a part of an immutable array, in which items were set, into what it was taken from (5)."""
    cdef Extra e = t.extra
    if e is not None and e.parent is not None and e.view_op is not None:
        setitem(e.parent, e.view_args[1], t)
    return 0


cdef bint covers(GradMeta view, GradMeta parent):
    """Whether a writable view shows every element of its parent."""
    return view.dtype == parent.dtype and view.size == parent.size


cdef Node parent_node(TensorBase t):
    if not t.tracked:
        return None
    return t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t)


cdef int check_inplace(TensorBase t, bint recorded, object what) except -1:
    """Refuse an in-place write that has no right gradient, before anything is changed."""
    cdef Extra e
    cdef TensorBase root
    if t.value.inference and not thread_state().inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
                           f"copy to get a normal tensor before doing inplace update. ({what}: write into t.copy())")
    if not thread_state().grad_mode:
        return 0
    if t.extra is not None:
        refresh(t)
    if recorded or t.tracked:
        check_overlaps(t, what)
    if t.tracked and t.grad_fn_ is None and (t.extra is None or t.extra.parent is None):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation. "
                           f"({what}: write into a copy, or under arraygrad.no_grad())")
    root = t
    while root.extra is not None and root.extra.parent is not None:
        e = root.extra
        if e.forbidden is not None and (recorded or t.tracked or e.parent.tracked):
            raise forbidden_view(root, "and is being")
        root = e.parent
    if root is not t and root.tracked and root.grad_fn_ is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation. "
                           f"({what}: write into a copy, or under arraygrad.no_grad())")
    return 0


cdef int check_overlaps(TensorBase t, object what) except -1:
    """Refuse a recorded write where elements share memory: one element's gradient would belong to several."""
    while True:
        if (<Backend>t.value.meta.ops).overlaps_itself(t.value.raw):
            raise RuntimeError(f"{what}: unsupported operation: more than one element of the written-to tensor of "
                               f"shape {t.value.meta.shape_tuple()} refers to a single memory location, as in what "
                               "as_strided and broadcast_to make. Write into a copy (t.copy()).")
        if t.extra is None or t.extra.parent is None:
            return 0
        t = t.extra.parent


cdef object inplace(TensorBase t, Op op, object other):
    """t op= other."""
    cdef TensorBase out
    cdef object result
    cdef bint recorded
    recorded = wants_grad(other)
    if t.extra is not None and not (<Backend>t.value.meta.ops).mutable:
        t.extra.view_args = None
        t.extra.parent = None           # the operator gives the Tensor an array of its own (5)
        t.extra.view_op = None
    check_inplace(t, recorded, op.name)
    result = binary(op, t, other)
    if result is NotImplemented:
        return NotImplemented
    out = <TensorBase>result
    assign(t, out, op)
    return t


cdef int assign(TensorBase t, TensorBase out, Op op) except -1:
    """Write the result of an operation into `t`, whose history becomes the result's."""
    cdef Backend backend = <Backend>t.value.meta.ops
    if out.value.meta.shape_tuple() != t.value.meta.shape_tuple():
        raise ValueError(f"{op.name}: in-place result of shape {out.value.meta.shape_tuple()} does not fit the operand "
                         f"of shape {t.value.meta.shape_tuple()}; write t = t op other")
    if out.value.meta.dtype != t.value.meta.dtype:
        if not backend.can_write(out.value.meta, t.value.meta):
            raise TypeError(f"{op.name}: in-place result of dtype {out.value.meta.dtype} can't be written into dtype "
                            f"{t.value.meta.dtype}; write t = t op other")
        out = <TensorBase>apply_op(named_op("astype"), named_op("astype").bind((out, t.value.meta.dtype), {}))
    if backend.mutable:
        before_write(t)
        t.value.raw[...] = out.value.raw
        bump(t)
    else:
        t.value = replaced(t, out.value.raw)
        t.value.version += 1
    if out.tracked:
        adopt(t, out.grad_fn_, out.output_nr_)
    elif t.tracked and t.grad_fn_ is not None and thread_state().grad_mode:
        detach_history(t)
    return 0


cdef int detach_history(TensorBase t) except -1:
    """Everything in `t` was overwritten by constants: it does not depend on its inputs any more."""
    t.grad_fn_ = None
    t.output_nr_ = 0
    t.tracked = False
    if t.value.storage is None:
        return rewrite_parents(t)
    t.value.storage.writing.lock()
    try:
        rewrite_parents(t)
    finally:
        t.value.storage.writing.unlock()
    return 0


cdef int setitem(TensorBase t, object key, object value) except -1:
    """t[key] = value."""
    if thread_state().op_hooks != NULL:
        observed_call("_setitem", (t, key, value), lambda: store(t, key, value))
        return 0
    return store(t, key, value)


cdef int store(TensorBase t, object key, object value) except -1:
    cdef Op op = named_op("_setitem")
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef bint recorded = wants_grad(value)
    cdef object raw_key = to_raw(key)
    cdef object raw_value
    cdef OpNode node = None
    cdef tuple args
    cdef TensorBase tv = None
    check_inplace(t, recorded, "setitem")
    if isinstance(value, TensorBase):
        tv = <TensorBase>value
        if tv.value.meta.ops is not backend:
            raise mixed(op, backend, <Backend>tv.value.meta.ops)
        if recorded and not t.value.meta.is_floating:
            raise TypeError(f"setitem: a value that requires grad can't be written into a tensor of dtype "
                            f"{t.value.meta.dtype}; its gradient would be lost")
        if recorded and tv.value.meta.is_complex and not t.value.meta.is_complex:
            raise TypeError(f"setitem: a complex value can't be written into a tensor of dtype {t.value.meta.dtype}")
    elif (type(value) is list or type(value) is tuple) and has_tensor(value):
        value = _asarray(value)
        return setitem(t, key, value)
    check_operand(op, value, backend)
    raw_value = to_raw(value)
    if wants_grad(key):
        raise TypeError("setitem: the key requires grad, but an index has no derivative; use key.detach()")
    if (recorded or t.tracked) and thread_state().grad_mode:
        node = new_op_node(op)
        node.meta = t.value.meta
        args = (t, raw_key, value)
        connect(node, t)
        connect(node, tv)
        save(node, op, args, t, 3, backend)
        if op.keeps_args:
            keep_args(node, op, args)
    if backend.mutable:
        if (isinstance(value, TensorBase) and raw_value is not t.value.raw
                and backend.shares_memory(raw_value, t.value.raw)):
            raw_value = backend.clone(raw_value, raw_value)
        before_write(t)
        backend.write(t.value.raw, raw_key, raw_value)
        bump(t)
    else:
        t.value = replaced(t, backend.write(t.value.raw, raw_key, raw_value))
        t.value.version += 1
    if node is not None:
        adopt(t, node, 0)
    if not backend.mutable:
        write_back(t)
    return 0
