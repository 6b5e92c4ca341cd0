# Values out of a Tensor: Python scalars, NumPy arrays, text.
# May import: engine.*, op, value, nodes, apply.
import warnings

from arraygrad.apply cimport refresh
from arraygrad.engine.node cimport NodeHooks
from arraygrad.value cimport Backend, TensorBase


cdef object item_of(TensorBase t):
    """The value of a one-element tensor as a Python scalar."""
    cdef object raw = t.value.raw
    return raw.item() if hasattr(raw, "item") else to_numpy(raw).item()


cdef object one_element(TensorBase t, str what):
    if t.value.meta.size != 1:
        raise TypeError(f"{what}: only a one-element tensor can be converted to a Python scalar, but got shape "
                        f"{t.value.meta.shape_tuple()}")
    return item_of(t)


cdef object to_numpy(object raw):
    import numpy
    if isinstance(raw, numpy.ndarray):
        return raw
    library = type(raw).__module__.partition(".")[0]
    if library == "cupy":
        return raw.get()
    if library == "torch":
        raw = raw.detach().cpu().resolve_conj().resolve_neg()
        # NumPy has no bfloat16; float32 holds each of its values.
        return raw.float().numpy() if str(raw.dtype) == "torch.bfloat16" else raw.numpy()
    try:
        return numpy.asarray(raw)
    except (RuntimeError, TypeError, BufferError):
        return numpy.from_dlpack(raw)


cdef int refuse_conversion(TensorBase t, str how) except -1:
    if t.extra is not None:
        refresh(t)
    if t.tracked:
        raise TypeError(f"{how} of a tensor that requires grad would drop its gradient silently. Use t.numpy() (or "
                        f"t.detach()) for the bare values, t.array for the raw array, or functions of "
                        f"t.__array_namespace__() to stay differentiable")
    return 0


cdef int warn_of_hooks(TensorBase t) except -1:
    """Pickling leaves hooks behind: say so for each."""
    cdef NodeHooks hooks = None
    if t.extra is not None:
        refresh(t)
        hooks = t.extra.hooks
    if t.grad_fn_ is not None:
        hooks = t.grad_fn_.hooks
    if hooks is not None and hooks.tensor_pre:
        for nr, hook in hooks.tensor_pre.values():
            if nr == t.output_nr_:
                warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. Remove it before pickling, or "
                              "register it again on what is loaded.", UserWarning, stacklevel=2)
    return 0


cdef str representation(TensorBase t):
    import numpy
    cdef str text
    cdef list parts
    if t.extra is not None:
        refresh(t)
    text = (<Backend>t.value.meta.ops).text(t.value.raw)
    if text is None:
        try:
            text = numpy.array2string(to_numpy(t.value.raw), separator=", ", prefix="Tensor(")
        except Exception:
            text = str(t.value.raw)
    parts = [text]
    if t.value.meta.device_key is not None:
        parts.append(f"device={t.value.meta.device}")
    plain = not t.value.meta.is_floating or str(t.value.meta.dtype) in ("float64", "complex128")
    if not plain or t.value.meta.size == 0:
        parts.append(f"dtype={t.value.meta.dtype}")
    if t.grad_fn_ is not None:
        parts.append(f"grad_fn=<{t.grad_fn_.name()}>")
    elif t.tracked:
        parts.append("requires_grad=True")
    return f"Tensor({', '.join(parts)})"
