# Copies of Tensors: recorded ones, and those of the copy module.
# May import: engine.*, core.op, core.value, core.attributes, core.operands, core.apply.
import warnings

from arraygrad.core.apply cimport apply_op, observed_call, record, wants_grad
from arraygrad.core.attributes cimport copy_attributes
from arraygrad.engine.node cimport thread_state
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.operands cimport is_like_scalar
from arraygrad.core.value cimport Backend, TensorBase, new_tensor, set_grad


cdef TensorBase copied(TensorBase t, str order="K"):
    """A recorded copy, with the axes in memory as `order` says: "K" as they are."""
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef TensorBase out
    cdef object raw
    if thread_state().op_hooks != NULL:
        return <TensorBase>observed_call("_copy", (t,), lambda: copied(t, order))
    raw = copied_raw(t.value.raw, order, backend)
    out = new_tensor(raw, backend.meta_like(raw, t.value.meta, None))
    out.array0d = not is_like_scalar(t, backend)
    record(named_op("_copy"), (t,), out, backend)
    return out


cdef object copied_raw(object raw, str order, Backend backend):
    """A copy of a raw array, with its axes in memory as `order` says where its library knows of that."""
    cdef object flags = getattr(raw, "flags", None)
    cdef bint c, f
    if flags is None or not hasattr(flags, "c_contiguous"):
        return backend.clone(raw, raw)
    c, f = flags.c_contiguous, flags.f_contiguous
    if order == "A":
        order = "F" if f and not c else "C"
    # `clone` keeps the order of memory without gaps, faster than the library
    if c if order == "C" else f if order == "F" else c or f:
        return backend.clone(raw, raw)
    return raw.copy(order=order)


cdef object cast(TensorBase t, object dtype, object order, object casting, object copy):
    """t.astype(dtype), recorded, with ndarray's keywords: what `casting` allows, axes in memory as `order` says."""
    cdef Op op = named_op("astype")
    cdef object found
    if order == "K" and casting == "unsafe":
        return apply_op(op, op.bind((t, dtype), {"copy": copy}))
    if not hasattr(getattr(t.value.raw, "flags", None), "c_contiguous"):
        raise TypeError("astype: order= and casting= are those of NumPy's and CuPy's arrays: leave them out")
    t.value.raw.ravel()[:0].astype(dtype, order, casting)           # the library's error, if any
    found = apply_op(op, op.bind((t, dtype), {"copy": copy}))
    return found if order == "K" else copied(<TensorBase>found, order.upper())


cdef TensorBase deepcopied(TensorBase t, dict memo, bint deep):
    cdef Backend backend = <Backend>t.value.meta.ops
    cdef TensorBase out = new_tensor(copied_raw(t.value.raw, "K", backend), t.value.meta)
    out.tracked = t.tracked
    out.array0d = not is_like_scalar(t, backend)
    memo[id(t)] = out
    if deep and t.grad_ is not None:
        from copy import deepcopy

        set_grad(out, deepcopy(t.grad_ if (<TensorBase>t.grad_).grad_fn_ is None else t.grad_.detach(), memo))
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


cdef int warn_of_end(object data) except -1:
    """Say that the gradient of Tensors ends in the leaf that is made of them."""
    if wants_grad(data) and thread_state().grad_mode:
        warnings.warn("arraygrad.tensor(data) makes a new leaf, whose gradient does not reach the Tensors that it was "
                      "made of. Write t.detach().copy() if that is meant, or arraygrad.asarray(t, copy=True) to stay "
                      "in the graph.", UserWarning, stacklevel=1)
    return 0
