# What a node keeps of an operation: the saved values of its rules, and the static arguments.
# May import: engine.*, core.op, core.value, core.saved_tensors_hooks, core.constant_checks, core.arguments,
# core.interned_args, core.nodes.
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libcpp.atomic cimport atomic, memory_order_relaxed as relaxed

from arraygrad.core.arguments cimport is_static
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.core.constant_checks cimport constant_check, constant_slot, CONSTANT_SAMPLE
from arraygrad.engine.free_threading cimport FREE_THREADED
from arraygrad.engine.node cimport (
    Node, inference_used, put_saved, NODE_ASIDE, NODE_CONSTANT, NODE_FAST, NODE_NUMBER, NODE_PACKED, NODE_SAVES,
)
from arraygrad.core.interned_args cimport interned_args
from arraygrad.core.nodes cimport OpNode
from arraygrad.core.op cimport Op, SAVE_ANS, SAVE_INPUT, SAVE_META
from arraygrad.core.saved_tensors_hooks cimport count_pairs_by, pack_slot, packing
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, check_saved, is_tensor, kept_value, new_tensor, refuses_overwriting, registered,
)

# How many saved-tensor hooks are active in the process. Looking at a static is all that they cost an operation while
# there are none; whether they are this thread's is asked only then.
cdef atomic[int] _packers


cdef void count_packers(int change) noexcept:
    """Count saved-tensor hooks that were entered or left."""
    _packers.fetch_add(change)


count_pairs_by(count_packers)


cdef bint hooks_for_saved() noexcept:
    """Whether saved-tensor hooks are active anywhere in the process."""
    return _packers.load(relaxed) != 0


cdef inline object slot_of(object arg):
    """What a node keeps of an argument: a Tensor's Value, anything else as it is."""
    if is_tensor(arg):
        if inference_used:
            check_saved((<TensorBase>arg).value)
        return kept_value(<TensorBase>arg)
    if type(arg) is list or type(arg) is tuple:
        for item in arg:
            if is_tensor(item):
                return [slot_of(item) for item in arg]
    return arg


cdef inline object input_slot(OpNode node, object arg, Backend backend):
    """What a node keeps of an array that its rules ask for."""
    cdef Value v
    if is_tensor(arg):
        if inference_used:
            check_saved((<TensorBase>arg).value)
        v = kept_value(<TensorBase>arg)
        return constant_slot(node, v, backend) if v.exposed else v
    return constant_slot(node, slot_of(arg), backend)


cdef object meta_of(object arg, Backend backend):
    if is_tensor(arg):
        return (<TensorBase>arg).value.meta
    if type(arg) is list or type(arg) is tuple:
        return [meta_of(item, backend) for item in arg]
    if type(arg) is backend.array_type:
        return backend.meta(arg)
    return None


cdef int save(OpNode node, Op op, object args, object result, uint64_t needs, Backend backend) except -1:
    """Fill the node's slots with what the rules of the needed inputs ask for."""
    cdef Py_ssize_t k
    cdef object slot
    cdef list slots = None
    cdef bint keeps = False
    cdef bint pack = _packers.load(relaxed) and packing()
    if pack:
        node.flags = (node.flags | NODE_PACKED) & ~<uint32_t>NODE_FAST      # compiled rules read plain slots only
    elif op.n_saves == 1 and op.save_kind[0] == SAVE_META and op.save_pos[0] >= 0:       # views
        if op.save_for[0] & needs:
            node.s0 = meta_of(args[op.save_pos[0]], backend)
        return 0
    if op.saves_in_list:
        slots = [None] * op.n_saves
    for k in range(op.n_saves):
        if not op.save_for[k] & needs:
            continue
        if op.save_kind[k] == SAVE_ANS:
            slot = tuple([kept_value(t) for t in result]) if op.multi else kept_value(result)
            keeps = True
        elif op.save_kind[k] == SAVE_INPUT:
            slot = input_slot(node, args[op.save_pos[k]], backend)
            # A Python scalar need not be freed, so a node that keeps nothing else can run again.
            keeps = keeps or type(slot) is Value or not isinstance(slot, (int, float, complex))
        elif op.save_pos[k] < 0:
            slot = tuple([(<TensorBase>t).value.meta for t in result]) if op.multi else (<TensorBase>result).value.meta
        else:
            slot = meta_of(args[op.save_pos[k]], backend)
        if pack:
            slot = pack_slot(slot, backend)
        if slots is not None:
            slots[k] = slot
        else:
            put_saved(node, k, slot)
    if slots is not None:
        node.s0 = slots
    if keeps:
        node.flags |= NODE_SAVES
    return 0


cdef inline object number_in(TensorBase t, Backend backend):
    """The number that a Tensor of one shows; its Value where it is read in no other way, or is the program's too."""
    cdef double x
    return kept_value(t) if t.value.exposed or not backend.read_number(t.value.raw, &x) else x


cdef int save_plain(OpNode node, Op op, object a, object b, TensorBase out, uint64_t needs, Backend backend) except -1:
    """`save` for the hot paths: one or two arrays, one result, without a tuple of the arguments."""
    cdef Py_ssize_t k
    cdef object slot, arg
    # Note [Saved numbers] in saved_numbers.pyx.
    cdef bint as_numbers = node.flags & NODE_NUMBER and not (FREE_THREADED or inference_used or refuses_overwriting())
    if _packers.load(relaxed) or op.saves_in_list:
        return save(node, op, (a, b), out, needs, backend)
    for k in range(op.n_saves):
        if not op.save_for[k] & needs:
            continue
        if op.save_kind[k] == SAVE_ANS:
            slot = number_in(out, backend) if as_numbers else kept_value(out)
            node.flags |= NODE_SAVES
        elif op.save_pos[k] < 0:
            slot = out.value.meta
        else:
            arg = a if op.save_pos[k] == 0 else b
            if op.save_kind[k] == SAVE_INPUT:
                if as_numbers and is_tensor(arg) and (<TensorBase>arg).grad_fn_ is not None:
                    slot = number_in(<TensorBase>arg, backend)
                    node.flags |= NODE_SAVES
                    if type(slot) is Value and (<Value>slot).exposed:
                        slot = constant_slot(node, slot, backend)
                elif is_tensor(arg):
                    if inference_used:
                        check_saved((<TensorBase>arg).value)
                    slot = kept_value(<TensorBase>arg)
                    node.flags |= NODE_SAVES
                    if (<Value>slot).exposed:
                        slot = constant_slot(node, slot, backend)
                elif type(arg) is backend.array_type and constant_check == CONSTANT_SAMPLE and backend.mutable:
                    slot = arg
                    node.flags |= NODE_SAVES | NODE_CONSTANT
                    node.print = 31 * node.print + backend.fingerprint(arg, False)
                elif isinstance(arg, (int, float, complex)):
                    slot = arg
                else:
                    slot = constant_slot(node, arg, backend)
                    node.flags |= NODE_SAVES
            else:
                slot = meta_of(arg, backend)
        put_saved(node, k, slot)
    return 0


cdef object frozen(object arg):
    """A static argument (an index, a list of counts) that stays as it is when the caller changes its arrays."""
    cdef Backend backend
    cdef object item
    if is_static(arg):
        return arg
    if is_tensor(arg):
        return frozen((<TensorBase>arg).value.raw)
    if type(arg) is tuple:
        for item in <tuple>arg:
            if not is_static(item):
                return tuple([frozen(item) for item in arg])
        return arg
    if type(arg) is list:
        return [frozen(item) for item in arg]
    backend = registered(type(arg))
    if backend is not None and backend.scalars:         # NumPy's: not every library's copy is one of its own
        return backend.clone(arg, arg)
    if hasattr(type(arg), "__array_namespace__") or hasattr(type(arg), "__array_interface__"):
        import copy

        return copy.copy(arg)
    return arg


cdef object arg_slot(object arg, Op op, Py_ssize_t i, bint* keeps):
    cdef Value v
    if is_static(arg):
        return arg
    if is_tensor(arg):
        keeps[0] = True
        v = slot_of(arg)
        if v.exposed and (<Backend>v.meta.ops).mutable:         # copied, as raw arrays are: see `frozen`
            arg = new_tensor((<Backend>v.meta.ops).clone(v.raw, v.raw), v.meta)
        if _packers.load(relaxed) and packing():
            return pack_slot(slot_of(arg), <Backend>(<TensorBase>arg).value.meta.ops)
        return slot_of(arg)
    return frozen(arg)


cdef int keep_args(OpNode node, Op op, object args) except -1:
    """Keep the call's static parameters for rules that ask for one; no array that has a slot of its own."""
    cdef Py_ssize_t i
    cdef bint keeps = False
    cdef list static = interned_args(op, <tuple>args) if type(args) is tuple else None
    cdef Backend backend = None
    if static is not None:
        node.args = static
        return 0
    static = [None] * len(args)
    if type(node.meta) is GradMeta and (<Backend>(<GradMeta>node.meta).ops).scalars:
        backend = <Backend>(<GradMeta>node.meta).ops
    for i in op.static_positions:
        if backend is not None and type(args[i]) is backend.array_type:
            static[i] = backend.clone(args[i], args[i])         # as `frozen` does, without looking for the backend
        else:
            static[i] = arg_slot(args[i], op, i, &keeps)
    node.args = static
    if keeps:
        node.flags |= NODE_SAVES
    return 0


cdef int keep_behind(Node node, object left) except -1:
    """Let `node` keep behind its static parameters what a compiled forward left for its compiled rule."""
    if node.flags & NODE_FAST:          # else saved values are packed by hooks, and compiled rules don't run
        node.args = [*<list>node.args, left]    # Note [Interned arguments] (3)
    return 0


cdef int keep_aside(Node node, object aside) except -1:
    """Let `node` keep what a compiled forward left for its compiled rule.

    Where saved values are packed by hooks it is dropped: compiled rules don't run there.
    """
    if node.flags & NODE_FAST:
        node.args = aside
        node.flags |= NODE_ASIDE
    else:
        node.flags &= ~<uint16_t>NODE_ASIDE
    return 0
