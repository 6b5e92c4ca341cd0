# The functions that make Tensors: over an array, of scalars and nested lists, by a copy.
# May import: core.apply, core.arguments, core.copies, core.exposed_memory, core.number_lists, core.op, core.operands,
# core.tensor, core.value.
import numbers

from arraygrad.core.apply cimport apply_op
from arraygrad.core.arguments cimport backend_in
from arraygrad.core.copies cimport copied, copied_raw, warn_of_end
from arraygrad.core.exposed_memory cimport enter
from arraygrad.core.number_lists cimport joined_numbers
from arraygrad.core.op cimport Op, named_op
from arraygrad.core.operands cimport has_tensor, is_numpy_scalar, spread
from arraygrad.core.tensor cimport Tensor, leaf_over, set_requires_grad
from arraygrad.core.value cimport Backend, TensorBase, find_backend, registered, wrap

from arraygrad.core.arguments import several
from arraygrad.core.operands import of_the_library, set_asarray, set_moved


def wrap_raw(raw, bint requires_grad=False):
    """A Tensor over a raw array, zero-copy."""
    return leaf_over(raw, requires_grad)


def asarray(obj, *, dtype=None, device=None, copy=None, bint requires_grad=False):
    """Wrap an array in a Tensor without copying it.

    Parameters
    ----------
    obj : array, Tensor, scalar, or nested lists of them
        A Tensor comes back as itself (a change of dtype is a recorded cast, `copy=True` a recorded copy). Python
        scalars and lists become NumPy arrays; lists that hold Tensors are stacked, recorded.
    dtype, device : optional
        Of the result; the backend's own objects.
    copy : bool, optional
        True: always copy. False: never (ValueError if a copy is needed). None: if needed.
    requires_grad : bool
        Whether operations on the result are recorded.
    """
    cdef Tensor t
    cdef Backend backend
    if isinstance(obj, Tensor):
        t = <Tensor>obj
        backend = <Backend>t.value.meta.ops
        if device is not None and device != t.device:
            if copy is False:
                raise ValueError("asarray: moving to another device needs a copy, but copy=False was asked for")
            t = <Tensor>t.to_device(device)
            copy = None
        if dtype is not None and dtype != t.value.meta.dtype:
            if copy is False:
                raise ValueError(f"asarray: a cast from {t.dtype} to {dtype} needs a copy, but copy=False was "
                                 "asked for")
            t = <Tensor>t.astype(dtype)
            copy = None
        if copy:
            t = copied(t)
        if requires_grad and not t.tracked:
            set_requires_grad(t, True, "Only Tensors of floating point and complex dtype can require gradients")
        return t
    if isinstance(obj, (list, tuple)) and has_tensor(obj):
        if copy is False:
            raise ValueError("asarray: a list becomes an array by a copy, but copy=False was asked for")
        return stacked(obj, dtype, device, requires_grad)
    backend = registered(type(obj))
    if backend is None:
        numeric = obj is None or isinstance(obj, (bool, int, float, complex, list, tuple, numbers.Number))
        backend = host_backend() if numeric or is_numpy_scalar(obj) else find_backend(obj)
    return from_raw(backend, obj, dtype, device, copy, requires_grad)


def tensor(data, *, dtype=None, device=None, copy=True, bint requires_grad=False):
    """A new leaf with a copy of the data. Parameters as for `asarray`; a Tensor is detached first."""
    if isinstance(data, Tensor):
        warn_of_end(data)
        data = (<Tensor>data).value.raw
    elif isinstance(data, (list, tuple)) and has_tensor(data):
        warn_of_end(data)
        data = asarray(data).detach().array
    return asarray(data, dtype=dtype, device=device, copy=True, requires_grad=requires_grad)


cdef Backend host_backend():
    import numpy
    return find_backend(numpy.empty(0))


cdef object from_raw(Backend backend, object obj, object dtype, object device, object copy, bint requires_grad):
    cdef object raw
    cdef Tensor t
    if type(obj) is backend.array_type and dtype is None and device is None:
        raw = copied_raw(obj, "K", backend) if copy else obj
    else:
        raw = backend.asarray(obj, dtype, device)
        if raw is obj:
            raw = copied_raw(obj, "K", backend) if copy else obj
        elif copy is False:
            raise ValueError(f"asarray: {type(obj).__name__} to an array of {backend.name} needs a copy, but "
                             "copy=False was asked for")
        elif copy and type(obj) is backend.array_type and backend.shares_memory(raw, obj):
            raw = backend.clone(raw, raw)
    backend.check(raw)
    t = wrap(raw, backend)
    t.array0d = True
    if not copy and not isinstance(obj, (list, tuple, int, float, complex)):
        t.value.exposed = True
        enter(t.value)
    if requires_grad:
        set_requires_grad(t, True, "Only Tensors of floating point and complex dtype can require gradients")
    return t


cdef object stacked(object items, object dtype, object device, bint requires_grad):
    """Nested lists that hold Tensors, as one Tensor: stacked at once where they are regular, else level by level."""
    cdef Op op = named_op("stack")
    cdef Backend backend
    cdef list parts = [], lengths = []
    joined = joined_numbers(items)
    if joined is not None:
        return asarray(joined, dtype=dtype, device=device, requires_grad=requires_grad)
    backend = backend_in(items, op)
    if backend is several:
        return stacked(of_the_library(op, tuple(items), None), dtype, device, requires_grad)
    if spread(items, 0, lengths, parts) and len(lengths) > 1:
        t = stacked(parts, None, None, False)
        return asarray(t.reshape((*lengths, *t.shape[1:])), dtype=dtype, device=device, requires_grad=requires_grad)
    parts.clear()
    for item in items:
        if isinstance(item, Tensor):
            parts.append(item)
        elif isinstance(item, (list, tuple)) and has_tensor(item):
            parts.append(stacked(item, None, None, False))
        else:
            parts.append(wrap(backend.asarray(item, None, None), backend))
    shapes = {t.shape for t in parts}
    if len(shapes) != 1:
        raise ValueError(f"asarray: a list of arrays must not be ragged, but its elements have the shapes "
                         f"{sorted(shapes)}")
    if not all([t.dtype is parts[0].dtype for t in parts]) and len({str(t.dtype) for t in parts}) > 1:
        common = backend.xp.result_type(*[t.array for t in parts])
        parts = [t.astype(common) for t in parts]
    return asarray(apply_op(op, op.bind((parts,), {})), dtype=dtype, device=device, requires_grad=requires_grad)


set_asarray(asarray)


def _moved_number(TensorBase t not None, str library, device):
    """A number of NumPy's as an array without axes of another library, recorded."""
    return apply_op(named_op("_to_backend"), (t, library, device, t.value.meta.ops.name, t.value.meta.device))


set_moved(_moved_number)
