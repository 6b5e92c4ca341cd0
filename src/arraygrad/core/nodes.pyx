# The nodes of recorded operations: how they are recorded, what they save, how their rules run.
# May import: engine.*, core.op, core.value, core.saved_tensors_hooks, core.constant_checks, core.saved_numbers.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.free_threading cimport FREE_THREADED, gate_close, gate_closed, gate_enter, gate_leave
from arraygrad.engine.node cimport (
    Frame, Node, NodeKind, drop_args, new_node, node_kind, refuse_creation, share_deallocation,
    track, track_with, NODE_CONSTANT, NODE_ELEMENT, NODE_FAST, NODE_NUMBER, NODE_PACKED, NODE_ZERO_ABSORBS,
)
from arraygrad.engine.streams cimport find_foreign
from arraygrad.core.op cimport (
    Op, PLAN_G, PLAN_SAVED, PLAN_SHAPE, PLAN_DTYPE, PLAN_STATIC, PLAN_XP, SAVE_ANS, SAVE_INPUT, SAVE_META,
)
from arraygrad.core.constant_checks cimport changed_error, content_now, overwritten_error
from arraygrad.core.saved_numbers cimport spell_out
from arraygrad.core.saved_tensors_hooks cimport Packed, bytes_of, packed_array, packed_value
from arraygrad.core.value cimport (
    Backend, TensorBase, UNTOUCHED, Value, is_lost, is_shown, join, make_tensor, new_tensor, shown_by, wrap,
)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


cpdef object at_precision(object x, GradMeta meta, object xp):
    """An operand for a rule: a real one of lower precision than the result in the result's.

    Forwards promote their operands first. A rule that takes the logarithm of one must do so too.
    """
    cdef object dtype
    if type(x) is float or type(x) is int or meta.is_complex:
        return x
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype == meta.dtype or not xp.isdtype(dtype, "real floating"):
        return x
    return xp.astype(x, meta.dtype) if xp.finfo(dtype).bits < xp.finfo(meta.dtype).bits else x


cdef object _handles = None             # saved_tensor, which stands on this module


def set_handles(module):
    """Serve what users ask for by `_saved_<name>` and `_raw_saved_<name>` by `module`."""
    global _handles
    _handles = module


cdef object handles(): return _handles


cdef object raw_of(object saved, OpNode node):
    """The raw array in a saved slot."""
    cdef Value v
    if type(saved) is Value:
        v = <Value>saved
        if v.overwritten and is_lost(v):
            raise overwritten_error(v, node)
        return v.raw
    if type(saved) is list:
        return [raw_of(item, node) for item in saved]
    if type(saved) is Packed:
        return packed_array(<Packed>saved)
    return saved


cdef object saved_slot(OpNode node, Py_ssize_t k):
    """What slot `k` of the node holds, as it was saved."""
    if (<Op>node.op).saves_in_list:
        return None if node.s0 is None else (<list>node.s0)[k]
    if k == 0:
        return node.s0
    if k == 1:
        return node.s1
    return node.s2


cdef object saved_tensor(OpNode node, object saved, Py_ssize_t edge, bint is_ans):
    """The Tensor for a saved slot, attached to the graph as the original was (create_graph)."""
    cdef Value v
    cdef Node source = None
    cdef int nr = 0
    if type(saved) is list:
        return [saved_tensor(node, item, edge + i, is_ans) for i, item in enumerate(saved)]
    if type(saved) is Packed:
        v = packed_value(<Packed>saved)
    elif type(saved) is not Value:
        return saved
    else:
        v = <Value>saved
        if v.overwritten and is_lost(v):
            raise overwritten_error(v, node)
    if is_ans:
        source = node
        nr = edge
    elif 0 <= edge < node.n_edges:
        source = node.edge_node(edge)
        nr = node.edge_nr(edge)
    return attached(v, source, nr)


cdef object shown_slot(OpNode node, Op op, Py_ssize_t k):
    """What slot `k` holds as users see it."""
    cdef object slot = saved_slot(node, k)
    if op.save_kind[k] == SAVE_ANS and op.multi:
        return None if slot is None else tuple([saved_tensor(node, v, i, True) for i, v in enumerate(slot)])
    if op.save_kind[k] == SAVE_META:
        return slot
    return saved_tensor(node, slot, op.inputs.index(op.save_pos[k]) if op.save_kind[k] == SAVE_INPUT else 0,
                        op.save_kind[k] == SAVE_ANS)


cdef TensorBase attached(Value v, Node source, int nr):
    """A Tensor that shows `v` and stands in the graph at input `nr` of `source` (None: nowhere).

    The one that does so already, if it is alive.
    """
    cdef TensorBase t = shown_by(v)
    if t is not None and t.value is v:
        if source is None and not t.tracked:
            return t
        if t.grad_fn_ is source and source is not None and t.output_nr_ == nr:
            return t
        if source is not None and t.grad_fn_ is None and t.accumulator == <void*>source:
            return t
    if not is_shown(v):
        t = make_tensor()
        t.value = v
        with cython.critical_section(v):
            if v.tensor == NULL:
                v.tensor = <void*>t
    else:
        t = new_tensor(v.raw, v.meta)
        join(t.value, v)
    if source is not None:
        t.tracked = True
        t.grad_fn_ = source
        t.output_nr_ = nr
        track_with(<PyObject*>t, <PyObject*>source)
    return t


cdef int keep_values(object saved, object stream, list found) except -1:
    """`Node.keep_foreign` for what one slot holds. What hooks packed is seen when it is unpacked."""
    if type(saved) is Value:
        find_foreign((<Value>saved).meta, (<Value>saved).raw, stream, found)
    elif type(saved) is list or type(saved) is tuple:
        for item in saved:
            keep_values(item, stream, found)
    return 0


cdef class OpNode(Node):
    """The node of a recorded operation: runs the compiled rule where there is one, else the table's."""

    cpdef str name(self):
        return (<Op>self.op).node_name

    @property
    def op_name(self):
        """Name of the operation in the table."""
        return (<Op>self.op).name

    @property
    def saved(self):
        """What the rule keeps, by name: Tensors, metadata and static parameters (read-only).

        Raises RuntimeError after the values were freed.
        """
        cdef Op op = <Op>self.op
        cdef dict found = {}
        gate_enter(&self.gate)
        try:
            self._find_saved(op, found)
        finally:
            if gate_leave(&self.gate):
                drop_saved(self)
        return found

    def _find_saved(self, Op op, dict found):
        cdef Py_ssize_t k, i
        if gate_closed(&self.gate):
            raise RuntimeError(BACKWARD_TWICE)
        spell_out(self)
        for k in range(op.n_saves):
            found[op.saves[k]] = shown_slot(self, op, k)
        if self.args is not None:
            for i in op.static_positions:
                found[op.params[i]] = raw_of(self.args[i], self)

    def __getattr__(self, name):
        if name.startswith(("_saved_", "_raw_saved_")):
            return _handles.of_node(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self):
        return [*object.__dir__(self), *_handles.names_of(self)]

    cdef Py_ssize_t saved_bytes(self) except -1:
        cdef Py_ssize_t total = 0
        for slot in (self.s0, self.s1, self.s2, self.args):
            total += bytes_of(slot)
        return total

    cdef int keep_foreign(self, object stream, list found) except -1:
        for slot in (self.s0, self.s1, self.s2, self.args):
            keep_values(slot, stream, found)
        return 0

    cdef int release(self) except -1:
        if gate_close(&self.gate):
            drop_saved(self)
        return 0

    cdef bint apply_number(self, double g, double* out) except -1:
        cdef Op op = <Op>self.op
        if op.number_rule == NULL or gate_closed(&self.gate):
            return False
        return op.number_rule(self, g, out)

    cdef int apply(self, Frame f) except -1:
        cdef int rc
        gate_enter(&self.gate)          # another run that frees what is saved waits for the rule (Note [Gates])
        # Called as a function that raises nothing, so that the gate is left before an error goes on its way.
        rc = (<quiet_function>run_rule)(self, f)
        if gate_leave(&self.gate):
            drop_saved(self)
        return rc


@cython.final
cdef class BareOpNode(OpNode):
    """The node of an operation whose rules keep nothing (Note [Bare nodes])."""

    @property
    def saved(self):
        """What the rule keeps, by name: nothing."""
        return {}

    cdef Py_ssize_t saved_bytes(self) except -1:
        return 0

    cdef int keep_foreign(self, object stream, list found) except -1:
        return 0

    cdef int release(self) except -1:
        return 0

    cdef bint apply_number(self, double g, double* out) except -1:
        cdef Op op = <Op>self.op
        return op.number_rule != NULL and op.number_rule(self, g, out)

    cdef int apply(self, Frame f) except -1:
        cdef Op op = <Op>self.op
        if self.flags & NODE_FAST and op.fast_rule != NULL and f.grad is not None and not f.create_graph:
            if not absorbs(self, op, f) and op.fast_rule(self, f):
                return 0
        return apply_rules(self, op, f)


share_deallocation(OpNode)
share_deallocation(BareOpNode)
refuse_creation(OpNode)
refuse_creation(BareOpNode)
cdef NodeKind op_kind = node_kind(OpNode, False)
cdef NodeKind bare_kind = node_kind(BareOpNode, True)

cdef object _door = None                # see set_rule_door


def set_rule_door(door):
    """Have rules of the table called as door(rule, args), None: no longer. Returns the previous one. For captures."""
    global _door
    previous = _door
    _door = door
    return previous


ctypedef int (*quiet_function)(OpNode, Frame) noexcept


cdef int run_rule(OpNode node, Frame f) except -1:
    cdef Op op = <Op>node.op
    if gate_closed(&node.gate):
        raise RuntimeError(BACKWARD_TWICE)
    if node.flags & (NODE_CONSTANT | NODE_ELEMENT | NODE_NUMBER):
        if node.flags & NODE_CONSTANT:
            check_constants(node, op)
        spell_out(node)
    if node.flags & NODE_FAST and op.fast_rule != NULL and f.grad is not None and not f.create_graph:
        if not absorbs(node, op, f) and (op.fast_rule(node, f) or fast_rule_on_given(node, op, f)):
            return 0
    return apply_rules(node, op, f)


cdef bint fast_rule_on_given(OpNode node, Op op, Frame f) except -1:
    """The compiled rule, which declines saved values whose memory was given away, if nobody has written them."""
    cdef list given = []
    cdef list before
    cdef Value v
    for slot in (node.s0, node.s1, node.s2) if type(node.s0) is not list else <list>node.s0:
        if type(slot) is Value and (<Value>slot).overwritten:
            if FREE_THREADED or is_lost(<Value>slot):
                return False            # the table's rules raise, or do without
            given.append(slot)
    if not given:
        return False
    before = [(<Value>slot).overwritten for slot in given]
    try:
        for v in given:
            v.overwritten = UNTOUCHED
        return op.fast_rule(node, f)
    finally:
        for v, state in zip(given, before):
            v.overwritten = <unsigned char>state


cdef int check_constants(OpNode node, Op op) except -1:
    """Refuse to use raw arrays that were written since they were saved: Note [Constants that change]."""
    cdef Py_ssize_t k
    cdef uint64_t now = 0
    cdef Backend backend = <Backend>node.meta_at(0).ops
    for k in range(op.n_saves):
        if op.save_kind[k] == SAVE_INPUT:
            now = content_now(node, saved_slot(node, k), now, backend)
    if now == node.print:
        return 0
    slots = [saved_slot(node, k) if op.save_kind[k] == SAVE_INPUT else None for k in range(op.n_saves)]
    raw_of(slots, node)                 # has an error of its own for what was written through a Tensor
    raise changed_error(node, list(op.saves), slots, backend)


cdef int drop_saved(OpNode node) except -1:
    # Called once, by the thread that Note [Gates] chooses.
    node.s0 = node.s1 = node.s2 = None
    return drop_args(node)


cdef int apply_rules(OpNode node, Op op, Frame f) except -1:
    """Run the table's rules for the wanted edges."""
    cdef Backend backend
    cdef GradMeta meta
    cdef Py_ssize_t k, n_rules = len(op.inputs)
    cdef list args
    cdef list unpacked = None           # one call of an unpack hook per slot and run
    cdef object g, xp, r, slot
    cdef bint conj, wanted
    if node.flags & NODE_PACKED:
        unpacked = [None] * op.n_saves
    meta = node.meta_at(0)
    backend = <Backend>meta.ops
    if backend.fuses and not f.create_graph:
        if unpacked is None:
            unpacked = [None] * op.n_saves          # where it declines, the rules get what was unpacked for it
        if apply_fused(node, op, f, backend, unpacked):
            return 0
    if op.multi:
        if f.grads is None:
            g = (f.grad,)
        else:
            g = tuple(f.grads)
        for r in g:
            if r is not None:
                break
        else:
            return 0
    else:
        g = f.grad
        if g is None:
            return 0
    xp = backend.graph_xp if f.create_graph else backend.rule_xp
    conj = op.holomorphic and any_complex(node)
    if conj:
        g = tuple([None if r is None else xp.conj(r) for r in g]) if op.multi else xp.conj(g)
    for k in range(n_rules):
        if op.sequence >= 0:
            wanted = True
        else:
            wanted = node.edge_node(k) is not None and (f.needs >> (k if k < 63 else 63)) & 1
        if not wanted:
            continue
        args = []
        for what, index in <tuple>op.plans[k]:
            if what == PLAN_G:
                args.append(g)
            elif what == PLAN_XP:
                args.append(xp)
            elif what == PLAN_SAVED:
                if unpacked is None:
                    args.append(unpack(node, op, index, backend, meta, f.create_graph))
                else:
                    if unpacked[index] is None:
                        unpacked[index] = unpack(node, op, index, backend, meta, f.create_graph)
                    args.append(unpacked[index])
                if op.elementwise and op.save_kind[index] == SAVE_INPUT and len(op.params) > 1:
                    args[-1] = at_precision(args[-1], meta, xp)
            elif what == PLAN_STATIC:
                slot = node.args[index]
                args.append(saved_tensor(node, slot, -1, False) if f.create_graph else raw_of(slot, node))
                if op.elementwise:
                    args[-1] = at_precision(args[-1], meta, xp)
            else:
                args.append(metadata(saved_slot(node, index), what, op.save_kind[index] == SAVE_META, meta))
        r = op.rules[k](*args) if _door is None else _door(op.rules[k], tuple(args))
        args = None
        if r is None:
            continue
        if op.sequence >= 0:
            if conj:
                r = [None if item is None else xp.conj(item) for item in r]
            f.set_outs(r)
            return 0
        if conj:
            r = xp.conj(r)
        if absorbs(node, op, f):
            r = xp.where(f.grad == 0, xp.zeros_like(r), r)
        if not f.create_graph and k < 2 and backend.exclusive(r):
            f.out_owned |= <uint32_t>1 << k
        f.set_out(k, r)
    return 0


cdef bint apply_fused(OpNode node, Op op, Frame f, Backend backend, list unpacked) except -1:
    """All wanted rules in kernels of the backend's own; False where it has none for these arrays."""
    cdef uint64_t wanted = 0
    cdef Py_ssize_t k, n_rules = len(op.inputs)
    cdef Node child
    cdef list saved, targets
    cdef object slot, g
    cdef bint alone
    if op.sequence >= 0 or n_rules > 63 or f.grad is None and f.grads is None:
        return False
    targets = [None] * n_rules
    for k in range(n_rules):
        child = node.edge_node(k)
        if child is not None and (f.needs >> k) & 1:
            wanted |= <uint64_t>1 << k
            targets[k] = child.meta_at(node.edge_nr(k))
    saved = [None] * op.n_saves
    for k in range(op.n_saves):
        if not op.save_for[k] & wanted:
            continue
        slot = saved_slot(node, k)
        if op.save_kind[k] != SAVE_META and slot is not None and type(slot) not in (bool, int, float, complex):
            slot = unpacked[k] = unpack(node, op, k, backend, node.meta_at(0), False)
        saved[k] = slot
    if op.multi:
        g = (f.grad,) if f.grads is None else tuple(f.grads)
    else:
        g = f.grad
    statics = [raw_of(node.args[k], node) for k in op.static_positions]
    found = backend.fused(op, g, wanted, saved, statics, targets, absorbs(node, op, f))
    if found is None:
        return False
    alone = wanted & (wanted - 1) == 0
    for k in range(n_rules):
        slot = (<list>found)[k]
        if slot is not None:
            if k < 2 and (alone and f.owned if slot is g else backend.owns_memory(slot)):
                f.out_owned |= <uint32_t>1 << k
            f.set_out(k, slot)
    return True


cdef inline bint absorbs(OpNode node, Op op, Frame f) noexcept:
    """Whether an exactly zero gradient stays zero here (zero_annihilates), whatever the derivative is."""
    return op.elementwise and (node.flags & NODE_ZERO_ABSORBS or f.zero_annihilates)


cdef bint any_complex(OpNode node):
    cdef Py_ssize_t i
    for i in range(node.n_inputs):
        if node.meta_at(i).is_complex:
            return True
    return False


cdef object unpack(OpNode node, Op op, Py_ssize_t k, Backend backend, GradMeta meta, bint graph):
    """The saved value of slot `k` as rules see it: a raw array, or a Tensor with create_graph."""
    cdef object slot = saved_slot(node, k)
    cdef Py_ssize_t edge = 0
    if slot is None:
        return None
    if op.save_kind[k] == SAVE_ANS:
        if op.multi:
            if graph:
                return tuple([saved_tensor(node, v, i, True) for i, v in enumerate(slot)])
            return tuple([raw_of(v, node) for v in slot])
        return saved_tensor(node, slot, 0, True) if graph else raw_of(slot, node)
    if (type(slot) is not Value and type(slot) is not list and type(slot) is not backend.array_type
            and type(slot) is not Packed):
        # A Python scalar: rules get a 0-d array of the dtype it took part with.
        slot = backend.asarray(slot, meta.dtype, meta.device)
    if graph:
        if op.save_kind[k] == SAVE_INPUT:
            edge = op.inputs.index(op.save_pos[k])
        slot = saved_tensor(node, slot, edge, False)
        if type(slot) is list:
            return [exposed_tensor(s, backend) if type(s) is backend.array_type else s for s in slot]
        return exposed_tensor(slot, backend) if type(slot) is backend.array_type else slot
    return raw_of(slot, node)


cdef TensorBase exposed_tensor(object raw, Backend backend):
    """A Tensor over a raw array that the program may write."""
    cdef TensorBase t = wrap(raw, backend)
    t.value.exposed = True
    return t


cdef object metadata(object slot, int what, bint is_meta, GradMeta result):
    cdef GradMeta m
    if type(slot) is list or type(slot) is tuple:
        return [metadata(item, what, is_meta, result) for item in slot]
    if slot is None:
        return () if what == PLAN_SHAPE else result.dtype if what == PLAN_DTYPE else result.device
    m = <GradMeta?>slot
    if what == PLAN_SHAPE:
        return m.shape_tuple()
    return m.dtype if what == PLAN_DTYPE else m.device


# Note [Recording]
# ~~~~~~~~~~~~~~~~
# Nodes of operations are begun here and finished here, whoever records: nothing else says what holds for all of them.
# (1) `new_op_node` begins one: its operation, the metadata of its result, its flags. What the thread's modes say of
#     nodes is set by `new_node`.
# (2) Edges and saved values are filled in between: by `filled` (apply.pyx) for the arguments of any operation, by
#     `begun` there for one array or two, by `begun` in elements.pyx for one element. Two places do without, as it costs
#     2.4 and 2.8 % of their instructions: those of a transform's arguments (transforms/tracked_call_base.pyx), and an
#     operation on single numbers, which makes its node of parts in one step (number_ops.pyx).
# (3) `finish` ends: nothing is filled in afterwards. `attach` does so, and makes the node a Tensor's history.
# Whoever looks on at operations is asked for before they run: by `is_observed` in apply.pyx, and by `is_unobserved`
# where a quick path declines.
cdef OpNode new_op_node(Op op, object meta, uint32_t flags):
    """The node of an operation with a result of that metadata (a tuple, of several), not connected yet."""
    cdef OpNode node = <OpNode>new_node(&bare_kind if op.bare else &op_kind)
    node.op = op
    node.meta = meta
    node.flags |= <uint16_t>flags
    return node


cdef int attach(TensorBase out, OpNode node) except -1:
    """Make a complete node of an operation the history of its only result."""
    if finish(node):
        track(<PyObject*>out)
    out.grad_fn_ = node
    out.tracked = True
    return 0
