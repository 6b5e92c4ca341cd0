# Nodes that raise, stop a gradient or hand it on, and what of a user's backward is put behind one that raises.
# May import: engine.*, core.op, core.value, core.accumulators, core.nodes, core.apply.
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t, UINT64_MAX

from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.graph_task cimport GraphTask, run_flags
from arraygrad.engine.node cimport (
    Frame, Node, ThreadState, share_deallocation, thread_state, track, NODE_HAS_PARENT, RUN_CAPTURE,
    RUN_NEEDED,
)
from arraygrad.core.apply cimport wants_grad
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.value cimport Backend, Extra, TensorBase, join_base, need_extra, new_tensor, registered, wrap

# Note [Recorded backwards]
# ~~~~~~~~~~~~~~~~~~~~~~~~~
# A gradient is linear in the gradient that it was computed from. A backward that runs recorded (create_graph) and
# computes with raw arrays returns it as a constant; whoever differentiates it gets zero. Forward mode does so at once:
# jvp differentiates by the cotangents. So what backward returns is looked at, from its nodes down to `since`:
# (1) a raw array was not recorded;
# (2) a Tensor that leads to none of the gradients given that require grad was not computed from them, in the graph;
# (3) a gradient given that requires grad, and to which nothing that was returned leads, was used raw or not at all. Not
#     at all is right where backward returned None for an argument, which may be the one that depended on that result.
# That is no error yet: the gradients are right, and the run may be the last. They are put behind an ErrorNode with
# edges to the Function's arguments and to the gradients that it was given: a run that would go on that way raises.
# Zeros get no exception: they may be the product of a raw gradient that is zero, as jvp's cotangents are. A zero
# gradient is None.
# A constant in the place of an argument's array goes unseen: gradcheck(order=2) finds that.
# What a hook returns in place of a gradient is held to (1) and (2) as well (`checked_hook`).
# Guarded by tests/autograd/test_recorded_backwards.py.


cdef str unrecorded(str what, str by="backward", str zero="None"):
    """The message for a rule of the user's, named by `by`, that did not record."""
    return (f"{what}, so that it has no second derivative and no derivative in forward mode (jvp, jacfwd, linearize, "
            f"hessian, hvp). Write {by} with operations on Tensors throughout (no .array, .numpy() or .detach()) and "
            f"return {zero} where a gradient is zero; grad, vjp and jacrev differentiate it as it is")


cdef list followed_gradients(object grads):
    """(position, node, output number) of each gradient that requires grad."""
    cdef list found = []
    cdef TensorBase t
    for i, g in enumerate(grads):
        if isinstance(g, TensorBase) and wants_grad(g):
            t = <TensorBase>g
            found.append((i, t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t), t.output_nr_))
    return found


cdef set reached(TensorBase value, list followed, uint64_t since):
    """Positions in `followed` of what `value` was computed from, by nodes made after `since`."""
    cdef set found = set()
    cdef set seen = set()
    cdef list stack
    cdef Node node, target
    cdef int nr
    cdef Py_ssize_t i
    stack = [(value.grad_fn_ if value.grad_fn_ is not None else accumulator_of(value), value.output_nr_)]
    while stack:
        node, nr = stack.pop()
        for position, target, target_nr in followed:
            if target is node and target_nr == nr:
                found.add(position)
        if node in seen or node.seq <= since:
            continue
        seen.add(node)
        for i in range(node.n_edges):
            if node.edge_node(i) is not None:
                stack.append((node.edge_node(i), node.edge_nr(i)))
    return found


def recorded_gradients(Node node, str name, tuple values, grads, uint64_t since):
    """`values`, what a rule of the user's made of `grads` in a recorded run, behind an error where it did not record.

    Parameters
    ----------
    node : Node
        Of the operation; its edges lead to the arguments.
    name : str
    values : tuple
        Tensors, raw arrays and None.
    grads : list
    since : int
        A sequence number taken before the rule ran (`take_sequence_nr`).
    """
    return checked_record(node, name, values, followed_gradients(grads), since, all([v is not None for v in values]))


cdef tuple checked_record(Node node, str name, tuple values, list followed, uint64_t since, bint whole):
    """The gradients that a backward returned; behind an error where it did not record: Note [Recorded backwards].

    `whole`: there is one for each argument that has a place in the graph.
    """
    cdef list outs = list(values)
    cdef set used = set()
    cdef set one
    cdef Py_ssize_t i
    cdef object value
    for i in range(len(outs)):
        value = outs[i]
        if value is None:
            continue
        if not isinstance(value, TensorBase):
            if registered(type(value)) is None:
                if not hasattr(type(value), "__array_interface__"):
                    continue                                                            # refused by whoever takes it
                value = first_backend_of(node).wrap_raw(value)
            outs[i] = barred(node, unrecorded(f"{name}.backward returned a raw array"),
                             wrap(value, registered(type(value))), followed)            # (1)
            used.update([position for position, _, _ in followed])
            continue
        if not (<TensorBase>value).value.meta.is_floating or not followed:
            continue
        one = reached(<TensorBase>value, followed, since) if wants_grad(value) else set()
        if not one:
            outs[i] = barred(node, unrecorded(
                f"what {name}.backward returned at position {i + 1} was not computed, in the graph, from the "
                "gradient that it was given"), <TensorBase>value, followed)             # (2)
            used.update([position for position, _, _ in followed])
        used |= one
    lost = [position for position, _, _ in followed if position not in used]
    if lost and whole:
        text = unrecorded(f"{name}.backward used the gradient of result {lost[0] + 1} raw or not at all")
        text += ". Mark a result without a derivative by ctx.mark_non_differentiable"
        for i in range(len(outs)):
            if isinstance(outs[i], TensorBase) and (<TensorBase>outs[i]).value.meta.is_floating:
                outs[i] = barred_for(text, <TensorBase>outs[i], [f for f in followed if f[0] in lost])  # (3)
    return tuple(outs)


cdef object checked_hook(Node node, str hook, object result, TensorBase value, list followed, uint64_t since):
    """`value`, made of what a hook of `node` returned; behind an error where the hook did not record."""
    if not value.value.meta.is_floating:
        return value
    if not isinstance(result, TensorBase):
        what = f"hook '{hook}' returned a raw array"
        if node.n_edges == 0:
            followed = followed + [(-1, node, 0)]               # a leaf: its own value may have gone in
    elif not followed or wants_grad(value) and reached(value, followed, since):
        return value
    else:
        what = f"what hook '{hook}' returned was not computed, in the graph, from the gradient that it was given"
    return barred(node, unrecorded(what, "the hook", "0 * grad"), value, followed)


cdef Backend first_backend_of(Node node):
    cdef Py_ssize_t i
    cdef GradMeta meta
    for i in range(node.n_inputs):
        meta = node.meta_at(i)
        if meta is not None:
            return <Backend>meta.ops
    raise TypeError(f"{node.name()}: expected a result that is an array")


cdef TensorBase barred(Node of, str message, TensorBase value, list followed):
    """`value` behind a node that raises where a run goes on to the gradients `followed` or to the arguments of `of`."""
    cdef ErrorNode node = ErrorNode.__new__(ErrorNode)
    cdef Py_ssize_t i
    node.args = message
    node.seq = UINT64_MAX
    for i in range(of.n_edges):
        node.add_edge(of.edge_node(i), of.edge_nr(i))
    for _, target, nr in followed:
        node.add_edge(target, nr)
    if wants_grad(value):
        node.add_edge(value.grad_fn_ if value.grad_fn_ is not None else accumulator_of(value), value.output_nr_)
    return behind(node, value)


cdef TensorBase barred_for(str message, TensorBase value, list lost):
    """`value` behind a node that raises where a run wants the derivative by one of the gradients `lost`."""
    cdef PartialNode node = PartialNode.__new__(PartialNode)
    node.args = message
    if wants_grad(value):
        node.add_edge(value.grad_fn_ if value.grad_fn_ is not None else accumulator_of(value), value.output_nr_)
    else:
        node.add_edge(None, 0)
    for _, target, nr in lost:
        node.add_edge(target, nr)
    return behind(node, value)


cdef TensorBase behind(Node node, TensorBase value):
    """A new Tensor over the same memory, whose history is `node`."""
    cdef TensorBase out = alias(value)
    node.meta = value.value.meta
    track(<PyObject*>out)
    out.grad_fn_ = node
    out.output_nr_ = 0
    out.tracked = True
    return out


cdef TensorBase alias(TensorBase t):
    """A Tensor of no history over the same memory, noted as a view."""
    cdef TensorBase out = new_tensor(t.value.raw, t.value.meta)
    cdef Extra e
    cdef long history
    join_base(out.value, t, &history)
    if (<Backend>t.value.meta.ops).mutable:
        e = need_extra(out)
        e.parent = t
        e.seen = history
        e.forbidden = "function"
    return out


# The nodes

cdef class ErrorNode(Node):
    """Raises its message when it is executed, before any other node that is ready."""

    cpdef str name(self):
        return "Error"

    cdef int apply(self, Frame f) except -1:
        raise RuntimeError(self.args)


cdef class PartialNode(Node):
    """Hands its gradient on to the first edge; raises its message in a run that wants one of the others."""

    cpdef str name(self):
        return "Error"

    cdef int apply(self, Frame f) except -1:
        cdef ThreadState* ts = thread_state()
        cdef Py_ssize_t i
        for i in range(1, self.n_edges):
            if (ts.task == NULL or not (<GraphTask>ts.task).has_exec_info
                    or run_flags(<GraphTask>ts.task, self.edge_node(i)) & (RUN_NEEDED | RUN_CAPTURE)):
                raise RuntimeError(self.args)
        f.set_out(0, f.input(0))
        return 0


cdef class UndefinedGradNode(Node):
    """Gives no gradient, whatever arrives."""

    cpdef str name(self):
        return "UndefinedGradBackward"

    cdef int apply(self, Frame f) except -1:
        return 0


cdef class IdentityNode(Node):
    """Hands its gradients on."""

    cpdef str name(self):
        return "IdentityBackward"

    cdef int apply(self, Frame f) except -1:
        cdef Py_ssize_t i
        for i in range(self.n_inputs):
            f.set_out(i, f.input(i))
        return 0


share_deallocation(ErrorNode)
share_deallocation(PartialNode)
share_deallocation(UndefinedGradNode)
share_deallocation(IdentityNode)


def delayed_error(str message, *tensors, Node of=None, given=()):
    """The tensors as they are; differentiating through them raises RuntimeError(message).

    They count as results of what `of`, a node, was computed from, too, and of the Tensors `given`.
    """
    cdef Node node = ErrorNode.__new__(ErrorNode)
    cdef Py_ssize_t i
    outs = through(node, message, tensors)
    if of is not None:
        node.flags &= ~<uint32_t>NODE_HAS_PARENT        # no other node has seen it yet
        for i in range(of.n_edges):
            node.add_edge(of.edge_node(i), of.edge_nr(i))
        for _, target, nr in followed_gradients(given):
            node.add_edge(target, nr)
    return outs


def undefined_grad(*tensors):
    """The tensors as they are; the gradient that arrives at them goes no further."""
    return through(UndefinedGradNode.__new__(UndefinedGradNode), None, tensors)


def identity(*tensors):
    """The tensors as they are, behind a node of their own."""
    return through(IdentityNode.__new__(IdentityNode), None, tensors)


cdef tuple through(Node node, object args, tuple tensors):
    """New tensors over the same memory, with `node` between them and the old ones. None and integers stay."""
    cdef TensorBase t, out
    cdef Node target
    cdef list metas = []
    cdef list outs = []
    cdef bint recorded = False
    for item in tensors:
        if item is not None and not isinstance(item, TensorBase):
            raise TypeError(f"{node.name()}: expected Tensors or None, but got {type(item).__name__}")
        if thread_state().grad_mode and wants_grad(item):   # asked of each: a written view learns it here
            recorded = True
    node.args = args
    if type(node) is ErrorNode:
        node.seq = UINT64_MAX
    for item in tensors:
        if item is None or not recorded or not (<TensorBase>item).value.meta.is_floating:
            node.add_edge(None, 0)
            metas.append(None if item is None else (<TensorBase>item).value.meta)
            outs.append(item)
            continue
        t = <TensorBase>item
        target = None
        if t.tracked:
            target = t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t)
        node.add_edge(target, t.output_nr_ if target is not None else 0)
        metas.append(t.value.meta)
        out = alias(t)
        track(<PyObject*>out)
        out.grad_fn_ = node
        out.output_nr_ = <int>len(outs)
        out.tracked = True
        outs.append(out)
    node.n_inputs = <int>len(metas)
    node.meta = metas[0] if len(metas) == 1 else tuple(metas)
    return tuple(outs)
