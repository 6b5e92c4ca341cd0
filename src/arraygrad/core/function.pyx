# The nodes of custom Functions: what ctx is, how forward is run and recorded, how backward's results are checked.
# May import: engine.*, core.op, core.value, core.write_protection, core.saved_tensors_hooks, core.constant_checks,
# core.accumulators, core.nodes, core.apply, core.exposed_memory, core.inplace, core.barriers.
import warnings
from inspect import getattr_static
from types import FunctionType

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from arraygrad.engine.arrayops cimport GradMeta, is_held
from arraygrad.engine.free_threading cimport gate_close, gate_closed, gate_enter, gate_leave
from arraygrad.engine.graph_task cimport GraphTask, run_flags
from arraygrad.engine.node cimport (
    Frame, Node, ThreadState, thread_state, track, NODE_CONSTANT, NODE_PACKED,
    NODE_PYTHON, NODE_SAVES, RUN_CAPTURE, RUN_NEEDED, next_sequence_nr,
)
from arraygrad.core.apply cimport observed_call, refresh, wants_grad
from arraygrad.core.barriers cimport alias, checked_record, followed_gradients
from arraygrad.core.constant_checks cimport Contents, constant_slot, content_now, overwritten_error
from arraygrad.core.exposed_memory cimport ArgumentWatch, note_returned, returned
from arraygrad.core.inplace cimport adopt, check_inplace
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.nodes cimport BACKWARD_TWICE, attached, handles, keep_values
from arraygrad.core.saved_tensors_hooks cimport Packed, pack_slot, packed_value, packing
from arraygrad.core.write_protection cimport bump, mark_overwritten
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, is_lost, kept_value, registered, shown_by, version_of, wrap,
)

from arraygrad.core.constant_checks import WRITTEN_BETWEEN
from arraygrad.engine.later import called_later

cdef tuple _nothing = ()
cdef object _function = None        # the Function class
cdef object _watched = None         # see set_function
_OF_TENSORS = ("array", "detach", "grad_fn", "numpy", "requires_grad")      # what arrays of NumPy lack


def set_function(cls, watched):
    """Register Function, whose own backward and vjp mean that none is defined.

    `watched(cls, backward, attributes)` looks at what backward, and what is set on ctx, will read: Note [Function
    snapshots] in autograd/function_snapshots.py. It returns (reader, seen), or None.
    """
    global _function, _watched
    _function = cls
    _watched = watched


# Note [Custom functions]
# ~~~~~~~~~~~~~~~~~~~~~~~
# The instance of `<Name>Backward`, a Python subclass of CustomNode that each Function class owns, is the ctx and the
# node at once, so what a user sets on ctx lives as long as the node.
# (1) Edges are taken before forward runs: an input that forward writes keeps the history it had.
# (2) forward runs with grad mode off. Its results get this node as their history afterwards, in the order of the
#     outputs; a tensor returned twice ends up at its last slot.
# (3) An input returned as it is becomes a new Tensor over the same memory; the input keeps its own history.
# (4) An input marked dirty is rebased (inplace.pyx) and is the output itself.
# (5) A result that shares memory with an input is a view whose history is this node: Extra.forbidden = "function".
# (6) What save_for_backward got is saved after (2), when it is known which of it are outputs. An input's edge is known
#     to the node; an output's is the node itself (kept as a number, so there is no cycle); any other tensor's is kept.
# Python subclasses have CPython's own deallocation, which limits its recursion as Note [Freeing a graph] asks.
# Guarded by test_FN1_* to test_FN14_*, test_DG1_*.

cdef class SavedSlot:
    """One tensor of save_for_backward: its value (packed or not) and where it stands in the graph (6)."""


cdef class CustomNode(Node):
    """The ctx of a custom Function: made by `Function.apply`, passed to forward and backward, and the node itself."""

    def __cinit__(self):
        self.materialize = self.materialize_fixed = True
        self.flags |= NODE_PYTHON

    # Public API

    def save_for_backward(self, *tensors):
        """Keep tensors (or None) for backward, where `saved_tensors` gives them back. The last call counts.

        A raw array comes back as a Tensor, a constant.

        Raises
        ------
        TypeError
            If something else is given: set it on ctx as an attribute.
        """
        if any([registered(type(t)) is not None for t in tensors]):
            tensors = tuple([t if registered(type(t)) is None else constant(t) for t in tensors])
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, TensorBase):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                                f"{type(t).__name__}; keep other values as attributes of ctx")
        self.s1 = tensors

    def mark_dirty(self, *tensors):
        """Say which inputs forward has written in place; each must be returned."""
        only_tensors("mark_dirty", tensors)
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say which outputs have no gradient; backward gets zeros for them."""
        only_tensors("mark_non_differentiable", tensors)
        self.fixed = tensors

    def set_materialize_grads(self, bint value):
        """Whether backward gets zeros (True, as at first) or None for outputs that no gradient arrived for."""
        self.materialize = value

    def set_materialize_non_diff_grads(self, bint value):
        """Whether the zeros of set_materialize_grads are made for outputs without a derivative, too (True at first).

        Those are integers and what mark_non_differentiable was given: no gradient ever arrives there.
        """
        self.materialize_fixed = value

    @property
    def materialize_grads(self):
        """What set_materialize_grads sets; assigning does the same."""
        return bool(self.materialize)

    @materialize_grads.setter
    def materialize_grads(self, bint value):
        self.materialize = value

    @property
    def _materialize_non_diff_grads(self):
        """PyTorch's name of what set_materialize_non_diff_grads sets."""
        return bool(self.materialize_fixed)

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, bint value):
        self.materialize_fixed = value

    @property
    def _raw_saved_tensors(self):
        """Tuple of SavedTensor, the handles of what save_for_backward kept."""
        return handles().of_function(self)

    @property
    def saved_tensors(self):
        """Tuple of what save_for_backward kept.

        Raises RuntimeError after the values were freed, or if one was overwritten and no copy is kept.
        """
        gate_enter(&self.gate)          # another run that frees what is saved waits (Note [Gates])
        try:
            if gate_closed(&self.gate):
                raise RuntimeError(BACKWARD_TWICE)
            if self.s0 is None:
                return ()
            return tuple([None if slot is None else unpacked(self, <SavedSlot>slot) for slot in <list>self.s0])
        finally:
            if gate_leave(&self.gate):
                self.s0 = None

    @property
    def needs_input_grad(self):
        """Tuple of bools, one per argument of forward: whether backward has to compute its gradient.

        In backward that is narrowed to what the running pass asks for.
        """
        cdef ThreadState* ts = thread_state()
        cdef GraphTask task
        cdef Node child
        cdef Py_ssize_t i, edge = 0
        cdef list needs
        if ts.node != <void*>self or ts.task == NULL or not (<GraphTask>ts.task).has_exec_info:
            return self.s2
        task = <GraphTask>ts.task
        needs = list(self.s2)
        for i in range(len(<tuple>self.args)):
            if (<tuple>self.args)[i]:
                child = self.edge_node(edge)
                needs[i] = child is not None and bool(run_flags(task, child) & (RUN_NEEDED | RUN_CAPTURE))
                edge += 1
        return tuple(needs)

    @property
    def saved(self):
        """What save_for_backward kept, by position (read-only)."""
        return {f"saved_tensors[{i}]": t for i, t in enumerate(self.saved_tensors)}

    # For the engine

    cdef int keep_foreign(self, object stream, list found) except -1:
        cdef list slots = self.s0
        if slots is not None:
            for slot in slots:
                if slot is not None:
                    keep_values((<SavedSlot>slot).value, stream, found)
        for kept in getattr(self, "__dict__", {}).values():         # what forward set on ctx
            if isinstance(kept, TensorBase):
                keep_values((<TensorBase>kept).value, stream, found)
        return 0

    cdef int release(self) except -1:
        if gate_close(&self.gate):
            self.s0 = None
        return 0

    cdef int apply(self, Frame f) except -1:
        cdef tuple watched = self.watched
        if self.s1 is not None or self.flags & NODE_CONSTANT:
            check_kept(self)
        if watched is None:
            return run_backward(self, f)
        watched[0].begin(watched[1])
        try:
            run_backward(self, f)
        finally:
            watched[0].end(watched[1])
        return 0


cdef int run_backward(CustomNode node, Frame f) except -1:
    """Call the Function's backward, and take what it returns."""
    cdef list grads = []
    cdef GradMeta meta
    cdef object g
    cdef Py_ssize_t i
    cdef bint alone = f.create_graph or f.owned and node.n_inputs == 1     # or writes to gradients are recorded
    cdef bint boxed = getattr(node.op, "boxed_grads_call", False)
    cdef tuple given
    cdef object contents = None
    cdef list followed = None
    cdef uint64_t since
    for i in range(node.n_inputs):
        meta = node.meta_at(i)
        g = f.input(i) if meta is not None else None
        if g is None:
            if meta is not None and node.materialize and (node.fixed is None or i not in <set>node.fixed):
                g = wrap(meta.ops.zeros(meta), <Backend>meta.ops)
        elif not f.create_graph:
            g = meta.ops.to_user(g)
        grads.append(g)
    g = None
    f.owned = False
    given = () if boxed else tuple(grads)
    since = 0
    if f.create_graph and not getattr(node.op, "_recorded_by_rule", False):
        followed = followed_gradients(grads)
        since = next_sequence_nr()
    if not alone and in_anomaly_mode():
        contents = Contents({f"grad_outputs[{i}]": g for i, g in enumerate(given) if f.input(i) is not None}, True)
    if boxed:
        f.grad = None                               # the list alone holds the gradients: backward may drop them
        f.grads = None
        result = backward_of(node)(node, grads)
    elif f.create_graph and node.later is not None:
        result = node.later(backward_of(node), node, *grads)
    else:
        result = backward_of(node)(node, *grads)
    if not alone:
        check_given(node, f, given, contents)
    if node.s1 is not None:
        node.s1.renew()             # what backward itself writes there is its own affair
    return take_gradients(node, f, result, given, followed, since)


def calling(function, *args):
    """function(*args): what a node keeps by called_later(), whichever function it is to call then."""
    return function(*args)


cdef bint in_anomaly_mode() noexcept:
    cdef ThreadState* ts = thread_state()
    return ts.task != NULL and (<GraphTask>ts.task).anomaly != 0


cdef int check_given(CustomNode node, Frame f, tuple given, object contents) except -1:
    """Refuse a backward that wrote into a gradient that it was given and others may hold too."""
    cdef Py_ssize_t i
    for i in range(len(given)):
        if f.input(i) is not None and version_of((<TensorBase>given[i]).value) != 0:
            break
    else:
        if contents is None or not contents.written():
            return 0
    raise RuntimeError(f"{node.op.__name__}.backward wrote into the gradient that it was given, which other parts of "
                       "the graph may hold too; work on a copy of it, grad = grad.copy()")


cdef int check_kept(CustomNode node) except -1:
    """Refuse to run backward on raw arrays that were written since forward: Note [Constants that change]."""
    cdef uint64_t now = 0
    cdef object saved
    if node.flags & NODE_CONSTANT and node.s0 is not None:
        for slot in <list>node.s0:
            saved = None if slot is None else (<SavedSlot>slot).value
            if type(saved) is Value:
                now = content_now(node, saved, now, <Backend>(<Value>saved).meta.ops)
        if now != node.print:
            for slot in <list>node.s0:
                if slot is not None and type((<SavedSlot>slot).value) is Value:
                    unpacked(node, <SavedSlot>slot)         # has an error of its own for what a Tensor has written
            raise RuntimeError(WRITTEN_BETWEEN.format(what=f"an array that {node.name()} got by save_for_backward was"))
    if node.s1 is not None:
        (<Contents>node.s1).check(f"the ctx of {node.op.__name__}")
    return 0


cdef object backward_of(CustomNode node):
    """The Function's backward, under either of its names."""
    cdef object cls = node.op
    backward, vjp = cls.backward, cls.vjp
    if vjp is _function.vjp:
        return backward
    if backward is not _function.backward:
        raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. Define one of "
                           f"them ({cls.__name__}).")
    return vjp


cdef int take_gradients(CustomNode node, Frame f, object result, tuple seen, list followed, uint64_t since) except -1:
    """Check what backward returned, one value per argument of forward, and put it on the edges.

    `seen` are the gradients that backward was given. In a recorded run `followed` are the places in the graph of those
    that require grad, and `since` is the sequence number at which backward began.
    """
    cdef tuple is_tensor = <tuple>node.args
    cdef Py_ssize_t n = len(is_tensor), given, i, edge = 0
    cdef tuple values
    cdef Node child
    cdef GradMeta meta
    cdef object value, raw
    cdef Py_ssize_t held = 2            # references to a value: `values` and `value`
    if result is None and any([g is not None for g in seen]):
        warn_of_nothing(node)
    if type(result) is not tuple:
        held = 3
        result = (result,)
    values = <tuple>result
    if followed is not None:
        values = checked_record(node, node.op.__name__, values, followed, since, is_whole(node, values))
    given = len(values)
    while given > n and values[given - 1] is None:
        given -= 1
    if given != n:
        raise RuntimeError(f"function {node.name()} returned an incorrect number of gradients (expected {n}, got "
                           f"{len(values)}): return one for each argument of forward, None for one that is no Tensor")
    for i in range(n):
        value = values[i]
        if not is_tensor[i]:
            if value is not None:
                raise RuntimeError(f"function {node.name()} returned a gradient different than None at position "
                                   f"{i + 1}, but the corresponding forward input was not a Variable")
            continue
        child = node.edge_node(edge)
        if value is not None:
            meta = None if child is None else child.meta_at(node.edge_nr(edge))
            if meta is not None and not isinstance(value, TensorBase):
                value = array_of(value, <Backend>meta.ops)
            if not isinstance(value, TensorBase) and registered(type(value)) is None:
                raise TypeError(f"function {node.name()} at position {i + 1}: expected Variable or None (got "
                                f"{type(value).__name__}); backward returns an array, or a tuple of arrays and None")
            if child is not None:
                if f.create_graph:
                    if not isinstance(value, TensorBase):
                        value = wrap(value, registered(type(value)))
                elif meta is not None:
                    raw = meta.ops.from_user(value)
                    value = raw if is_settled(value, held, raw, seen) else meta.ops.clone(raw, raw)
                    raw = None
                f.set_out(edge, value)
        edge += 1
    return 0


cdef int warn_of_nothing(CustomNode node) except -1:
    """Warn of a backward that returned None itself, no tuple of it, where a gradient was asked for."""
    if len(<tuple>node.args) != 1 or is_whole(node, (None,)):
        return 0
    code = getattr(backward_of(node), "__code__", None)
    text = (f"{node.op.__qualname__}.backward returned None, and its argument requires grad: its gradient is zero. "
            "Does it lack a return statement? Where zero is meant, return (None,)")
    if code is None:
        warnings.warn(text, UserWarning)
    else:
        warnings.warn_explicit(text, UserWarning, code.co_filename, code.co_firstlineno, registry=_told_of_nothing)
    return 0


cdef dict _told_of_nothing = {}         # the registry of its warnings


cdef bint is_whole(CustomNode node, tuple values) except -1:
    """Whether backward returned a gradient for each argument that has a place in the graph."""
    cdef Py_ssize_t i, edge = 0
    for i in range(min(len(values), len(<tuple>node.args))):
        if (<tuple>node.args)[i]:
            if values[i] is None and node.edge_node(edge) is not None:
                return False
            edge += 1
    return True


cdef bint is_settled(object value, Py_ssize_t held, object raw, tuple seen) except -1:
    """Whether nobody will write the array `raw` of a gradient that a rule returned as `value`.

    It is one that the rule was given (others may hold that anyway, and nobody may write it), or nobody holds it: not
    the value, to which the caller has `held` references, not the array, and not what it is a view of.
    """
    for given in seen:
        if isinstance(given, TensorBase) and ((<TensorBase>given).value.raw is raw or (
                <Backend>(<TensorBase>given).value.meta.ops).shares_memory(raw, (<TensorBase>given).value.raw)):
            return True
    if value is raw:
        return not is_held(raw, held + 1)
    return Py_REFCNT(<PyObject*>value) <= held and not is_held(raw, 2)      # its Value's and the caller's


cdef TensorBase unpacked(CustomNode node, SavedSlot slot):
    cdef Value v
    cdef TensorBase t, before
    cdef Node source = slot.source
    if type(slot.value) is Packed:
        v = packed_value(<Packed>slot.value)
    else:
        v = <Value>slot.value
        if v.overwritten and is_lost(v):
            raise overwritten_error(v, node)
    if slot.output >= 0:
        source = node
    before = shown_by(v)
    t = attached(v, source, slot.nr)
    if slot.array0d == 1 and t is not before:   # else it says itself what it is
        t.array0d = True
    return t


# Running forward

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)
    ctypedef struct TypeObject "PyTypeObject":
        object (*tp_new)(TypeObject* t, PyObject* args, PyObject* kwargs)


def run_function(cls, node_class, tuple args, dict kwargs, bint setup):
    """`Function.apply`: run forward and record it.

    Parameters
    ----------
    cls : Function subclass
    node_class : type
        Its subclass of CustomNode.
    args : tuple
        Positional arguments of forward; Tensors among them are differentiated.
    kwargs : dict
        Keyword-only arguments of forward, passed as they are.
    setup : bool
        forward takes no ctx, setup_context does.
    """
    if thread_state().op_hooks != NULL:
        return observed_call(cls.__name__, args, lambda: run_forward(cls, node_class, args, kwargs, setup))
    return run_forward(cls, node_class, args, kwargs, setup)


cdef object run_forward(object cls, object node_class, tuple args, dict kwargs, bint setup):
    cdef ThreadState* ts = thread_state()
    cdef CustomNode node = <CustomNode>(<TypeObject*>node_class).tp_new(
        <TypeObject*>node_class, <PyObject*>_nothing, NULL)
    cdef TensorBase t
    cdef Node target
    cdef list needs = []
    cdef list tensors = []
    cdef bint any_tensor = False
    cdef bint recorded = False
    cdef int grad_mode = ts.grad_mode
    cdef object arg, result
    cdef ArgumentWatch given
    for arg in args:
        if isinstance(arg, TensorBase):
            t = <TensorBase>arg
            any_tensor = True
            if t.extra is not None:
                refresh(t)
            needs.append(bool(t.tracked))
            tensors.append(True)
            target = None
            if t.tracked:
                recorded = True
                if grad_mode:                                                       # (1)
                    target = t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t)
            node.add_edge(target, t.output_nr_ if target is not None else 0)
        else:
            if grad_mode and hides_gradient(arg):
                raise TypeError(f"{cls.__name__}.apply: argument {len(needs)} is a {type(arg).__name__} that holds a "
                                "Tensor that requires grad; gradients follow only Tensors that are arguments "
                                "themselves, so pass it as one, or its detach()")
            needs.append(False)
            tensors.append(False)
    for name, arg in kwargs.items():
        if grad_mode and (hides_gradient(arg) or isinstance(arg, TensorBase) and wants_grad(arg)):
            raise TypeError(f"{cls.__name__}.apply: keyword-only argument {name!r} requires grad, but gradients follow "
                            "only positional arguments; pass it as one, or its detach()")
    recorded = recorded and grad_mode
    given = ArgumentWatch(args, cls.__name__ + ".forward", False) if recorded else None
    node.seq = next_sequence_nr()           # above those of the nodes that refresh() made for views among `args`
    node.op = cls
    node.s2 = tuple(needs)
    node.args = tuple(tensors)
    if recorded:
        node.later = called_later(calling)
    ts.grad_mode = 0                                                                # (2)
    try:
        if setup:
            result = cls.forward(*args, **kwargs)
            cls.setup_context(node, args, result)
        else:
            result = cls.forward(node, *args, **kwargs)
    except TypeError as error:
        if error.__traceback__.tb_next is None and isinstance(getattr_static(cls, "forward"), FunctionType):
            raise TypeError(f"{error}; forward and backward are static methods: write @staticmethod above each, and "
                            "ctx as its first parameter") from error
        raise
    except AttributeError as error:
        if registered(type(error.obj)) is None or not among(error.obj, args) or error.name not in _OF_TENSORS:
            raise
        raise AttributeError(
            f"{cls.__name__}.forward: {error}; {cls.__name__}.apply passes a raw array on as it is, so give it "
            "arraygrad.asarray(x), a Tensor", name=error.name, obj=error.obj) from error
    finally:
        ts.grad_mode = grad_mode
    if given is not None:
        given.check(() if node.dirty is None else <tuple>node.dirty)
    return take_outputs(node, args, result, recorded, any_tensor)


cdef bint hides_gradient(object arg) except -1:
    if type(arg) is dict:
        arg = list(arg.values())
    return (type(arg) is list or type(arg) is tuple) and wants_grad(arg)


cdef bint is_own(object cls) except -1:
    """Whether a Function is arraygrad's own, whose results are nobody else's."""
    return cls.__module__.partition(".")[0] == "arraygrad"


cdef object take_outputs(CustomNode node, tuple args, object result, bint recorded, bint any_tensor):
    """Give forward's results their history and save what was asked for; returns the results."""
    cdef bint many = isinstance(result, tuple)
    # `result` or its tuple, `outs` and `out` hold an array; of a tuple that others hold too, its arrays are theirs.
    cdef Py_ssize_t own = 0 if many and Py_REFCNT(<PyObject*>result) > 1 and not is_own(node.op) else 3
    cdef list outs = list(result) if many else [result]
    cdef list metas = []
    cdef object cls
    cdef tuple dirty = () if node.dirty is None else node.dirty
    cdef tuple fixed = () if node.fixed is None else node.fixed
    cdef TensorBase t
    cdef Py_ssize_t i, differentiable = 0
    cdef object out
    for t in dirty:
        if not among(t, outs):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. "
                               "The inputs that are modified inplace must all be outputs of the Function.")
        if not among(t, args):
            warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only inputs that forward has "
                          "written in place need to be marked.", UserWarning, stacklevel=2)
    for i in range(len(outs)):
        out = outs[i]
        if any_tensor and not isinstance(out, TensorBase):
            if type(out) is float or type(out) is complex:
                out = number_beside(out, args)
            else:
                out = array_of(out, first_backend(args))
            if registered(type(out)) is not None:
                # Besides these, what forward has set on ctx may hold the array.
                out = outs[i] = returned(out, own + kept_by(node, out), args, recorded, node.op.__name__)
            elif recorded and (type(out) is list or type(out) is dict) and holds_tensor(out):
                raise TypeError(f"{node.op.__name__}.forward returned a {type(out).__name__} that holds Tensors, which "
                                "no gradient would follow; return them in a tuple, or their arrays")
        elif recorded and isinstance(out, TensorBase) and (<TensorBase>out).value.exposed and not among(out, args):
            note_returned(<TensorBase>out, own + (node.s1 is not None and among(out, node.s1)), node.op.__name__)
        if isinstance(out, TensorBase):
            metas.append((<TensorBase>out).value.meta)
            if recorded and (<TensorBase>out).value.meta.is_floating and not among(out, fixed):
                differentiable += 1
        else:
            metas.append(None)
    node.n_inputs = <int>len(metas)
    node.meta = metas[0] if len(metas) == 1 else tuple(metas)
    for i in range(len(outs)):
        if isinstance(outs[i], TensorBase):
            t = <TensorBase>outs[i]
            if among(t, dirty):
                check_dirty(node, t, args, recorded, len(metas))
    for t in dirty:
        mark_overwritten(t)         # forward may have written the raw array, which nothing has seen
        bump(t)
    for i in range(len(outs)):
        if isinstance(outs[i], TensorBase):
            t = <TensorBase>outs[i]
            outs[i] = take_output(node, t, <int>i, among(t, args), among(t, dirty),
                                  recorded and t.value.meta.is_floating and not among(t, fixed), differentiable)
    if recorded and differentiable and node.s1:
        save_tensors(node, args, dirty, outs)
    node.fixed = None if node.materialize_fixed else {i for i in range(len(outs)) if not output_of(outs[i], node)}
    node.s1 = node.dirty = None
    if recorded and differentiable and node.__dict__:
        attributes = Contents(node.__dict__, True)
        if attributes:
            node.s1 = attributes
    if recorded and differentiable:
        cls = node.op
        node.watched = _watched(cls, cls.backward if cls.vjp is _function.vjp else cls.vjp, node.__dict__)
    if not many:
        return outs[0]
    if type(result) is not tuple and hasattr(type(result), "_make"):
        return type(result)._make(outs)
    return tuple(outs)


cdef Py_ssize_t kept_by(CustomNode node, object raw) except -1:
    """How many references to an array the node itself has: attributes of ctx, and what is to be saved."""
    cdef Py_ssize_t n = 0
    for kept in getattr(node, "__dict__", {}).values():
        if kept is raw or isinstance(kept, TensorBase) and (<TensorBase>kept).value.raw is raw:
            n += 1
    if node.s1 is not None:
        for kept in node.s1:
            if isinstance(kept, TensorBase) and (<TensorBase>kept).value.raw is raw:
                n += 1
    return n


cdef bint output_of(object out, CustomNode node) except -1:
    """Whether gradients of `out` arrive at `node`."""
    return isinstance(out, TensorBase) and (<TensorBase>out).grad_fn_ is node


cdef Backend first_backend(tuple args):
    for arg in args:
        if isinstance(arg, TensorBase):
            return <Backend>(<TensorBase>arg).value.meta.ops


cdef TensorBase constant(object raw):
    """A raw array of the program's as a Tensor."""
    cdef TensorBase t = wrap(raw, registered(type(raw)))
    t.value.exposed = True
    return t


cdef object number_beside(object value, tuple args):
    """A Python number as a 0-d array of the precision of the first floating-point Tensor; without any as it is."""
    cdef GradMeta meta
    for arg in args:
        if isinstance(arg, TensorBase) and (<TensorBase>arg).value.meta.is_floating:
            meta = (<TensorBase>arg).value.meta
            xp = (<Backend>meta.ops).xp
            dtype = meta.dtype
            if type(value) is complex:
                dtype = xp.result_type(dtype, xp.complex64)
            elif meta.is_complex:
                dtype = xp.finfo(dtype).dtype
            return xp.asarray(value, dtype=dtype, device=meta.device)
    return value


cdef object array_of(object value, Backend backend):
    """A scalar of an array library (what NumPy's functions make of 0-d arrays) as an array; anything else as it is."""
    if registered(type(value)) is None and hasattr(type(value), "__array_interface__"):
        return backend.wrap_raw(value)
    return value


cdef bint among(object t, object items) except -1:
    for item in items:
        if item is t:
            return True
    return False


cdef int place_of(object t, list items) except -1:
    """Where `t` itself stands in a list that holds it; the last place, if there are several."""
    cdef Py_ssize_t i
    for i in range(len(items) - 1, -1, -1):
        if items[i] is t:
            return <int>i
    raise ValueError("expected a list that holds the tensor")


cdef bint holds_tensor(object items) except -1:
    for item in (items.values() if type(items) is dict else items):
        if isinstance(item, TensorBase):
            return True
    return False


cdef int only_tensors(str name, tuple tensors) except -1:
    for t in tensors:
        if t is not None and not isinstance(t, TensorBase):
            raise TypeError(f"{name}: expected Tensors, inputs or results of forward, got {type(t).__name__}; "
                            "a raw array that apply was given has no gradient and need not be named")
    return 0


cdef int check_dirty(CustomNode node, TensorBase t, tuple args, bint recorded, Py_ssize_t n_outputs) except -1:
    """Refuse an in-place Function whose history could not be right."""
    cdef bint view = t.extra is not None and t.extra.parent is not None
    if not recorded:
        return 0
    if node.fixed is not None and among(t, node.fixed):
        raise RuntimeError(f"{node.op.__name__}: a tensor that forward writes in place can't be marked as not "
                           "differentiable too; write into a copy of it")
    if t.tracked and t.grad_fn_ is None and not view:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation. "
                           f"({node.op.__name__}: pass a copy of it)")
    if view:
        if n_outputs > 1:
            raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your "
                               "Function cannot return more than one Tensor. Pass a copy of the view, or make two "
                               f"Functions of {node.op.__name__}.")
        check_inplace(t, True, node.op.__name__)
    return 0


cdef TensorBase take_output(CustomNode node, TensorBase t, int nr, bint is_input, bint is_dirty, bint differentiable,
                            Py_ssize_t n_differentiable):
    if t.extra is not None and t.extra.forbidden is None:
        refresh(t)                      # one from outside of forward may have been written through another
    if not differentiable:
        if is_dirty or not t.tracked and not is_input:
            return t
        return alias(t)                                                             # (3), without history
    if is_dirty:
        adopt(t, node, nr)                                                          # (4)
        return t
    if is_input or t.tracked and t.grad_fn_ is not node:
        t = alias(t)
    elif t.extra is not None and t.extra.parent is not None:
        t.extra.forbidden = "function" if n_differentiable == 1 else "multi"        # (5)
        t.extra.seen = t.value.storage.history
    track(<PyObject*>t)
    t.grad_fn_ = node
    t.output_nr_ = nr
    t.tracked = True
    return t


cdef int save_tensors(CustomNode node, tuple args, tuple dirty, list outs) except -1:
    """Fill the saved slots (6)."""
    cdef list slots = []
    cdef SavedSlot slot
    cdef TensorBase t
    cdef Py_ssize_t i, edge
    cdef Backend backend
    cdef bint pack = packing()
    if pack:
        node.flags |= NODE_PACKED
    for item in <tuple>node.s1:
        if item is None:
            slots.append(None)
            continue
        t = <TensorBase>item
        if t.extra is not None and t.extra.forbidden is None:
            refresh(t)
        slot = SavedSlot.__new__(SavedSlot)
        slot.output = -1
        slot.array0d = t.array0d
        if t.grad_fn_ is node:
            slot.output = slot.nr = t.output_nr_
        elif among(t, dirty):           # a view: its history leads to this node through its base
            slot.output = slot.nr = place_of(t, outs)
        elif t.tracked:
            edge = 0
            for i in range(len(args)):
                if args[i] is t:
                    slot.source = node.edge_node(edge)
                    slot.nr = node.edge_nr(edge)
                    break
                if (<tuple>node.args)[i]:
                    edge += 1
            else:
                slot.source = t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t)
                slot.nr = t.output_nr_
        backend = <Backend>t.value.meta.ops
        slot.value = constant_slot(node, kept_value(t), backend)
        if pack:
            slot.value = pack_slot(slot.value, backend)
        slots.append(slot)
    node.s0 = slots
    node.flags |= NODE_SAVES
    return 0
