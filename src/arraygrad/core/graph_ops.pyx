# Gradients that are Tensors themselves (create_graph), and the gradient that a non-leaf retains.
# May import: engine.*, core.op, core.value, core.constant_checks, core.leaf_locks, core.accumulators, core.nodes,
# core.apply, core.barriers, core.copies.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from arraygrad.core.apply cimport apply_op, binary, refresh
from arraygrad.core.barriers cimport checked_hook, followed_gradients
from arraygrad.core.constant_checks cimport constant_check, Contents, CONSTANT_COPY
from arraygrad.core.copies cimport copied
from arraygrad.engine.arrayops cimport ArrayOps, GradMeta, home_of, is_held
from arraygrad.engine.node cimport Node, track
from arraygrad.engine.streams cimport note_read
from arraygrad.core.accumulators cimport accumulator_of
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.leaf_locks cimport leaf_lock
from arraygrad.core.value cimport (
    Backend, TensorBase, Value, check_saved, grad_of, is_lost, kept_value, make_tensor, registered, set_grad,
    value_over, wrap,
)

from arraygrad.engine.arrayops import InvalidGradient
from arraygrad.engine.engine import set_graph_ops
from arraygrad.engine.thread_main import set_commit
from arraygrad.core.accumulators import commit, set_recorded_ops


cdef object cast(TensorBase t, object dtype):
    cdef Op op = named_op("astype")
    return apply_op(op, op.bind((t, dtype), {}))


cdef object moved(TensorBase t, object device):
    cdef Op op = named_op("_to_device")
    return apply_op(op, op.bind((t, device), {}))


cdef class TensorOps(ArrayOps):
    """ArrayOps of gradients that are Tensors (create_graph): every step is a recorded operation."""

    cpdef GradMeta meta(self, object array):
        return (<TensorBase?>array).value.meta

    cpdef bint matches(self, GradMeta meta, object grad) except -1:
        cdef GradMeta m
        if not isinstance(grad, TensorBase):
            return False
        m = (<TensorBase>grad).value.meta
        if m is meta:
            return True
        return (m.ops is meta.ops and m.dtype == meta.dtype and m.device_key == meta.device_key
                and m.shape_tuple() == meta.shape_tuple())

    cpdef object conform(self, GradMeta meta, object grad, bint realify):
        cdef Backend backend = <Backend>meta.ops
        cdef TensorBase t
        cdef tuple shape, want
        if not isinstance(grad, TensorBase):
            if type(grad) is backend.array_type:
                grad = wrap(grad, backend)
            else:
                grad = wrap(backend.asarray(grad, None, meta.device), backend)
        t = <TensorBase>grad
        if t.value.meta.ops is not backend:
            raise InvalidGradient(f"expected an array of {backend.name} but got one of {t.value.meta.ops.name}")
        if t.value.meta.device_key != meta.device_key:
            if t.value.meta.ndim and not backend.reads_other_devices:
                raise InvalidGradient(f"expected device {meta.device_key or 'cpu'} but got "
                                      f"{t.value.meta.device_key or 'cpu'}")
            t = <TensorBase>moved(t, meta.device if meta.device is not None else backend.host_device(t.value.raw))
        shape, want = t.value.meta.shape_tuple(), meta.shape_tuple()
        if shape != want:
            lead = len(shape) - len(want)
            if lead < 0 or any([b != 1 and a != b for a, b in zip(shape[lead:], want)]):
                raise InvalidGradient(f"got {shape} but expected shape compatible with {want}")
            axes = tuple(range(lead)) + tuple([lead + i for i, (a, b) in enumerate(zip(shape[lead:], want))
                                               if b == 1 and a != 1])
            if axes:
                # Leading axes alone are summed away: nothing is left to reshape, in this run and the one that follows.
                t = <TensorBase>apply_op(named_op("sum"), (t, axes, None, len(axes) > lead))
            if t.value.meta.shape_tuple() != want:
                t = <TensorBase>backend.graph_xp.reshape(t, want)
        if t.value.meta.is_complex and not meta.is_complex:
            if not realify:
                raise InvalidGradient(f"got a complex gradient of dtype {t.value.meta.dtype} for a real value of dtype "
                                      f"{meta.dtype}; return its real part")
            t = <TensorBase>backend.graph_xp.real(t)
        if t.value.meta.dtype != meta.dtype:
            t = <TensorBase>cast(t, meta.dtype)
        return t

    cpdef object add(self, object a, object b):
        return binary(named_op("add"), a, b)

    cpdef object clone(self, object array, object like):
        return copied(<TensorBase>array)

    cpdef bint has_nan(self, object grad) except -1:
        return (<TensorBase>grad).value.meta.ops.has_nan((<TensorBase>grad).value.raw)

    cpdef object zeros(self, GradMeta meta):
        return wrap(meta.ops.zeros(meta), <Backend>meta.ops)

    cpdef object ones(self, GradMeta meta):
        return wrap(meta.ops.ones(meta), <Backend>meta.ops)

    cpdef object home(self, object array):
        return home_of((<TensorBase>array).value.meta) if isinstance(array, TensorBase) else None

    cpdef object from_user(self, object value):
        if isinstance(value, TensorBase):
            return value
        if registered(type(value)) is not None:
            return wrap(value, registered(type(value)))
        raise TypeError(f"expected a Tensor or an array, but got {type(value).__name__}")

    cpdef list followed(self, tuple shown):
        return followed_gradients(shown)

    cpdef object replaced(self, object node, str hook, object result, object new, list followed, uint64_t since):
        return checked_hook(<Node?>node, hook, result, <TensorBase>new, followed, since)


_recorded_ops = TensorOps("tensor")
set_graph_ops(_recorded_ops)
set_recorded_ops(_recorded_ops)
set_commit(commit)


class RetainGrad:
    """The hook behind Tensor.retain_grad: keeps the gradient in `.grad` of a Tensor that it holds weakly."""

    def __init__(self, reference):
        self.reference = reference

    def __call__(self, grad):
        cdef TensorBase t = self.reference()
        if t is None:
            return
        with leaf_lock(t):              # two runs may meet here, as at a leaf
            old = grad_of(t)
            set_grad(t, copied(<TensorBase>grad) if old is None else binary(named_op("add"), old, grad))


def attach_node(Node node, tuple results):
    """Make `results`, fresh Tensors without a history, the outputs of `node`, in order; integers have no gradient."""
    cdef TensorBase t
    for i, t in enumerate(results):
        if t.tracked or t.value.meta is not node.meta_at(i):
            raise ValueError(f"attach_node: result {i} of {node.name()} has a history or other metadata already")
        if t.value.meta.is_floating:
            track(<PyObject*>t)         # the node may hold anything
            t.grad_fn_ = node
            t.output_nr_ = <int>i
            t.tracked = True
    return results


def settled(value, list given):
    """What a rule in Python returned, as nobody else will write it: a copy of an array that somebody else holds.

    `given` are the gradients that the rule was given, which may be returned as they are. Call it on the expression that
    makes the value, which is not to be held by the caller.
    """
    cdef Backend backend = registered(type(value))
    if backend is None or not backend.mutable:
        return value
    for g in given:
        if g is value or type(g) is backend.array_type and backend.shares_memory(value, g):
            return value
    return backend.clone(value, value) if is_held(value, 1) else value


cdef class Kept:
    """Kept(tensor)
--

    What a node written in Python keeps of an input or a result: its value as it is now, and where it stands in the
    graph. In-place writes are treated as for every saved value (Note [Saved values] in value.pyx).
    """
    cdef Value value
    cdef Node source
    cdef int nr
    cdef bint array0d
    cdef object contents            # Contents of an array that the program holds too

    def __init__(self, TensorBase t, bint attached=True):
        if t.extra is not None:
            refresh(t)
        check_saved(t.value)
        self.value = kept_value(t)
        self.array0d = t.array0d
        if t.value.exposed:
            if constant_check == CONSTANT_COPY:
                self.value = value_over((<Backend>t.value.meta.ops).clone(t.value.raw, t.value.raw), t.value.meta)
            else:
                self.contents = Contents({"an array": t.value.raw})
        if attached and t.tracked:
            self.source = t.grad_fn_ if t.grad_fn_ is not None else accumulator_of(t)
            self.nr = t.output_nr_

    def array(self):
        """The raw array; RuntimeError if it was overwritten and set_saved_mutation("error") is in force."""
        if self.value.overwritten and is_lost(self.value):
            raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace "
                               "operation; set_saved_mutation('copy') keeps a copy of what is overwritten")
        if self.contents is not None and self.value.raw is (<Contents>self.contents).arrays.get("an array"):
            self.contents.check("a recorded function")      # not of a copy, which a write through a Tensor left
        note_read(self.value.meta, self.value.raw)
        return self.value.raw

    def tensor(self, Node source=None, int nr=0):
        """A Tensor of it, attached where the original was; for a result, to output `nr` of `source`."""
        cdef TensorBase t = make_tensor()
        self.array()
        t.value = self.value
        t.array0d = self.array0d
        if source is None:
            source = self.source
            nr = self.nr
        if source is not None:
            t.tracked = True
            track(<PyObject*>t)
            t.grad_fn_ = source
            t.output_nr_ = nr
        return t
