# Handles of single saved values: `node._saved_<name>`, `node._raw_saved_<name>`, hooks for one of them.
# May import: engine.*, core.op, core.value, core.saved_tensors_hooks, core.constant_checks, core.saved_numbers,
# core.nodes, core.function. Imported when a program first asks for one.
from cpython.object cimport PyObject
from libc.stdint cimport uint16_t, uint64_t

from arraygrad.core.constant_checks cimport content_now
from arraygrad.engine.free_threading cimport gate_closed, gate_enter, gate_leave
from arraygrad.engine.node cimport (
    Node, refuse_creation, track, track_all, NODE_ASIDE, NODE_BARE, NODE_CONSTANT, NODE_FAST, NODE_PACKED,
)
from arraygrad.core.function cimport CustomNode, SavedSlot
from arraygrad.core.saved_numbers cimport spell_out
from arraygrad.core.nodes cimport (
    BACKWARD_TWICE, OpNode, check_constants, drop_saved, raw_of, saved_slot, shown_slot,
)
from arraygrad.core.op cimport Op, SAVE_INPUT, SAVE_META
from arraygrad.core.saved_tensors_hooks cimport Packed, packed_by
from arraygrad.core.value cimport Backend, Value, registered, value_over, wrap

_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)

cdef enum SavedIn:
    SLOT                                # a slot of an OpNode
    STATIC                              # a parameter of the call that an OpNode keeps
    CUSTOM                              # one tensor of save_for_backward


cdef class SavedTensor:
    """A value that a node keeps for backward: `node._raw_saved_<name>`, and those of `ctx._raw_saved_tensors`.

    Holding a handle keeps its node, and so the graph behind it, alive.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x.exp() if hasattr(x, "exp") else ag.exp(x)
    >>> y.grad_fn._saved_ans is not None
    True
    >>> type(y.grad_fn._raw_saved_ans).__name__
    'SavedTensor'
    """
    cdef Node node
    cdef str name                       # as messages call it
    cdef int place
    cdef Py_ssize_t index
    cdef Py_ssize_t item                # which of several that stand in one place, -1: it stands alone

    def register_hooks(self, pack, unpack):
        """Keep `pack(tensor)` in place of the value, and give `unpack` of that to whoever asks for it.

        `pack` is called at once, with recording off and a detached Tensor that it must not write. `unpack` is called
        when backward needs the value, or `node._saved_<name>` is asked for; it returns a Tensor or a raw array. Both
        are as in `saved_tensors_hooks`, for this one value. If `pack` raises, the value stays as it was.

        Parameters
        ----------
        pack, unpack : callable

        Raises
        ------
        TypeError
            If one is not callable.
        RuntimeError
            If the value has hooks already, was freed, was overwritten where no copies are kept, is None (no rule asks
            for it), or is a Python number; if `pack` writes its argument; if backward is using the value.
        """
        cdef Node node = self.node
        for hook in (pack, unpack):
            if not callable(hook):
                raise TypeError("register_hooks(): incompatible function arguments: expected two callables, pack and "
                                f"unpack, but got {type(hook).__name__}")
        gate_enter(&node.gate)
        try:
            if gate_closed(&node.gate):
                raise RuntimeError(_FREED)
            if node.gate != 1:
                raise RuntimeError(f"Calling register_hooks on a saved tensor ({self.name}) that backward is using: "
                                   "register them before the pass comes to its node")
            self.show()
            self.pack_it(pack, unpack)
        finally:
            if gate_leave(&node.gate):
                free_saved(node)

    def unpack(self):
        """The value as a Tensor, None if there is none; what `node._saved_<name>` gives for it.

        Raises
        ------
        RuntimeError
            After it was freed, or overwritten where no copies are kept.
        """
        if self.place == CUSTOM:
            return (<CustomNode>self.node).saved_tensors[self.index]
        found = of_node(<OpNode>self.node, f"_saved_{self.name}")
        return found if self.item < 0 else found[self.item]

    def __repr__(self):
        item = "" if self.item < 0 else f"[{self.item}]"
        return f"<SavedTensor {self.name}{item} of {self.node.name()}>"

    cdef int show(self) except -1:
        """Have the garbage collector see what is to hold the hooks, which may lead back here."""
        cdef Node node = self.node
        cdef object slot
        track(<PyObject*>node)
        track_all()
        if self.place == CUSTOM:
            return 0
        spell_out(node)
        if self.place == STATIC:
            track(<PyObject*>node.args)
        if self.item >= 0:
            slot = node.args[self.index] if self.place == STATIC else saved_slot(<OpNode>node, self.index)
            if type(slot) is list or type(slot) is tuple:
                track(<PyObject*>slot)
        return 0

    cdef object held(self):
        """What stands in the place: Value, Packed, a raw array, a Python number or None."""
        cdef object slot
        if self.place == CUSTOM:
            slot = (<list>self.node.s0)[self.index]
            return None if slot is None else (<SavedSlot>slot).value
        spell_out(self.node)
        slot = self.node.args[self.index] if self.place == STATIC else saved_slot(<OpNode>self.node, self.index)
        return slot if self.item < 0 or slot is None else slot[self.item]

    cdef int hold(self, object value) except -1:
        cdef Node node = self.node
        cdef object slot
        if self.place == CUSTOM:
            (<SavedSlot>(<list>node.s0)[self.index]).value = value
            return 0
        spell_out(node)
        if self.item >= 0:
            slot = list(saved_slot(<OpNode>node, self.index))
            slot[self.item] = value
            value = slot if type(saved_slot(<OpNode>node, self.index)) is list else tuple(slot)
        if self.place == STATIC:
            node.args[self.index] = value
        elif (<Op>node.op).saves_in_list:
            (<list>node.s0)[self.index] = value
        elif self.index == 0:
            node.s0 = value
        elif self.index == 1:
            node.s1 = value
        else:
            node.s2 = value
        return 0

    cdef int pack_it(self, object pack, object unpack) except -1:
        cdef Node node = self.node
        cdef object held = self.held()
        cdef Backend backend
        cdef Value v
        cdef Packed packed
        if type(held) is Packed:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
                               "one pair of hooks is allowed at a time.")
        if held is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden "
                               f"({self.name}: no gradient that is wanted needs it)")
        if type(held) is Value:
            v = <Value>held
            raw_of(v, <OpNode>node)                         # has the error for what was overwritten
            backend = <Backend>v.meta.ops
        else:
            backend = registered(type(held))
            if backend is None:
                raise RuntimeError(f"Calling register_hooks on a saved tensor with value {held!r} is forbidden: "
                                   f"{self.name} is a Python number, which no hook is called for")
            v = wrap(held, backend).value
            v.exposed = True
        if node.flags & NODE_CONSTANT:
            check_now(node)                                 # from here on this value can't be compared
        if v.exposed or v.overwritten:                      # the program holds it too; the hook may keep it
            v = value_over(backend.clone(v.raw, v.raw), v.meta)
        packed = packed_by(v, pack, unpack)
        self.hold(packed)
        node.flags = (node.flags | NODE_PACKED) & ~<uint16_t>NODE_FAST      # compiled rules read plain slots only
        if node.flags & NODE_ASIDE:
            node.flags &= ~<uint16_t>NODE_ASIDE
            node.args = None
        if node.flags & NODE_CONSTANT:
            node.print = constants_now(node)
        return 0


refuse_creation(SavedTensor)


cdef SavedTensor handle(Node node, str name, int place, Py_ssize_t index, Py_ssize_t item=-1):
    cdef SavedTensor made = SavedTensor.__new__(SavedTensor)
    made.node = node
    made.name = name
    made.place = place
    made.index = index
    made.item = item
    return made


cdef int free_saved(Node node) except -1:
    if isinstance(node, OpNode):
        return drop_saved(<OpNode>node)
    node.s0 = None
    return 0


cdef uint64_t constants_now(Node node) except? 0:
    """The fingerprint of the arrays that a node still compares, in the order in which they were saved."""
    cdef Op op
    cdef uint64_t now = 0
    cdef Py_ssize_t k
    if not isinstance(node, OpNode):
        for slot in <list>node.s0:
            held = None if slot is None else (<SavedSlot>slot).value
            if type(held) is Value:
                now = content_now(node, held, now, <Backend>(<Value>held).meta.ops)
        return now
    op = <Op>node.op
    for k in range(op.n_saves):
        if op.save_kind[k] == SAVE_INPUT:
            now = content_now(node, saved_slot(<OpNode>node, k), now, <Backend>node.meta_at(0).ops)
    return now


cdef int check_now(Node node) except -1:
    """Refuse hooks on a node whose raw arrays were written since it saved them (Note [Constants that change])."""
    if isinstance(node, OpNode):
        return check_constants(<OpNode>node, <Op>node.op)
    if constants_now(node) != node.print:
        raise RuntimeError(f"one of the variables needed for gradient computation has been modified by an inplace "
                           f"operation: an array that {node.name()} got by save_for_backward was written, and not "
                           "through a Tensor, after the forward had used it")
    return 0


# What nodes ask for

def of_function(CustomNode node):
    """`ctx._raw_saved_tensors`: a tuple of SavedTensor.

    Raises RuntimeError after the values were freed.
    """
    if gate_closed(&node.gate):
        raise RuntimeError(BACKWARD_TWICE)
    if node.s0 is None:
        return ()
    return tuple([handle(node, f"saved_tensors[{i}]", CUSTOM, i) for i in range(len(<list>node.s0))])


def of_node(OpNode node, str attribute):
    """`node._saved_<name>` and `node._raw_saved_<name>`.

    Raises AttributeError for names that the node's rules don't save.
    """
    cdef bint raw = attribute.startswith("_raw")
    cdef str name = attribute[11:] if raw else attribute[7:]
    if attribute in names_of(node):
        gate_enter(&node.gate)
        try:
            return found_in(node, <Op>node.op, name, raw)
        finally:
            if gate_leave(&node.gate):
                drop_saved(node)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}': {node.name()} has "
                         f"{', '.join(sorted(names_of(node))) or 'no saved values'}")


cdef object found_in(OpNode node, Op op, str name, bint raw):
    """The value, or its handle, that a node has by a name."""
    cdef Py_ssize_t k
    if gate_closed(&node.gate) and not raw:
        raise RuntimeError(BACKWARD_TWICE)
    spell_out(node)
    for k in range(op.n_saves):
        if op.saves[k] == name:
            return handles_of(node, name, k) if raw else shown_slot(node, op, k)
    k = op.params.index(name)
    return handle(node, name, STATIC, k) if raw else raw_of(node.args[k], node)


cdef object handles_of(OpNode node, str name, Py_ssize_t k):
    """The handle of slot `k`, or a tuple of those of what it holds."""
    cdef object slot
    if gate_closed(&node.gate):
        return handle(node, name, SLOT, k)
    slot = saved_slot(node, k)
    if type(slot) is list or type(slot) is tuple:
        return tuple([handle(node, name, SLOT, k, i) for i in range(len(slot))])
    return handle(node, name, SLOT, k)


cdef bint holds_array(OpNode node, Py_ssize_t i) except -1:
    return node.args is not None and not node.flags & NODE_ASIDE and type(node.args[i]) in (Value, Packed)


def names_of(OpNode node):
    """The names that `of_node` knows for a node."""
    cdef Op op = <Op>node.op
    cdef Py_ssize_t k
    cdef list found = []
    if node.flags & NODE_BARE:          # has no room for any
        return found
    for k in range(op.n_saves):
        found.append(f"_saved_{op.saves[k]}")
        if op.save_kind[k] != SAVE_META:
            found.append(f"_raw_saved_{op.saves[k]}")
    for k in op.static_positions:
        found.append(f"_saved_{op.params[k]}")
        if holds_array(node, k):
            found.append(f"_raw_saved_{op.params[k]}")
    return found
