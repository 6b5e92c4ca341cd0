# Copies of Tensors: recorded ones, and those of the copy module.
# May import: engine.*, op, value, attributes, apply.

from arraygrad.apply cimport observed_call, record
from arraygrad.attributes cimport copy_attributes
from arraygrad.engine.node cimport thread_state
from arraygrad.op cimport named_op
from arraygrad.value cimport Backend, TensorBase, new_tensor


cdef TensorBase copied(TensorBase t):
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef TensorBase out
    cdef object raw
    if thread_state().op_hooks != NULL:
        return <TensorBase>observed_call("_copy", (t,), lambda: copied(t))
    raw = backend.clone(t.value.raw, t.value.raw)
    out = new_tensor(raw, backend.meta_like(raw, t.value.meta, None))
    record(named_op("_copy"), (t,), out, backend)
    return out


cdef TensorBase deepcopied(TensorBase t, dict memo, bint deep):
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef TensorBase out = new_tensor(backend.clone(t.value.raw, t.value.raw), t.value.meta)
    out.tracked = t.tracked
    memo[id(t)] = out
    if deep and t.grad_ is not None:
        from copy import deepcopy

        out.grad_ = deepcopy(t.grad_ if (<TensorBase>t.grad_).grad_fn_ is None else t.grad_.detach(), memo)
    copy_attributes(t, out, memo if deep else None)
    return out


cdef TensorBase shallow(TensorBase t):
    """What copy.copy makes: a leaf for a leaf, else a recorded copy; the user's attributes are shared."""
    cdef TensorBase out
    if t.grad_fn is None:
        return deepcopied(t, {}, False)
    out = copied(t)
    copy_attributes(t, out, None)
    return out
