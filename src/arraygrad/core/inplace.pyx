# In-place writes: operators, t[key] = value, and the history of views that are written.
# May import: engine.*, core.op, core.value, core.write_protection, core.operands, core.arguments, core.accumulators,
# core.nodes, core.saved_variables, core.apply, core.exports.
import dis
import sys

from cpython.object cimport PyObject

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport set_bit
from arraygrad.engine.node cimport (
    Frame, Node, NodeHooks, NodeKind, new_node, node_kind, settle, share_deallocation, thread_state,
    track, track_with, NODE_HAS_PARENT,
)
from arraygrad.core.apply cimport (
    apply_op, basic_key, binary, filled, keep_retaining, observed_call, refresh, view_node, wants_grad,
)
from arraygrad.core.arguments cimport is_static, to_raw
from arraygrad.core.exports cimport exported, refuse_exported, tell_holders
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.nodes cimport OpNode, finish
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.operands cimport check_operand, has_tensor, is_like_scalar, listed, mixed, rebinds
from arraygrad.core.write_protection cimport before_write, bump, mark_overwritten
from arraygrad.core.value cimport (
    HELD, Backend, Extra, TensorBase, find_backend, forbidden_view, new_tensor, refuses_overwriting, replaced,
    set_history,
)
from arraygrad.core.written_scalars cimport ITEMS_WRITTEN

from arraygrad.core.operands import held_array, held_number, number_beside


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
                f.out0 = writable_copy(<TensorBase>f.grad)
                fill_region(<TensorBase>f.out0, op, self.args, backend)
            if self.e1 is not None and f.needs & 2:
                f.out1 = region
            return 0
        if self.e1 is not None and f.needs & 2:
            region = backend.call(op, (f.grad, *to_raw(self.args)))
            f.out1 = find_backend(region).clone(region, region if op.transfers else f.grad)
            f.out_owned |= 2
        # A transfer shows all of its parent: of the parent's old value nothing is left.
        if self.e0 is not None and f.needs & 1 and not op.transfers:
            f.out0 = f.grad if f.owned else backend.clone(f.grad, f.grad)
            backend.write(backend.call(op, (f.out0, *to_raw(self.args))), Ellipsis, 0)
            f.out_owned |= 1
        return 0


share_deallocation(ViewWrite)
cdef NodeKind write_kind = node_kind(ViewWrite, False)


cdef TensorBase writable_copy(TensorBase t):
    """A recorded copy. Without axes it is an array too, of which views can be written (Note [Scalars])."""
    cdef TensorBase out = <TensorBase>binary(named_op("multiply"), t, 1.0)
    out.array0d = True
    return out


cdef int fill_region(TensorBase t, Op op, tuple args, Backend backend) except -1:
    apply_op(op, (t, *args))[...] = 0
    return 0


cdef int adopt(TensorBase t, Node node, int nr) except -1:
    """Make output `nr` of `node` (None: constants) what `t` shows after a write, and rewrite what `t` is a view of.

    See Note [Views and in-place writes] in apply.pyx.
    """
    if t.value.storage is None:
        return adopt_locked(t, node, nr)
    t.value.storage.writing.lock()      # another thread may be writing another view: both become part of the history
    try:
        adopt_locked(t, node, nr)
    finally:
        t.value.storage.writing.unlock()
    return 0


cdef int adopt_locked(TensorBase t, Node node, int nr) except -1:
    if node is not None:
        set_bit(&node.flags, NODE_HAS_PARENT)
    if has_parent(t) and (<Backend>t.value.meta.ops).mutable:
        return rewrite_base(t, node, nr)
    if t.value.storage is not None:
        t.value.storage.history += 1
    if node is not None:
        keep_retaining(t, node, nr)
    set_history(t, node, nr)            # write_back does the parents of immutable arrays
    return 0


cdef inline bint has_parent(TensorBase t):
    return t.extra is not None and t.extra.parent is not None


cdef int rewrite_base(TensorBase t, Node node, int nr) except -1:
    """Give the Tensor that `t` is a view of the history of a write through `t` (1), (6)."""
    cdef TensorBase view = t
    cdef TensorBase parent
    cdef ViewWrite write
    cdef bint hooked
    if has_parent(view.extra.parent):
        refresh(view.extra.parent)              # another thread may have written other parts of it since
    hooked = has_hooked_views(t)
    if hooked and node is not None and node.e0 is not None and node.e0 is t.grad_fn_ and node.n0 == t.output_nr_:
        node.e0 = unhooked(t)
        node.n0 = 0
        settle(node)
    while True:
        parent = view.extra.parent
        write = <ViewWrite>new_node(&write_kind)
        write.op = view.extra.view_op
        write.args = view.extra.view_args[1:]
        write.meta = parent.value.meta
        if covers(view.value.meta, parent.value.meta):
            write.add_edge(None, 0)             # nothing of the old parent is left
        elif hooked and has_parent(parent):
            write.add_edge(unhooked(parent), 0)
        else:
            write.add_edge(parent_node(parent), parent.output_nr_)
        write.add_edge(node, nr)
        if view.extra.view_op.index >= 0:
            settle(write)
        else:
            track(<PyObject*>write)             # as in `finish`
        if not has_parent(parent):
            break
        set_bit(&write.flags, NODE_HAS_PARENT)
        node = write
        nr = 0
        view = parent
    t.value.storage.history += 1
    keep_retaining(parent, write, 0)
    set_history(parent, write, 0)
    if hooked:
        refresh(t)                              # what retain_grad() asked for moves on now (6)
    return 0


cdef bint has_hooked_views(TensorBase t):
    """Whether `t`, or a view that it is a view of, has hooks on the node of its history."""
    cdef NodeHooks hooks
    while has_parent(t):
        if t.grad_fn_ is not None and t.grad_fn_.hooks is not None:
            hooks = t.grad_fn_.hooks
            if hooks.tensor_pre or hooks.retains or hooks.pre or hooks.post:
                return True
        t = t.extra.parent
    return False


cdef Node unhooked(TensorBase t):
    """The history of a view before a write, without the hooks on its nodes; None: it had none."""
    cdef Node node, above
    cdef TensorBase parent = t.extra.parent
    if not t.tracked:
        return None
    node = view_node(t, t.extra)
    if has_parent(parent) and node.e0 is parent.grad_fn_ and node.e0 is not None:
        above = unhooked(parent)
        node.e0 = above
        node.n0 = 0
        settle(node)
        set_bit(&above.flags, NODE_HAS_PARENT)
    set_bit(&node.flags, NODE_HAS_PARENT)
    return node


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
    if recorded and exported:
        refuse_exported(t)
    if recorded and t.value.exposed == HELD and not t.tracked:
        tell_holders(t)
    if t.tracked and t.grad_fn_ is None and (t.extra is None or t.extra.parent is None):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation. "
                           f"({what}: write into a copy, or under arraygrad.no_grad())")
    root = t
    while root.extra is not None and (root.extra.parent is not None or root.extra.source is not None):
        e = root.extra
        if e.forbidden is not None and (recorded or t.tracked or e.parent is not None and e.parent.tracked):
            raise forbidden_view(root, "and is being")
        if e.parent is None:
            break
        root = e.parent
    if root is not t and root.tracked and root.grad_fn_ is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation. "
                           f"({what}: write into a copy, or under arraygrad.no_grad())")
    return 0


cdef int array_written(TensorBase t, object value) except -1:
    """What `t.array -= x` ends with: the array was written, then `t.array` is set to the array that it is already.

    So parameters can be updated. In a Tensor with a history the write would have to be recorded.
    """
    if value is not t.value.raw:
        raise AttributeError("Tensor.array can't be replaced: write t[...] = values, for a leaf that requires grad in "
                             "`with arraygrad.no_grad():`, or make a new Tensor, arraygrad.asarray(array)")
    if t.extra is not None:
        refresh(t)
    mark_overwritten(t)
    bump(t)
    if t.grad_fn_ is not None:
        raise RuntimeError("Tensor.array was written in place, which is not recorded, and the Tensor has a history: a "
                           "gradient through it would be wrong. Write the Tensor itself (t -= x), or t.detach().array")
    return 0


cdef int refuse_scalar(TensorBase t) except -1:
    """Refuse to write an item of what NumPy makes a scalar of (Note [Scalars])."""
    if not t.value.meta.ndim and t.array0d != ITEMS_WRITTEN and is_like_scalar(t, <Backend>t.value.meta.ops):
        raise TypeError(f"'numpy.{t.value.meta.dtype}' object does not support item assignment: a computed Tensor "
                        "without axes is a scalar, as in NumPy. Give its name a new value")
    return 0


def as_scalar(TensorBase t, bint scalar=True):
    """Have a 0-d Tensor be like a scalar of NumPy's, or like an array (Note [Scalars]). Returns the Tensor."""
    t.array0d = not scalar
    return t


def is_scalar(TensorBase t):
    """Whether an in-place operator gives a new Tensor and leaves this one as it is (Note [Scalars])."""
    return bool(rebinds(t))


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
    if type(other) is not list and type(other) is not tuple and isinstance(other, (list, tuple)):
        other = list(other)
    if rebinds(t):
        return binary(op, t, other)
    recorded = wants_grad(other)
    check_inplace(t, recorded, op.name)
    if (<Backend>t.value.meta.ops).fuses and not (thread_state().grad_mode and (recorded or t.tracked)):
        if written_at_once(t, op, other):
            return t
    if op.n_saves and refuses_overwriting():
        result = binary(op, apart(t), read_apart(other, (t,)))
    else:
        result = binary(op, t, other)
    if result is NotImplemented:
        if hasattr(type(other), "__array_ufunc__"):         # Python would bind the name to a new object instead
            raise TypeError(f"{op.name}: {type(other).__name__} can't be written into a Tensor in place; write "
                            f"t = t op other")
        return NotImplemented
    out = <TensorBase>result
    assign(t, out, op)
    return t


cdef bint written_at_once(TensorBase t, Op op, object other) except -1:
    """Have a kernel write `t op other`, which is not recorded, into the memory of `t`. False: nothing was written."""
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef object raw = other
    cdef object write
    if thread_state().op_hooks != NULL:
        return False                    # they see an operation and its result
    if isinstance(other, TensorBase):
        if (<TensorBase>other).value.meta.ops is not backend:
            return False
        raw = (<TensorBase>other).value.raw
    write = backend.writer(op, t.value.raw, raw)
    if write is None:
        return False
    before_write(t)
    if write(t.value.raw, raw) is False:
        return False
    bump(t)
    return True


def unlike(list targets, list terms):
    """The places of those pairs that are not two Tensors of one library and shape."""
    cdef list found = []
    cdef Py_ssize_t k
    for k in range(len(targets)):
        target, term = targets[k], terms[k]
        if not isinstance(target, TensorBase) or not isinstance(term, TensorBase) \
                or (<TensorBase>target).value.meta.ops is not (<TensorBase>term).value.meta.ops \
                or (<TensorBase>target).value.meta.shape_tuple() != (<TensorBase>term).value.meta.shape_tuple():
            found.append(k)
    return found


def add_scaled(list targets, list terms, factor):
    """targets[k] += factor * terms[k] for all k, unrecorded: arraygrad.autograd.add_scaled, which has checked them.

    Consecutive pairs that a backend's kernels serve are launched together.
    """
    cdef int before = thread_state().grad_mode
    cdef bint alone = thread_state().op_hooks != NULL       # hooks see each operation and its result
    cdef list waiting = []
    cdef TensorBase t
    cdef object term, updates, backend
    thread_state().grad_mode = 0
    try:
        for target, term in zip(targets, terms):
            t = <TensorBase?>target
            updates = None
            backend = t.value.meta.ops
            if rebinds(t):
                raise TypeError("add_scaled: " + (
                    "a computed Tensor without axes is a scalar, as in NumPy" if (<Backend>backend).mutable else
                    f"arrays of {backend.name} are never written") + ": write t = t + factor * term")
            if not alone and (<Backend>backend).fuses:
                updates = getattr(backend, "updates", None)
            if updates is not None:
                check_inplace(t, False, "add_scaled")
                if isinstance(term, TensorBase):
                    raw = (<TensorBase>term).value.raw if (<TensorBase>term).value.meta.ops is backend else None
                else:
                    raw = term
                if updates.serves(t.value.raw, raw):
                    if waiting and waiting[0][2] is not updates:
                        write_together(waiting, factor)
                    waiting.append((t, raw, updates))
                    continue
            write_together(waiting, factor)
            inplace(t, named_op("add"), term * factor)
        write_together(waiting, factor)
    finally:
        thread_state().grad_mode = before


cdef int write_together(list pairs, object factor) except -1:
    """Write pairs of (Tensor, array, kernels), which leave the list."""
    cdef TensorBase t
    if not pairs:
        return 0
    for t, _, _ in pairs:
        before_write(t)
    pairs[0][2].add([(<TensorBase>pair[0]).value.raw for pair in pairs], [pair[1] for pair in pairs], factor)
    for t, _, _ in pairs:
        bump(t)
    pairs.clear()
    return 0


cdef TensorBase apart(TensorBase t):
    """What an operation that writes its result into `t` reads in its place under set_saved_mutation("error").

    A copy that stands where `t` does in the graph. So what the operation itself saves of `t` is not overwritten, while
    what others saved of it is.
    """
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef TensorBase out
    if t.extra is not None:
        refresh(t)
    if not thread_state().grad_mode or t.tracked and t.grad_fn_ is None:    # unrecorded, or a leaf: refused anyway
        return t
    out = new_tensor(backend.clone(t.value.raw, t.value.raw), t.value.meta)
    track_with(<PyObject*>out, <PyObject*>t.grad_fn_)
    out.grad_fn_ = t.grad_fn_
    out.output_nr_ = t.output_nr_
    out.tracked = t.tracked
    return out


def read_apart(arguments, outs):
    """What an operation that writes its results into the Tensors `outs` (None: elsewhere) is given to read.

    The arguments as they are; under set_saved_mutation("error") with copies of Tensors whose memory is written (apart).
    """
    if not refuses_overwriting():
        return arguments
    if isinstance(arguments, TensorBase):
        for out in outs:
            if isinstance(out, TensorBase) and is_written(<TensorBase>arguments, <TensorBase>out):
                return apart(<TensorBase>arguments)
    elif (type(arguments) is list or type(arguments) is tuple) and has_tensor(arguments):
        return type(arguments)([read_apart(item, outs) for item in arguments])
    return arguments


cdef bint is_written(TensorBase t, TensorBase out) except -1:
    """Whether `t` shows memory that a write into `out` changes."""
    cdef Backend backend = <Backend>t.value.meta.ops
    if t is out:
        return True
    return (t.value.storage is not None and t.value.storage is out.value.storage
            and backend.shares_memory(t.value.raw, out.value.raw))


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
        backend.write(t.value.raw, Ellipsis, out.value.raw)
        bump(t)
    else:
        t.value = replaced(t, out.value.raw)
        t.value.version += 1
    if out.tracked:
        adopt(t, out.grad_fn_, out.output_nr_)
    elif t.tracked and t.grad_fn_ is not None and thread_state().grad_mode:
        adopt(t, None, 0)               # all of it was overwritten by constants
    return 0


cdef int setitem(TensorBase t, object key, object value) except -1:
    """t[key] = value."""
    if thread_state().op_hooks != NULL:
        observed_call("_setitem", (t, key, value), lambda: store(t, key, value))
        return 0
    return store(t, key, value)


cdef TensorBase without_leading_axes(TensorBase value, object region):
    """A value without the axes of length 1 that it has before those of the region it is written to.

    NumPy leaves them out; a gradient of the region's shape would not fit the value.
    """
    cdef Py_ssize_t more = value.value.meta.ndim - getattr(region, "ndim", 0)
    cdef tuple shape = value.value.meta.shape_tuple()
    if more <= 0 or shape[:more] != (1,) * more:
        return value                            # the library says what is wrong
    return <TensorBase>apply_op(named_op("reshape"), (value, shape[more:], None))


_STORES = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)


cdef int refuse_shuffle() except -1:
    """Raise TypeError where NumPy's `shuffle` stores a row of a Tensor in the place of another one.

    It runs `x[i], x[j] = x[j], x[i]` on what is no array, in compiled code. The rows are views, so the first store
    changes what the second one writes. The same line of a program, which does that to an array too, is let through.
    """
    try:
        frame = sys._getframe(0)
    except ValueError:                          # called by C without a Python frame
        return 0
    while frame is not None and frame.f_code.co_filename.endswith(".pyx"):
        frame = frame.f_back                    # a build with line events has frames of its own
    if frame is None or frame.f_code.co_code[max(frame.f_lasti, 0)] in _STORES:
        return 0
    code = frame.f_code
    if "shuffle" in (*code.co_names, *code.co_varnames, *code.co_freevars):
        raise TypeError("shuffle exchanges the rows of a Tensor by views of them, which the first store changes, so "
                        "that rows would be lost: write y = y[rng.permutation(len(y))], which is recorded")
    return 0


cdef int store(TensorBase t, object key, object value) except -1:
    cdef Op op = named_op("_setitem")
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef bint recorded = wants_grad(value)
    cdef object raw_key = to_raw(key)
    cdef object raw_value
    cdef OpNode node = None
    cdef TensorBase tv = None
    cdef object other
    check_inplace(t, recorded, "setitem")
    if isinstance(value, TensorBase):
        tv = <TensorBase>value
        if tv.value.meta.ops is not backend:
            other = number_beside(tv, backend, t.value.meta)        # Note [Numbers that move]
            if other is None:
                raise mixed(op, backend, <Backend>tv.value.meta.ops)
            return setitem(t, key, other)
        if recorded and not t.value.meta.is_floating:
            raise TypeError(f"setitem: a value that requires grad can't be written into a tensor of dtype "
                            f"{t.value.meta.dtype}; its gradient would be lost")
        if recorded and tv.value.meta.is_complex and not t.value.meta.is_complex:
            raise TypeError(f"setitem: a complex value can't be written into a tensor of dtype {t.value.meta.dtype}")
    elif isinstance(value, (list, tuple)) and has_tensor(value):
        value = listed(value)
        return setitem(t, key, value)
    elif type(value) is not backend.array_type and not is_static(value):
        other = value.__recorded__() if hasattr(type(value), "__recorded__") else held_array(value)  # see scipy.sparse
        if other is None and not hasattr(value, "__array__"):
            other = held_number(value)
        if other is not None:
            return setitem(t, key, other)
    if tv is not None and backend.mutable and is_region(tv, t, key):
        return 0                        # the second half of t[key] op= x
    if check_operand(op, value, backend):
        raise mixed(op, backend, find_backend(value))
    if recorded and tv is not None and tv.value.meta.ndim and tv.value.meta.shape_tuple()[0] == 1:
        value = tv = without_leading_axes(tv, t.value.raw[raw_key])
    raw_value = to_raw(value)
    if wants_grad(key):
        raise TypeError("setitem: the key requires grad, but an index has no derivative; use key.detach()")
    if (recorded or t.tracked) and thread_state().grad_mode:
        node = filled(op, (t, raw_key, value), t, 3, backend)
    if backend.mutable:
        if (isinstance(value, TensorBase) and raw_value is not t.value.raw
                and backend.shares_memory(raw_value, t.value.raw)):
            refuse_shuffle()
            raw_value = backend.clone(raw_value, raw_value)
        before_write(t)
        backend.write(t.value.raw, raw_key, raw_value)
        bump(t)
    else:
        t.value = replaced(t, backend.write(t.value.raw, raw_key, raw_value))
        t.value.version += 1
    if node is not None:
        finish(node)
        adopt(t, node, 0)
    if not backend.mutable:
        write_back(t)
    return 0


def add_at(TensorBase t not None, object key, TensorBase value not None):
    """Add `value` to t[key] in place, once for every time an element is named, and record it. NumPy's arrays only.

    False: it is of another dtype, or no array of floating-point numbers; nothing was done.
    """
    cdef Backend backend = <Backend>t.value.meta.ops
    if value.value.meta.ops is not backend or value.value.meta.dtype != t.value.meta.dtype \
            or not t.value.meta.is_floating or t.value.meta.ndim == 0:
        return False
    if thread_state().op_hooks != NULL:
        return observed_call("_add_at", (t, key, value), lambda: added_at(t, key, value, backend))
    return added_at(t, key, value, backend)


cdef bint added_at(TensorBase t, object key, TensorBase value, Backend backend) except -1:
    cdef Op op = named_op("_add_at")
    cdef bint recorded = wants_grad(value)
    cdef object raw = value.value.raw
    cdef OpNode node = None
    check_inplace(t, recorded, "numpy.add.at")
    if (recorded or t.tracked) and thread_state().grad_mode:
        node = filled(op, (t, key, value), t, 3, backend)
    if backend.shares_memory(raw, t.value.raw):
        raw = backend.clone(raw, raw)
    before_write(t)
    backend.add_at(t.value.raw, key, raw)
    bump(t)
    if node is not None:
        finish(node)
        adopt(t, node, 0)
    return True


cdef bint is_region(TensorBase v, TensorBase t, object key) except -1:
    """Whether `v` is the view t[key], with the history that it has now: to write it there changes nothing."""
    cdef Extra e = v.extra
    if e is None or e.parent is not t or e.view_op is None or e.forbidden is not None or not basic_key(key):
        return False
    return e.view_op is named_op("_getitem") and e.view_args[1] == key and v.tracked == t.tracked


def increment_version(TensorBase t not None):
    """Note that a Tensor's memory was written by code that arraygrad did not see."""
    mark_overwritten(t)
    bump(t)
