# Where backward runs start: the edge that a Tensor's gradient arrives at, and the everyday call, compiled.
# May import: engine.*, core.op, core.value, core.accumulators, core.nodes, core.apply.
from arraygrad.engine.arrayops cimport GradMeta
from arraygrad.engine.dead_gradients cimport let_go
from arraygrad.engine.engine cimport run_one
from arraygrad.engine.node cimport Edge, Node, ThreadState, anomaly_in_use, thread_state
from arraygrad.core.apply cimport refresh
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.value cimport Backend, TensorBase

cdef bint _everyday = True
cdef object _teller = None              # see set_gradient_teller


def set_gradient_teller(teller):
    """Have `teller(t, gradient)` called where t.backward(gradient) runs while this thread runs a transform."""
    global _teller
    _teller = teller


def set_compiled_backward(bint mode):
    """Whether everyday calls of backward() take the compiled way; returns the previous setting. For tests."""
    global _everyday
    previous = _everyday
    _everyday = mode
    return bool(previous)


def gradient_edge(t):
    """(node, input number) that the gradient of a Tensor arrives at; a leaf's accumulator is made if it has none.

    Raises RuntimeError if the Tensor doesn't require grad.
    """
    cdef TensorBase x = <TensorBase?>t
    if x.extra is not None:
        refresh(x)
    if not x.tracked:
        raise RuntimeError("cannot get a gradient edge of a Tensor that does not require grad")
    if x.grad_fn_ is not None:
        return x.grad_fn_, x.output_nr_
    return accumulator_of(x), 0


def edge_of(t):
    """As gradient_edge, as an Edge."""
    return Edge(*gradient_edge(t))


cdef bint plain_backward(TensorBase t, object gradient, object retain_graph) except -1:
    """Run t.backward(gradient, retain_graph) if nothing about it is unusual; False, and nothing done, if anything is.

    `gradient` is None for a real Tensor of one element, or has exactly the Tensor's shape, dtype and backend. All
    that has to be cast, refused or explained is left to the general way.
    """
    cdef GradMeta meta
    cdef Backend backend
    cdef Node root
    cdef int nr = 0, d
    cdef ThreadState* ts
    if not _everyday or anomaly_in_use():       # anomaly mode's warnings count the frames of the general way
        return False
    if t.extra is not None:
        refresh(t)
    if not t.tracked:
        return False
    ts = thread_state()
    if ts.transforms and ts.grad_mode:
        _teller(t, gradient)
    meta = t.value.meta
    backend = <Backend>meta.ops
    if gradient is None:
        if meta.is_complex or meta.ndim > 8:
            return False
        for d in range(meta.ndim):
            if meta.dims[d] != 1:
                return False
        gradient = backend.begin(meta)
    else:
        if isinstance(gradient, TensorBase):
            if (<TensorBase>gradient).value.meta.ops is not backend:
                return False
            gradient = (<TensorBase>gradient).value.raw
        elif type(gradient) is not backend.array_type:
            return False
        if not backend.matches(meta, gradient):
            return False
    root = t.grad_fn_
    if root is None:
        root = accumulator_of(t)
    else:
        nr = t.output_nr_
    run_one(root, nr, gradient, retain_graph is not None and bool(retain_graph))
    let_go(gradient, backend.recycle)
    return True


def plain_roots(outputs, grads):
    """(edges, gradients) of a list of Tensors and a list of what arrives at each.

    None where something has to be cast, made up, refused or explained: every output requires grad, and every gradient
    is a Tensor of exactly its shape, dtype and backend.
    """
    cdef TensorBase t, g
    cdef list edges = [], given = []
    if not _everyday or type(outputs) not in (list, tuple) or type(grads) not in (list, tuple) \
            or len(outputs) != len(grads):
        return None
    for output, gradient in zip(outputs, grads):
        if not isinstance(output, TensorBase) or not isinstance(gradient, TensorBase):
            return None
        t = <TensorBase>output
        g = <TensorBase>gradient
        if g.value.meta.ops is not t.value.meta.ops or not t.value.meta.ops.matches(t.value.meta, g.value.raw):
            return None
        edge = edge_or_none(t)
        if edge is None:
            return None
        edges.append(edge)
        given.append(g)
    return edges, given


def plain_inputs(targets):
    """The edges of a tuple of Tensors that require grad; None where one is something else."""
    cdef list edges = []
    for target in targets:
        edge = edge_or_none(<TensorBase>target) if isinstance(target, TensorBase) else None
        if edge is None:
            return None
        edges.append(edge)
    return edges


cdef Edge edge_or_none(TensorBase t):
    cdef Edge edge
    if t.extra is not None:
        refresh(t)
    if not t.tracked:
        return None
    edge = Edge.__new__(Edge)
    if t.grad_fn_ is not None:
        edge.node = t.grad_fn_
        edge.input_nr = t.output_nr_
    else:
        edge.node = accumulator_of(t)
    return edge


def try_plain_backward(t, gradient, retain_graph):
    """As plain_backward, for Python code."""
    return plain_backward(<TensorBase?>t, gradient, retain_graph)
