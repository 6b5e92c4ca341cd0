# Copies of Tensors: recorded ones, and those of the copy module.
# May import: engine.*, op, value, apply.

from arraygrad.apply cimport observed_call, record
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
    out.array0d = t.array0d
    record(named_op("_copy"), (t,), out, backend)
    return out


cdef TensorBase deepcopied(TensorBase t, dict memo, bint deep):
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef TensorBase out = new_tensor(backend.clone(t.value.raw, t.value.raw), t.value.meta)
    out.tracked = t.tracked
    out.array0d = t.array0d
    memo[id(t)] = out
    if deep and t.grad_ is not None:
        from copy import deepcopy

        out.grad_ = deepcopy(t.grad_ if (<TensorBase>t.grad_).grad_fn_ is None else t.grad_.detach(), memo)
    return out
